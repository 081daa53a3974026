#pragma once

#include "poly/scop.h"

namespace kawara::poly {

/// { S[iters] -> [position, row, position, ...] }, padded with zeros to `length`.
isl::map time_of(const Scop&, const Order&, StmtId, const std::vector<int64_t>& positions,
                 size_t length);
/// The times of all statements in one space: lexicographic order is execution order.
isl::union_map times_of(const Scop&, const Order&);

/// A dependence in words, free of isl: for listings, pictures and reports.
struct Summary {
  DependenceKind kind = DependenceKind::Flow;
  std::string tensor, source, sink;
  bool is_reduction = false;
  std::vector<std::string> loops;    ///< shared loops, outermost first
  std::vector<std::string> distance; ///< one entry a shared loop: "+1", "0", ">=1", "-1..+1", "*"
  std::string condition;             ///< for which sizes; empty: all
  std::string relation;              ///< in isl notation
};
std::vector<Summary> summaries(const Scop&, const std::vector<Dependence>&);

} // namespace kawara::poly
