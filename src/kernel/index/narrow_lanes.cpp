#include "kernel/index/narrow_lanes.h"

#include "kernel/analysis/intervals.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

#include <limits>
#include <map>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::Elem;
using scalar::Type;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

bool is_extreme(BinaryOp op) { return op == BinaryOp::Min || op == BinaryOp::Max; }

/// A literal in all lanes, if it is one.
std::optional<int64_t> literal_in(const Expr& e) {
  const auto* lanes = as<scalar::Broadcast>(e);
  return scalar::constant_of(lanes != nullptr ? lanes->arg : e);
}

/// Whether the ends of i64, with which minima and maxima begin, or 32 bits hold it.
bool is_small(const Intervals& intervals, const Expr& e) {
  if (const auto literal = literal_in(e); literal == kLowest || literal == kHighest)
    return true;
  const scalar::Bounds b = intervals.of(e);
  return b.low && b.high && *b.low > INT32_MIN && *b.high < INT32_MAX;
}

/// `e` in 32 bits: choices and extremes of what is small.
Expr small(const Expr& e, const std::map<uint32_t, Type>& narrow) {
  const Type type{Elem::I32, e.type().lanes};
  if (const auto literal = literal_in(e))
    return scalar::int_lit(*literal == kLowest    ? INT32_MIN
                           : *literal == kHighest ? INT32_MAX
                                                  : *literal,
                           type);
  if (const auto* n = as<scalar::Var>(e); n != nullptr && narrow.contains(n->id))
    return scalar::var(n->id, type);
  if (const auto* n = as<scalar::Binary>(e); n != nullptr && is_extreme(n->op))
    return scalar::binary(n->op, small(n->lhs, narrow), small(n->rhs, narrow));
  if (const auto* n = as<scalar::Select>(e))
    return scalar::select(n->cond, small(n->then, narrow), small(n->otherwise, narrow));
  if (const auto* n = as<scalar::Broadcast>(e))
    return scalar::broadcast(scalar::cast(n->arg, {Elem::I32, n->arg.type().lanes}), type.lanes);
  if (const auto* n = as<scalar::Ramp>(e); n != nullptr && n->stride == int32_t(n->stride))
    return scalar::ramp(scalar::cast(n->base, {Elem::I32, 1}), n->stride, type.lanes);
  return scalar::cast(e, type);
}

/// Finds variables of i64 lanes that only ever hold small numbers, and are read to be updated and
/// to be reduced only.
class Finder {
public:
  explicit Finder(const Kernel& kernel) : kernel_(kernel) {
    visit_scoped(kernel.body, intervals_, [&](const Stmt& stmt) { look(stmt); });
  }

  std::map<uint32_t, Type> found() const {
    std::map<uint32_t, Type> result;
    for (const auto& [var, is_good] : candidates_)
      if (is_good)
        result[var] = {Elem::I32, kernel_.variables[var].type.lanes};
    return result;
  }

private:
  bool is_candidate(uint32_t var) const {
    const Type type = kernel_.variables[var].type;
    return type.elem == Elem::I64 && type.lanes > 1;
  }

  /// Extremes and choices of the variable itself and of small numbers.
  bool stays_small(const Expr& e, uint32_t var) const {
    if (const auto* n = as<scalar::Var>(e); n != nullptr && n->id == var)
      return true;
    if (const auto* n = as<scalar::Binary>(e); n != nullptr && is_extreme(n->op))
      return stays_small(n->lhs, var) && stays_small(n->rhs, var);
    if (const auto* n = as<scalar::Select>(e))
      return !mentions(n->cond, var) && stays_small(n->then, var) && stays_small(n->otherwise, var);
    return !mentions(e, var) && is_small(intervals_, e);
  }

  void note(uint32_t var, const Expr& value) {
    if (!is_candidate(var))
      return;
    const bool is_good = stays_small(value, var);
    const auto at = candidates_.emplace(var, is_good).first;
    at->second = at->second && is_good;
  }

  /// Reads other than in an update of the variable itself and in a reduction of extremes disqualify
  /// it.
  void look(const Stmt& stmt) {
    const auto* assign = std::get_if<Assign>(&stmt);
    if (const auto* define = std::get_if<Define>(&stmt))
      note(define->var, define->value);
    else if (assign != nullptr)
      note(assign->var, assign->value);
    else if (const auto* combine = std::get_if<Combine>(&stmt))
      candidates_[combine->var] = false;
    visit_own_exprs(stmt, [&](const Expr& root) {
      read(root, assign != nullptr ? std::optional(assign->var) : std::nullopt, false);
    });
  }

  void read(const Expr& e, std::optional<uint32_t> own, bool is_reduced) {
    if (const auto* n = as<scalar::Var>(e)) {
      if (is_candidate(n->id) && !is_reduced && own != n->id)
        candidates_[n->id] = false;
      return;
    }
    const auto* reduced = as<scalar::Reduce>(e);
    const auto* binary = as<scalar::Binary>(e);
    const bool begins = reduced != nullptr && (reduced->op == scalar::ReduceOp::Min ||
                                               reduced->op == scalar::ReduceOp::Max);
    const bool goes_on = is_reduced && binary != nullptr && is_extreme(binary->op);
    for (const Expr& child : scalar::children(e))
      read(child, own, begins || goes_on);
  }

  const Kernel& kernel_;
  Intervals intervals_;
  std::map<uint32_t, bool> candidates_;
};

class Narrowing32 {
public:
  explicit Narrowing32(std::map<uint32_t, Type> narrow) : narrow_(std::move(narrow)) {}

  Block block(const Block& statements) const {
    Block result = statements;
    visit(result, [&]<Kind S>(S& stmt) {
      if constexpr (OneOf<S, Define, Assign>)
        if (narrow_.contains(stmt.var)) {
          stmt.value = small(stmt.value, narrow_);
          return;
        }
      visit_own_exprs(stmt, [&](Expr& e) { e = widened(e); });
    });
    return result;
  }

private:
  /// What all lanes of narrow variables come to: found in 32 bits.
  Expr widened(const Expr& root) const {
    return scalar::rewrite(root, [&](const Expr& e) {
      if (const auto* n = as<scalar::Reduce>(e);
          n != nullptr && e.type().elem == Elem::I64 && holds_narrow(n->arg) &&
          (n->op == scalar::ReduceOp::Min || n->op == scalar::ReduceOp::Max))
        return widened_number(scalar::reduce(n->op, small(n->arg, narrow_), e.type().lanes));
      return Expr();
    });
  }

  /// Numbers that are left where a loop did not run are the ends of i64 again.
  static Expr widened_number(const Expr& e) {
    const Type wide{Elem::I64, e.type().lanes};
    const auto is = [&](int64_t end) {
      return scalar::binary(BinaryOp::Eq, e, scalar::int_lit(end, e.type()));
    };
    return scalar::select(
        is(INT32_MAX), scalar::int_lit(kHighest, wide),
        scalar::select(is(INT32_MIN), scalar::int_lit(kLowest, wide), scalar::cast(e, wide)));
  }

  /// Extremes of narrow variables alone.
  bool holds_narrow(const Expr& e) const {
    if (const auto* n = as<scalar::Var>(e))
      return narrow_.contains(n->id);
    const auto* n = as<scalar::Binary>(e);
    return n != nullptr && is_extreme(n->op) && holds_narrow(n->lhs) && holds_narrow(n->rhs);
  }

  std::map<uint32_t, Type> narrow_;
};

} // namespace

Kernel narrow_lanes(Kernel kernel) {
  const std::map<uint32_t, Type> narrow = Finder(kernel).found();
  if (narrow.empty())
    return kernel;
  kernel.body = Narrowing32(narrow).block(kernel.body);
  for (const auto& [var, type] : narrow)
    kernel.variables[var].type = type;
  return kernel;
}

} // namespace kawara::kernel
