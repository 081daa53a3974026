#include "scalar/simplify/rule.h"

#include "support/check.h"

namespace kawara::scalar {
namespace {

P make(Pattern pattern) { return P(std::make_shared<const Pattern>(std::move(pattern))); }

bool bind(Expr& slot, const Expr& e) {
  if (slot)
    return equal(slot, e);
  slot = e;
  return true;
}

/// Most rules fail here, before anything is bound.
bool has_root(const Pattern& p, const Expr& e) {
  if (p.kind == Pattern::Kind::Binary) {
    const auto* n = as<Binary>(e);
    return n != nullptr && n->op == p.binary;
  }
  return p.kind != Pattern::Kind::Select || as<Select>(e) != nullptr;
}

bool matches_all(const std::vector<PatternPtr>& patterns, const Expr& e, Binding& b);

bool matches(const Pattern& p, const Expr& e, Binding& b) {
  if (is_float(e.type().elem) || e.type().lanes != 1)
    return false;
  switch (p.kind) {
  case Pattern::Kind::Any:
    return bind(b.any[p.slot], e);
  case Pattern::Kind::Constant:
    return constant_of(e) && bind(b.constant[p.slot], e);
  case Pattern::Kind::Literal:
    return constant_of(e) == p.literal;
  case Pattern::Kind::Unary: {
    const auto* n = as<Unary>(e);
    return n != nullptr && n->op == p.unary && matches_all(p.args, e, b);
  }
  case Pattern::Kind::Binary: {
    const auto* n = as<Binary>(e);
    return n != nullptr && n->op == p.binary && matches_all(p.args, e, b);
  }
  case Pattern::Kind::Select:
    return as<Select>(e) != nullptr && matches_all(p.args, e, b);
  }
  return false;
}

bool matches_all(const std::vector<PatternPtr>& patterns, const Expr& e, Binding& b) {
  const std::vector<Expr> kids = children(e);
  for (size_t i = 0; i < kids.size(); ++i)
    if (!matches(*patterns[i], kids[i], b))
      return false;
  return true;
}

/// `type` is the type that literals take here: that of the matched expression, or of a sibling.
Expr build(const Pattern& p, const Binding& b, Type type) {
  switch (p.kind) {
  case Pattern::Kind::Any:
    return b.any[p.slot];
  case Pattern::Kind::Constant:
    return b.constant[p.slot];
  case Pattern::Kind::Literal:
    return int_lit(p.literal, type);
  case Pattern::Kind::Unary:
    return unary(p.unary, build(*p.args[0], b, type));
  case Pattern::Kind::Binary: {
    const bool literal_first = p.args[0]->kind == Pattern::Kind::Literal;
    const Expr other = build(*p.args[literal_first ? 1 : 0], b, type);
    const Expr same = build(*p.args[literal_first ? 0 : 1], b, other.type());
    return literal_first ? binary(p.binary, same, other) : binary(p.binary, other, same);
  }
  case Pattern::Kind::Select:
    break;
  }
  KAWARA_CHECK(false, "select in the result of a rule");
}

} // namespace

P::P(int64_t literal)
    : node(make({.kind = Pattern::Kind::Literal, .literal = literal, .args = {}}).node) {}

P any(uint32_t slot) { return make({.kind = Pattern::Kind::Any, .slot = slot, .args = {}}); }
P constant(uint32_t slot) {
  return make({.kind = Pattern::Kind::Constant, .slot = slot, .args = {}});
}
P node(BinaryOp op, const P& a, const P& b) {
  return make({.kind = Pattern::Kind::Binary, .binary = op, .args = {a.node, b.node}});
}
P node(UnaryOp op, const P& a) {
  return make({.kind = Pattern::Kind::Unary, .unary = op, .args = {a.node}});
}
P choose(const P& cond, const P& then, const P& otherwise) {
  return make({.kind = Pattern::Kind::Select, .args = {cond.node, then.node, otherwise.node}});
}

Rule rule(const P& pattern, const P& result, When when) {
  return {pattern.node, result.node, when};
}

Expr apply_first(const Rules& rules, const Expr& e) {
  for (const Rule& r : rules) {
    if (!has_root(*r.pattern, e))
      continue;
    Binding b;
    if (!matches(*r.pattern, e, b))
      continue;
    const auto value = [](const Expr& c) { return c ? *constant_of(c) : 0; };
    if (r.when != nullptr && !r.when(value(b.constant[0]), value(b.constant[1])))
      continue;
    return build(*r.result, b, e.type());
  }
  return Expr();
}

} // namespace kawara::scalar
