#pragma once

#include "kernel/gpu/warpgroup/fragment.h"
#include "kernel/gpu/warpgroup/group_parts.h"
#include "kernel/gpu/warpgroup/tile_elements.h"
#include "kernel/vars.h"
#include "scalar/affine_sum.h"

#include <algorithm>

// What the files of TileElements share.

namespace kawara::kernel {

/// Which element of the tile, and of the thread.
struct TileElements::Place {
  FragmentPlace at;
  Expr row, column;

  Expr of(const Expr& e, const TileNest& nest) const {
    return substitute_var(substitute_var(e, nest.rows.var, row), nest.columns.var, column);
  }
  Expr in_part(TilePart::Form form) const {
    if (form == TilePart::Form::Rows)
      return at.half;
    if (form == TilePart::Form::Lanes)
      return scalar::simplify(at.half * scalar::int_lit(2) + at.place);
    return scalar::simplify(fragment_element(at));
  }
};

inline constexpr int64_t kColumnsOfGroup = 8;
inline constexpr int64_t kPair = 2; ///< neighbouring columns of a thread
inline constexpr int64_t kRowsOfWarp = 16;

/// Pairs of columns lie on one side of all bounds.
inline bool are_even(const std::vector<Expr>& bounds) {
  return std::all_of(bounds.begin(), bounds.end(), [](const Expr& bound) {
    const scalar::AffineSum sum = scalar::affine_sum(bound);
    return sum.constant % kPair == 0 &&
           std::all_of(sum.terms.begin(), sum.terms.end(),
                       [](const auto& term) { return term.second % kPair == 0; });
  });
}

inline Expr all_below(const Expr& e, const std::vector<Expr>& bounds) {
  Expr cond;
  for (const Expr& bound : bounds) {
    const Expr one = scalar::simplify(scalar::binary(scalar::BinaryOp::Lt, e, bound));
    cond = cond ? both(cond, one) : one;
  }
  return cond;
}

inline Block only_if(const Expr& cond, Block block) {
  return cond ? block_of(If{cond, std::move(block), {}}) : block;
}

inline For unrolled(uint32_t var, int64_t count, Block body) {
  For loop;
  loop.var = var;
  loop.lo = scalar::int_lit(0);
  loop.hi = scalar::int_lit(count);
  loop.marks.unroll = poly::kFullUnroll;
  loop.body = std::move(body);
  return loop;
}

} // namespace kawara::kernel
