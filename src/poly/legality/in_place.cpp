#include "poly/legality/in_place.h"

#include "poly/legality/dependences.h"
#include "scalar/loads.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::poly {
namespace {

using program::Program;

bool has_same_elements(const program::Tensor& a, const program::Tensor& b) {
  return a.elem == b.elem &&
         std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end(), scalar::equal);
}

bool reads(const program::Statement& statement, uint32_t tensor) {
  bool found = statement.tensor == tensor && statement.op != scalar::ReduceOp::None;
  program::visit_exprs(statement, [&](const scalar::Expr& root) {
    for (const scalar::Load* load : scalar::loads_in(root))
      found = found || load->tensor == tensor;
  });
  return found;
}

/// The program without tensor `from`, whose elements are those of `to`.
Program with_one_tensor(Program program, uint32_t from, uint32_t to) {
  program.tensors[to].role = program::Role::Inout;
  program.tensors.erase(program.tensors.begin() + from);
  const auto number = [&](uint32_t tensor) {
    const uint32_t other = tensor == from ? to : tensor;
    return other > from ? other - 1 : other;
  };
  for (program::Statement& statement : program.statements) {
    statement.tensor = number(statement.tensor);
    program::map_exprs(statement, [&](const scalar::Expr& root) {
      return scalar::rewrite(root, [&](const scalar::Expr& e) {
        if (const auto* n = scalar::as<scalar::Within>(e))
          return scalar::within(n->index, n->extent, number(n->tensor), n->dim);
        const auto* load = scalar::as<scalar::Load>(e);
        return load == nullptr ? scalar::Expr()
                               : scalar::load(number(load->tensor), load->index, e.type());
      });
    });
  }
  return program;
}

std::string clash(const Scop& scop, const Dependence& d) {
  const bool is_read_first = d.kind == DependenceKind::Anti;
  const std::string& reader = scop[is_read_first ? d.source : d.sink].text.name;
  const std::string& writer = scop[is_read_first ? d.sink : d.source].text.name;
  return fmt::format("{} reads elements {} another iteration{} writes them", reader,
                     is_read_first ? "before" : "after", reader == writer ? "" : " of " + writer);
}

} // namespace

Result<Program, std::string> in_place(const Program& program, uint32_t operand, uint32_t result) {
  if (!has_same_elements(program.tensors[operand], program.tensors[result]))
    return fail(std::string("they have other shapes or types"));
  for (const program::Statement& statement : program.statements)
    if (reads(statement, result))
      return fail(statement.name + " reads the result");
  const auto apart = scop_from_program(program, make_context());
  if (!apart || std::count(apart->zeroed_outputs.begin(), apart->zeroed_outputs.end(), result) != 0)
    return fail(std::string("some elements of the result are not written"));
  Program together = with_one_tensor(program, operand, result);
  const auto scop = scop_from_program(together, make_context());
  if (!scop)
    return fail(std::string("the program in one memory is refused"));
  const uint32_t shared = result > operand ? result - 1 : result;
  for (const Dependence& d : scop->dependences)
    if (d.tensor == shared && d.kind != DependenceKind::Output)
      return fail(clash(*scop, d));
  return together;
}

} // namespace kawara::poly
