#pragma once

#include "scalar/expr.h"

#include <cstdint>
#include <vector>

namespace kawara::kernel {

/// Which instances of a statement of the scop a statement of the kernel runs. Passes keep it beside
/// what they change, and `validate` compares it with the schedule.
struct Origin {
  uint32_t statement = 0; ///< number in the scop
  /// By dimension of the statement's domain, in parameters, variables of the kernel, and Iter n:
  /// the n-th point.
  std::vector<scalar::Expr> iters;
  /// How many values each point takes, from 0, in parameters, variables and points before it: one
  /// run of the kernel's statement does them all (lanes of a vector, elements of an instruction).
  std::vector<scalar::Expr> points = {};
  /// Also runs instances outside of the domain: a tile that is filled up, whose results there
  /// nobody reads.
  bool is_padded = false;
  /// All threads of a row run it, each on elements of its own (privatize.h).
  bool is_per_thread = false;
};
using Origins = std::vector<Origin>;

/// The iterations `first`, `first + step`, ... of a loop over `var`, `count` of them, at once.
Origins over_iterations(Origins, uint32_t var, const scalar::Expr& first, int64_t step,
                        const scalar::Expr& count);
/// With `value` in place of `var`.
Origins substitute_var(Origins, uint32_t var, const scalar::Expr& value);
Origins padded(Origins);
Origins per_thread(Origins);
/// Both, one after the other.
Origins joined(Origins, const Origins&);

} // namespace kawara::kernel
