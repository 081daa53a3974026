#include "driver/check/check_gpu_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kawara::driver {
namespace {

using graph::DataType;
using run::Datum;

double share_changed(const OutputAgreement& output) {
  return output.elements > 0
             ? static_cast<double>(output.differing) / static_cast<double>(output.elements)
             : 0;
}

/// Inputs that move results by `moved` let two right results be 64 times as far apart, but never so
/// far that anything would pass.
AllowedDifference allowed_by_rounding(const std::vector<OutputAgreement>& moved) {
  constexpr double kRoundings = 64, kMostFloats = 1e-2, kMostChanged = 0.1;
  AllowedDifference allowed = allowed_on_gpu(DataType::F32);
  for (const OutputAgreement& each : moved)
    if (each.is_float)
      allowed.floats = std::max(allowed.floats, std::min(kRoundings * each.worst, kMostFloats));
    else
      allowed.changed =
          std::max(allowed.changed, std::min(kRoundings * share_changed(each), kMostChanged));
  return allowed;
}

/// Results of the processor that are further from f32 than this say nothing about others.
constexpr AllowedDifference kMostOfNarrow{0.25, 0, 0.25};
/// Roundings in another order move results by about as much again.
constexpr double kOtherOrder = 2;

/// What the processor's own roundings in that type move results by, others may.
AllowedDifference allowed_by_narrow(const std::vector<OutputAgreement>& narrow,
                                    AllowedDifference allowed) {
  for (const OutputAgreement& each : narrow)
    if (each.is_float)
      allowed.floats = std::max(allowed.floats, kOtherOrder * each.worst);
    else
      allowed.changed = std::max(allowed.changed, kOtherOrder * share_changed(each));
  return allowed;
}

/// All elements together are no further away than those of the processor in that type are.
bool have_such_norms(const std::vector<OutputAgreement>& outputs,
                     const std::vector<OutputAgreement>& narrow) {
  for (size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].is_float && outputs[k].norm > kOtherOrder * narrow[k].norm)
      return false;
  return true;
}

std::string lines_of(const std::vector<OutputAgreement>& outputs,
                     const AllowedDifference& allowed) {
  std::string lines;
  for (const OutputAgreement& each : outputs) {
    if (is_within(each, allowed))
      continue;
    lines += text_of(each) + "\n";
    if (each.misfit.empty() && each.is_float && std::isfinite(each.worst))
      lines += fmt::format("  {}{} is {:.9g} instead of {:.9g}\n", each.name, each.place, each.got,
                           each.expected);
  }
  return lines;
}

Diagnostic differs(const GpuCheck& check) {
  Diagnostic d;
  d.code = "K0737";
  d.headline = "the model's results differ from those of the processor";
  d.body.push_back(lines_of(check.outputs, check.allowed) +
                   fmt::format("Allowed are {:.1e} of an output's largest element, and {:.2g} % of "
                               "its integers.",
                               check.allowed.floats, check.allowed.changed * 100));
  d.body.push_back("Either the model magnifies rounding, or this is a bug in Kawara; please report "
                   "it with\nthe command and its files.");
  return d;
}

Diagnostic too_narrow(const GpuCheck& check, const std::vector<OutputAgreement>& narrow,
                      DataType floats) {
  const std::string type(graph::name_of(floats));
  Diagnostic d;
  d.code = "K0738";
  d.headline = type + " is too narrow for this model: nothing can be checked";
  d.body.push_back("On the processor, results in " + type + " are too far from those in f32:\n" +
                   lines_of(narrow, check.allowed) + "On the GPU:\n" +
                   lines_of(check.outputs, check.allowed) +
                   fmt::format("Allowed are {:.1e} of an output's largest element, and {:.2g} % of "
                               "its integers.",
                               check.allowed.floats, check.allowed.changed * 100));
  if (floats == DataType::F16) {
    d.body.push_back("Values below 6e-8 are zero in f16, values above 65504 are infinite.");
    d.help.push_back({"a type with the range of f32", "--type bf16", false});
  }
  d.help.push_back({"no narrow type", "--type f32", false});
  return d;
}

} // namespace

AllowedDifference allowed_on_gpu(DataType floats) {
  constexpr double kNarrowRoundings = 32;
  if (floats == DataType::F16)
    return {kNarrowRoundings * 0x1p-11, 0, kNarrowRoundings * 0x1p-11};
  if (floats == DataType::BF16)
    return {kNarrowRoundings * 0x1p-8, 0, kNarrowRoundings * 0x1p-8};
  return {1e-4, 0, 1e-2};
}

Result<GpuCheck, Diagnostic> check_gpu_model(const std::vector<std::string>& names,
                                             const std::map<std::string, Datum>& inputs,
                                             const std::vector<Datum>& results, DataType floats,
                                             const ProcessorRun& run) {
  KAWARA_TRY(const std::vector<Datum> expected, run(inputs, DataType::F32));
  GpuCheck check{agreement_of(names, results, expected), allowed_on_gpu(floats)};
  if (are_within(check.outputs, check.allowed))
    return check;
  if (floats != DataType::F32) {
    KAWARA_TRY(const std::vector<Datum> narrow, run(inputs, floats));
    const auto of_narrow = agreement_of(names, narrow, expected);
    if (!are_within(of_narrow, kMostOfNarrow))
      return fail(too_narrow(check, of_narrow, floats));
    check.allowed = allowed_by_narrow(of_narrow, check.allowed);
    if (!are_within(check.outputs, check.allowed) || !have_such_norms(check.outputs, of_narrow))
      return fail(differs(check));
    return check;
  }
  std::map<std::string, Datum> moved = inputs;
  uint64_t seed = 1;
  for (auto& [name, datum] : moved)
    datum.tensor = perturbed_by_one_ulp(datum.tensor, ++seed);
  KAWARA_TRY(const std::vector<Datum> others, run(moved, DataType::F32));
  check.allowed = allowed_by_rounding(agreement_of(names, others, expected));
  if (!are_within(check.outputs, check.allowed))
    return fail(differs(check));
  return check;
}

} // namespace kawara::driver
