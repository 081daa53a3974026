#pragma once

#include "driver/check/agreement.h"
#include "driver/check/reference.h"

#include <map>

namespace kawara::driver {

/// Results of a model that has run, and under which contract.
struct ModelResults {
  std::map<std::string, run::Datum> inputs;
  std::vector<run::Datum> outputs;
  std::vector<std::string> programs; ///< that made them (`Model::programs`)
  program::Numerics numerics = program::Numerics::Rounding;
  graph::DataType floats = graph::DataType::F32; ///< of values between programs
};

struct ModelCheck {
  std::vector<OutputAgreement> outputs;
  double allowed = 0; ///< `allowed_difference`, or more where the model magnifies rounding
};

/// Compares every output with what the graph means as it is written: its nodes interpreted one
/// after the other. Where results are further apart than `allowed_difference`, inputs and weights
/// are moved by one rounding each: what that moves a result by says how far apart two right results
/// may be. Refuses results that differ by more (K0436), and what the interpreter refuses (K0510,
/// K0511).
Result<ModelCheck, Diagnostic> check_model(const graph::Graph& written, const ModelResults& results,
                                           const NodeProgress& progress = nullptr);

} // namespace kawara::driver
