#include "program/program.h"

#include <fmt/format.h>

#include <set>

namespace kawara::program {

namespace {

class Checker {
public:
  explicit Checker(const Program& program) : program_(program) {}

  std::vector<std::string> run() {
    tensors();
    for (const Expr& e : program_.assumptions)
      affine(e, scalar::kBool, 0, "assumption");
    body(program_.body);
    if (next_ != program_.statements.size())
      broken(fmt::format("{} statements, {} in the body", program_.statements.size(), next_));
    return std::move(broken_);
  }

private:
  void broken(std::string what) { broken_.push_back(std::move(what)); }

  void tensors() {
    std::set<std::string> names;
    for (const Param& p : program_.params)
      if (!names.insert(p.name).second)
        broken(fmt::format("name {} is declared twice", p.name));
    for (const Tensor& t : program_.tensors) {
      if (!names.insert(t.name).second)
        broken(fmt::format("name {} is declared twice", t.name));
      for (const Expr& e : t.shape)
        affine(e, scalar::kIndex, 0, "size of " + t.name);
      if (t.values) {
        affine(t.values->lo, scalar::kIndex, 0, "values of " + t.name);
        affine(t.values->hi, scalar::kIndex, 0, "values of " + t.name);
      }
    }
  }

  void affine(const Expr& e, scalar::Type type, size_t depth, const std::string& what) {
    if (!e)
      return broken(what + " is missing");
    if (e.type() != type)
      broken(fmt::format("{} has type {}", what, scalar::to_string(e.type())));
    if (!scalar::is_quasi_affine(e))
      broken(what + " is not quasi-affine");
    leaves(e, depth, what);
  }

  /// Affine, or read from data, as the value of a DataLoop is: then its loads are looked at as
  /// those of a value.
  void data_index(const Expr& e, size_t depth, const std::string& what) {
    if (!e || (!scalar::reads_data(e) && scalar::as<scalar::Within>(e) == nullptr))
      return affine(e, scalar::kIndex, depth, what);
    if (e.type() != scalar::kIndex)
      broken(fmt::format("{} has type {}", what, scalar::to_string(e.type())));
    leaves(e, depth, what);
  }

  void leaves(const Expr& e, size_t depth, const std::string& what) {
    scalar::visit(e, [&](const Expr& x) {
      if (const auto* it = scalar::as<scalar::Iter>(x); it && it->index >= depth)
        broken(fmt::format("{} uses loop {} of {}", what, it->index, depth));
      if (const auto* p = scalar::as<scalar::Param>(x); p && p->index >= program_.params.size())
        broken(fmt::format("{} uses parameter {}", what, p->index));
      if (const auto* l = scalar::as<scalar::Load>(x))
        load(*l, x.type(), depth, what);
    });
  }

  void load(const scalar::Load& l, scalar::Type type, size_t depth, const std::string& what) {
    if (l.tensor >= program_.tensors.size())
      return broken(fmt::format("{} loads tensor {}", what, l.tensor));
    const Tensor& t = program_.tensors[l.tensor];
    if (l.index.size() != t.shape.size() || type != scalar::Type{t.elem, 1})
      broken(fmt::format("{} loads {} with another rank or type", what, t.name));
    for (const Expr& e : l.index)
      data_index(e, depth, "index of " + t.name);
  }

  void body(const Body& nodes) {
    for (const BodyNode& node : nodes) {
      if (const auto* l = std::get_if<Loop>(&node)) {
        loop(*l);
      } else if (const auto* branch = std::get_if<If>(&node)) {
        affine(branch->cond, scalar::kBool, loops_.size(), "condition");
        body(branch->then);
        body(branch->otherwise);
      } else {
        statement(std::get<StatementRef>(node).statement);
      }
    }
  }

  void loop(const Loop& l) {
    if (l.step == 0)
      broken(fmt::format("loop {} has step 0", l.name));
    affine(l.lo, scalar::kIndex, loops_.size(), "lower bound of " + l.name);
    affine(l.hi, scalar::kIndex, loops_.size(), "upper bound of " + l.name);
    loops_.push_back(l.name);
    body(l.body);
    loops_.pop_back();
  }

  void statement(uint32_t index) {
    if (index != next_++ || index >= program_.statements.size())
      return broken(fmt::format("statement {} is out of order", index));
    const Statement& s = program_.statements[index];
    if (s.name != fmt::format("S{}", index))
      broken(fmt::format("statement {} is called {}", index, s.name));
    if (s.iters != loops_)
      broken(s.name + " names other loops than those around it");
    if (s.tensor >= program_.tensors.size() || !s.value)
      return broken(s.name + " has no target or no value");
    const Tensor& t = program_.tensors[s.tensor];
    if (t.role == Role::Input)
      broken(fmt::format("{} writes input {}", s.name, t.name));
    if (s.index.size() != t.shape.size())
      broken(fmt::format("{} writes {} with {} indices", s.name, t.name, s.index.size()));
    size_t depth = loops_.size();
    if (s.over) {
      data_index(s.over->lo, depth, "lower bound of " + s.over->name);
      data_index(s.over->hi, depth, "upper bound of " + s.over->name);
      ++depth;
    }
    for (const Expr& e : s.index)
      data_index(e, depth, "index of " + s.name);
    if (s.value.type() != scalar::Type{scalar::compute_type(t.elem), 1})
      broken(fmt::format("value of {} has type {}", s.name, scalar::to_string(s.value.type())));
    leaves(s.value, depth, "value of " + s.name);
  }

  const Program& program_;
  std::vector<std::string> broken_;
  std::vector<std::string> loops_;
  size_t next_ = 0;
};

} // namespace

std::vector<std::string> spec(const Program& program) { return Checker(program).run(); }

} // namespace kawara::program
