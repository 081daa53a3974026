#pragma once

#include "scalar/expr.h"

#include <array>
#include <memory>
#include <vector>

namespace kawara::scalar {

// Rewrite rules as data. A rule reads `pattern becomes result, when condition`:
//
//   rule((x / c) / d, x / (c * d), when_positive(c, d))
//
// x, y, z stand for any expression, c and d for integer literals; a name that occurs twice must
// match equal expressions. Constants in a result are folded when the result is simplified again,
// so `c * d` above becomes one literal. Each rule must make the expression smaller in the order
// (nodes, then operators by rank), so that rewriting ends.

struct Pattern;
using PatternPtr = std::shared_ptr<const Pattern>;

/// What the names of a pattern were matched with.
struct Binding {
  std::array<Expr, 3> any;
  std::array<Expr, 2> constant;
};

/// One node of a pattern.
struct Pattern {
  enum class Kind : uint8_t { Any, Constant, Literal, Unary, Binary, Select };
  Kind kind = Kind::Any;
  uint32_t slot = 0;
  int64_t literal = 0;
  UnaryOp unary = UnaryOp::Neg;
  BinaryOp binary = BinaryOp::Add;
  std::vector<PatternPtr> args;
};

/// A pattern under construction, with operators so that tables read as algebra.
struct P {
  PatternPtr node;
  P(PatternPtr n) : node(std::move(n)) {}
  P(int64_t literal);
};

P any(uint32_t slot);
P constant(uint32_t slot);
P node(BinaryOp, const P& a, const P& b);
P node(UnaryOp, const P& a);
P choose(const P& cond, const P& then, const P& otherwise);

inline P operator+(const P& a, const P& b) { return node(BinaryOp::Add, a, b); }
inline P operator-(const P& a, const P& b) { return node(BinaryOp::Sub, a, b); }
inline P operator*(const P& a, const P& b) { return node(BinaryOp::Mul, a, b); }
inline P operator/(const P& a, const P& b) { return node(BinaryOp::FloorDiv, a, b); }
inline P operator%(const P& a, const P& b) { return node(BinaryOp::Mod, a, b); }
inline P operator<(const P& a, const P& b) { return node(BinaryOp::Lt, a, b); }
inline P operator<=(const P& a, const P& b) { return node(BinaryOp::Le, a, b); }
inline P operator>(const P& a, const P& b) { return node(BinaryOp::Gt, a, b); }
inline P operator>=(const P& a, const P& b) { return node(BinaryOp::Ge, a, b); }
inline P operator==(const P& a, const P& b) { return node(BinaryOp::Eq, a, b); }
inline P operator!=(const P& a, const P& b) { return node(BinaryOp::Ne, a, b); }
inline P operator&&(const P& a, const P& b) { return node(BinaryOp::And, a, b); }
inline P operator||(const P& a, const P& b) { return node(BinaryOp::Or, a, b); }
inline P operator!(const P& a) { return node(UnaryOp::Not, a); }
inline P min(const P& a, const P& b) { return node(BinaryOp::Min, a, b); }
inline P max(const P& a, const P& b) { return node(BinaryOp::Max, a, b); }

/// Condition on the two constants (0 where a constant is not bound).
using When = bool (*)(int64_t c, int64_t d);

struct Rule {
  PatternPtr pattern;
  PatternPtr result;
  When when = nullptr;
};
Rule rule(const P& pattern, const P& result, When when = nullptr);
using Rules = std::vector<Rule>;

/// The result of the first rule that matches `e`; empty when none does. Patterns whose names
/// stand for floats never match: no rule may touch floating-point arithmetic.
Expr apply_first(const Rules&, const Expr& e);

// The tables, one per file.
const Rules& add_rules();
const Rules& mul_rules();
const Rules& div_rules();
const Rules& min_max_rules();
const Rules& compare_rules();
const Rules& logic_rules();

} // namespace kawara::scalar
