#pragma once

#include "program/program.h"
#include "support/diagnostic.h"

#include <span>
#include <string>
#include <vector>

namespace kawara::explain {

/// What a program does to one of its operands or results.
struct Touched {
  uint32_t tensor = 0; ///< of the program
  double accesses = 0; ///< loads and stores, in elements
  double elements = 0; ///< different ones
  bool is_read = false, is_written = false;
  bool is_exact = true; ///< else `elements` is the most that there can be
};

/// A program as one kernel, seen from its accesses to operands and results; temps are left out.
///
/// Each instance of a statement loads every element that its value names, once each, and stores
/// one. What stays at hand is counted once: an element that follows no loop, and those that
/// statements add up (or multiply up, ...). Elements outside of a tensor, as in the padding of a
/// convolution, are not loaded.
struct Characteristics {
  std::vector<Touched> tensors;    ///< in the program's order
  double accesses = 0, unique = 0; ///< bytes of all
  double moved = 0; ///< bytes of all: each element once, of what is read and overwritten twice
  double sums =
      0; ///< elements that are added up, of temps too: a sum of k terms takes k - 1 additions
  double operations = 0; ///< of which a sum of k terms takes k (estimate/count.h)
  double repeat() const { return unique > 0 ? accesses / unique : 0; }
};

/// Refuses what `estimate::count` refuses.
Result<Characteristics, Diagnostic> characteristics(const program::Program&,
                                                    std::span<const int64_t> sizes);

/// What two kernels that run one after the other both touch, as shares.
struct Overlap {
  double shared = 0; ///< bytes
  double of_first = 0, of_second = 0, of_union = 0;
};
/// Of kernels that touch `first` and `second` bytes, `shared` of them both.
Overlap overlap_of(double first, double second, double shared);

} // namespace kawara::explain
