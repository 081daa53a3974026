#pragma once

#include "scalar/type.h"
#include "target/cpu.h"

#include <optional>
#include <string>
#include <vector>

namespace kawara::estimate {

/// A rate with one thread and with all.
struct Rate {
  double one = 0;
  double all = 0;
  friend bool operator==(const Rate&, const Rate&) = default;
};

/// How fast operands of one type are multiplied and added, two operations each.
struct Peak {
  scalar::Elem elem = scalar::Elem::F32;
  std::string instruction; ///< target/intrinsic.h; empty: a vector multiply-add
  Rate flops;              ///< per second
  friend bool operator==(const Peak&, const Peak&) = default;
};

/// A cache, or the memory behind them all. Bytes per second; each byte that a loop reads or writes
/// counts once.
struct Level {
  std::string name;  ///< "L1", "L2", "L3", "memory"
  int64_t bytes = 0; ///< as one core sees it; 0: memory, larger than anything
  Rate read, write, copy, triad;
  friend bool operator==(const Level&, const Level&) = default;
};

/// How fast a machine is: what predictions of time rest on.
struct Machine {
  std::string cpu; ///< `identity_of` the processor
  int64_t threads = 1;
  bool is_measured = false;   ///< else derived from the description
  std::string file;           ///< whose machine file these figures are from; empty: from none
  std::vector<Peak> peaks;    ///< f32 and f64 always; others where an instruction exists
  std::vector<Level> levels;  ///< nearest first, memory last
  double add_seconds = 0;     ///< from one f32 multiply-add to the next that needs its result
  double fork_seconds = 0;    ///< to start all threads on a loop and wait for them
  int64_t register_bytes = 0; ///< of all vector registers
  int64_t line_bytes = 64;    ///< of caches
  int64_t vector_bytes = 16;  ///< of one vector register
  friend bool operator==(const Machine&, const Machine&) = default;
};

/// Everything about a processor that figures of another one must not be used for.
std::string identity_of(const target::Cpu&);

/// Cautious figures from the description alone: two vector multiply-adds a cycle at 2.5 GHz.
Machine described_machine(const target::Cpu&);

/// Null where the machine has no instruction for the type.
const Peak* find_peak(const Machine&, scalar::Elem);

/// The peak for operands of that type: its own or, where there is no instruction for it, that of
/// the vectors in which it is computed (u8 has i8's instructions).
const Peak& peak_for(const Machine&, scalar::Elem);

/// As much as that many threads get.
double rate_with(const Rate&, double threads);

/// Tables for people: peaks, then the levels.
std::string print(const Machine&);

/// For keeping between runs. Nothing comes back from text that is not such a record.
std::string to_json(const Machine&);
std::optional<Machine> machine_from_json(const std::string& text);

/// The roofs of all levels and types in one log-log picture, as a stand-alone SVG document: with
/// all threads.
std::string roofs_svg(const Machine&);

} // namespace kawara::estimate
