#pragma once

#include "program/program.h"

#include <optional>
#include <set>

namespace kawara::program {

/// A scalar, or an element that stays where it is, with the running value of a scan.
struct RunningScalar {
  uint32_t tensor = 0;
  std::vector<Expr> index;
  bool is_stored_first = false; ///< s[i] = t; t op= term: elements without their own term
};

/// A loop that does nothing but store running values: a prefix sum, product, maximum or minimum.
///
///   for i: s[i] = s[i - 1] op term
///   for i: t op= term; s[i] = t        or the other way round
struct Scan {
  uint32_t tensor = 0;
  std::vector<Expr> index; ///< of the element that an iteration stores
  ReduceOp op = ReduceOp::Sum;
  Expr term; ///< reads no running values
  std::optional<RunningScalar> scalar;
};

/// The scan that a loop at this depth is, if it may be regrouped: stores round nothing, and floats
/// need a contract other than `exact`. Its step is 1 or -1.
std::optional<Scan> scan_of(const Program&, const Loop&, uint32_t depth);

/// Tensors whose elements are running values of a scan that may be regrouped, however short.
std::set<uint32_t> scanned_tensors(const Program&);

/// The indices, or the value, in the iteration `value` of the loop at this depth.
std::vector<Expr> index_at(const std::vector<Expr>&, uint32_t depth, const Expr& value);
Expr value_at(const Expr&, uint32_t depth, const Expr& value);

} // namespace kawara::program
