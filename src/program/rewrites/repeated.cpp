#include "program/rewrites/repeated.h"

#include <algorithm>

namespace kawara::program {
namespace {

class Repeater {
public:
  Repeater(const Program& program, const std::set<uint32_t>& own) : program_(program), own_(own) {
    for (uint32_t t = 0; t < program.tensors.size(); ++t)
      if (program.tensors[t].role == Role::Temp)
        own_.insert(t);
    const auto is_taken = [&](const std::string& name) {
      const auto has_it = [&](const auto& thing) { return thing.name == name; };
      return std::any_of(program.params.begin(), program.params.end(), has_it) ||
             std::any_of(program.tensors.begin(), program.tensors.end(), has_it) ||
             std::any_of(program.statements.begin(), program.statements.end(), [&](const auto& s) {
               return std::find(s.iters.begin(), s.iters.end(), name) != s.iters.end();
             });
    };
    while (is_taken(name_))
      name_ += "p";
  }

  Program made(int64_t times) const {
    Program result = program_;
    for (const uint32_t t : own_)
      result.tensors[t].shape.insert(result.tensors[t].shape.begin(), scalar::int_lit(times));
    for (Statement& statement : result.statements) {
      statement.iters.insert(statement.iters.begin(), name_);
      for (Expr& index : statement.index)
        index = moved(index);
      if (own_.contains(statement.tensor))
        statement.index.insert(statement.index.begin(), scalar::iter(0));
      statement.value = moved(statement.value);
    }
    Loop around;
    around.name = name_;
    around.lo = scalar::int_lit(0);
    around.hi = scalar::int_lit(times);
    around.body = moved(program_.body);
    result.body = {std::move(around)};
    return result;
  }

private:
  /// One loop further inside.
  Expr moved(const Expr& value) const {
    return scalar::rewrite(value, [&](const Expr& e) {
      if (const auto* iter = scalar::as<scalar::Iter>(e))
        return scalar::iter(iter->index + 1);
      const auto* load = scalar::as<scalar::Load>(e);
      if (load == nullptr || !own_.contains(load->tensor))
        return Expr();
      std::vector<Expr> index = load->index;
      index.insert(index.begin(), scalar::iter(0));
      return scalar::load(load->tensor, std::move(index), e.type());
    });
  }

  Body moved(const Body& body) const {
    Body result;
    for (const BodyNode& node : body) {
      if (const auto* loop = std::get_if<Loop>(&node)) {
        Loop inner = *loop;
        inner.lo = moved(loop->lo);
        inner.hi = moved(loop->hi);
        inner.body = moved(loop->body);
        result.emplace_back(std::move(inner));
      } else if (const auto* branch = std::get_if<If>(&node)) {
        If inner = *branch;
        inner.cond = moved(branch->cond);
        inner.then = moved(branch->then);
        inner.otherwise = moved(branch->otherwise);
        result.emplace_back(std::move(inner));
      } else
        result.push_back(node);
    }
    return result;
  }

  const Program& program_;
  std::set<uint32_t> own_;
  std::string name_ = "p";
};

} // namespace

Program repeated(const Program& program, int64_t times, const std::set<uint32_t>& own) {
  return Repeater(program, own).made(times);
}

} // namespace kawara::program
