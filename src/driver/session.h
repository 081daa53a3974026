#pragma once

#include "driver/pipeline.h"
#include "program/interpret/values.h"
#include "run/measure.h"

#include <set>

namespace kawara::driver {

/// Inputs of a run: given arrays where there are some, a fixed pattern elsewhere. Refuses sizes
/// whose tensors need more memory than there is (K0448).
Parsed<program::Arrays> inputs_for(const program::Program&, const std::vector<int64_t>& sizes,
                                   program::Arrays given);

/// Calls a compiled program on these inputs and returns its outputs and inouts.
Parsed<program::Arrays> call(const Compiled&, const std::vector<int64_t>& sizes,
                             program::Arrays inputs);

/// Time per call, on inputs of a fixed pattern. Inouts keep changing from call to call.
Parsed<run::Timing> time_calls(const Compiled&, const std::vector<int64_t>& sizes,
                               program::Arrays inputs, const run::MeasureOptions&);

/// Largest difference of two results, and where. Relative to the larger magnitude, or absolute
/// below 1.
struct Difference {
  double worst = 0;
  std::string tensor;
  std::vector<int64_t> element;
  double got = 0, expected = 0;
};
/// What the contract leaves open of a program's results, besides how often they are rounded.
struct Freedom {
  /// Tensors of integers or conditions that a float has a part in, by a conversion or a comparison:
  /// rounding may decide their elements. All others are exact under every contract.
  std::set<std::string> decided_by_floats;
  /// Tensors of running values (prefix sums): what was rounded while they were large stays when
  /// they are small.
  std::set<std::string> scanned;
};
Freedom freedom_of(const program::Program&);

/// Integers and conditions are the same or infinitely far apart, but for those that floats decide.
/// Elements of scans are compared with a part of the largest in their tensor where they are
/// smaller.
Difference compare(const program::Arrays& got, const program::Arrays& expected,
                   const Freedom& = {});

/// How far a compiled result may be from the interpreter's. Nothing under `exact`; otherwise 64
/// roundings of the type that sums are computed in, times the root of the longest sum or size, and
/// 4 units in the last place of each statement whose results are stored in a narrower type, with as
/// many more as the root of its updates, and 4 of each computed value that it rounds to one on the
/// way.
double tolerance_of(const program::Program&, const std::vector<int64_t>& sizes);

/// The inputs with every real number one rounding larger or smaller, by turns that look random.
/// Some programs (a factorisation without pivots, a recursion) magnify roundings: how far their
/// results then move says how far apart two right results may be.
program::Arrays perturbed_by_one_ulp(program::Arrays inputs);

/// How far apart two right results may be that differ by this much after `perturbed_by_one_ulp`.
/// Never so far that anything would pass.
double tolerance_from_rounding(double worst);

} // namespace kawara::driver
