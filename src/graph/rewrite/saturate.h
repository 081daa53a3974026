#pragma once

#include "graph/rewrite/match.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace kawara::rewrite {

/// Where saturation stops when it does not end by itself.
struct Limits {
  size_t nodes = 20'000;
  int iterations = 8;
  /// A rule with more matches sits out some iterations, then may have twice as many.
  size_t matches = 600;
  /// Rules with several left sides square the graph; they run in the first iterations only.
  int joint_iterations = 2;
  std::function<bool()> is_over; ///< asked between rules; a clock, when the caller has one
};

/// What happened.
struct Saturation {
  enum class End : uint8_t { Saturated, Nodes, Iterations, Time };
  End end = End::Saturated;
  int iterations = 0;
  std::map<std::string, int64_t> fired; ///< merges that each rule made
};
std::string_view name_of(Saturation::End);

/// Applies the rules that `numerics` allows until nothing new comes, or a limit is met.
Saturation saturate(EGraph&, const std::vector<Rule>&, Numerics numerics, const Limits&);

} // namespace kawara::rewrite
