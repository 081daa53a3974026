#pragma once

#include "oracle/enumerate.h"
#include "poly/order.h"
#include "program/interpret/values.h"

#include <optional>
#include <set>
#include <string>

namespace kawara::oracle {

/// What an order is judged on: a concrete run of the program.
struct Run {
  std::vector<program::Statement> statements;
  std::vector<int64_t> params;
  std::vector<Instance> instances; ///< in source order
  std::vector<Conflict> conflicts;
  bool may_reassociate = true; ///< the numerics contract lets reductions be reordered
  std::set<uint32_t> scans;    ///< statements that store running values which may be regrouped
};

/// `inputs` decide which elements are touched where indices are read from them.
Run run_of(const program::Program&, const std::vector<int64_t>& params,
           const program::Arrays& inputs);
Run run_of(const poly::Scop&, const std::vector<int64_t>& params, const program::Arrays& inputs);

/// Whether which elements are touched follows from data: the judge, who does not see them, may then
/// refuse what would do no harm.
bool depends_on_data(const Run&);

/// Why an order is not legal: the broken promise and the two instances.
struct Broken {
  std::string promise; ///< "order", "parallel i", "vector j", "two instances at one time"
  Instance source, sink;
};

/// The judge's question answered by looking at every pair of instances.
///
/// Legal (empty) iff no two instances share a moment, every conflict runs in order (reductions
/// excepted where the contract allows), no conflict at all lies in two iterations of a parallel
/// loop, and lanes of a vector loop keep theirs: for `width` consecutive values, statement by
/// statement, all lanes read before any lane writes, but for the running value of a scan, which
/// goes from each lane to the next where the loop is marked so.
std::optional<Broken> brute_judge(const Run&, const poly::Order&);

/// "S1(2, 0)"
std::string to_string(const Run&, const Instance&);

} // namespace kawara::oracle
