#pragma once

#include "schedule/schedule.h"
#include "tune/space/point.h"

#include <map>
#include <vector>

namespace kawara::tune {

/// A number of a directive list that may be another one. Nests that run together have the same
/// number at several places.
struct Knob {
  enum class Kind { Block, Rows, Lanes, Unroll, Width, Jam, Stages } kind = Kind::Block;
  std::vector<std::pair<size_t, size_t>> places; ///< directive, and loop of a `tile`
  int64_t value = 0;
  std::vector<int64_t> choices; ///< ascending, `value` among them
};

/// What choices depend on.
struct Extents {
  /// Longest runs of the source's loops, by "S1.i"; those of unknown length are left out.
  std::map<std::string, int64_t> of_loop;
  int64_t lanes = 4; ///< of a vector register
  int64_t threads = 1;
  bool is_gpu = false; ///< cuts are blocks, threads and what a thread does: powers of two
};
Extents extents_of(const schedule::Schedule& initial, const schedule::Environment&);

/// All knobs of a list, in the order of their first places.
std::vector<Knob> knobs_of(const std::vector<Directive>&, const Extents&);

/// The list with a knob transposed. Blocks around it stay whole multiples of what they hold.
std::vector<Directive> transposed(std::vector<Directive>, const Knob&, int64_t value);

} // namespace kawara::tune
