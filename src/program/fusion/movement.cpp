#include "program/fusion/movement.h"

#include "program/fusion/nests.h"

#include <algorithm>
#include <numeric>

namespace kawara::program::fusion {
namespace {

/// An element of this type as it is, or a constant, or a choice between such values by position.
bool is_moved(const Program& program, scalar::Elem elem, const Expr& e) {
  if (const auto* load = scalar::as<scalar::Load>(e))
    return program.tensors[load->tensor].elem == elem;
  if (const auto* cast = scalar::as<scalar::Cast>(e)) // narrow floats are loaded as wider ones
    return is_moved(program, elem, cast->arg);
  if (const auto* choice = scalar::as<scalar::Select>(e)) {
    bool depends_on_data = false;
    scalar::visit(choice->cond, [&](const Expr& x) {
      depends_on_data = depends_on_data || scalar::as<scalar::Load>(x) != nullptr;
    });
    return !depends_on_data && is_moved(program, elem, choice->then) &&
           is_moved(program, elem, choice->otherwise);
  }
  return scalar::children(e).empty() && scalar::as<scalar::Iter>(e) == nullptr;
}

} // namespace

bool is_movement(const Program& program) {
  return !program.statements.empty() &&
         std::all_of(program.statements.begin(), program.statements.end(), [&](const Statement& s) {
           return s.op == ReduceOp::None &&
                  is_moved(program, program.tensors[s.tensor].elem, s.value);
         });
}

int64_t bytes_written(const Program& program) {
  int64_t bytes = 0;
  for (const Tensor& tensor : program.tensors)
    if (tensor.role == Role::Output || tensor.role == Role::Inout) {
      const Extents extents = extents_of(tensor);
      bytes += std::accumulate(extents.begin(), extents.end(), scalar::bytes_of(tensor.elem),
                               std::multiplies<>());
    }
  return bytes;
}

} // namespace kawara::program::fusion
