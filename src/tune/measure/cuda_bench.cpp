#include "tune/measure/cuda_bench.h"

#include "driver/gpu/gpu.h"
#include "driver/session.h"
#include "program/interpret/arguments.h"
#include "tune/clock.h"
#include "tune/measure/code_size.h"
#include "tune/measure/prover.h"
#include "tune/measure/reference_check.h"

#include <cstdlib>
#include <map>
#include <stdexcept>

namespace kawara::tune {
namespace {

/// What the device says when a kernel went wrong; its context is of no use then.
constexpr std::string_view kDeviceFailed = "K0713";

class CudaBench : public Bench {
public:
  explicit CudaBench(std::shared_ptr<const Reference> reference)
      : reference_(std::move(reference)), task_(reference_->task), prover_(*reference_),
        allowed_(driver::tolerance_of(task_.program, task_.sizes)) {
    options_.arch = task_.environment.gpu->arch;
    options_.cache = driver::cuda_cache();
  }

  /// Runs the default; its results are the measure unless the interpreter's are known.
  Parsed<Done> begin() {
    KAWARA_TRY(device_, collected(run::CudaDevice::open()));
    Made made = made_of(reference_->default_schedule);
    most_text_ = most_text_beside(made.unit.text.size());
    KAWARA_TRY(run::CudaExecutable code, collected(code_of(std::move(made))));
    default_ = std::make_unique<run::CudaExecutable>(std::move(code));
    const double begun = steady_seconds();
    KAWARA_TRY(program::Arrays results, called(*default_));
    call_seconds_ = steady_seconds() - begun;
    expected_ = reference_->expected ? *reference_->expected : results;
    if (auto wrong = refuse_difference(task_.program, results, expected_, allowed_))
      return fail(Diagnostics{*std::move(wrong)});
    // Two results that may each be off by that much.
    allowed_ *= reference_->expected ? 1 : 2;
    return Done{};
  }

  Prepared prepare(uint32_t id, const std::string& directives) override {
    auto schedule = prover_.prove(directives);
    if (!schedule)
      return schedule.error();
    if (is_unrolled_too_far(*schedule))
      return {Outcome::Refused, "unrolled too far"};
    Made made = made_of(*std::move(schedule));
    if (made.unit.text.size() > most_text_)
      return {Outcome::Refused, "too much code"};
    auto loaded = code_of(std::move(made));
    if (!loaded)
      return {loaded.error().code == "K0714" ? Outcome::Refused : Outcome::Failed,
              loaded.error().code == "K0714" ? loaded.error().code : loaded.error().headline};
    auto code = std::make_unique<run::CudaExecutable>(*std::move(loaded));
    const auto results = called(*code);
    if (!results) {
      if (results.error().front().code == kDeviceFailed)
        std::_Exit(EXIT_FAILURE);
      return {Outcome::Failed, results.error().front().headline};
    }
    const std::string difference = difference_of(task_.program, *results, expected_, allowed_);
    if (!difference.empty())
      return {Outcome::Wrong, difference};
    candidates_.insert_or_assign(id, std::move(code));
    return {};
  }

  Samples time(uint32_t id, const Effort& effort) override {
    const run::CudaExecutable& own = *candidates_.at(id);
    return samples_in_turns(
        effort, [&] { return sample(own, effort); }, [&] { return sample(*default_, effort); });
  }

  void drop(uint32_t id) override { candidates_.erase(id); }
  double call_seconds() const override { return call_seconds_; }

private:
  /// Before it is compiled.
  struct Made {
    kernel::Kernel kernel;
    emit::CudaUnit unit;
  };

  Made made_of(schedule::Schedule schedule) const {
    Trace trace;
    kernel::Kernel kernel = driver::optimised_kernel_of(
        driver::Scheduled{task_.program, task_.program, std::move(schedule), {}}, task_.environment,
        trace);
    emit::CudaUnit unit = emit::cuda_from_kernel(kernel);
    return {std::move(kernel), std::move(unit)};
  }

  Result<run::CudaExecutable, Diagnostic> code_of(Made made) const {
    return run::CudaExecutable::load(std::move(made.kernel), made.unit, device_, options_);
  }

  /// Pointers to all tensors, in the order of the kernel's signature.
  std::vector<void*> arguments_of(const run::CudaExecutable& code,
                                  std::vector<program::Array>& arrays) const {
    std::vector<void*> arguments;
    for (const emit::BufferInfo& argument : code.signature().arguments)
      for (size_t t = 0; t < task_.program.tensors.size(); ++t)
        if (task_.program.tensors[t].name == argument.name)
          arguments.push_back(arrays[t].data());
    return arguments;
  }

  Parsed<program::Arrays> called(const run::CudaExecutable& code) const {
    KAWARA_TRY(auto arrays,
               collected(program::bind_arguments(task_.program, task_.sizes, reference_->inputs)));
    KAWARA_TRY([[maybe_unused]] const Done done,
               collected(code.call(arguments_of(code, arrays), task_.sizes)));
    return program::results_of(task_.program, std::move(arrays));
  }

  double sample(const run::CudaExecutable& code, const Effort& effort) const {
    auto arrays = program::bind_arguments(task_.program, task_.sizes, reference_->inputs);
    if (!arrays)
      throw std::runtime_error(arrays.error().headline);
    run::MeasureOptions options;
    options.sample_seconds = effort.sample_seconds;
    options.samples = 1;
    const auto timing = code.time(arguments_of(code, *arrays), task_.sizes, options);
    if (!timing)
      throw std::runtime_error(timing.error().headline);
    return timing->median;
  }

  std::shared_ptr<const Reference> reference_;
  const Task& task_;
  Prover prover_;
  double allowed_, call_seconds_ = 0;
  size_t most_text_ = 0;
  run::NvrtcOptions options_;
  std::shared_ptr<run::CudaDevice> device_;
  std::unique_ptr<run::CudaExecutable> default_;
  program::Arrays expected_;
  std::map<uint32_t, std::unique_ptr<run::CudaExecutable>> candidates_;
};

} // namespace

Parsed<std::unique_ptr<Bench>> cuda_bench_of(const std::shared_ptr<const Reference>& reference) {
  auto bench = std::make_unique<CudaBench>(reference);
  KAWARA_TRY([[maybe_unused]] const Done begun, bench->begin());
  return std::unique_ptr<Bench>(std::move(bench));
}

} // namespace kawara::tune
