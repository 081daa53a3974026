#pragma once

#include "kernel/kernel.h"

#include <map>
#include <set>
#include <span>
#include <vector>

namespace kawara::estimate {

/// The memory that traffic is counted for, nearest first: what does not fit into one comes from the
/// next.
struct Capacity {
  int64_t bytes = 0;
  int64_t line = 1; ///< what is moved at once
};

/// Seconds of arithmetic as what they are made of: `scaled` shrink as peaks grow, a wait takes its
/// least whatever the peaks are.
struct ArithmeticTime {
  struct Wait;
  double scaled = 0;
  std::vector<Wait> waits;
};
struct ArithmeticTime::Wait {
  double times = 1;
  ArithmeticTime body;
  double least = 0; ///< seconds
};
/// With all peaks `scale` times as high: of a wait the longer of its body and its least.
double seconds_of(const ArithmeticTime&, double scale);

/// Work and traffic of one part of a kernel.
struct PartCost {
  double operations = 0; ///< of floats, and of integers that are data; a multiply-add counts two
  double seconds = 0;    ///< of arithmetic with one thread
  double parallel = 1;   ///< how many threads can share it
  double forks = 0;      ///< times that threads are started
  std::vector<double> bytes; ///< that come into the k-th capacity from what is behind it
  std::vector<double> trips; ///< of the loops that threads share: `parallel` is made of them
  ArithmeticTime arithmetic; ///< `seconds`; only where notes are taken
};

/// What is noted on the way for those who ask what other figures would change.
struct CostNotes {
  /// By line: the capacities at which more fits than into a smaller one.
  std::map<int64_t, std::set<double>> fits;
};

/// How long arithmetic takes.
struct Pace {
  double flops = 1;       ///< per second, in vectors of f32
  double lanes = 4;       ///< of these vectors
  double add_seconds = 0; ///< until a sum can be added to again
  int64_t threads = 1;
  /// Per second, where an instruction takes operands of a type; such loops run at this pace.
  std::map<scalar::Elem, double> instructions = {};
};

/// Costs of the statements of a kernel's body, one by one, at these sizes: loops as they are before
/// marks are applied. What was prepared (Kernel::prepared) is left out: calls are repeated.
///
/// The model: one iteration of each loop around, in the middle, stands for all of them (each for
/// itself where there are few and loops inside differ). What a loop touches of a buffer is a box. A
/// loop whose iteration fits into a cache finds there what the iteration before left, so it fetches
/// each element of its box once; one that does not fit fetches what its body does as often as it
/// runs. What fits as a whole is already there.
std::vector<PartCost> part_costs(const kernel::Kernel&, std::span<const int64_t> params,
                                 std::span<const Capacity>, const Pace&, CostNotes* = nullptr);

} // namespace kawara::estimate
