#include "onnx_cases.h"

#include "driver/check/conformance.h"
#include "interpreted_tape.h"

#include <fmt/core.h>

#include <stdexcept>

namespace kawara::operator_models {
namespace {

using Inputs = std::map<std::string, run::Datum>;

/// What the kernels of a GPU give for these inputs; throws where they are wrong in themselves.
Result<std::vector<run::Datum>, Diagnostic>
run_for_gpu(driver::Model& model, const Inputs& inputs, const OnnxCaseOptions& options,
            const std::shared_ptr<run::CudaDevice>& device, JobTotals& totals) {
  KAWARA_TRY(const driver::Tape tape, driver::gpu_tape_of(model, inputs));
  driver::GpuProgramOptions how;
  how.makes_code = device != nullptr || options.makes_code;
  KAWARA_TRY(const driver::GpuPrograms programs,
             driver::gpu_programs_of(tape, environment_of(device), how));
  totals.add(programs);
  const auto results = device ? results_on_device(tape, programs, inputs, device)
                              : InterpretedTape(tape, programs, options.played).play(inputs);
  if (!results)
    throw std::runtime_error(results.error());
  std::vector<run::Datum> data;
  for (const graph::Tensor& tensor : *results)
    data.push_back({tensor, false, {}});
  return data;
}

/// What running a case gives, and its verdict.
struct RunCase {
  driver::ConformanceResult result;
  std::vector<run::Datum> last; ///< results for the last data set that was run
};

template <class Run>
RunCase run_noted(const driver::ConformanceCase& one, driver::CaseOptions options, Run run) {
  RunCase out;
  options.run = [&](driver::Model& model,
                    const Inputs& inputs) -> Result<std::vector<run::Datum>, Diagnostic> {
    KAWARA_TRY(out.last, run(model, inputs));
    return out.last;
  };
  out.result = driver::run_case(one, options);
  return out;
}

/// Where results differ from a processor's by more than two ways to round explain.
std::string unlike_processor(const RunCase& got, const RunCase& processor) {
  if (processor.result.verdict != driver::Verdict::Failed ||
      got.last.size() != processor.last.size())
    return got.result.detail;
  constexpr double kRelative = 1e-3, kAbsolute = 1e-6;
  for (size_t k = 0; k < got.last.size(); ++k)
    if (const std::string wrong =
            driver::difference(got.last[k], processor.last[k], kRelative, kAbsolute);
        !wrong.empty())
      return "not a processor's: " + wrong;
  return "";
}

std::string wrong_with_case(const driver::ConformanceCase& one, const OnnxCaseOptions& how,
                            const std::shared_ptr<run::CudaDevice>& device, JobTotals& totals) {
  using driver::Verdict;
  driver::CaseOptions options;
  options.model = driver::options_for_gpu({});
  const RunCase got = run_noted(one, options, [&](driver::Model& model, const Inputs& inputs) {
    return run_for_gpu(model, inputs, how, device, totals);
  });
  const Verdict verdict = got.result.verdict;
  if (verdict == Verdict::Passed)
    return ++totals.passed, "";
  if (verdict == Verdict::Skipped)
    return ++totals.elsewhere, "";
  const RunCase processor = run_noted(
      one, {}, [](driver::Model& model, const Inputs& inputs) { return model.run(inputs); });
  if (verdict == Verdict::Failed) {
    const std::string wrong = unlike_processor(got, processor);
    totals.elsewhere += wrong.empty() ? 1 : 0;
    return wrong;
  }
  if (how.is_verbose)
    fmt::print("refused: {}: {}\n", one.name, got.result.detail);
  if (processor.result.verdict != Verdict::Passed)
    return ++totals.elsewhere, "";
  // What runs on a processor runs here, but for sequences and subgraphs.
  if (!got.result.detail.starts_with("K0736"))
    return got.result.detail;
  return ++totals.refused, "";
}

} // namespace

Result<std::vector<GuardedJob>, Diagnostic> onnx_jobs(const std::string& folder,
                                                      const OnnxCaseOptions& options) {
  KAWARA_TRY(const std::vector<driver::ConformanceCase> cases, driver::conformance_cases(folder));
  std::vector<GuardedJob> jobs;
  for (size_t k = options.part; k < cases.size(); k += options.parts)
    if (cases[k].name.find(options.text) != std::string::npos)
      jobs.push_back(
          {cases[k].name, [one = cases[k], options](const auto& device, JobTotals& totals) {
             return wrong_with_case(one, options, device, totals);
           }});
  return jobs;
}

} // namespace kawara::operator_models
