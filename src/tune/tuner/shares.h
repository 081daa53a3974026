#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kawara::tune {

/// What is known of one task of several that share a budget.
struct TaskState {
  double uses = 1;          ///< places where the program runs
  double work = 1;          ///< operations of one run
  std::string kind;         ///< tasks of the same kind can be expected to get equally fast
  double first_seconds = 0; ///< of the default; 0 before it was measured
  std::vector<double> best; ///< seconds of the fastest schedule after each round
  bool is_finished = false; ///< nothing is left to try
};

/// How much a further round of the task is expected to take off the whole (in seconds, negative).
/// One part is what its last rounds took off on average; the other is hope: that after t rounds one
/// more takes off the t-th part, or, where that is more, that the task gets half as fast as the
/// best of its kind.
double expected_change(const std::vector<TaskState>&, size_t task);

/// The task whose turn it is: each once, in their order, then the one that is expected to gain
/// most. Nothing when all are finished.
std::optional<size_t> next_task(const std::vector<TaskState>&);

} // namespace kawara::tune
