#include "schedule/schedule.h"

#include "poly/isl/text.h"
#include "support/hash.h"
#include "support/text.h"

namespace kawara::schedule {
namespace {

/// Everything that a program means: sizes, tensors, statements, their iterations and order.
uint64_t hash_of_program(const poly::Scop& scop) {
  uint64_t hash = hash_mix(kHashSeed, static_cast<uint64_t>(scop.numerics));
  for (const program::Param& param : scop.params)
    hash = hash_text(param.name + ";", hash);
  for (const program::Tensor& tensor : scop.tensors) {
    hash = hash_text(tensor.name + ";", hash);
    hash = hash_mix(hash, static_cast<uint64_t>(tensor.role));
    hash = hash_mix(hash, static_cast<uint64_t>(tensor.elem));
    for (const scalar::Expr& extent : tensor.shape)
      hash = hash_mix(hash, scalar::hash_of(extent));
  }
  for (const poly::ScopStatement& statement : scop.statements) {
    hash = hash_mix(hash, statement.text.tensor);
    hash = hash_mix(hash, static_cast<uint64_t>(statement.text.op));
    hash = hash_mix(hash, scalar::hash_of(statement.text.value));
    for (const scalar::Expr& index : statement.text.index)
      hash = hash_mix(hash, scalar::hash_of(index));
    hash = hash_text(poly::text_of(statement.domain), hash);
  }
  return hash_text(poly::print(scop.source_order, poly::names_of_statements(scop)), hash);
}

} // namespace

Schedule initial_schedule(poly::Scop scop) {
  poly::Order order = scop.source_order;
  return {std::move(scop), std::move(order), {}};
}

std::string listing(const Schedule& schedule) {
  std::string text;
  for (const Directive& directive : schedule.applied)
    text += print(directive) + "\n";
  if (!text.empty())
    text += "\n";
  if (!schedule.begun.empty())
    text += "# auto begins with: " + print(schedule.begun) + "\n";
  const std::string loops = poly::print(schedule.order, poly::names_of_statements(schedule.scop));
  for (const std::string_view line : split(trim(loops), '\n'))
    text += "# " + std::string(line) + "\n";
  return text;
}

uint64_t hash_of(const Schedule& schedule) {
  return hash_text(print(schedule.applied), hash_of_program(schedule.scop));
}

} // namespace kawara::schedule
