#pragma once

#include "cache/distances.h"
#include "cache/simulate.h"

#include <optional>
#include <string>

namespace kawara::cache {

/// What was asked and what came of it.
struct Report {
  std::string title;      ///< "gemm.kw, as written"
  bool is_of_text = true; ///< else of a kernel after all passes
  double flops = 0;       ///< 0: not known
  Simulated simulated;
  std::optional<Simulated> tlb; ///< of the same accesses, by pages
  std::optional<DistanceHistogram> curve;
};

/// "exact"; "predicted" where conditions on data were taken to hold, or both sides of a choice
/// counted.
std::string_view label_of(const AccessProgram&);

/// Tables for people: for each cache all accesses, then by array, loop and reference.
std::string print(const Report&, const AccessProgram&);
std::string to_json(const Report&, const AccessProgram&);

} // namespace kawara::cache
