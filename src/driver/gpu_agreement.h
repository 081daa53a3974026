#pragma once

#include "run/functions/function.h"
#include "support/diagnostic.h"

#include <optional>
#include <string>
#include <vector>

namespace kawara::driver {

/// How far results of a model are from those that are expected of it.
struct Agreement {
  double worst = 0;   ///< largest difference of floats, relative to the largest cell of its output
  double spread = 0;  ///< norm of all such differences, relative to the norm of what is expected
  double changed = 0; ///< largest share of an output's integers or conditions that are others
  std::string
      where; ///< the output and cell of the worst, with both values; empty when all are equal
};

/// Cells that are no number, or the same infinity, on both sides are equal; on one side only, infinitely far apart, as is an
/// output of another type or shape. Sequences are not looked at.
Agreement agreement_of(const std::vector<run::Datum>& got, const std::vector<run::Datum>& expected);

/// How far apart results of one model may be by the numerics contract.
struct AllowedAgreement {
  double worst = 1e-4;   ///< many times what the order of sums makes of a net in f32
  double changed = 1e-2; ///< a rounding decides few integers
};

/// What results of a model with these floats may be from the same model's in f32: of narrow ones, 32 roundings.
AllowedAgreement allowed_agreement(graph::DataType floats);
/// The same for f32 where inputs that are one rounding larger or smaller move the results so far: 64 times that, but
/// never so far that anything would pass.
AllowedAgreement allowed_agreement(const Agreement& moved);

bool is_within(const Agreement&, const AllowedAgreement&);

/// The inputs with every float one rounding of its type larger or smaller, by turns that look random.
std::vector<run::Datum> rounded_elsewhere(const std::vector<run::Datum>& inputs);

/// Says that results are not what `reference` ("the processor") makes of the same inputs (K0737); nothing when they are.
std::optional<Diagnostic> refuse_difference(const Agreement&, const AllowedAgreement&,
                                            const std::string& reference);

} // namespace kawara::driver
