#pragma once

#include "poly/order.h"

#include <memory>
#include <vector>

namespace kawara::poly {

struct Equalities;

/// All that the judge looks at for one dependence under an order. Loops that both sides of every
/// pair have in common are left out: nothing happens there. Loops that count blocks and what is in
/// them are one (syntactic/equalities.h).
struct ProvedOrder {
  struct Level {
    Expr source, sink; ///< rows
    bool is_parallel = false;
    int64_t vector_width = 0; ///< of lanes along this loop
    bool is_scan = false;     ///< lanes hand on the dependence's running value
  };
  std::vector<Level> levels;
  int order = 0; ///< in the sequence where the two part: -1, 0 or 1
  bool may_reassociate = false;
  bool reassociates = false; ///< the answer, of an order that is kept
};

/// Answers about the pairs of a dependence that have been proved: a directive changes the order of
/// few of them, and need not have the others proved again. Only what holds is kept, so that a
/// refusal is always worked out with its witness. Whatever is in here follows from the pairs alone,
/// so copies of a dependence share it.
struct ProofCache {
  std::shared_ptr<const Equalities> equalities; ///< of the pairs
  std::vector<ProvedOrder> kept;
};

/// The same question, answered before; null when there is none.
const ProvedOrder* find_kept(const ProofCache&, const ProvedOrder&);

} // namespace kawara::poly
