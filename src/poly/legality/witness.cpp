#include "poly/legality/witness.h"

#include "poly/accesses.h"
#include "poly/affine.h"
#include "poly/isl/dimensions.h"
#include "poly/legality/legality.h"
#include "scalar/eval.h"
#include "scalar/loads.h"
#include "support/check.h"

#include <algorithm>
#include <tuple>

namespace kawara::poly {
namespace {

std::vector<std::string> parameter_names(const Scop& scop) {
  std::vector<std::string> names;
  for (const program::Param& p : scop.params)
    names.push_back(p.name);
  return names;
}

struct Example {
  std::vector<int64_t> params, source, sink;
  size_t violation = 0;
};

/// First pair of a violation: smallest parameters, then source, then sink.
Example first_example(const Scop& scop, const Violation& violation, size_t index) {
  const std::vector<std::string> names = parameter_names(scop);
  Example example;
  example.violation = index;
  example.params = first_point(parameters_as_set(violation.pairs.domain().params(), names));
  isl::map at_params = violation.pairs;
  for (size_t k = 0; k < names.size(); ++k)
    at_params = fix_parameter(at_params, names[k], example.params[k]);
  const isl::map fixed = at_params.project_out_all_params();
  const std::vector<int64_t> both = first_point(fixed.wrap().flatten());
  const size_t n = scop[scop.dependences[violation.dependence].source].text.iters.size();
  example.source.assign(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(n));
  example.sink.assign(both.begin() + static_cast<std::ptrdiff_t>(n), both.end());
  return example;
}

/// Fills in the loop at which the two iterations part under `order`.
void find_parting(const Scop& scop, const Order& order, Illegal& illegal) {
  const Dependence& d = scop.dependences[illegal.dependence];
  const std::vector<LoopId> path = path_of(order, d.source);
  const size_t shared = meet(order, d.source, d.sink).shared_loops;
  for (size_t k = 0; k < shared; ++k) {
    const int64_t a = value_at(order.rows[d.source.value][k], illegal.params, illegal.source);
    const int64_t b = value_at(order.rows[d.sink.value][k], illegal.params, illegal.sink);
    if (a != b) {
      illegal.loop = path[k];
      illegal.parts_at_loop = true;
      return;
    }
  }
}

std::string distance_entry(const isl::map& relation, const isl::pw_aff& source,
                           const isl::pw_aff& sink) {
  const isl::map moved = relation.apply_domain(source.as_map()).apply_range(sink.as_map());
  const isl::set difference = moved.deltas();
  const auto low = dimension_min(difference, 0);
  const auto high = dimension_max(difference, 0);
  const auto with_sign = [](int64_t v) { return (v > 0 ? "+" : "") + std::to_string(v); };
  if (low && high && *low == *high)
    return with_sign(*low);
  if (low && *low >= 0)
    return ">=" + std::to_string(*low);
  if (high && *high <= 0)
    return "<=" + std::to_string(*high);
  return low && high ? with_sign(*low) + ".." + with_sign(*high) : "*";
}

/// Indices through which a statement reads or writes a tensor, in the order of `accesses`.
std::vector<std::vector<Expr>> elements_of(const Scop& scop, StmtId id, uint32_t tensor,
                                           bool writes) {
  const program::Statement& text = scop[id].text;
  std::vector<std::vector<Expr>> elements;
  if (!writes)
    program::visit_exprs(text, [&](const Expr& root) {
      for (const scalar::Load* load : scalar::loads_in(root))
        if (load->tensor == tensor)
          elements.push_back(load->index);
    });
  if (text.tensor == tensor && (writes || text.op != scalar::ReduceOp::None))
    elements.push_back(text.index);
  return elements;
}

} // namespace

int64_t value_at(const Expr& e, const std::vector<int64_t>& params,
                 const std::vector<int64_t>& iters) {
  if (const auto value = scalar::evaluate_index(e, iters, params))
    return *value;
  const auto literals = [](const std::vector<int64_t>& values) {
    std::vector<Expr> out;
    for (const int64_t v : values)
      out.push_back(scalar::int_lit(v));
    return out;
  };
  const Expr value = scalar::simplify(
      scalar::substitute_params(scalar::substitute_iters(e, literals(iters)), literals(params)));
  const auto constant = scalar::constant_of(value);
  KAWARA_CHECK(constant, "an index expression that folds to a number");
  return *constant;
}

std::vector<std::string> distance_text(const Scop& scop, const Dependence& d) {
  const size_t shared = meet(scop.source_order, d.source, d.sink).shared_loops;
  const auto source_rows = row_functions(scop, scop.source_order, d.source);
  const auto sink_rows = row_functions(scop, scop.source_order, d.sink);
  std::vector<std::string> distance;
  for (size_t k = 0; k < shared; ++k)
    distance.push_back(distance_entry(d.relation, source_rows[k], sink_rows[k]));
  return distance;
}

std::vector<int64_t> shared_element(const Scop& scop, const Dependence& d,
                                    const std::vector<int64_t>& params,
                                    const std::vector<int64_t>& source,
                                    const std::vector<int64_t>& sink) {
  const auto evaluate = [&](const std::vector<Expr>& index, const std::vector<int64_t>& at,
                            StmtId id) {
    std::vector<int64_t> element;
    for (const Expr& e : index)
      element.push_back(is_known_index(e, scop[id].text) ? value_at(e, params, at) : kAnyElement);
    return element;
  };
  const auto may_meet = [](int64_t x, int64_t y) {
    return x == y || x == kAnyElement || y == kAnyElement;
  };
  for (const auto& a : elements_of(scop, d.source, d.tensor, d.kind != DependenceKind::Anti))
    for (const auto& b : elements_of(scop, d.sink, d.tensor, d.kind != DependenceKind::Flow)) {
      std::vector<int64_t> element = evaluate(a, source, d.source);
      const std::vector<int64_t> other = evaluate(b, sink, d.sink);
      if (!std::equal(element.begin(), element.end(), other.begin(), other.end(), may_meet))
        continue;
      std::transform(element.begin(), element.end(), other.begin(), element.begin(),
                     [](int64_t x, int64_t y) { return x == y ? x : kAnyElement; });
      return element;
    }
  KAWARA_CHECK(false, "two accesses of the dependence that meet in an element");
}

Illegal first_witness(const Scop& scop, const Order& order,
                      const std::vector<Violation>& violations) {
  std::vector<Example> examples;
  for (size_t k = 0; k < violations.size(); ++k)
    examples.push_back(first_example(scop, violations[k], k));
  const auto rank = [&](const Example& e) {
    const Dependence& d = scop.dependences[violations[e.violation].dependence];
    return std::tuple(e.params, e.source, d.source.value, e.sink, d.sink.value,
                      static_cast<int>(d.kind), e.violation);
  };
  const Example& first =
      *std::min_element(examples.begin(), examples.end(),
                        [&](const auto& a, const auto& b) { return rank(a) < rank(b); });

  const Violation& violation = violations[first.violation];
  const Dependence& d = scop.dependences[violation.dependence];
  Illegal illegal;
  illegal.broken = violation.broken;
  illegal.dependence = violation.dependence;
  illegal.loop = violation.loop;
  illegal.parts_at_loop = violation.broken != Broken::Order;
  illegal.params = first.params;
  illegal.source = first.source;
  illegal.sink = first.sink;
  illegal.element = shared_element(scop, d, first.params, first.source, first.sink);
  illegal.condition = condition_text(violation.pairs.domain().params(), scop.context);
  illegal.distance = distance_text(scop, d);
  if (violation.broken == Broken::Order)
    find_parting(scop, order, illegal);
  return illegal;
}

} // namespace kawara::poly
