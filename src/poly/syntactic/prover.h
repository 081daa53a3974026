#pragma once

#include "poly/syntactic/answer.h"

#include <functional>

namespace kawara::poly {

/// Answers questions about a scop's sets and relations from text: from indices, rows of orders and
/// the constraints of domains, none of it through isl. Everything that Kawara concludes without
/// isl, it concludes here. An answer other than "unknown" stands for a proof; where there is none,
/// the caller asks isl. In a context that compares (`poly/syntactic/comparison.h`, `--verify`), isl
/// is asked as well, and an InternalError names the point where the two differ.
class SyntacticProver {
public:
  explicit SyntacticProver(const Scop& scop) : scop_(scop) {}

  // Accesses of one tensor.

  /// No element is touched by both. Never `No`.
  Answer are_disjoint(const Access&, const Access&) const;
  /// Some iteration of the first touches an element that a later one of the second touches, too.
  /// Never `No`.
  Answer are_in_conflict(const Order&, const Access&, const Access&) const;

  // Pairs of iterations of two statements.

  /// What both sides of the pairs have in common, as equalities of the relation show it (which may
  /// ask isl, for iterators of one name).
  Equalities equalities_of(const isl::map& pairs, StmtId source, StmtId sink) const;
  /// The same of pairs that touch one element through these accesses.
  Equalities equalities_of(const Access& source, const Access& sink) const;
  /// The same of any pairs: nothing.
  Equalities no_equalities(StmtId source, StmtId sink) const;
  /// The two functions have one value in every pair. Never `No`.
  Answer are_equal(const Equalities&, const Expr& of_source, const Expr& of_sink) const;
  /// Which of the first `loops` loops that the statements share decide the order of the pairs; in
  /// the others both sides are in the same iteration. `is_apart`: by depth, loops that have to be
  /// steps by themselves; empty: none.
  std::vector<Step> steps(const Order&, const Equalities&, size_t loops,
                          const std::vector<bool>& is_apart = {}) const;
  /// Both sides of every pair are in the same iteration of the first `loops` loops. Never `No`.
  Answer are_in_one_iteration(const Order&, const Equalities&, size_t loops) const;

  // Iterations of one statement.

  /// The two functions have one value in each.
  Answer are_equal(StmtId, const Expr&, const Expr&) const;
  /// The values of `rows` give those of iterators.
  Answer give_iterators(StmtId, const std::vector<Expr>& rows,
                        const std::vector<Expr>& iterators) const;
  /// The values of `rows` give that of a function. Never `No`.
  Answer give_value(StmtId, const std::vector<Expr>& rows, const Expr& value) const;
  /// Iterators (each an `Iter`) as functions of the values of `rows` (Iter k: row k).
  std::optional<std::vector<Expr>> iterators_from(StmtId, const std::vector<Expr>& rows,
                                                  const std::vector<Expr>& iterators) const;
  /// The box of values of `inner` rows in each iteration of `outer` rows.
  std::optional<Boxes> boxes(StmtId, const std::vector<Expr>& outer,
                             const std::vector<Expr>& inner) const;

  // Loops of an order.

  /// The values of a loop, where they are the same wherever it runs.
  std::optional<ConstantRange> range(const Order&, LoopId) const;
  /// The values of `inner` do not depend on those of the loops from `outer` down to it.
  Answer is_rectangle(const Order&, LoopId outer, LoopId inner) const;
  /// The largest number of values from first to last that the loop runs through in one go.
  std::optional<int64_t> longest_run(const Order&, LoopId) const;

  // What was proved before. The two who remember (`poly/legality`) say how isl is asked again.

  /// `seen`, an answer of memory.
  Answer remembered(Question, Answer seen) const;
  /// Compares such an answer with sets, where answers are compared.
  void compare(Question, const std::function<std::string()>& claim,
               const std::function<std::optional<std::string>()>& counterexample) const;
  bool is_comparing() const;

private:
  template <class Value, class Claim, class Against>
  Value answered(Question, Value, const Claim&, const Against&) const;

  const Scop& scop_;
};

} // namespace kawara::poly
