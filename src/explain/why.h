#pragma once

#include "estimate/machine.h"
#include "schedule/attempt.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kawara::explain {

/// One way to run the loops of a nest that `auto` considered.
struct Candidate {
  std::string rule;
  std::string directives;        ///< that make it, separated by `;`
  std::optional<double> seconds; ///< predicted, of these loops alone; none where it was refused or
                                 ///< the target is a GPU
  std::string bound;             ///< what sets the pace then: "arithmetic", "L2", ...
  bool is_chosen = false;
  std::string refusal; ///< why it cannot be; empty where it can
};

/// All that was considered for some statements, the fastest first, what was refused last.
struct Considered {
  std::string statements; ///< "S1" or "S1, S2"
  std::string text;       ///< of the first of them
  std::vector<Candidate> candidates;
};

/// Where and for what costs are predicted.
struct Prices {
  const estimate::Machine& machine;
  std::span<const int64_t> sizes;
  int64_t threads = 1;
};

/// What `auto` wrote down, by the statements that it is about, in the order in which it came to
/// them. `chosen` are all directives of the schedule that was made of it.
std::vector<Considered> considered(const std::vector<schedule::Attempt>&,
                                   const std::vector<schedule::Directive>& chosen,
                                   const schedule::Environment&, const std::optional<Prices>&);

/// A line for each candidate; `*` stands before the one that was taken.
std::string why_text(const std::vector<Considered>&);
std::string why_json(const std::vector<Considered>&);

} // namespace kawara::explain
