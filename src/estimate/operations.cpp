#include "estimate/operations.h"

#include <algorithm>
#include <optional>

namespace kawara::estimate {
namespace {

using scalar::as;
using scalar::Elem;
using scalar::Expr;

bool is_alike(Elem a, Elem b) {
  return scalar::is_float(a) == scalar::is_float(b) &&
         scalar::is_integer(a) == scalar::is_integer(b);
}

/// The type that a value has before it is widened; nothing for literals, which take that of the
/// other side.
std::optional<Elem> source_type(const Expr& e) {
  if (as<scalar::IntLit>(e) != nullptr || as<scalar::FloatLit>(e) != nullptr)
    return std::nullopt;
  const Elem own = e.type().elem;
  if (const auto* cast = as<scalar::Cast>(e)) {
    const auto inner = source_type(cast->arg);
    const bool is_widened =
        inner && is_alike(*inner, own) && scalar::bytes_of(*inner) <= scalar::bytes_of(own);
    return inner && !is_widened ? own : inner;
  }
  if (as<scalar::Load>(e) != nullptr || as<scalar::Iter>(e) != nullptr ||
      as<scalar::Param>(e) != nullptr || as<scalar::Var>(e) != nullptr)
    return own;
  std::optional<Elem> widest;
  for (const Expr& child : scalar::children(e)) {
    const auto of_child = source_type(child);
    if (of_child && is_alike(*of_child, own) &&
        (!widest || scalar::bytes_of(*of_child) > scalar::bytes_of(*widest)))
      widest = of_child;
  }
  return widest;
}

void add(OperationsByType& to, const OperationsByType& more) {
  for (const auto& [elem, count] : more)
    to[elem] += count;
}

double sum_of(const OperationsByType& operations) {
  double sum = 0;
  for (const auto& [elem, count] : operations)
    sum += count;
  return sum;
}

bool is_arithmetic(const Expr& e) {
  const auto* binary = as<scalar::Binary>(e);
  if ((binary == nullptr || binary->op >= scalar::BinaryOp::Lt) && as<scalar::Unary>(e) == nullptr)
    return false;
  const Elem elem = e.type().elem;
  return scalar::is_float(elem) || (scalar::is_integer(elem) && is_data(e));
}

double count_if(const OperationsByType& operations, bool (*belongs)(Elem)) {
  double sum = 0;
  for (const auto& [elem, count] : operations)
    sum += belongs(elem) ? count : 0;
  return sum;
}

} // namespace

bool is_data(const Expr& e) {
  if (as<scalar::Load>(e) != nullptr)
    return true;
  const std::vector<Expr> inner = scalar::children(e);
  return std::any_of(inner.begin(), inner.end(), is_data);
}

Elem operand_type(const Expr& e) { return source_type(e).value_or(e.type().elem); }

OperationsByType operations_of(const Expr& e, scalar::ReduceOp update) {
  OperationsByType operations;
  if (const auto* choice = as<scalar::Select>(e)) {
    const OperationsByType then = operations_of(choice->then),
                           otherwise = operations_of(choice->otherwise);
    operations = operations_of(choice->cond);
    add(operations, sum_of(then) >= sum_of(otherwise) ? then : otherwise);
  } else if (as<scalar::Load>(e) == nullptr) {
    for (const Expr& child : scalar::children(e))
      add(operations, operations_of(child));
  }
  if (is_arithmetic(e))
    operations[operand_type(e)] += 1;
  const Elem elem = e.type().elem;
  if (update != scalar::ReduceOp::None && (scalar::is_float(elem) || scalar::is_integer(elem)))
    operations[operand_type(e)] += 1;
  return operations;
}

double floats_of(const OperationsByType& operations) {
  return count_if(operations, scalar::is_float);
}

double integers_of(const OperationsByType& operations) {
  return count_if(operations, scalar::is_integer);
}

} // namespace kawara::estimate
