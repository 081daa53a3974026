#pragma once

#include "tune/measure/task_bench.h"

#include <optional>
#include <string>

namespace kawara::tune {

/// Whether the interpreter does it in well under a second.
bool is_interpretable(const program::Program&, const std::vector<int64_t>& sizes);

/// Where two results differ by more than is allowed, in one line; empty where they do not.
std::string difference_of(const program::Program&, const program::Arrays& got,
                          const program::Arrays& expected, double allowed);
/// ... as an error of Kawara's (K0436).
std::optional<Diagnostic> refuse_difference(const program::Program&, const program::Arrays& got,
                                            const program::Arrays& expected, double allowed);

/// Compiles the default schedule at the largest of some small sizes that the interpreter can do,
/// and compares the two (K0436). Errors: those of compiling and calling.
Parsed<Done> check_small(const Reference&);

/// An error alone as a list of them.
template <class T> Parsed<T> collected(Result<T, Diagnostic> result) {
  if (!result)
    return fail(Diagnostics{std::move(result).error()});
  return *std::move(result);
}

} // namespace kawara::tune
