#include "poly/affine.h"
#include "poly/isl/dimensions.h"
#include "poly/scop.h"

namespace kawara::poly {
namespace {

/// { S[iters] -> T[index] } on the statement's domain.
isl::map relation_of(const Scop& scop, StmtId id, uint32_t tensor, const std::vector<Expr>& index) {
  const isl::set& domain = scop[id].domain;
  const isl::set cells =
      statement_universe(domain.ctx(), scop.params, scop.tensors[tensor].name, index.size());
  if (index.empty())
    return pairs_of(domain, cells);
  isl::pw_aff_list functions(domain.ctx(), static_cast<int>(index.size()));
  for (const Expr& e : index)
    functions = functions.add(pw_aff_from_expr(e, domain, scop.params));
  const isl::space space = pairs_of(domain, cells).space();
  return isl::multi_pw_aff(space, functions).as_map().intersect_domain(domain);
}

Access access_of(const Scop& scop, StmtId id, uint32_t tensor, std::vector<Expr> index,
                 bool is_write, bool is_update) {
  Access access;
  access.statement = id;
  access.tensor = tensor;
  access.is_write = is_write;
  access.is_update = is_update;
  access.relation = relation_of(scop, id, tensor, index);
  access.index = std::move(index);
  return access;
}

} // namespace

std::vector<Access> accesses(const Scop& scop) {
  std::vector<Access> all;
  for (uint32_t s = 0; s < scop.statements.size(); ++s) {
    const ScopStatement& statement = scop.statements[s];
    if (statement.is_removed)
      continue;
    const StmtId id{s};
    const program::Statement& text = statement.text;
    scalar::visit(text.value, [&](const Expr& e) {
      if (const auto* load = scalar::as<scalar::Load>(e))
        all.push_back(access_of(scop, id, load->tensor, load->index, false, false));
    });
    const bool is_update = text.op != scalar::ReduceOp::None;
    if (is_update)
      all.push_back(access_of(scop, id, text.tensor, text.index, false, true));
    all.push_back(access_of(scop, id, text.tensor, text.index, true, is_update));
  }
  return all;
}

} // namespace kawara::poly
