#pragma once

#include "support/diagnostic.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kawara::rewrite {

/// What a rewritten graph may do to floating-point results: nothing (same operations in the same
/// order for every element), reassociate, or also overflow and round elsewhere than the source.
enum class Numerics : uint8_t { Exact, Rounding, Fast };
std::string_view name_of(Numerics); ///< "exact"

/// A computation on attributes and extents: `compose(p, q)`, `dim(x, 1) + 2`.
struct Formula {
  enum class Kind : uint8_t { Integer, Variable, List, Call };
  Kind kind = Kind::Integer;
  int64_t integer = 0;
  std::string name;           ///< of a variable, or of what is called ("+", "dims")
  std::vector<Formula> parts; ///< arguments, or the elements of a list
};

struct AttributePattern {
  std::string name;
  Formula value; ///< on the left, a variable that is not bound yet takes the attribute's value
};

/// One side of a rule: an operator applied to patterns, a variable for a tensor, or a number for a
/// constant tensor with equal elements. On the right, `number(e)` is the number of the attribute
/// `e`.
struct Pattern {
  enum class Kind : uint8_t { Variable, Number, Operator };
  Kind kind = Kind::Variable;
  std::string name; ///< of the variable or operator, or of the attribute of a number
  double number = 0;
  std::vector<Pattern> operands;
  std::vector<AttributePattern> attributes;
  std::string as;   ///< variable that stands for the whole, for its extents; may be empty
  std::string rest; ///< variable that stands for all other attributes; empty when there are none
};

/// left[k] may be replaced by right[k], for every k, where the conditions hold, and where both
/// sides have the same type and shape. A rule with several sides replaces values that are computed
/// from the same operands.
struct Rule {
  std::string name;
  Numerics needs = Numerics::Exact;
  std::vector<Pattern> left, right;
  std::vector<Formula> conditions;
  std::string text; ///< as written
};

/// Reads rules. Their text:
///
///   rule NAME CONTRACT              exact, rounding or fast
///     PATTERN [, PATTERN]           Transpose(Transpose(x, perm=p), perm=q)
///     -> PATTERN [, PATTERN]        Transpose(x, perm=compose(p, q))
///     where CONDITION, ...          rank(x) == 2, constant(w)
///
/// `for f in (Relu, Tanh)` after the contract makes one rule for each operator, called NAME_Relu,
/// ... `Concat(x..., axis=k)` stands for two, three and four operands x1, x2, ...; also around a
/// pattern: `Concat(Relu(x)..., axis=k)`. `Conv(x, w, ..a)` binds all attributes to `a`, `Conv(x,
/// w, ..a) as y` the result to `y`. `#` begins a comment. Refuses text that is no rule, an operator
/// or function that is not known, a wrong number of operands, and a variable on the right that the
/// left does not bind (K0580).
Parsed<std::vector<Rule>> parse_rules(const SourcePtr& source);

/// The rules that come with Kawara.
const std::vector<Rule>& standard_rules();

/// As one line: "Relu(Relu(x)) -> Relu(x)".
std::string text_of(const Formula&);
std::string text_of(const Pattern&);
std::string text_of(const Rule&);

} // namespace kawara::rewrite
