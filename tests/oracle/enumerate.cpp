#include "oracle/enumerate.h"

#include "oracle/moment.h"
#include "scalar/eval.h"
#include "support/check.h"

#include <algorithm>
#include <map>

namespace kawara::oracle {

using poly::DependenceKind;
using program::Program;
using program::Statement;

namespace {

class Walk {
public:
  Walk(const Program& program, const std::vector<int64_t>& params)
      : program_(program), params_(params) {}

  std::vector<Instance> all() {
    run(program_.body);
    return std::move(found_);
  }

private:
  void run(const program::Body& body) {
    for (const program::BodyNode& node : body) {
      if (const auto* loop = std::get_if<program::Loop>(&node))
        run(*loop);
      else if (const auto* branch = std::get_if<program::If>(&node))
        run(value_of(branch->cond, iters_, params_) != 0 ? branch->then : branch->otherwise);
      else
        found_.push_back({std::get<program::StatementRef>(node).statement, iters_});
    }
  }

  void run(const program::Loop& loop) {
    const int64_t lo = value_of(loop.lo, iters_, params_);
    const int64_t hi = value_of(loop.hi, iters_, params_);
    for (int64_t v = lo; loop.step > 0 ? v < hi : v > hi; v += loop.step) {
      iters_.push_back(v);
      run(loop.body);
      iters_.pop_back();
    }
  }

  const Program& program_;
  const std::vector<int64_t>& params_;
  std::vector<int64_t> iters_;
  std::vector<Instance> found_;
};

isl::set at_params(isl::set domain, const poly::Scop& scop, const std::vector<int64_t>& params) {
  std::string text = "[";
  for (size_t p = 0; p < params.size(); ++p)
    text += (p == 0 ? "" : ", ") + scop.params[p].name;
  text += "] -> { : ";
  for (size_t p = 0; p < params.size(); ++p)
    text += (p == 0 ? "" : " and ") + scop.params[p].name + " = " + std::to_string(params[p]);
  if (params.empty())
    return domain;
  return domain.intersect_params(isl::set(domain.ctx(), text + " }"));
}

std::vector<int64_t> coordinates(const isl::point& point) {
  std::vector<int64_t> values;
  const isl::multi_val vector = point.multi_val();
  for (unsigned d = 0; d < vector.size(); ++d)
    values.push_back(vector.at(static_cast<int>(d)).num_si());
  return values;
}

/// A touch with who made it.
struct Visit {
  size_t instance;
  bool is_write, is_update;
};

DependenceKind kind_of(const Visit& source, const Visit& sink) {
  if (source.is_write)
    return sink.is_write ? DependenceKind::Output : DependenceKind::Flow;
  return DependenceKind::Anti;
}

} // namespace

int64_t value_of(const scalar::Expr& e, const std::vector<int64_t>& iters,
                 const std::vector<int64_t>& params) {
  const auto value = scalar::evaluate_index(e, iters, params);
  KAWARA_CHECK(value, "an index expression has a value");
  return *value;
}

std::vector<Instance> instances_of(const Program& program, const std::vector<int64_t>& params) {
  return Walk(program, params).all();
}

std::vector<Instance> instances_of(const poly::Scop& scop, const std::vector<int64_t>& params) {
  std::vector<Instance> found;
  for (uint32_t s = 0; s < scop.statements.size(); ++s) {
    if (scop.statements[s].is_removed)
      continue;
    at_params(scop.statements[s].domain, scop, params).foreach_point([&](const isl::point& point) {
      found.push_back({s, coordinates(point)});
    });
  }
  const std::vector<Moment> times = moments_of(scop.source_order, found, params);
  std::vector<std::pair<Moment, size_t>> moments;
  for (size_t i = 0; i < found.size(); ++i)
    moments.emplace_back(times[i], i);
  std::sort(moments.begin(), moments.end());
  std::vector<Instance> sorted;
  for (const auto& [moment, i] : moments)
    sorted.push_back(found[i]);
  return sorted;
}

std::vector<Touch> touches_of(const Statement& statement, const std::vector<int64_t>& iters,
                              const std::vector<int64_t>& params) {
  const auto element = [&](uint32_t tensor, const std::vector<scalar::Expr>& index) {
    Element c{tensor, {}};
    for (const scalar::Expr& e : index)
      c.index.push_back(value_of(e, iters, params));
    return c;
  };
  std::vector<Touch> touches;
  scalar::visit(statement.value, [&](const scalar::Expr& e) {
    if (const auto* load = scalar::as<scalar::Load>(e))
      touches.push_back({element(load->tensor, load->index), false, false});
  });
  const bool is_update = statement.op != scalar::ReduceOp::None;
  const Element written = element(statement.tensor, statement.index);
  if (is_update)
    touches.push_back({written, false, true});
  touches.push_back({written, true, is_update});
  return touches;
}

std::vector<Conflict> conflicts_of(const std::vector<Instance>& in_order,
                                   const std::vector<Statement>& statements,
                                   const std::vector<std::vector<Touch>>& touches) {
  std::map<Element, std::vector<Visit>> visits;
  for (size_t i = 0; i < in_order.size(); ++i)
    for (const Touch& touch : touches[i])
      visits[touch.element].push_back({i, touch.is_write, touch.is_update});
  std::vector<Conflict> conflicts;
  for (const auto& [element, there] : visits)
    for (size_t a = 0; a < there.size(); ++a)
      for (size_t b = a + 1; b < there.size(); ++b) {
        const Visit &source = there[a], &sink = there[b];
        if (source.instance == sink.instance || (!source.is_write && !sink.is_write))
          continue;
        const bool is_reduction = source.is_update && sink.is_update &&
                                  statements[in_order[source.instance].statement].op ==
                                      statements[in_order[sink.instance].statement].op;
        conflicts.push_back(
            {source.instance, sink.instance, kind_of(source, sink), is_reduction, element});
      }
  return conflicts;
}

std::vector<Statement> statements_of(const poly::Scop& scop) {
  std::vector<Statement> texts;
  for (const poly::ScopStatement& statement : scop.statements)
    texts.push_back(statement.text);
  return texts;
}

} // namespace kawara::oracle
