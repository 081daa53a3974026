#include "program/rewrites/unit_loops.h"

namespace kawara::program {
namespace {

class UnitLoopRemover {
public:
  UnitLoopRemover(Program program, const std::set<size_t>& kept)
      : program_(std::move(program)), kept_(kept) {}

  Program run() {
    program_.body = stripped(program_.body);
    return std::move(program_);
  }

private:
  Expr moved(const Expr& e) const { return scalar::simplify(scalar::substitute_iters(e, values_)); }

  Body stripped(const Body& body) {
    Body out;
    for (const BodyNode& node : body)
      if (const auto* loop = std::get_if<Loop>(&node))
        add(*loop, out);
      else if (const auto* branch = std::get_if<If>(&node)) {
        If copy = *branch;
        copy.cond = scalar::substitute_iters(branch->cond, values_);
        copy.then = stripped(branch->then);
        copy.otherwise = stripped(branch->otherwise);
        out.emplace_back(std::move(copy));
      } else {
        const uint32_t number = std::get<StatementRef>(node).statement;
        move(program_.statements[number]);
        out.emplace_back(StatementRef{number});
      }
    return out;
  }

  void add(const Loop& loop, Body& out) {
    const Expr first = moved(loop.lo), end = moved(loop.hi);
    const bool is_unit = !kept_.contains(count_++) && loop.step == 1 &&
                         scalar::constant_of(first) &&
                         scalar::constant_of(end) == *scalar::constant_of(first) + 1;
    values_.push_back(is_unit ? first : scalar::iter(static_cast<uint32_t>(names_.size())));
    if (!is_unit)
      names_.push_back(loop.name);
    Body inside = stripped(loop.body);
    values_.pop_back();
    if (is_unit) {
      for (BodyNode& node : inside)
        out.push_back(std::move(node));
      return;
    }
    names_.pop_back();
    Loop copy = loop;
    copy.lo = first;
    copy.hi = end;
    copy.body = std::move(inside);
    out.emplace_back(std::move(copy));
  }

  void move(Statement& statement) const {
    for (Expr& e : statement.index)
      e = moved(e);
    statement.value =
        scalar::rewrite(scalar::substitute_iters(statement.value, values_), [](const Expr& e) {
          const auto* load = scalar::as<scalar::Load>(e);
          if (load == nullptr)
            return Expr();
          std::vector<Expr> index;
          for (const Expr& at : load->index)
            index.push_back(scalar::simplify(at));
          return scalar::load(load->tensor, std::move(index), e.type());
        });
    statement.iters = names_;
  }

  Program program_;
  const std::set<size_t>& kept_;
  size_t count_ = 0;               ///< loops met
  std::vector<Expr> values_;       ///< by loop around: its new iterator, or its value
  std::vector<std::string> names_; ///< of loops around that stay
};

} // namespace

Program without_unit_loops(Program program, const std::set<size_t>& kept) {
  return UnitLoopRemover(std::move(program), kept).run();
}

} // namespace kawara::program
