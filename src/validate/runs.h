#pragma once

#include "kernel/kernel.h"
#include "poly/scop.h"

#include <optional>
#include <string>
#include <vector>

namespace kawara::validate {

/// One step of the way from a kernel's body to one of its statements: the statement's number in a block, or a loop.
struct Step {
  enum class Kind : uint8_t { Position, Serial, Parallel, Thread };
  Kind kind = Kind::Position;
  uint32_t at = 0; ///< the number; of a loop, its dimension
  friend bool operator==(const Step&, const Step&) = default;
};

/// Statements of one block of a kernel that run instances of one statement of the scop. Copies that differ in a constant
/// distance (unrolled ones, lanes) are one run.
struct Run {
  uint32_t statement = 0;
  std::vector<Step> path;     ///< of the first copy
  uint32_t last_copy = 0;     ///< the position of the last one in the block where the path ends
  isl::set domain;            ///< over the loops around, then the points
  isl::map instances;         ///< from the domain, to those of the statement
  bool is_padded = false;     ///< kernel::Origin
  bool is_per_thread = false; ///< kernel::Origin
  bool is_then = true;        ///< runs where all conditions on data hold
  bool is_otherwise = true;   ///< runs where none does
};

/// What a kernel runs, as far as it can be read back.
struct Runs {
  std::vector<Run> all;
  std::vector<std::string> faults; ///< arms of a condition on data that run different instances
  std::vector<std::string> unread; ///< what could not be read, and why
  std::set<uint32_t> unread_statements; ///< of the scop
};

/// The integer sets of a kernel's loops and conditions, and what runs in them.
/// `joins_copies`: those of a block that fill a grid are one run.
Runs runs_of(const poly::Scop&, const kernel::Kernel&, bool joins_copies = true);

/// { x -> y } of the runs' domains with equal values in the first `count` dimensions, as a map to these alone.
isl::map first_dimensions(const poly::Scop&, const isl::set& domain, size_t count);

} // namespace kawara::validate
