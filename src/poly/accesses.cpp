#include "poly/accesses.h"

#include "poly/affine.h"
#include "poly/isl/dimensions.h"
#include "poly/scop.h"

#include <algorithm>

namespace kawara::poly {
namespace {

/// { S[iters] -> T[index] } on the statement's domain.
isl::map relation_of(const Scop& scop, StmtId id, uint32_t tensor, const std::vector<Expr>& index) {
  const isl::set& domain = scop[id].domain;
  const isl::set elements =
      statement_universe(domain.ctx(), scop.params, scop.tensors[tensor].name, index.size());
  const program::Statement& text = scop[id].text;
  const auto is_known = [&](const Expr& e) { return is_known_index(e, text); };
  if (std::all_of(index.begin(), index.end(), is_known))
    return map_from_exprs(index, domain, elements, scop.params);
  // What is not known is any element of its dimension.
  isl::map touched = pairs_of(domain, elements);
  isl::set inside = elements;
  for (uint32_t d = 0; d < index.size(); ++d) {
    const isl::pw_aff at = dimension_function(elements, d);
    if (is_known(index[d]))
      touched = touched.intersect(pw_aff_from_expr(index[d], domain, scop.params)
                                      .as_map()
                                      .apply_range(at.as_map().reverse()));
    else
      inside = inside.intersect(at.ge_set(at.scale(0)))
                   .intersect(at.lt_set(
                       pw_aff_from_expr(scop.tensors[tensor].shape[d], elements, scop.params)));
  }
  return touched.intersect_range(inside);
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
    const auto add = [&](uint32_t tensor, bool is_write, bool is_update,
                         const std::vector<Expr>& index) {
      const bool is_sure =
          !text.over && std::all_of(index.begin(), index.end(),
                                    [&](const Expr& e) { return is_known_index(e, text); });
      all.push_back({id, tensor, is_write, is_update, index, none, is_sure});
    };
    const auto add_loads = [&](const Expr& value) {
      scalar::visit(value, [&](const Expr& e) {
        if (const auto* load = scalar::as<scalar::Load>(e))
          add(load->tensor, false, false, load->index);
      });
    };
    if (text.over) {
      add_loads(text.over->lo);
      add_loads(text.over->hi);
    }
    for (const Expr& e : text.index)
      add_loads(e);
    add_loads(text.value);
    const bool is_update = text.op != scalar::ReduceOp::None;
    if (is_update)
      add(text.tensor, false, true, text.index);
    add(text.tensor, true, is_update, text.index);
  }
  return all;
}

DependenceKind kind_of(const Access& source, const Access& sink) {
  if (!source.is_write)
    return DependenceKind::Anti;
  return sink.is_write ? DependenceKind::Output : DependenceKind::Flow;
}

bool commute(const Scop& scop, const Access& a, const Access& b) {
  return a.is_update && b.is_update && scop[a.statement].text.op == scop[b.statement].text.op;
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

bool is_known_index(const Expr& e, const program::Statement& text) {
  bool is_known = true;
  scalar::visit(e, [&](const Expr& n) {
    const auto* it = scalar::as<scalar::Iter>(n);
    is_known = is_known && scalar::as<scalar::Load>(n) == nullptr &&
               (it == nullptr || it->index < text.iters.size());
  });
  return is_known;
}

} // namespace kawara::poly
