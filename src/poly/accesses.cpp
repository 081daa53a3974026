#include "poly/accesses.h"

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
  return map_from_exprs(index, domain, cells, scop.params);
}

/// isl's values cannot be copied while they hold nothing.
isl::map no_relation(const Scop& scop) {
  const isl::set all = statement_universe(scop.context_owner->get(), scop.params, "", 0);
  return isl::map::empty(pairs_of(all, all).space());
}

std::vector<Access> with_relations(const Scop& scop, std::vector<Access> all) {
  for (Access& access : all)
    access.relation = relation_of(scop, access);
  return all;
}

} // namespace

std::vector<Access> bare_accesses(const Scop& scop) {
  std::vector<Access> all;
  const isl::map none = no_relation(scop);
  for (uint32_t s = 0; s < scop.statements.size(); ++s) {
    const ScopStatement& statement = scop.statements[s];
    if (statement.is_removed)
      continue;
    const StmtId id{s};
    const program::Statement& text = statement.text;
    scalar::visit(text.value, [&](const Expr& e) {
      if (const auto* load = scalar::as<scalar::Load>(e))
        all.push_back({id, load->tensor, false, false, load->index, none});
    });
    const bool is_update = text.op != scalar::ReduceOp::None;
    if (is_update)
      all.push_back({id, text.tensor, false, true, text.index, none});
    all.push_back({id, text.tensor, true, is_update, text.index, none});
  }
  return all;
}

isl::map relation_of(const Scop& scop, const Access& access) {
  return relation_of(scop, access.statement, access.tensor, access.index);
}

std::vector<Access> accesses(const Scop& scop) { return with_relations(scop, bare_accesses(scop)); }

std::vector<Access> bare_accesses_of(const Scop& scop, uint32_t tensor) {
  std::vector<Access> all = bare_accesses(scop);
  std::erase_if(all, [&](const Access& access) { return access.tensor != tensor; });
  return all;
}

std::vector<Access> accesses_of(const Scop& scop, uint32_t tensor) {
  return with_relations(scop, bare_accesses_of(scop, tensor));
}

bool are_apart(const Access& a, const Access& b) {
  for (size_t d = 0; d < a.index.size() && d < b.index.size(); ++d) {
    const auto here = scalar::constant_of(a.index[d]), there = scalar::constant_of(b.index[d]);
    if (here && there && *here != *there)
      return true;
  }
  return false;
}

} // namespace kawara::poly
