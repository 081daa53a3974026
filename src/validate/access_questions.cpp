#include "poly/affine.h"
#include "poly/isl/text.h"
#include "validate/accesses.h"
#include "validate/conditions.h"
#include "validate/example.h"

#include <algorithm>

namespace kawara::validate {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::int_lit;

class Asker {
public:
  Asker(const poly::Scop& scop, Report& report) : scop_(scop), report_(report) {}

  void ask(const Question& question) {
    const auto is_known = [](const Expr& e) { return e && scalar::is_quasi_affine(e); };
    const auto are_known = [&](const std::vector<Expr>& list) {
      return std::all_of(list.begin(), list.end(), is_known);
    };
    const auto& alternatives = question.alternatives;
    if (!are_known(question.points) ||
        !std::all_of(alternatives.begin(), alternatives.end(),
                     [&](const Apart& apart) { return are_known(apart.functions); }))
      return not_compared(question);
    const size_t points = question.points.size(), all = question.loops + points;
    isl::set domain = universe("access", all + (question.lanes > 1 ? 1 : 0));
    for (const Expr& condition : question.conditions)
      if (is_known(condition))
        domain = restricted(domain, condition, scop_.params);
    for (size_t p = 0; p < points; ++p)
      domain = counted(domain, question.loops + p, question.points[p]);
    if (question.lanes > 1)
      domain = counted(domain, all, int_lit(question.lanes));
    const isl::set other = points_at_some_sizes(question.lanes > 1 ? lanes_apart(question, domain)
                                                                   : points_apart(question, domain),
                                                scop_.params);
    if (other.is_empty())
      return;
    const bool is_exact = are_known(question.conditions) && are_known(question.iters) &&
                          std::all_of(alternatives.begin(), alternatives.end(),
                                      [](const Apart& apart) { return apart.is_exact; });
    if (!is_exact)
      not_compared(question);
    else
      report_.faults.push_back(question.what + ": " + example(question, other));
  }

private:
  /// Where no alternative holds.
  isl::set points_apart(const Question& question, const isl::set& domain) const {
    isl::set other = domain;
    for (const Apart& alternative : question.alternatives) {
      isl::set differ = isl::set::empty(domain.space());
      for (const Expr& difference : alternative.functions) {
        const auto number = scalar::constant_of(difference);
        if (number && *number != 0)
          differ = other;
        if (number)
          continue;
        for (const BinaryOp op : {BinaryOp::Lt, BinaryOp::Gt})
          differ =
              differ.unite(restricted(other, binary(op, difference, int_lit(0)), scop_.params));
      }
      other = differ;
    }
    return other;
  }

  /// Points with lanes for which no point agrees.
  isl::set lanes_apart(const Question& question, const isl::set& domain) const {
    isl::set equal = isl::set::empty(domain.space());
    for (const Apart& alternative : question.alternatives) {
      isl::set same = domain;
      for (const Expr& difference : alternative.functions)
        same = restricted(same, binary(BinaryOp::Eq, difference, int_lit(0)), scop_.params);
      equal = equal.unite(same);
    }
    const isl::map lanes = without_points(question, domain);
    return domain.apply(lanes)
        .subtract(equal.apply(lanes))
        .apply(lanes.reverse())
        .intersect(domain);
  }

  void not_compared(const Question& question) {
    const std::string text = question.brief + ": an index is not affine";
    if (std::find(report_.uncompared.begin(), report_.uncompared.end(), text) ==
        report_.uncompared.end())
      report_.uncompared.push_back(text);
  }

  isl::set universe(const std::string& tuple, size_t dimensions) const {
    return poly::statement_universe(scop_.context_owner->get(), scop_.params, tuple, dimensions)
        .intersect_params(scop_.context);
  }

  isl::set counted(const isl::set& domain, size_t dimension, const Expr& count) const {
    const Expr at = scalar::iter(static_cast<uint32_t>(dimension));
    return restricted(restricted(domain, binary(BinaryOp::Ge, at, int_lit(0)), scop_.params),
                      binary(BinaryOp::Lt, at, count), scop_.params);
  }

  isl::map without_points(const Question& question, const isl::set& domain) const {
    std::vector<Expr> kept;
    for (uint32_t d = 0; d < question.loops; ++d)
      kept.push_back(scalar::iter(d));
    kept.push_back(scalar::iter(static_cast<uint32_t>(question.loops + question.points.size())));
    return poly::map_from_exprs(kept, domain, universe("lanes", kept.size()), scop_.params);
  }

  std::string example(const Question& question, const isl::set& other) const {
    if (question.iters.empty())
      return poly::text_of(isl::set(other.sample_point()));
    const program::Statement& text = scop_.statements[question.statement].text;
    const isl::map instances = poly::map_from_exprs(
        question.iters, other, universe(text.name, question.iters.size()), scop_.params);
    return poly::text_of(isl::set(instances.range().sample_point()));
  }

  const poly::Scop& scop_;
  Report& report_;
};

/// The same for questions that are the same, as those of unrolled copies are.
std::vector<uint64_t> key_of(const Question& question) {
  std::vector<uint64_t> key = {question.loops, static_cast<uint64_t>(question.lanes)};
  const auto add = [&](const std::vector<Expr>& list) {
    key.push_back(list.size());
    for (const Expr& e : list)
      key.push_back(e ? scalar::hash_of(e) : 0);
  };
  add(question.points);
  add(question.conditions);
  for (const Apart& apart : question.alternatives)
    add(apart.functions);
  return key;
}

} // namespace

void check_accesses(const poly::Scop& scop, const Accesses& accesses, Report& report) {
  report.uncompared.insert(report.uncompared.end(), accesses.uncompared.begin(),
                           accesses.uncompared.end());
  report.compared = accesses.compared;
  // Where elements are apart by a number there is a fault, or nothing that runs: those first.
  const auto is_far = [](const Question& question) {
    return std::all_of(
        question.alternatives.begin(), question.alternatives.end(), [](const Apart& apart) {
          return std::any_of(apart.functions.begin(), apart.functions.end(),
                             [](const Expr& e) { return scalar::constant_of(e).value_or(0) != 0; });
        });
  };
  std::set<std::vector<uint64_t>> asked;
  for (const bool is_first : {true, false})
    for (const Question& question : accesses.questions)
      if (is_far(question) == is_first && asked.insert(key_of(question)).second)
        Asker(scop, report).ask(question);
}

} // namespace kawara::validate
