#include "program/contraction.h"

#include "scalar/loads.h"

namespace kawara::program {

std::optional<Contraction> contraction_of(const Statement& statement) {
  const auto* product = scalar::as<scalar::Binary>(statement.value);
  if (statement.op != scalar::ReduceOp::Sum || product == nullptr ||
      product->op != scalar::BinaryOp::Mul)
    return std::nullopt;
  return Contraction{product->lhs, product->rhs};
}

std::optional<SummedPair> summed_pair_of(const Statement& statement) {
  const auto loads = scalar::loads_in(statement.value);
  if (statement.op != scalar::ReduceOp::Sum || loads.size() != 2)
    return std::nullopt;
  return SummedPair{loads[0], loads[1]};
}

} // namespace kawara::program
