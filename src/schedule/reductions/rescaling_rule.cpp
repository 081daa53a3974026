#include "schedule/reductions/rescaling_rule.h"

#include <algorithm>

namespace kawara::schedule {

using scalar::as;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::Polynomial;
using scalar::UnaryOp;

namespace {

bool is_one(const Expr& e) {
  const auto* f = as<scalar::FloatLit>(e);
  return f != nullptr && f->value == 1;
}
class Prover {
public:
  explicit Prover(const LoadFacts& facts) : facts_(facts) {}

  Result<Derived, std::string> derive(const Expr& e) const {
    if (!depends(e, true))
      return Derived{{}, e, {}};
    if (const auto* load = as<scalar::Load>(e))
      return of_load(*load, e);
    if (const auto* c = as<scalar::Cast>(e); c != nullptr && is_float(c->arg.type().elem)) {
      KAWARA_TRY(Derived d, derive(c->arg));
      d.value = scalar::cast(d.value, e.type());
      return d;
    }
    if (const auto* u = as<scalar::Unary>(e))
      return of_unary(*u, e);
    if (const auto* b = as<scalar::Binary>(e))
      return of_binary(*b, e);
    return as_factor(e);
  }

private:
  /// Whether a load that the law is about occurs; with `temps` also those computed from running
  /// values.
  bool depends(const Expr& e, bool temps) const {
    bool found = false;
    scalar::visit(e, [&](const Expr& node) {
      const auto* load = as<scalar::Load>(node);
      if (load == nullptr || found)
        return;
      found = facts_.is_final(load->tensor);
      if (!found && temps)
        found = !facts_.law_of_load(*load).is_trivial();
    });
    return found;
  }

  Result<Derived, std::string> of_load(const scalar::Load& load, const Expr& e) const {
    if (facts_.is_final(load.tensor))
      return as_factor(e);
    return Derived{facts_.law_of_load(load), e, {}};
  }

  /// A value made of finished reductions only, to be applied after the sum.
  Result<Derived, std::string> as_factor(const Expr& e) const {
    bool has_temp = false;
    scalar::visit(e, [&](const Expr& node) {
      const auto* load = as<scalar::Load>(node);
      if (load != nullptr && !facts_.is_final(load->tensor))
        has_temp = has_temp || !facts_.law_of_load(*load).is_trivial();
    });
    if (has_temp)
      return fail("`" + facts_.text(e) + "` is no product of what changes and what does not.");
    Derived d;
    d.law.factors.push_back({e, false});
    d.value = scalar::float_lit(1, e.type());
    return d;
  }

  Result<Derived, std::string> of_unary(const scalar::Unary& u, const Expr& e) const {
    if (u.op == UnaryOp::Neg) {
      KAWARA_TRY(Derived d, derive(u.arg));
      d.value = scalar::unary(UnaryOp::Neg, d.value);
      return d;
    }
    return u.op == UnaryOp::Exp ? of_exponential(u, e) : as_factor(e);
  }

  Result<Derived, std::string> of_exponential(const scalar::Unary& u, const Expr& e) const {
    Expr running;
    std::optional<std::string> wrong;
    scalar::visit(u.arg, [&](const Expr& node) {
      const auto* load = as<scalar::Load>(node);
      if (load == nullptr || wrong)
        return;
      if (!facts_.is_final(load->tensor)) {
        if (!facts_.law_of_load(*load).is_trivial())
          wrong = "`" + facts_.text(node) + "`, which is not final yet, stands inside `" +
                  facts_.text(e) + "`.";
      } else if (!facts_.is_extreme(load->tensor))
        wrong = "`" + facts_.text(node) + "` in `" + facts_.text(e) +
                "` is no maximum or minimum, so its running value is no bound.";
      else if (running && !equal(running, node))
        wrong = "`" + facts_.text(e) + "` needs two results, `" + facts_.text(running) + "` and `" +
                facts_.text(node) + "`.";
      else
        running = node;
    });
    if (wrong)
      return fail(*wrong);
    return with_rate(u.arg, running, e);
  }

  Result<Derived, std::string> with_rate(const Expr& arg, const Expr& running,
                                         const Expr& e) const {
    const scalar::Linear parts = scalar::linear_in(scalar::polynomial_of(arg), running);
    bool is_clean = parts.is_linear;
    for (const Polynomial* p : {&parts.slope, &parts.rest})
      for (const scalar::Monomial& m : *p)
        for (const Expr& atom : m.atoms)
          is_clean = is_clean && !depends(atom, false);
    if (!is_clean)
      return fail("the exponent of `" + facts_.text(e) + "` is not linear in `" +
                  facts_.text(running) + "`.");
    if (parts.slope.empty())
      return Derived{{}, e, {}};
    for (const scalar::Monomial& m : parts.slope)
      for (const Expr& atom : m.atoms) {
        const auto* load = as<scalar::Load>(atom);
        if (load == nullptr || !facts_.is_constant(*load))
          return fail("the factor `" + facts_.text(atom) + "` of `" + facts_.text(running) +
                      "` in `" + facts_.text(e) + "` is neither a number nor a scalar input.");
      }
    Derived d;
    d.value = e;
    d.law.rate = Polynomial{} - parts.slope;
    d.law.reference = as<scalar::Load>(running)->tensor;
    d.law.element = as<scalar::Load>(running)->index;
    d.exponents.push_back({d.law.rate, parts.rest, d.law.element});
    return d;
  }

  Result<Derived, std::string> of_binary(const scalar::Binary& b, const Expr& e) const {
    const bool multiplies = b.op == BinaryOp::Mul || b.op == BinaryOp::Div;
    const bool adds = b.op == BinaryOp::Add || b.op == BinaryOp::Sub;
    if (!multiplies && !adds)
      return as_factor(e);
    KAWARA_TRY(Derived x, derive(b.lhs));
    KAWARA_TRY(const Derived y, derive(b.rhs));
    x.exponents.insert(x.exponents.end(), y.exponents.begin(), y.exponents.end());
    if (multiplies)
      return product(std::move(x), y, b.op, e);
    if (!equal(x.law, y.law))
      return fail("the two sides of `" + facts_.text(e) + "` do not change by the same factor.");
    x.value = scalar::binary(b.op, x.value, y.value);
    return x;
  }

  Result<Derived, std::string> product(Derived x, const Derived& y, BinaryOp op,
                                       const Expr& e) const {
    const bool divides = op == BinaryOp::Div;
    if (!x.law.rate.empty() && !y.law.rate.empty() &&
        (x.law.reference != y.law.reference || !is_same_element(x.law.element, y.law.element)))
      return fail("`" + facts_.text(e) + "` needs two different maxima.");
    if (!y.law.rate.empty()) {
      x.law.reference = y.law.reference;
      x.law.element = y.law.element;
    }
    x.law.rate = divides ? x.law.rate - y.law.rate : x.law.rate + y.law.rate;
    for (const Law::Factor& f : y.law.factors)
      x.law.factors.push_back({f.value, f.is_divisor != divides});
    if (is_one(y.value))
      return x;
    x.value = is_one(x.value) && !divides ? y.value : scalar::binary(op, x.value, y.value);
    return x;
  }

  static bool is_same_element(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Expr& x, const Expr& y) { return scalar::equal(x, y); });
  }

  const LoadFacts& facts_;
};

} // namespace

bool equal(const Law& a, const Law& b) {
  if (!scalar::equal(a.rate, b.rate) || a.factors.size() != b.factors.size())
    return false;
  if (!a.rate.empty() &&
      (a.reference != b.reference ||
       !std::equal(a.element.begin(), a.element.end(), b.element.begin(), b.element.end(),
                   [](const Expr& x, const Expr& y) { return equal(x, y); })))
    return false;
  std::vector<Law::Factor> left = b.factors;
  for (const Law::Factor& f : a.factors) {
    const auto found = std::find_if(left.begin(), left.end(), [&](const Law::Factor& g) {
      return f.is_divisor == g.is_divisor && equal(f.value, g.value);
    });
    if (found == left.end())
      return false;
    left.erase(found);
  }
  return true;
}

Law substituted(const Law& law, const std::vector<Expr>& iters) {
  Law out = law;
  for (Expr& e : out.element)
    e = scalar::simplify(scalar::substitute_iters(e, iters));
  for (Law::Factor& f : out.factors)
    f.value = scalar::simplify(scalar::substitute_iters(f.value, iters));
  return out;
}

Result<Derived, std::string> derive_law(const Expr& value, const LoadFacts& facts) {
  return Prover(facts).derive(value);
}

} // namespace kawara::schedule
