#include "kernel/math/row_invariants.h"

#include "kernel/analysis/fixed.h"
#include "kernel/gpu/warpgroup/group_parts.h"
#include "kernel/math/converted_rows.h"
#include "kernel/math/quotients.h"
#include "kernel/walk.h"

#include <limits>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::UnaryOp;

/// Rows that share a value before it is worth memory.
constexpr int64_t kFewRows = 4;

std::optional<int64_t> fixed_trips(const For& loop) {
  const auto low = scalar::constant_of(loop.lo), high = scalar::constant_of(loop.hi);
  return low && high && *low < *high && loop.step == 1 ? std::optional(*high - *low) : std::nullopt;
}

/// A loop that only repeats what is inside, one iteration after the other or on several threads.
bool is_plain(const For& loop) {
  return loop.marks.vector_width == 0 && loop.marks.unroll == 0 && loop.marks.instruction.empty() &&
         fixed_trips(loop);
}

bool has_stores_only(const For& loop) {
  return has_only<Store>(loop.body) && !loop.marks.is_parallel && loop.marks.unroll == 0 &&
         loop.marks.instruction.empty() && fixed_trips(loop);
}

/// Takes longer than to read it.
bool is_costly(const Expr& root) {
  bool found = false;
  scalar::visit(root, [&](const Expr& e) {
    const auto* binary = as<scalar::Binary>(e);
    const auto* unary = as<scalar::Unary>(e);
    found =
        found ||
        (binary != nullptr && (binary->op == BinaryOp::Div || binary->op == BinaryOp::Pow ||
                               binary->op == BinaryOp::Atan2)) ||
        (unary != nullptr && unary->op != UnaryOp::Neg && unary->op != UnaryOp::Abs &&
         unary->op != UnaryOp::Floor && unary->op != UnaryOp::Ceil && unary->op != UnaryOp::Round &&
         unary->op != UnaryOp::Not && unary->op != UnaryOp::Bits && unary->op != UnaryOp::FromBits);
  });
  return found;
}

/// What the rows below one loop share.
class RowsBelow {
public:
  RowsBelow(Kernel& kernel, const For& rows, Scope scope)
      : kernel_(kernel), inside_(vars_set_in(rows)), stored_(buffers_stored_in(rows)),
        scope_(scope) {}

  /// The loop, with what is shared read from memory; reciprocals only where asked for.
  For changed(For loop, int64_t rows, bool takes_reciprocals) {
    if (!is_plain(loop))
      return loop;
    change_inside(loop.body, rows * *fixed_trips(loop), loop.joins_child, takes_reciprocals);
    return loop;
  }

  bool is_empty() const { return values_.empty(); }
  /// Of all reciprocals; nothing when there are none.
  Expr has_digits() const {
    Expr all;
    for (const Value& value : values_)
      if (value.digits)
        all = all ? scalar::binary(BinaryOp::And, all, value.digits) : value.digits;
    return all;
  }
  const Block& fills() const { return fills_; }
  const std::vector<uint32_t>& buffers() const { return buffers_; }

private:
  struct Value {
    Expr expr; ///< in the variable of the columns
    uint32_t column = 0;
    int64_t first = 0, last = 0;
    uint32_t buffer = 0;
    Expr digits; ///< of a reciprocal that may lack some
  };

  void change_inside(Block& body, int64_t rows, bool is_joined, bool takes_reciprocals) {
    for (Stmt& stmt : body) {
      auto* inner = std::get_if<For>(&stmt);
      if (auto* allocate = std::get_if<Allocate>(&stmt))
        change_inside(allocate->body, rows, false, takes_reciprocals);
      else if (inner != nullptr && has<For>(inner->body))
        *inner = changed(std::move(*inner), rows, takes_reciprocals);
      else if (inner != nullptr && rows >= kFewRows && !is_joined && has_stores_only(*inner))
        share(*inner, takes_reciprocals);
    }
  }

  void share(For& columns, bool takes_reciprocals) {
    inside_.erase(columns.var);
    for (Stmt& stmt : columns.body) {
      auto& store = std::get<Store>(stmt);
      store.value = replaced(store.value, columns, takes_reciprocals, false);
    }
    inside_.insert(columns.var);
  }

  /// The same in all rows, another in each column.
  bool is_of_column(const Expr& e, const For& columns) const {
    return mentions(e, columns.var) && scalar::is_float(e.type().elem) &&
           is_fixed(e, inside_, stored_);
  }

  Expr replaced(const Expr& e, const For& columns, bool takes_reciprocals, bool is_seen_in_steps) {
    // A side of a select that is not chosen may not even be loaded.
    if (as<scalar::Select>(e) != nullptr)
      return e;
    if (is_of_column(e, columns) &&
        (is_costly(e) || (is_converted_f16(e) && *fixed_trips(columns) <= kLongestConverted)))
      return value_of(e, columns, false);
    is_seen_in_steps = is_seen_in_steps || is_discontinuous(e);
    const auto* quotient = as<scalar::Binary>(e);
    const bool is_shared =
        takes_reciprocals && !is_seen_in_steps && kernel_.numerics != program::Numerics::Exact &&
        quotient != nullptr && quotient->op == BinaryOp::Div &&
        e.type() == scalar::Type{scalar::Elem::F32, 1} && is_of_column(quotient->rhs, columns) &&
        !is_cheap_quotient(*quotient, quotient->rhs);
    if (is_shared) {
      const Expr top = replaced(quotient->lhs, columns, true, false);
      return top * value_of(quotient->rhs, columns, true);
    }
    std::vector<Expr> kids = scalar::children(e);
    bool is_changed = false;
    for (Expr& kid : kids) {
      const Expr now = as<scalar::Load>(e) != nullptr
                           ? kid
                           : replaced(kid, columns, takes_reciprocals, is_seen_in_steps);
      is_changed |= !now.is_same_object(kid);
      kid = now;
    }
    return is_changed ? scalar::with_children(e, std::move(kids)) : e;
  }

  /// The element that holds the value, or the reciprocal of the divisor.
  Expr value_of(const Expr& e, const For& columns, bool is_divisor) {
    const scalar::Type type = e.type();
    const Expr expr = is_divisor ? scalar::binary(BinaryOp::Div, scalar::float_lit(1, type), e) : e;
    const int64_t first = *scalar::constant_of(columns.lo), last = *scalar::constant_of(columns.hi);
    const Expr at = scalar::simplify(scalar::var(columns.var) - scalar::int_lit(first));
    for (const Value& known : values_)
      if (known.column == columns.var && known.first == first && known.last == last &&
          scalar::equal(known.expr, expr))
        return scalar::load(known.buffer, {at}, type);
    Value value{expr, columns.var, first, last, 0, {}};
    value.buffer = added(is_divisor ? "reciprocals" : "of_columns", type.elem, last - first);
    const Expr element = scalar::load(value.buffer, {at}, type);
    For fill = columns;
    fill.marks = {};
    fill.marks.vector_width = columns.marks.vector_width;
    fill.body = block_of(Store{value.buffer, {at}, ReduceOp::None, expr});
    if (is_divisor && kernel_.numerics == program::Numerics::Rounding)
      value.digits = with_sizes(fill, element);
    fills_.emplace_back(std::move(fill));
    values_.push_back(std::move(value));
    return element;
  }

  /// The loop that fills in reciprocals keeps their smallest and largest sizes. Of NaN a product is
  /// NaN, like a quotient.
  Expr with_sizes(For& fill, const Expr& element) {
    const auto keep = [&](const char* name, ReduceOp op, double start) {
      const uint32_t buffer = added(name, element.type().elem, 1);
      const std::vector<Expr> only{scalar::int_lit(0)};
      fills_.emplace_back(
          Store{buffer, only, ReduceOp::None, scalar::float_lit(start, element.type())});
      fill.body.emplace_back(Store{buffer, only, op, scalar::unary(UnaryOp::Abs, element)});
      return scalar::load(buffer, only, element.type());
    };
    const Expr smallest = keep("smallest", ReduceOp::Min, std::numeric_limits<double>::infinity());
    return is_normal_and_finite(smallest, keep("largest", ReduceOp::Max, 0));
  }

  uint32_t added(const char* name, scalar::Elem elem, int64_t elements) {
    buffers_.push_back(add_group_buffer(kernel_, name, elem, {elements}, scope_));
    return buffers_.back();
  }

  Kernel& kernel_;
  VarSet inside_;
  std::set<uint32_t> stored_;
  Scope scope_;
  std::vector<Value> values_;
  Block fills_;
  std::vector<uint32_t> buffers_;
};

class ColumnPass {
public:
  explicit ColumnPass(Kernel& kernel) : kernel_(kernel) {}

  /// `scope`: of what is added here.
  Block block(const Block& statements, Scope scope) {
    return with_each_replaced(statements, [&](const Stmt& stmt) {
      const auto* loop = std::get_if<For>(&stmt);
      if (loop != nullptr && has<For>(loop->body))
        return shared(*loop, scope);
      return block_of(with_nested_blocks(
          stmt, [&](const Block& inner) { return has<For>(inner) ? block(inner, scope) : inner; }));
    });
  }

private:
  /// A loop, and before it what its rows share.
  Block shared(const For& loop, Scope scope) {
    RowsBelow rows(kernel_, loop, scope);
    Stmt whole = inside(rows.changed(loop, 1, true), scope);
    if (rows.is_empty())
      return block_of(std::move(whole));
    Block result = rows.fills();
    if (const Expr has_digits = rows.has_digits()) {
      // Rows that divide share other values: divisors instead of their reciprocals.
      const auto known = static_cast<std::ptrdiff_t>(rows.fills().size());
      const For slow = rows.changed(loop, 1, false);
      Block divides(rows.fills().begin() + known, rows.fills().end());
      divides.emplace_back(inside(slow, scope));
      result.emplace_back(If{has_digits, block_of(std::move(whole)), std::move(divides)});
    } else
      result.push_back(std::move(whole));
    for (const uint32_t buffer : rows.buffers())
      if (scope == Scope::Private)
        result = block_of(Allocate{buffer, std::move(result)});
    return result;
  }

  For inside(For loop, Scope scope) {
    if (loop.marks.is_parallel)
      scope = Scope::Private;
    // Nothing may come between loops that run as one.
    if (auto* child = loop.joins_child ? std::get_if<For>(&loop.body.front()) : nullptr)
      *child = inside(std::move(*child), scope);
    else
      loop.body = block(loop.body, scope);
    return loop;
  }

  Kernel& kernel_;
};

} // namespace

Kernel row_invariants(Kernel kernel) {
  const Block body = std::exchange(kernel.body, {});
  kernel.body = ColumnPass(kernel).block(body, Scope::Workspace);
  return kernel;
}

} // namespace kawara::kernel
