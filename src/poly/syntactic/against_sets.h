#pragma once

#include "poly/syntactic/comparison.h"

namespace kawara::poly {

// The questions of the syntactic prover, asked of isl: a point where sets contradict the answer,
// nothing where they agree. None of it uses what text shows.

Counterexample against_disjoint(const Scop&, const Access&, const Access&);
/// There is no such pair.
Counterexample against_conflict(const Scop&, const Order&, const Access&, const Access&);
Counterexample against_equal(const Scop&, const isl::map& pairs, StmtId source, StmtId sink,
                             const Expr& of_source, const Expr& of_sink);
Counterexample against_steps(const Scop&, const Order&, const isl::map& pairs, StmtId source,
                             StmtId sink, size_t loops, const std::vector<Step>&);
Counterexample against_equal(const Scop&, StmtId, const Expr&, const Expr&, Answer);
Counterexample against_given(const Scop&, StmtId, const std::vector<Expr>& rows,
                             const std::vector<Expr>& values, Answer);
Counterexample against_solved(const Scop&, StmtId, const std::vector<Expr>& rows,
                              const std::vector<Expr>& iterators, const std::vector<Expr>& solved);
Counterexample against_boxes(const Scop&, StmtId, const std::vector<Expr>& outer,
                             const std::vector<Expr>& inner, const Boxes&);
Counterexample against_range(const Scop&, const Order&, LoopId, const ConstantRange&);
Counterexample against_rectangle(const Scop&, const Order&, LoopId outer, LoopId inner, Answer);
Counterexample against_run(const Scop&, const Order&, LoopId, int64_t run);

/// Pairs of iterations that touch one element through these accesses.
isl::map pairs_of_accesses(const Scop&, const Access& source, const Access& sink);
/// Those of the pairs whose source runs before the sink, loop by loop and then by the sequence.
isl::map pairs_in_plain_order(const Scop&, const Order&, const isl::map& pairs, StmtId source,
                              StmtId sink);
/// A point of a set or relation; nothing where it is empty.
Counterexample point_of(const isl::set&);
Counterexample point_of(const isl::map&);

} // namespace kawara::poly
