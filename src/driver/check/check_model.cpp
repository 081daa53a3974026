#include "driver/check/check_model.h"

#include "driver/session.h"

#include <algorithm>
#include <cmath>

namespace kawara::driver {
namespace {

using run::Datum;

/// What the graph's outputs are with inputs and weights rounded elsewhere.
Result<std::vector<Datum>, Diagnostic> moved_outputs(graph::Graph graph, std::vector<Datum> inputs,
                                                     const NodeProgress& progress) {
  uint64_t seed = 1;
  for (Datum& input : inputs)
    input.tensor = perturbed_by_one_ulp(input.tensor, ++seed);
  for (auto& [id, tensor] : graph.initializers)
    tensor = perturbed_by_one_ulp(tensor, ++seed);
  return interpret(graph, inputs, {}, progress);
}

std::vector<OutputAgreement> beyond(const ModelCheck& check, const std::vector<double>& integers) {
  std::vector<OutputAgreement> wrong;
  for (size_t k = 0; k < check.outputs.size(); ++k)
    if (!is_within(check.outputs[k], {check.allowed, integers.empty() ? 0 : integers[k]}))
      wrong.push_back(check.outputs[k]);
  return wrong;
}

} // namespace

Result<ModelCheck, Diagnostic> check_model(const graph::Graph& written, const ModelResults& results,
                                           const NodeProgress& progress) {
  std::vector<Datum> inputs;
  for (const graph::ValueId id : written.inputs)
    inputs.push_back(results.inputs.at(written.values[id].name));
  std::vector<std::string> names;
  for (const graph::ValueId id : written.outputs)
    names.push_back(written.values[id].name);
  KAWARA_TRY(const std::vector<Datum> expected, interpret(written, inputs, {}, progress));
  ModelCheck check{agreement_of(names, results.outputs, expected),
                   allowed_difference(results.programs, results.numerics, results.floats)};
  std::vector<OutputAgreement> wrong = beyond(check, {});
  if (wrong.empty() || results.numerics == program::Numerics::Exact) {
    if (!wrong.empty())
      return fail(disagreement(wrong, check.allowed, "the reference"));
    return check;
  }
  KAWARA_TRY(const std::vector<Datum> other, moved_outputs(written, inputs, progress));
  std::vector<double> integers;
  double most = 0;
  for (const OutputAgreement& each : agreement_of(names, other, expected)) {
    integers.push_back(each.is_float ? 0 : each.worst);
    most = each.is_float && std::isfinite(each.worst) ? std::max(most, each.worst) : most;
  }
  check.allowed = std::max(check.allowed, tolerance_from_rounding(most));
  wrong = beyond(check, integers);
  if (!wrong.empty())
    return fail(disagreement(wrong, check.allowed, "the reference"));
  return check;
}

} // namespace kawara::driver
