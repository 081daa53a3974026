#include "program/operators/registry.h"

namespace kawara::program::operators {
namespace {
namespace of_loss {

/// Scores [n, classes, rest], one target per [n, rest].
struct Sizes {
  int64_t n = 0, classes = 0, rest = 0;
  Shape targets;
};

std::optional<Sizes> sizes_of(Definition& d) {
  if (!d.need(0) || !d.need(1))
    return std::nullopt;
  const Shape& x = d.shape(0);
  if (x.size() < 2) {
    d.refuse("scores need at least samples and classes");
    return std::nullopt;
  }
  Sizes s{x[0], x[1], product(x, 2, x.size()), {x[0]}};
  s.targets.insert(s.targets.end(), x.begin() + 2, x.end());
  if (d.shape(1) != s.targets)
    d.refuse(fmt::format("the targets have the shape {}, not {}", graph::text_of(d.shape(1)),
                         graph::text_of(s.targets)));
  if (s.classes == 0)
    d.refuse("there is no class");
  if (d.has(2) && d.shape(2) != Shape{s.classes})
    d.refuse("there must be one weight per class");
  d.declare_operand(0, {s.n, s.classes, s.rest});
  d.declare_operand(1, {s.n, s.rest});
  return d.is_settled() ? std::nullopt : std::optional(s);
}

/// The negative score of each target's class, weighted; then all of them, their sum or their mean.
/// `scores` names a tensor [n, c, r].
void add_loss(Definition& d, const Sizes& s, const std::string& scores) {
  const std::string reduction = d.word("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return d.refuse("attribute `reduction` must be none, sum or mean");
  d.output(d.type(0), reduction == "none" ? s.targets : Shape{});
  // A target that is no class counts for nothing.
  const std::string target = fmt::format("max(min(X1[n, r], {}), 0)", s.classes - 1);
  const std::string weight = d.has(2) ? "X2[" + target + "]" : "1.0";
  std::string is_target = fmt::format("X1[n, r] >= 0 and X1[n, r] < {}", s.classes);
  if (d.has_attribute("ignore_index"))
    is_target += fmt::format(" and X1[n, r] != {}", d.integer("ignore_index", 0));
  const std::string loss = reduction == "none" ? "Y0" : "L";
  if (reduction == "none")
    d.declare_output(0, {s.n, s.rest});
  else
    d.temp("L", d.type(0) == DataType::F64 ? "f64" : "f32", {s.n, s.rest});
  d.line("{}[n, r] = select({}, -{}[n, {}, r] * {}, 0.0)", loss, is_target, scores, target, weight);
  if (reduction == "sum")
    return d.line("Y0 = sum((n, r), L[n, r])");
  if (reduction == "none")
    return;
  d.temp("T", "f32", {});
  d.temp("W", "f32", {});
  d.temp("V", "f32", {s.n, s.rest});
  d.line("V[n, r] = select({}, {}, 0.0)", is_target, weight);
  d.line("T = sum((n, r), L[n, r])");
  d.line("W = sum((n, r), V[n, r])");
  d.line("Y0 = T / W");
}

void negative_log_likelihood(Definition& d) {
  if (const auto s = sizes_of(d))
    add_loss(d, *s, "X0");
}

void softmax_cross_entropy(Definition& d) {
  const auto s = sizes_of(d);
  if (!s)
    return;
  const std::string type = d.type(0) == DataType::F64 ? "f64" : "f32";
  d.temp("M", type, {s->n, s->rest});
  d.temp("S", type, {s->n, s->rest});
  const std::string scores = d.wants(1) ? "Y1" : "P";
  d.line("M[n, r] = max(c, X0[n, c, r])");
  d.line("S[n, r] = sum(c, exp(X0[n, c, r] - M[n, r]))");
  d.line("{}[n, c, r] = X0[n, c, r] - M[n, r] - log(S[n, r])", scores);
  add_loss(d, *s, scores);
  if (d.wants(1)) {
    d.output(d.type(0), d.shape(0));
    d.declare_output(1, {s->n, s->classes, s->rest});
  } else {
    d.temp("P", type, {s->n, s->classes, s->rest});
  }
}

constexpr Operator kAll[] = {{"NegativeLogLikelihoodLoss", negative_log_likelihood},
                             {"SoftmaxCrossEntropyLoss", softmax_cross_entropy}};

} // namespace of_loss
} // namespace

std::span<const Operator> loss_operators() { return of_loss::kAll; }

} // namespace kawara::program::operators
