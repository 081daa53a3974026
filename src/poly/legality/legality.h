#pragma once

#include "poly/scop.h"

#include <string>
#include <variant>
#include <vector>

namespace kawara::poly {

/// Which promise the order breaks.
enum class Broken : uint8_t {
  Order,    ///< the sink would not run after its source
  Parallel, ///< two iterations of a parallel loop depend on each other
  Vector,   ///< two lanes of a vector loop depend on each other in a way lanes cannot keep
};

/// A coordinate of an element that is read from data.
inline constexpr int64_t kAnyElement = INT64_MIN;

/// The two iterations that would break, the same on each run: at the smallest parameter values the
/// lexicographically first pair.
struct Illegal {
  Broken broken = Broken::Order;
  size_t dependence = 0;             ///< into scop.dependences
  LoopId loop{};                     ///< the loop where the two part under the new order
  bool parts_at_loop = false;        ///< false: the loops agree and the sequence decides
  std::vector<int64_t> params;       ///< parameter values of the example
  std::vector<int64_t> source, sink; ///< iterator values
  std::vector<int64_t> element;      ///< that both touch; `kAnyElement` where only data can say
  std::string
      condition; ///< parameter values for which there is such a pair, e.g. `N >= 4`; empty: always
  std::vector<std::string>
      distance; ///< per loop of the source nest shared by the two: "+1", "-1", "0", ">=1", "*"
};

struct Legal {
  bool reassociates = false; ///< legal only because reductions may be reassociated
};

struct Undecided {
  std::string reason;
};

using Verdict = std::variant<Legal, Illegal, Undecided>;

/// The only judge. Legal iff every dependence of `scop` has its source strictly before its sink
/// under `order` (reductions excepted where the contract allows), no dependence at all is carried
/// by a parallel loop or one that is bound to an axis of a GPU (reductions of one element
/// excepted on thread.x where the contract allows), and every vector loop keeps its lanes'
/// dependences: for W consecutive iterations, statement by statement, all lanes read before any
/// lane writes. Only the running value of a scan goes from a lane to the next one, where the loop
/// is marked so and the contract allows to regroup it.
Verdict judge(const Scop& scop, const Order& order, unsigned long quota = kDefaultQuota);

/// Whether iterations of the loop, which is a vector loop, need running values of the ones before
/// (s[i] = s[i - 1] + x[i]) in a scan that may be regrouped: lanes can hand these on, if the loop
/// is marked so (Marks::is_scan).
bool runs_as_scan(const Scop&, const Order&, LoopId, unsigned long quota = kDefaultQuota);

/// Whether it has been proved, without a question, that every pair of the dependence keeps its
/// order, and not because reductions may be reassociated.
bool is_known_to_keep(const Scop&, const Order&, const Dependence&);

/// { x -> y : x runs before y } for two statements under an order, of all points of their spaces:
/// what it is intersected with has the domains.
isl::map before(const Scop&, const Order&, StmtId x, StmtId y);

} // namespace kawara::poly
