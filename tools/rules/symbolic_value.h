#pragma once

#include <z3++.h>

#include <optional>
#include <string>
#include <vector>

namespace kawara::rules {

/// How floating-point operations are understood: as functions of which only commutativity of two
/// operands is known (what is then proved holds bit by bit), or as the operations of real numbers.
enum class Arithmetic : uint8_t { Uninterpreted, Real };

/// How the terms of a value are combined.
enum class Monoid : uint8_t { Sum, Product, Maximum, Minimum };

/// lower <= index < upper, or any condition on indices.
struct Guard {
  std::optional<z3::expr> index, lower, upper;
  std::optional<z3::expr> other;
  z3::expr condition(z3::context&) const;
};

/// The product of the factors, combined over all values of the bound indices (0 <= index < extent)
/// for which the guards hold. Where they do not, it counts for nothing.
struct SymbolicTerm {
  struct Bound {
    z3::expr index, extent;
  };
  std::vector<Bound> bound;
  std::vector<Guard> guards;
  std::vector<z3::expr> factors;
  std::vector<z3::expr> after; ///< added to the finished sum, where sums are rounded
};

/// One element as a function of indices: terms over a commutative monoid. Nested sums, sums over
/// parts of a range and products of sums are written out when values are made, by the laws of
/// finite sums; what is left to decide is whether terms are equal, which is linear arithmetic on
/// indices.
struct SymbolicValue {
  Monoid monoid = Monoid::Sum;
  std::vector<SymbolicTerm> terms;
  bool is_plain() const; ///< no bound indices
};

/// Makes and compares values, under assumptions on extents and indices.
class Prover {
public:
  Prover(z3::context& context, Arithmetic arithmetic, unsigned timeout_ms);

  z3::context& context() { return context_; }
  Arithmetic arithmetic() const { return arithmetic_; }
  z3::expr fresh_integer(const std::string& name);
  z3::expr fresh_real(const std::string& name);
  void assume(const z3::expr& fact) { solver_.add(fact); }
  /// Do the assumptions contradict each other?
  bool is_contradiction();
  /// Does the fact follow from the assumptions (and `more`)? False also when that is not known.
  bool follows(const z3::expr& fact, const std::vector<z3::expr>& more = {});

  SymbolicValue value(const z3::expr& real) const; ///< one term, one factor
  SymbolicValue number(double value);
  /// A plain value as one expression; throws InternalError for others.
  z3::expr expression(const SymbolicValue&);
  SymbolicValue add(const SymbolicValue&, const SymbolicValue&);
  SymbolicValue multiply(const SymbolicValue&, const SymbolicValue&);
  SymbolicValue negate(const SymbolicValue&);
  SymbolicValue apply(const std::string& function, const std::vector<z3::expr>& arguments);
  /// The elements of `body` at all values of some indices, the last one fastest, combined. A body
  /// that has bound indices itself must be of the same monoid, and of one in which order does not
  /// matter.
  SymbolicValue fold(Monoid, const std::vector<SymbolicTerm::Bound>& over, SymbolicValue body);
  /// The value where a condition holds.
  static SymbolicValue guarded(SymbolicValue, const Guard&);

  /// Is it proved that two values are equal for all indices that the assumptions allow?
  bool is_equal(const SymbolicValue&, const SymbolicValue&);

private:
  SymbolicValue renamed(const SymbolicValue&);
  z3::expr product(const SymbolicTerm&);
  bool is_equal_plain(Monoid, const std::vector<SymbolicTerm>&, const std::vector<SymbolicTerm>&,
                      const std::vector<z3::expr>& more);
  bool is_equal_under(const SymbolicValue&, const SymbolicValue&,
                      const std::vector<z3::expr>& more);
  /// Rounded sums depend on the order of their bound indices, maxima do not.
  bool is_equal_term(const SymbolicTerm&, const SymbolicTerm&, const std::vector<z3::expr>& more,
                     bool in_any_order);

  z3::context& context_;
  Arithmetic arithmetic_;
  z3::solver solver_;
  int next_ = 0;
};

} // namespace kawara::rules
