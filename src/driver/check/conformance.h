#pragma once

#include "driver/model/model.h"
#include "run/functions/function.h"
#include "support/diagnostic.h"

#include <optional>
#include <string>
#include <vector>

namespace kawara::driver {

/// One case of the ONNX backend tests: a folder with `model.onnx` and data sets of inputs and
/// expected outputs.
struct ConformanceCase {
  std::string name; ///< "node/test_abs"
  std::string folder;
};

/// All cases below `root` (its folders node, simple, pytorch-converted, pytorch-operator), sorted.
/// Refuses a folder without any (K0530).
Result<std::vector<ConformanceCase>, Diagnostic> conformance_cases(const std::string& root);

enum class Verdict : uint8_t {
  Passed,
  Failed,      ///< ran, and the result is wrong
  Unsupported, ///< refused with a message
  Skipped      ///< inputs or outputs are not plain tensors
};
std::string_view name_of(Verdict);

struct ConformanceResult {
  Verdict verdict = Verdict::Passed;
  std::string op;     ///< operator of a model with one node, "several" otherwise
  std::string detail; ///< why it did not pass
};

/// How a case is run.
struct CaseOptions {
  /// The model as this version of the operators spells it (graph/onnx/opset.h), written as a file
  /// and read again.
  std::optional<int64_t> opset = {};
  ModelOptions model = {};
  /// Results for these inputs; empty: the model runs itself.
  std::function<Result<std::vector<run::Datum>, Diagnostic>(
      Model&, const std::map<std::string, run::Datum>& inputs)>
      run = nullptr;
};
/// Runs one case on all its data sets.
ConformanceResult run_case(const ConformanceCase&, const CaseOptions& = {});

/// Where `got` is not `expected`; empty when it is. Floats may differ by `relative` of the expected
/// value and by `absolute`, everything else not at all.
std::string difference(const run::Datum& got, const run::Datum& expected, double relative,
                       double absolute);

} // namespace kawara::driver
