#include "kernel/math/shared_divisors.h"

#include "kernel/math/quotients.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::UnaryOp;

/// Elements that must share a divisor before it is worth a variable.
constexpr int64_t kFewestElements = 3;

struct SharedDivisor {
  Expr value, reciprocal, scale; ///< scalars; all but the first variables
};

/// The divisor of a quotient of f32 as a scalar; nothing where each lane has its own, or it is a
/// number.
Expr divisor_in(const Expr& e) {
  const auto* quotient = as<scalar::Binary>(e);
  if (quotient == nullptr || quotient->op != BinaryOp::Div || e.type().elem != scalar::Elem::F32)
    return {};
  const auto* lanes = as<scalar::Broadcast>(quotient->rhs);
  const Expr divisor = lanes != nullptr ? lanes->arg : quotient->rhs;
  const bool is_fine = divisor.type().lanes == 1 && as<scalar::FloatLit>(divisor) == nullptr &&
                       as<scalar::FloatLit>(quotient->lhs) == nullptr;
  return is_fine ? divisor : Expr();
}

const Expr* value_in(const Stmt& stmt) {
  if (const auto* store = std::get_if<Store>(&stmt))
    return &store->value;
  if (const auto* define = std::get_if<Define>(&stmt))
    return &define->value;
  if (const auto* assign = std::get_if<Assign>(&stmt))
    return &assign->value;
  return nullptr;
}

class DivisorSharing {
public:
  explicit DivisorSharing(Kernel& kernel) : kernel_(kernel) {}

  Block block(const Block& statements) {
    Block result;
    std::vector<SharedDivisor> known;
    for (size_t k = 0; k < statements.size(); ++k) {
      Stmt stmt = statements[k];
      if (value_in(stmt) != nullptr) {
        const auto count = [&](const Expr& divisor) {
          return elements_divided(statements, k, divisor);
        };
        divide(stmt, known, count, result);
      } else
        stmt = inside(std::move(stmt));
      forget(stmt, known);
      result.push_back(std::move(stmt));
    }
    return result;
  }

private:
  Stmt inside(Stmt stmt) {
    return with_nested_blocks(std::move(stmt), [&](const Block& inner) { return block(inner); });
  }

  /// From statement `first` on, as long as the divisor stays the same.
  static int64_t elements_divided(const Block& statements, size_t first, const Expr& divisor) {
    int64_t elements = 0;
    for (size_t k = first; k < statements.size() && elements < kFewestElements; ++k) {
      const Expr* value = value_in(statements[k]);
      if (value == nullptr)
        break;
      scalar::visit(*value, [&](const Expr& e) {
        const Expr other = divisor_in(e);
        if (other && scalar::equal(other, divisor))
          elements += e.type().lanes;
      });
      if (changes(statements[k], divisor))
        break;
    }
    return elements;
  }

  static bool changes(const Stmt& stmt, const Expr& value) {
    const std::set<uint32_t> stored = buffers_stored_in(stmt);
    bool is_changed = mentions_any(value, vars_set_in(stmt));
    scalar::visit(value, [&](const Expr& e) {
      const auto* load = as<scalar::Load>(e);
      is_changed = is_changed || (load != nullptr && stored.contains(load->tensor));
    });
    return is_changed;
  }

  static void forget(const Stmt& stmt, std::vector<SharedDivisor>& known) {
    // What other threads wrote is seen after a barrier.
    const bool is_barrier = std::holds_alternative<Barrier>(stmt);
    std::erase_if(known, [&](const SharedDivisor& divisor) {
      return changes(stmt, divisor.value) || (is_barrier && has_load(divisor.value));
    });
  }

  template <class Count>
  void divide(Stmt& stmt, std::vector<SharedDivisor>& known, const Count& count, Block& before) {
    const auto changed = [&](const Expr& e) { return replaced(e, known, count, before); };
    if (auto* store = std::get_if<Store>(&stmt))
      store->value = changed(store->value);
    else if (auto* define = std::get_if<Define>(&stmt))
      define->value = changed(define->value);
    else if (auto* assign = std::get_if<Assign>(&stmt))
      assign->value = changed(assign->value);
  }

  template <class Count>
  Expr replaced(const Expr& e, std::vector<SharedDivisor>& known, const Count& count,
                Block& before) {
    // A side of a select that is not chosen may not even be loaded.
    if (is_discontinuous(e) || as<scalar::Select>(e) != nullptr)
      return e;
    const Expr divisor = divisor_in(e);
    std::vector<Expr> kids = scalar::children(e);
    bool is_changed = false;
    for (size_t k = 0; k < (divisor ? 1 : kids.size()); ++k) {
      const Expr now = replaced(kids[k], known, count, before);
      is_changed |= !now.is_same_object(kids[k]);
      kids[k] = now;
    }
    const auto same = std::find_if(known.begin(), known.end(), [&](const SharedDivisor& d) {
      return divisor && scalar::equal(d.value, divisor);
    });
    const bool is_known = same != known.end();
    if (!divisor || (!is_known && count(divisor) < kFewestElements))
      return is_changed ? scalar::with_children(e, std::move(kids)) : e;
    const SharedDivisor shared = is_known ? *same : made(divisor, before);
    if (!is_known)
      known.push_back(shared);
    const auto lanes = [&](const Expr& one) {
      return e.type().lanes == 1 ? one : scalar::broadcast(one, e.type().lanes);
    };
    return kids[0] * lanes(shared.reciprocal) * lanes(shared.scale);
  }

  /// The scale keeps the reciprocal of huge and of denormal divisors normal. A quotient that its
  /// second product rounds once more is zero or infinite.
  SharedDivisor made(const Expr& divisor, Block& before) {
    const scalar::Type type = divisor.type();
    const auto number = [&](double value) { return scalar::float_lit(value, type); };
    const auto define = [&](const char* name, Expr value) {
      const uint32_t var = add_variable(kernel_, name, type);
      before.emplace_back(Define{var, std::move(value)});
      return var_expr(kernel_, var);
    };
    const Expr value = define("divisor", divisor);
    const Expr size = scalar::unary(UnaryOp::Abs, value);
    const Expr scale =
        define("scale",
               scalar::select(scalar::binary(BinaryOp::Lt, number(0x1p126), size), number(0x1p-64),
                              scalar::select(scalar::binary(BinaryOp::Lt, size, number(0x1p-126)),
                                             number(0x1p64), number(1))));
    const Expr reciprocal =
        define("reciprocal", scalar::binary(BinaryOp::Div, number(1), value * scale));
    return {divisor, reciprocal, scale};
  }

  Kernel& kernel_;
};

} // namespace

Kernel shared_divisors(Kernel kernel) {
  if (kernel.numerics != program::Numerics::Rounding)
    return kernel;
  const Block body = std::exchange(kernel.body, {});
  kernel.body = DivisorSharing(kernel).block(body);
  return kernel;
}

} // namespace kawara::kernel
