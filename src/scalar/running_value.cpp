#include "scalar/running_value.h"

#include "scalar/loads.h"
#include "scalar/reduce_op.h"

#include <algorithm>

namespace kawara::scalar {
namespace {

void add_operands(const Expr& e, BinaryOp op, std::vector<Expr>& out) {
  const auto* n = as<Binary>(e);
  if (n == nullptr || n->op != op)
    return out.push_back(e);
  add_operands(n->lhs, op, out);
  add_operands(n->rhs, op, out);
}

bool is_same_element(const Load& a, const Load& b) {
  return a.tensor == b.tensor && is_same_place(a.index, b.index);
}

/// Does it read another element of the tensor than this one?
bool reads_others(const Expr& e, const Load& element) {
  const auto loads = loads_in(e);
  return std::any_of(loads.begin(), loads.end(), [&](const Load* load) {
    return load->tensor == element.tensor && !is_same_element(*load, element);
  });
}

std::optional<RunningValue> regrouped(const Load& element, const Expr& value, ReduceOp op,
                                      const std::function<bool(const Load&)>& is_old) {
  const BinaryOp binary_op = operation_of(op);
  std::vector<Expr> operands;
  add_operands(value, binary_op, operands);
  const auto old = std::find_if(operands.begin(), operands.end(), [&](const Expr& e) {
    const auto* load = as<Load>(e);
    return load != nullptr && is_old(*load);
  });
  if (operands.size() < 2 || old == operands.end())
    return std::nullopt;
  RunningValue running{op, *old, {}};
  operands.erase(old);
  running.term = operands[0];
  for (size_t n = 1; n < operands.size(); ++n)
    running.term = binary(binary_op, running.term, operands[n]);
  return reads_others(running.term, element) ? std::nullopt : std::optional(std::move(running));
}

} // namespace

std::optional<RunningValue> running_value(const Expr& element, ReduceOp update, const Expr& value,
                                          const std::function<bool(const Load&)>& is_old) {
  if (update != ReduceOp::None && element.type() != value.type())
    return std::nullopt;
  const Load& stored = *as<Load>(element);
  const Expr whole = update == ReduceOp::None ? value : combine(update, element, value);
  if (const auto* difference = as<Binary>(whole);
      difference != nullptr && difference->op == BinaryOp::Sub)
    return regrouped(stored, difference->lhs + unary(UnaryOp::Neg, difference->rhs), ReduceOp::Sum,
                     is_old);
  for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min})
    if (auto running = regrouped(stored, whole, op, is_old))
      return running;
  return std::nullopt;
}

std::optional<RunningValue> running_value(const Expr& element, ReduceOp update, const Expr& value) {
  const Load& stored = *as<Load>(element);
  return running_value(element, update, value, [&](const Load& load) {
    return load.tensor == stored.tensor && !is_same_element(load, stored);
  });
}

} // namespace kawara::scalar
