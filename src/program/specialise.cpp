#include "program/program.h"

namespace kawara::program {

namespace {

class Specialiser {
public:
  explicit Specialiser(const std::vector<std::optional<int64_t>>& values) {
    for (const auto& v : values)
      params_.push_back(v ? scalar::int_lit(*v) : Expr{});
  }

  // Indices, bounds, sizes and conditions: folded, as their shape matters to nobody.
  void index(Expr& e) const { e = scalar::simplify(scalar::substitute_params(e, params_)); }
  // Values keep every operation that was written.
  void value(Expr& e) const { e = scalar::substitute_params(e, params_); }

  void body(Body& nodes) const {
    for (BodyNode& node : nodes) {
      if (auto* loop = std::get_if<Loop>(&node)) {
        index(loop->lo);
        index(loop->hi);
        body(loop->body);
      } else if (auto* branch = std::get_if<If>(&node)) {
        index(branch->cond);
        body(branch->then);
        body(branch->otherwise);
      }
    }
  }

private:
  std::vector<Expr> params_;
};

} // namespace

Program specialise(const Program& program, const std::vector<std::optional<int64_t>>& values) {
  const Specialiser fixed(values);
  Program result = program;
  for (Tensor& t : result.tensors) {
    for (Expr& e : t.shape)
      fixed.index(e);
    if (t.values) {
      fixed.index(t.values->lo);
      fixed.index(t.values->hi);
    }
  }
  for (Expr& e : result.assumptions)
    fixed.index(e);
  // Stated once more as facts, so that proofs and examples are about these sizes only.
  for (uint32_t p = 0; p < values.size(); ++p)
    if (values[p])
      result.assumptions.push_back(
          scalar::binary(scalar::BinaryOp::Eq, scalar::param(p), scalar::int_lit(*values[p])));
  for (Statement& s : result.statements) {
    for (Expr& e : s.index)
      fixed.index(e);
    fixed.value(s.value);
    if (s.over) {
      fixed.index(s.over->lo);
      fixed.index(s.over->hi);
    }
  }
  fixed.body(result.body);
  return result;
}

} // namespace kawara::program
