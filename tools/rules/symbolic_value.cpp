#include "rules/symbolic_value.h"

#include "support/check.h"

#include <algorithm>
#include <numeric>

namespace kawara::rules {
namespace {

z3::expr substituted(const z3::expr& in, const z3::expr& from, const z3::expr& to) {
  z3::expr_vector source(in.ctx()), target(in.ctx());
  source.push_back(from);
  target.push_back(to);
  z3::expr copy = in;
  return copy.substitute(source, target);
}

void substitute(SymbolicTerm& term, const z3::expr& from, const z3::expr& to) {
  for (std::vector<z3::expr>* list : {&term.factors, &term.after})
    for (z3::expr& one : *list)
      one = substituted(one, from, to);
  for (Guard& guard : term.guards)
    for (std::optional<z3::expr>* part : {&guard.index, &guard.lower, &guard.upper, &guard.other})
      if (*part)
        *part = substituted(**part, from, to);
  for (SymbolicTerm::Bound& bound : term.bound)
    bound.extent = substituted(bound.extent, from, to);
}

bool mentions(const z3::expr& in, const z3::expr& what) {
  if (z3::eq(in, what))
    return true;
  for (unsigned k = 0; in.is_app() && k < in.num_args(); ++k)
    if (mentions(in.arg(k), what))
      return true;
  return false;
}

bool is_number(const z3::expr& e, int value) {
  return e.is_numeral() && z3::eq(e.simplify(), e.ctx().real_val(value).simplify());
}

/// The operand of a negation: -x, or (-1) * x.
std::optional<z3::expr> negated(const z3::expr& e) {
  if (e.is_app() && e.decl().decl_kind() == Z3_OP_UMINUS)
    return e.arg(0);
  if (e.is_app() && e.decl().decl_kind() == Z3_OP_MUL && e.num_args() == 2 &&
      is_number(e.arg(0), -1))
    return e.arg(1);
  return std::nullopt;
}

/// Adds a bound index. A condition on the index itself is a shorter range, moved to begin at 0.
void bind(SymbolicTerm& term, const SymbolicTerm::Bound& over) {
  std::vector<Guard> kept;
  std::optional<z3::expr> lower, upper;
  for (const Guard& guard : term.guards) {
    const bool is_mine = guard.index && z3::eq(*guard.index, over.index);
    const bool is_second = is_mine && ((lower && guard.lower) || (upper && guard.upper));
    if (!is_mine) {
      kept.push_back(guard);
    } else if (is_second) { // of two bounds on one side the other stays a condition
      Guard more;
      more.other = guard.condition(over.index.ctx());
      kept.push_back(more);
    } else {
      lower = guard.lower ? guard.lower : lower;
      upper = guard.upper ? guard.upper : upper;
    }
  }
  z3::expr count = upper ? *upper : over.extent;
  term.guards = std::move(kept);
  if (lower) {
    substitute(term, over.index, over.index + *lower);
    count = (count - *lower).simplify();
  }
  term.bound.insert(term.bound.begin(), {over.index, count});
}

z3::expr larger(const z3::expr& a, const z3::expr& b) { return z3::ite(a >= b, a, b); }
z3::expr smaller(const z3::expr& a, const z3::expr& b) { return z3::ite(a <= b, a, b); }

/// The function's value where it follows from simple laws of the function alone.
std::optional<z3::expr> by_law(const std::string& f, const std::vector<z3::expr>& a) {
  const auto is_call = [](const z3::expr& e, const char* name) {
    return e.is_app() && e.num_args() == 1 && e.decl().name().str() == name;
  };
  if (f == "Relu")
    return z3::ite(a[0] > 0, a[0], a[0].ctx().real_val(0));
  if (f == "Abs")
    return z3::ite(a[0] >= 0, a[0], -a[0]);
  if (f == "Max")
    return larger(a[0], a[1]);
  if (f == "Min")
    return smaller(a[0], a[1]);
  if (f == "Clip") // attributes come in the order of their names: max, min
    return smaller(larger(a[0], a[2]), a[1]);
  if (f == "inv" && is_number(a[0], 1))
    return a[0];
  if (f == "inv" && is_call(a[0], "inv"))
    return a[0].arg(0);
  if (f == "inv" && is_call(a[0], "Exp"))
    return a[0].decl()(-a[0].arg(0));
  if (f == "Log" && is_call(a[0], "Exp"))
    return a[0].arg(0);
  if (f == "Pow" && is_number(a[1], 1))
    return a[0];
  if (f == "Pow" && is_number(a[1], 2))
    return a[0] * a[0];
  return std::nullopt;
}

} // namespace

z3::expr Guard::condition(z3::context& context) const {
  z3::expr all = context.bool_val(true);
  if (lower)
    all = all && *lower <= *index;
  if (upper)
    all = all && *index < *upper;
  return other ? all && *other : all;
}

bool SymbolicValue::is_plain() const {
  return std::all_of(terms.begin(), terms.end(),
                     [](const auto& term) { return term.bound.empty(); });
}

Prover::Prover(z3::context& context, Arithmetic arithmetic, unsigned timeout_ms)
    : context_(context), arithmetic_(arithmetic), solver_(context) {
  z3::params options(context);
  options.set("timeout", timeout_ms);
  solver_.set(options);
  if (arithmetic == Arithmetic::Uninterpreted)
    for (const char* name : {"fadd", "fmul"}) {
      const z3::sort real = context.real_sort();
      const z3::func_decl f = context.function(name, real, real, real);
      const z3::expr x = context.real_const("x!c"), y = context.real_const("y!c");
      solver_.add(z3::forall(x, y, f(x, y) == f(y, x)));
    }
}

z3::expr Prover::fresh_integer(const std::string& name) {
  return context_.int_const((name + "!" + std::to_string(next_++)).c_str());
}
z3::expr Prover::fresh_real(const std::string& name) {
  return context_.real_const((name + "!" + std::to_string(next_++)).c_str());
}

bool Prover::is_contradiction() { return solver_.check() == z3::unsat; }

bool Prover::follows(const z3::expr& fact, const std::vector<z3::expr>& more) {
  if (fact.simplify().is_true())
    return true;
  solver_.push();
  for (const z3::expr& one : more)
    solver_.add(one);
  solver_.add(!fact);
  const bool is_proved = solver_.check() == z3::unsat;
  solver_.pop();
  return is_proved;
}

SymbolicValue Prover::value(const z3::expr& real) const {
  return {Monoid::Sum, {SymbolicTerm{{}, {}, {real}, {}}}};
}
SymbolicValue Prover::number(double value) {
  return this->value(context_.real_val(std::to_string(value).c_str()).simplify());
}

z3::expr Prover::product(const SymbolicTerm& term) {
  z3::expr all = context_.real_val(1);
  bool is_first = true;
  for (const z3::expr& factor : term.factors) {
    all = is_first ? factor : all * factor;
    is_first = false;
  }
  return all;
}

z3::expr Prover::expression(const SymbolicValue& value) {
  KAWARA_CHECK(value.is_plain(), "a fold is no expression");
  std::optional<z3::expr> all, has;
  for (const SymbolicTerm& term : value.terms) {
    z3::expr guard = context_.bool_val(true);
    for (const Guard& one : term.guards)
      guard = guard && one.condition(context_);
    const z3::expr mine = product(term);
    if (!all) {
      all = mine;
      has = guard;
      continue;
    }
    const z3::expr both = value.monoid == Monoid::Sum       ? *all + mine
                          : value.monoid == Monoid::Product ? *all * mine
                          : value.monoid == Monoid::Maximum ? larger(*all, mine)
                                                            : smaller(*all, mine);
    all = z3::ite(guard, z3::ite(*has, both, mine), *all);
    has = *has || guard;
  }
  if (!all)
    return context_.real_val(0);
  // With no live term a sum is 0; other folds are never empty.
  if (value.monoid == Monoid::Sum && !has->simplify().is_true())
    return z3::ite(*has, *all, context_.real_val(0));
  return all->simplify();
}

SymbolicValue Prover::add(const SymbolicValue& a, const SymbolicValue& b) {
  if (arithmetic_ == Arithmetic::Uninterpreted)
    return apply("fadd", {expression(a), expression(b)});
  SymbolicValue sum = a;
  sum.terms.insert(sum.terms.end(), b.terms.begin(), b.terms.end());
  return sum;
}

SymbolicValue Prover::renamed(const SymbolicValue& value) {
  SymbolicValue copy = value;
  for (SymbolicTerm& term : copy.terms)
    for (SymbolicTerm::Bound& bound : term.bound) {
      const z3::expr fresh = fresh_integer("k"), old = bound.index;
      bound.index = fresh;
      substitute(term, old, fresh);
    }
  return copy;
}

SymbolicValue Prover::multiply(const SymbolicValue& a, const SymbolicValue& b) {
  if (arithmetic_ == Arithmetic::Uninterpreted)
    return apply("fmul", {expression(a), expression(b)});
  SymbolicValue all;
  const SymbolicValue other = renamed(b);
  for (const SymbolicTerm& x : a.terms)
    for (const SymbolicTerm& y : other.terms) {
      SymbolicTerm both = x;
      both.bound.insert(both.bound.end(), y.bound.begin(), y.bound.end());
      both.guards.insert(both.guards.end(), y.guards.begin(), y.guards.end());
      both.factors.insert(both.factors.end(), y.factors.begin(), y.factors.end());
      // exp(a) * exp(b) = exp(a + b)
      std::optional<size_t> power;
      for (size_t k = 0; k < both.factors.size(); ++k) {
        const z3::expr factor = both.factors[k];
        if (!factor.is_app() || factor.decl().name().str() != "Exp")
          continue;
        if (!power) {
          power = k;
          continue;
        }
        z3::expr& first = both.factors[*power];
        first = factor.decl()((first.arg(0) + factor.arg(0)).simplify());
        both.factors.erase(both.factors.begin() + static_cast<std::ptrdiff_t>(k--));
      }
      all.terms.push_back(std::move(both));
    }
  return all;
}

SymbolicValue Prover::negate(const SymbolicValue& value) {
  SymbolicValue copy = value;
  // -max(x) = min(-x)
  if (value.monoid == Monoid::Maximum || value.monoid == Monoid::Minimum)
    copy.monoid = value.monoid == Monoid::Maximum ? Monoid::Minimum : Monoid::Maximum;
  if (arithmetic_ == Arithmetic::Uninterpreted && value.monoid == Monoid::Sum)
    return this->value((-expression(value)).simplify());
  for (SymbolicTerm& term : copy.terms) {
    if (value.monoid == Monoid::Sum)
      term.factors.push_back(context_.real_val(-1));
    else
      term.factors = {(-product(term)).simplify()};
  }
  return copy;
}

SymbolicValue Prover::apply(const std::string& function, const std::vector<z3::expr>& given) {
  std::vector<z3::expr> arguments;
  for (const z3::expr& one : given)
    arguments.push_back(one.simplify());
  if (const auto known = by_law(function, arguments))
    return value(*known);
  const bool is_odd = function == "Tanh" || function == "Erf" || function == "Sin";
  if (function == "fmul") { // signs of products are exact, and so is a factor of 1
    if (is_number(arguments[0], 1) || is_number(arguments[1], 1))
      return value(arguments[is_number(arguments[0], 1) ? 1 : 0]);
    for (const size_t k : {size_t{0}, size_t{1}})
      if (const auto inner = negated(arguments[k]))
        return negate(apply(function, {*inner, arguments[1 - k]}));
  }
  if (is_odd || function == "Cos")
    if (const auto inner = negated(arguments[0])) {
      const SymbolicValue plain = apply(function, {*inner});
      return is_odd ? negate(plain) : plain;
    }
  z3::sort_vector sorts(context_);
  z3::expr_vector list(context_);
  for (const z3::expr& one : arguments) {
    sorts.push_back(one.get_sort());
    list.push_back(one);
  }
  const z3::expr result = context_.function(function.c_str(), sorts, context_.real_sort())(list);
  if (function == "Exp" || function == "Sigmoid")
    solver_.add(result > 0);
  if (function == "Sqrt")
    solver_.add(z3::implies(arguments[0] >= 0, result >= 0 && result * result == arguments[0]));
  return value(result);
}

SymbolicValue Prover::fold(Monoid monoid, const std::vector<SymbolicTerm::Bound>& over,
                           SymbolicValue body) {
  const bool nests =
      body.monoid == monoid && (arithmetic_ == Arithmetic::Real || monoid > Monoid::Product);
  if (!nests && (body.monoid != monoid || !body.is_plain())) {
    // One term is its own sum, product and maximum. Where sums are functions, several terms are the
    // parts of a concatenation, of which one is live.
    const bool is_one = body.is_plain() && body.monoid == Monoid::Sum &&
                        (body.terms.size() == 1 || arithmetic_ == Arithmetic::Uninterpreted);
    if (!is_one)
      body = value(expression(body));
  }
  body.monoid = monoid;
  for (size_t k = over.size(); k-- > 0;)
    for (SymbolicTerm& term : body.terms)
      bind(term, over[k]);
  return body;
}

SymbolicValue Prover::guarded(SymbolicValue value, const Guard& guard) {
  for (SymbolicTerm& term : value.terms)
    term.guards.push_back(guard);
  return value;
}

bool Prover::is_equal(const SymbolicValue& a, const SymbolicValue& b) {
  // Conditions that depend on no bound index hold or do not hold: one case each.
  std::vector<z3::expr> conditions;
  for (const SymbolicValue* side : {&a, &b})
    for (const SymbolicTerm& term : side->terms)
      for (const Guard& guard : term.guards) {
        const z3::expr condition = guard.condition(context_).simplify();
        const bool is_free =
            std::none_of(term.bound.begin(), term.bound.end(),
                         [&](const auto& one) { return mentions(condition, one.index); });
        if (is_free && !condition.is_true() &&
            std::none_of(conditions.begin(), conditions.end(),
                         [&](const z3::expr& known) { return z3::eq(known, condition); }))
          conditions.push_back(condition);
      }
  if (conditions.size() > 8)
    return false;
  for (uint32_t chosen = 0; chosen < (1U << conditions.size()); ++chosen) {
    std::vector<z3::expr> more;
    for (size_t k = 0; k < conditions.size(); ++k)
      more.push_back((chosen >> k & 1) != 0 ? conditions[k] : !conditions[k]);
    if (!conditions.empty() && follows(context_.bool_val(false), more))
      continue;
    const auto live = [&](const SymbolicValue& side) {
      SymbolicValue left{side.monoid, {}};
      for (const SymbolicTerm& term : side.terms) {
        SymbolicTerm copy = term;
        bool is_live = true;
        copy.guards.clear();
        for (const Guard& guard : term.guards) {
          const z3::expr condition = guard.condition(context_).simplify();
          size_t at = 0;
          while (at < conditions.size() && !z3::eq(conditions[at], condition))
            ++at;
          if (at == conditions.size() && !condition.is_true())
            copy.guards.push_back(guard);
          else if (at < conditions.size())
            is_live = is_live && (chosen >> at & 1) != 0;
        }
        if (is_live)
          left.terms.push_back(std::move(copy));
      }
      return left;
    };
    if (!is_equal_under(live(a), live(b), more))
      return false;
  }
  return true;
}

bool Prover::is_equal_under(const SymbolicValue& a, const SymbolicValue& b,
                            const std::vector<z3::expr>& more) {
  const auto is_empty = [&](const SymbolicTerm& term) {
    return std::any_of(term.bound.begin(), term.bound.end(),
                       [&](const auto& one) { return follows(one.extent <= 0, more); });
  };
  const auto parts = [&](const SymbolicValue& side) {
    std::pair<std::vector<SymbolicTerm>, std::vector<SymbolicTerm>> split;
    for (const SymbolicTerm& term : side.terms)
      if (!is_empty(term))
        (term.bound.empty() ? split.first : split.second).push_back(term);
    return split;
  };
  const auto [plain_a, bound_a] = parts(a);
  auto [plain_b, bound_b] = parts(b);
  const bool is_fold = !bound_a.empty() || !bound_b.empty();
  if (bound_a.size() != bound_b.size() || (is_fold && a.monoid != b.monoid))
    return false;
  // Without rounding laws a sum in parts is not the sum of the whole.
  if (arithmetic_ == Arithmetic::Uninterpreted && a.monoid == Monoid::Sum && is_fold &&
      (bound_a.size() > 1 || !plain_a.empty() || !plain_b.empty()))
    return false;
  for (const SymbolicTerm& term : bound_a) {
    const auto at = std::find_if(bound_b.begin(), bound_b.end(), [&](const SymbolicTerm& other) {
      return is_equal_term(term, other, more,
                           arithmetic_ == Arithmetic::Real || a.monoid > Monoid::Product);
    });
    if (at == bound_b.end())
      return false;
    bound_b.erase(at);
  }
  const Monoid monoid = plain_a.size() > 1 ? a.monoid : b.monoid;
  if (plain_a.empty() != plain_b.empty() && a.monoid != Monoid::Sum)
    return false;
  return is_equal_plain(monoid, plain_a, plain_b, more);
}

bool Prover::is_equal_plain(Monoid monoid, const std::vector<SymbolicTerm>& a,
                            const std::vector<SymbolicTerm>& b, const std::vector<z3::expr>& more) {
  if (a.empty() && b.empty())
    return true;
  return follows(expression({monoid, a}) == expression({monoid, b}), more);
}

bool Prover::is_equal_term(const SymbolicTerm& a, const SymbolicTerm& b,
                           const std::vector<z3::expr>& more, bool in_any_order) {
  if (a.bound.size() != b.bound.size() || a.after.size() != b.after.size())
    return false;
  for (size_t k = 0; k < a.after.size(); ++k)
    if (!follows(a.after[k] == b.after[k], more))
      return false;
  std::vector<size_t> order(a.bound.size());
  std::iota(order.begin(), order.end(), size_t{0});
  do {
    SymbolicTerm moved = b;
    for (size_t k = 0; k < order.size(); ++k)
      substitute(moved, b.bound[order[k]].index, a.bound[k].index);
    std::vector<z3::expr> facts = more;
    bool fits = true;
    for (size_t k = 0; k < order.size() && fits; ++k) {
      fits = follows(a.bound[k].extent == moved.bound[order[k]].extent, facts);
      facts.push_back(a.bound[k].index >= 0 && a.bound[k].index < a.bound[k].extent);
    }
    if (!fits)
      continue;
    z3::expr guard_a = context_.bool_val(true), guard_b = guard_a;
    for (const Guard& guard : a.guards)
      guard_a = guard_a && guard.condition(context_);
    for (const Guard& guard : moved.guards)
      guard_b = guard_b && guard.condition(context_);
    if (!follows(guard_a == guard_b, facts))
      continue;
    facts.push_back(guard_a);
    if (follows(product(a) == product(moved), facts))
      return true;
  } while (in_any_order && std::next_permutation(order.begin(), order.end()));
  return false;
}

} // namespace kawara::rules
