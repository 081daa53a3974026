#pragma once

#include "driver/pipeline.h"

#include <string>
#include <vector>

namespace kawara::tune {

/// One program to tune: its sizes fixed, for one machine and a number of threads.
struct Task {
  driver::Request request; ///< without directives
  program::Program program;
  std::vector<int64_t> sizes; ///< of all parameters, in the program's order
  schedule::Environment environment;
  int64_t threads = 1;
};

/// Refuses what `driver::program_of` and `driver::all_sizes` refuse.
Parsed<Task> task_of(driver::Request, const schedule::Environment&, int64_t threads);

/// What tuned schedules are found by. Two tasks with equal keys are the same work on the same
/// machine, whatever their files are called.
struct Key {
  std::string program; ///< canonical text, sizes open: types, contract and statements stand in it
  std::string sizes;   ///< "K=103 M=97 N=101", by name; empty when the program has no parameters
  std::string target;  ///< what schedules and code depend on
  int64_t threads = 1;
  friend bool operator==(const Key&, const Key&) = default;
  friend auto operator<=>(const Key&, const Key&) = default;
};
Key key_of(const Task&);

/// Sixteen hexadecimal digits that name a key for people.
std::string id_of(const Key&);

/// How far apart the sizes of two keys are: the sum of |log2| of their ratios. Nothing when they
/// are of different programs, machines or thread counts, or name different parameters.
std::optional<double> distance(const Key&, const Key&);

} // namespace kawara::tune
