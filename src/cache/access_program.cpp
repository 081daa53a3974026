#include "cache/access_program.h"

#include "scalar/affine_sum.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::cache {

using scalar::as;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::UnaryOp;

void place_arrays(AccessProgram& program, int64_t unit) {
  int64_t next = 0;
  for (Array& array : program.arrays) {
    array.begin = next;
    next += (array.bytes + unit - 1) / unit * unit;
  }
}

std::optional<Diagnostic> place_arrays(AccessProgram& program, int64_t unit,
                                       const std::vector<std::string>& first) {
  std::vector<Array*> order;
  for (const std::string& name : first) {
    const auto array = std::find_if(program.arrays.begin(), program.arrays.end(),
                                    [&](const Array& each) { return each.name == name; });
    const bool is_known = array != program.arrays.end();
    if (!is_known || std::find(order.begin(), order.end(), &*array) != order.end()) {
      Diagnostic d;
      d.code = "K0459";
      d.headline = is_known
                       ? fmt::format("`--place` names `{}` twice", name)
                       : fmt::format("`--place` names `{}`, which is no array", printable(name));
      std::string names;
      for (const Array& each : program.arrays)
        names += (names.empty() ? "" : ",") + each.name;
      d.help.push_back({"the arrays are", "--place " + names, false});
      return d;
    }
    order.push_back(&*array);
  }
  for (Array& array : program.arrays)
    if (std::find(order.begin(), order.end(), &array) == order.end())
      order.push_back(&array);
  int64_t next = 0;
  for (Array* array : order) {
    array->begin = next;
    next += (array->bytes + unit - 1) / unit * unit;
  }
  return std::nullopt;
}

void add(Linear& sum, const Linear& other, int64_t factor) {
  sum.constant += other.constant * factor;
  const auto add_terms = [factor](auto& terms, const auto& more) {
    for (const auto& [what, times] : more) {
      const auto known = std::find_if(terms.begin(), terms.end(),
                                      [&](const auto& term) { return term.first == what; });
      if (known != terms.end())
        known->second += times * factor;
      else
        terms.emplace_back(what, times * factor);
    }
    std::erase_if(terms, [](const auto& term) { return term.second == 0; });
  };
  add_terms(sum.variables, other.variables);
  add_terms(sum.formulas, other.formulas);
}

namespace {

std::optional<Formula::Op> op_of(BinaryOp op) {
  switch (op) {
  case BinaryOp::Min:
    return Formula::Op::Min;
  case BinaryOp::Max:
    return Formula::Op::Max;
  case BinaryOp::FloorDiv:
    return Formula::Op::FloorDiv;
  case BinaryOp::Mod:
    return Formula::Op::Mod;
  case BinaryOp::Mul:
    return Formula::Op::Mul;
  case BinaryOp::Lt:
    return Formula::Op::Lt;
  case BinaryOp::Le:
    return Formula::Op::Le;
  case BinaryOp::Eq:
    return Formula::Op::Eq;
  case BinaryOp::And:
    return Formula::Op::And;
  case BinaryOp::Or:
    return Formula::Op::Or;
  default:
    return std::nullopt;
  }
}

} // namespace

Linear LinearMaker::formula(Formula made) {
  Linear sum;
  sum.formulas.emplace_back(static_cast<uint32_t>(program_.formulas.size()), 1);
  program_.formulas.push_back(std::move(made));
  return sum;
}

std::optional<Linear> LinearMaker::formula(Formula::Op op, const Expr& a, const Expr& b) {
  auto first = linear(a), second = linear(b);
  if (!first || !second)
    return std::nullopt;
  return formula({op, *std::move(first), *std::move(second), {}});
}

std::optional<Linear> LinearMaker::term(const Expr& e) {
  if (as<scalar::Iter>(e) != nullptr || as<scalar::Var>(e) != nullptr ||
      as<scalar::Param>(e) != nullptr)
    return leaf(e);
  if (const auto constant = scalar::constant_of(e))
    return Linear{*constant, {}, {}};
  if (const auto* cast = as<scalar::Cast>(e))
    return scalar::is_float(cast->arg.type().elem) ? std::nullopt : linear(cast->arg);
  if (const auto* within = as<scalar::Within>(e))
    return linear(within->index);
  if (const auto* choice = as<scalar::Select>(e)) {
    auto cond = linear(choice->cond), then = linear(choice->then),
         otherwise = linear(choice->otherwise);
    if (!cond || !then || !otherwise)
      return std::nullopt;
    return formula(
        {Formula::Op::Select, *std::move(cond), *std::move(then), *std::move(otherwise)});
  }
  if (const auto* unary = as<scalar::Unary>(e)) {
    auto arg = linear(unary->arg);
    if (!arg || (unary->op != UnaryOp::Not && unary->op != UnaryOp::Neg))
      return std::nullopt;
    Linear made{unary->op == UnaryOp::Not ? 1 : 0, {}, {}};
    add(made, *arg, -1);
    return made;
  }
  const auto* binary = as<scalar::Binary>(e);
  if (binary == nullptr || scalar::is_float(binary->lhs.type().elem))
    return std::nullopt;
  switch (binary->op) {
  case BinaryOp::Gt:
    return formula(Formula::Op::Lt, binary->rhs, binary->lhs);
  case BinaryOp::Ge:
    return formula(Formula::Op::Le, binary->rhs, binary->lhs);
  case BinaryOp::Ne: {
    const auto same = formula(Formula::Op::Eq, binary->lhs, binary->rhs);
    if (!same)
      return std::nullopt;
    Linear made{1, {}, {}};
    add(made, *same, -1);
    return made;
  }
  default:
    const auto op = op_of(binary->op);
    return op ? formula(*op, binary->lhs, binary->rhs) : std::nullopt;
  }
}

std::optional<Linear> LinearMaker::linear(const Expr& e) {
  if (e.type() != scalar::kIndex)
    return e.type().lanes == 1 ? term(e) : std::nullopt;
  const scalar::AffineSum sum = scalar::affine_sum(scalar::simplify(e));
  Linear made{sum.constant, {}, {}};
  for (const auto& [each, factor] : sum.terms) {
    const auto known = term(each);
    if (!known)
      return std::nullopt;
    add(made, *known, factor);
  }
  return made;
}

namespace {

double about(const AccessProgram& program, const Code& code, Values& values) {
  double sum = 0;
  for (const Step& step : code) {
    if (const auto* touch = std::get_if<Touch>(&step.step)) {
      sum += static_cast<double>(touch->count);
    } else if (const auto* set = std::get_if<Set>(&step.step)) {
      values[set->variable] = values(set->value);
    } else if (const auto* branch = std::get_if<Branch>(&step.step)) {
      sum +=
          std::max(about(program, branch->then, values), about(program, branch->otherwise, values));
    } else if (const auto* loop = std::get_if<Loop>(&step.step)) {
      const int64_t lo = values(loop->lo), hi = values(loop->hi);
      const double times = static_cast<double>(hi - lo) / static_cast<double>(loop->step);
      values[loop->variable] = lo + (hi - lo) / 2;
      if (times > 0)
        sum += times * about(program, loop->body, values);
    }
  }
  return sum;
}

} // namespace

double about_accesses(const AccessProgram& program) {
  Values values(program);
  return about(program, program.code, values);
}

int64_t Values::operator()(const Formula& formula) const {
  const int64_t a = (*this)(formula.a);
  if (formula.op == Formula::Op::Select)
    return (*this)(a != 0 ? formula.b : formula.c);
  const int64_t b = (*this)(formula.b);
  switch (formula.op) {
  case Formula::Op::Min:
    return std::min(a, b);
  case Formula::Op::Max:
    return std::max(a, b);
  case Formula::Op::FloorDiv:
    return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  case Formula::Op::Mod:
    return b == 0 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
  case Formula::Op::Mul:
    return a * b;
  case Formula::Op::Lt:
    return a < b ? 1 : 0;
  case Formula::Op::Le:
    return a <= b ? 1 : 0;
  case Formula::Op::Eq:
    return a == b ? 1 : 0;
  case Formula::Op::And:
    return a != 0 && b != 0 ? 1 : 0;
  case Formula::Op::Or:
  case Formula::Op::Select:
    break;
  }
  return a != 0 || b != 0 ? 1 : 0;
}

} // namespace kawara::cache
