#pragma once

#include "program/program.h"
#include "run/functions/function.h"

#include <string>
#include <vector>

namespace kawara::driver {

/// How far one output of a model is from what it should be. NaN is NaN and an infinity is itself;
/// either against anything else is an infinite difference.
struct OutputAgreement {
  std::string name;
  std::string misfit; ///< "i64[4] instead of i64[4, 1]"; nothing below counts then
  bool is_float = true;
  /// Largest difference; of floats relative to the largest finite element that is expected.
  double worst = 0;
  /// Of floats: norm of all finite differences, relative to the norm of what is expected.
  double norm = 0;
  int64_t elements = 0;         ///< how many there are,
  int64_t differing = 0;        ///< and how many are not the same
  std::string place;            ///< "[0, 3]": where the difference is largest,
  double got = 0, expected = 0; ///< and the elements there
};

/// How far apart two right results of one model may be.
struct AllowedDifference {
  double floats = 0; ///< relative to the largest element of an output
  double integers =
      0; ///< by how much each may differ: they are exact, but for where a rounded float decides,
  double changed = 0; ///< and the share of an output's integers that may be others altogether
};

OutputAgreement agreement_of(std::string name, const run::Datum& got, const run::Datum& expected);
/// Of all outputs.
std::vector<OutputAgreement> agreement_of(const std::vector<std::string>& names,
                                          const std::vector<run::Datum>& got,
                                          const std::vector<run::Datum>& expected);

/// How far results of a model may be from the reference interpreter's, relative to the largest
/// element of an output: what its program that may differ most allows (`tolerance_of` in
/// driver/session.h). Where values between programs are narrower than f32, two units in their last
/// place times the root of how many programs there are. Nothing under `exact`. `floats` is the type
/// of values between programs.
double allowed_difference(const std::vector<std::string>& programs, program::Numerics,
                          graph::DataType floats);

/// Is that difference one that rounding explains?
bool is_within(const OutputAgreement&, const AllowedDifference&);
bool are_within(const std::vector<OutputAgreement>&, const AllowedDifference&);

/// The same elements, every float one rounding of its type larger or smaller, by turns that look
/// random. A result moves by so much where a model magnifies rounding.
run::Tensor perturbed_by_one_ulp(const run::Tensor& elements, uint64_t seed);

/// "y: largest difference 3.1e-07 of the largest element, in norm 1.2e-07", "z: 3 elements differ;
/// z[5] is 2 instead of 7".
std::string text_of(const OutputAgreement&);

/// K0436: these outputs are not what they should be. `from` says what they are compared with: "the
/// reference".
Diagnostic disagreement(const std::vector<OutputAgreement>&, double allowed,
                        const std::string& from);

} // namespace kawara::driver
