#pragma once

#include "scalar/type.h"
#include "support/diagnostic.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kawara::estimate {

/// A figure of energy with the band in which published ones lie.
struct Coefficient {
  double value = 0, low = 0, high = 0;
  std::string node, source; ///< "7 nm"; who says so
};

/// The part of a core that computes: vectors (or scalars), or matrices.
enum class ComputeUnit : uint8_t { Vector, Matrix };
std::string_view name_of(ComputeUnit);

/// Figures of one core and of all together, per second.
struct Throughput {
  double one_core = 0, all_cores = 0;
};

/// Where energy goes. Parts that nobody knows are left out.
struct EnergyFigures {
  struct Operation {
    scalar::Elem elem = scalar::Elem::F32;
    ComputeUnit unit = ComputeUnit::Vector;
    Coefficient picojoules; ///< of one operation; a multiply-add is two
  };
  struct Byte {
    std::string level; ///< "registers", the name of a level or link, "memory"
    Coefficient picojoules;
  };
  std::optional<Coefficient> constant_watts; ///< that is drawn whatever runs
  std::optional<Coefficient> instruction;    ///< picojoules besides its arithmetic
  std::vector<Operation> operations;
  std::vector<Byte> bytes;
};

/// A machine as a file describes it (docs/reference/machines.md).
struct MachineFile {
  enum class Kind : uint8_t { Cpu, Gpu, Accelerator };
  struct Peak {
    scalar::Elem elem = scalar::Elem::F32;
    ComputeUnit unit = ComputeUnit::Vector;
    std::string instruction; ///< of a matrix unit of a processor: target/intrinsic.h
    Throughput operations;   ///< a multiply-add is two
    std::string source;
  };
  struct Level {
    std::string name;
    int64_t bytes = 0; ///< as one core sees it
    int64_t line_bytes = 0;
    int64_t ways = 0;   ///< 0: not known, which only a machine that is no processor may say
    std::string policy; ///< lru, plru, fifo; empty like the ways
    int64_t shared_by = 1;
    Throughput bandwidth;
    std::string source;
  };
  struct Memory {
    std::string name;
    int64_t bytes = 0;
    Throughput bandwidth;
    std::string source;
  };
  struct Link {
    std::string name;
    double bandwidth = 0;
    std::string source;
  };

  std::string name;
  Kind kind = Kind::Cpu;
  int64_t cores = 1; ///< of a GPU its multiprocessors
  /// Of a core; all but `register_bytes` of a processor only.
  int64_t register_bytes = 0, vector_bytes = 0;
  double add_seconds = 0;  ///< from one multiply-add to the next that needs its result
  double fork_seconds = 0; ///< to start all threads and wait for them
  std::vector<Peak> peaks;
  std::vector<Level> levels; ///< nearest first
  Memory memory;
  std::vector<Link> links;
  std::optional<EnergyFigures> energy;
};
std::string_view name_of(MachineFile::Kind);

/// The machine that a JSON text describes. Refuses text that is no JSON (K0470), and whatever is
/// missing, of another kind than asked for, zero or negative, or unknown, each with its place
/// (K0471).
Parsed<MachineFile> machine_file(const SourcePtr&);

/// Names of the machines that come with Kawara, and the text of one; nothing for another name.
std::vector<std::string> installed_machines();
std::optional<std::string> installed_machine(std::string_view name);

/// Texts of all of them by name; made from machines/*.json when Kawara is built.
const std::vector<std::pair<std::string_view, std::string_view>>& machine_texts();

/// Tables of all figures with where they come from.
std::string print(const MachineFile&);

} // namespace kawara::estimate
