#include "poly/syntactic/equalities.h"

#include "poly/isl/dimensions.h"
#include "poly/syntactic/domain_facts.h"

#include <algorithm>

namespace kawara::poly {

using scalar::BinaryOp;

namespace {

/// Notes that iterator i of the source and j of the sink are the same.
void add_counterpart(Equalities& equalities, uint32_t i, uint32_t j) {
  const Expr own = canonical(scalar::iter(i), equalities.source);
  if (const auto* it = scalar::as<scalar::Iter>(own);
      it != nullptr && !equalities.counterparts[it->index])
    equalities.counterparts[it->index] = scalar::iter(j);
}

/// e where the row is e // size.
struct Blocks {
  Expr of;
  int64_t size = 0;
};

std::optional<Blocks> blocks_in(const Expr& row) {
  const auto* b = scalar::as<scalar::Binary>(row);
  const auto size =
      b != nullptr && b->op == BinaryOp::FloorDiv ? scalar::constant_of(b->rhs) : std::nullopt;
  return size && *size > 0 ? std::optional(Blocks{b->lhs, *size}) : std::nullopt;
}

bool is_place(const Expr& row, const Blocks& blocks) {
  return scalar::equal(row, scalar::simplify(scalar::binary(BinaryOp::Mod, blocks.of,
                                                            scalar::int_lit(blocks.size))));
}

/// Both as one, when the inner one counts within the blocks of the outer one.
std::optional<Step> joined(const Step& outer, const Step& inner) {
  const auto source = blocks_in(outer.source), sink = blocks_in(outer.sink);
  if (!source || !sink || source->size != sink->size || !is_place(inner.source, *source) ||
      !is_place(inner.sink, *sink))
    return std::nullopt;
  return Step{source->of, sink->of, outer.first, inner.last};
}

} // namespace

Equalities equalities_of_pairs(const Scop& scop, const isl::map& pairs, StmtId source,
                               StmtId sink) {
  const auto &from = scop[source].text.iters, &to = scop[sink].text.iters;
  Equalities equalities{source,
                        sink,
                        domain_facts_of(scop[source])->definitions(),
                        domain_facts_of(scop[sink])->definitions(),
                        std::vector<Expr>(from.size()),
                        {}};
  for (const auto& [i, j] : plainly_equal_dims(pairs))
    add_counterpart(equalities, i, j);
  for (uint32_t i = 0; i < from.size(); ++i)
    for (uint32_t j = 0; j < to.size() && !equalities.counterparts[i] && !equalities.source[i]; ++j)
      if (from[i] == to[j] && has_equal_dims(pairs, i, j))
        add_counterpart(equalities, i, j);
  return equalities;
}

Equalities no_equalities_of(const Scop& scop, StmtId source, StmtId sink) {
  const size_t from = scop[source].text.iters.size(), to = scop[sink].text.iters.size();
  return {source, sink, std::vector<Expr>(from), std::vector<Expr>(to), std::vector<Expr>(from),
          {}};
}

Equalities equalities_of_elements(const Scop& scop, const Access& source, const Access& sink) {
  Equalities equalities = equalities_of_elements(
      source.index, sink.index, domain_facts_of(scop[source.statement])->definitions(),
      domain_facts_of(scop[sink.statement])->definitions());
  equalities.from = source.statement;
  equalities.to = sink.statement;
  return equalities;
}

Equalities equalities_of_elements(const std::vector<Expr>& source_index,
                                  const std::vector<Expr>& sink_index,
                                  std::vector<Expr> source_definitions,
                                  std::vector<Expr> sink_definitions) {
  Equalities equalities{{}, {}, std::move(source_definitions), std::move(sink_definitions), {}, {}};
  equalities.counterparts.resize(equalities.source.size());
  const auto is_known = [](const Expr& e, size_t iters) {
    bool known = !scalar::reads_data(e);
    scalar::visit(e, [&](const Expr& n) {
      const auto* it = scalar::as<scalar::Iter>(n);
      known = known && (it == nullptr || it->index < iters);
    });
    return known;
  };
  for (size_t d = 0; d < source_index.size() && d < sink_index.size(); ++d) {
    if (!is_known(source_index[d], equalities.source.size()) ||
        !is_known(sink_index[d], equalities.sink.size()))
      continue;
    const Expr one = canonical(source_index[d], equalities.source);
    const Expr other = canonical(sink_index[d], equalities.sink);
    const auto *i = scalar::as<scalar::Iter>(one), *j = scalar::as<scalar::Iter>(other);
    if (i != nullptr && j != nullptr)
      add_counterpart(equalities, i->index, j->index);
    equalities.equal.emplace_back(one, other);
  }
  return equalities;
}

bool is_tied(const Equalities& equalities, const Expr& of_source, const Expr& of_sink) {
  const Expr one = canonical(of_source, equalities.source),
             other = canonical(of_sink, equalities.sink);
  for (const auto& [a, b] : equalities.equal)
    if (scalar::equal(a, one) && scalar::equal(b, other))
      return true;
  bool has_duplicates = true;
  scalar::visit(one, [&](const Expr& e) {
    if (const auto* it = scalar::as<scalar::Iter>(e))
      has_duplicates = has_duplicates && equalities.counterparts[it->index];
  });
  return has_duplicates &&
         scalar::equal(
             canonical(scalar::substitute_iters(one, equalities.counterparts), equalities.sink),
             other);
}

std::vector<Step> steps_of(const Order& order, const Equalities& equalities, StmtId source,
                           StmtId sink, size_t loops, const std::vector<bool>& is_apart) {
  const auto &from = order.rows[source.value], &to = order.rows[sink.value];
  const auto may_join = [&](const Step& step) {
    return is_apart.empty() || (!is_apart[step.first] && !is_apart[step.last]);
  };
  std::vector<Step> steps;
  for (size_t k = 0; k < loops; ++k) {
    if (is_tied(equalities, from[k], to[k]))
      continue;
    Step step{from[k], to[k], k, k};
    while (!steps.empty() && may_join(step) && may_join(steps.back())) {
      const auto both = joined(steps.back(), step);
      if (!both)
        break;
      step = *both;
      steps.pop_back();
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

} // namespace kawara::poly
