#pragma once

#include "estimate/operations.h"
#include "program/program.h"
#include "support/diagnostic.h"

#include <span>
#include <vector>

namespace kawara::estimate {

/// Work of one statement at concrete sizes.
struct StatementWork {
  std::string name;
  double instances = 0;
  int64_t flops_per_instance = 0;
  int64_t int_ops_per_instance = 0;
};

/// What a program must do at least, at concrete parameter values.
struct Work {
  std::vector<StatementWork> statements; ///< in the program's order
  double flops = 0;                      ///< arithmetic operations on floats
  double int_ops = 0;                    ///< the same on integers that are data, not indices
  OperationsByType types;                ///< all of them
  /// Bytes that must cross the memory bus when caches are perfect: every input is read once, every
  /// output written once, every inout both.
  double compulsory_bytes = 0;
};

/// FLOPs of evaluating an expression once (operations.h).
int64_t flops_of(const scalar::Expr&);

/// Of floats and integers together: what intensity and places under a roof are counted in.
inline double operations_of(const Work& work) { return work.flops + work.int_ops; }

/// "FLOP" where all operations are of floats or there are none, else "OP".
inline const char* unit_of(const Work& work) { return work.int_ops > 0 ? "OP" : "FLOP"; }

/// "2.147 GOP": four digits.
std::string quantity(double value, const char* unit);

/// How many of each kind: "2.147 GFLOP", "2.147 GOP", "2.147 GFLOP, 3 kOP".
std::string quantities(const Work&);

/// Exact instance counts by walking the loops. A loop whose inner counts do not depend on it is
/// multiplied, and one whose inner counts are polynomial in it is summed from a few of its values,
/// so that sizes in the thousands take milliseconds. From a million iterations that must be visited
/// one by one, the others of their loop count like the one in their middle. Refuses a wrong number
/// of parameters or an expression that cannot be evaluated (K0445).
Result<Work, Diagnostic> count(const program::Program&, std::span<const int64_t> params);

} // namespace kawara::estimate
