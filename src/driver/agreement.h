#pragma once

#include "program/program.h"
#include "run/functions/function.h"

#include <string>
#include <vector>

namespace kawara::driver {

/// How far one output of a model is from what it should be. NaN is NaN and an infinity is itself; either against
/// anything else is an infinite difference.
struct OutputAgreement {
  std::string name;
  std::string misfit; ///< "i64[4] instead of i64[4, 1]"; nothing below counts then
  bool is_float = true;
  double worst =
      0; ///< largest difference; of floats relative to the largest finite cell that is expected
  double norm =
      0; ///< of floats: norm of all finite differences, relative to the norm of what is expected
  int64_t differing = 0;        ///< cells that are not the same
  int64_t cell = 0;             ///< where the difference is largest,
  double got = 0, expected = 0; ///< and the cells there
};

OutputAgreement agreement_of(std::string name, const run::Datum& got, const run::Datum& expected);
/// Of all outputs.
std::vector<OutputAgreement> agreement_of(const std::vector<std::string>& names,
                                          const std::vector<run::Datum>& got,
                                          const std::vector<run::Datum>& expected);

/// How far results of a model may be from the reference interpreter's, relative to the largest cell of an output: what its
/// program that may differ most allows (`tolerance_of` in driver/session.h). Where values between programs are narrower than f32, two
/// units in their last place times the root of how many programs there are. Nothing under `exact`. `floats` is the type of values between programs.
double allowed_difference(const std::vector<std::string>& programs, program::Numerics,
                          graph::DataType floats);

/// Is that difference one that rounding explains? `integers` is how far integers may be apart: they are exact, but for
/// where a rounded float decides.
bool is_within(const OutputAgreement&, double allowed, double integers = 0);

/// "y: largest difference 3.1e-07 of the largest cell, in norm 1.2e-07", "z: 3 of 64 cells differ; cell 5 is 2
/// instead of 7".
std::string text_of(const OutputAgreement&);

/// K0436: these outputs are not what they should be. `from` says what they are compared with: "the reference".
Diagnostic disagreement(const std::vector<OutputAgreement>&, double allowed,
                        const std::string& from);

} // namespace kawara::driver
