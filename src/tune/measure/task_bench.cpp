#include "tune/measure/task_bench.h"

#include "driver/session.h"
#include "emit/unit.h"
#include "program/interpret/arguments.h"
#include "program/interpret/interpret.h"
#include "support/check.h"
#include "support/hash.h"
#include "tune/clock.h"
#include "tune/measure/code_size.h"
#include "tune/measure/cuda_bench.h"
#include "tune/measure/guarded.h"
#include "tune/measure/load_monitor.h"
#include "tune/measure/prover.h"
#include "tune/measure/reference_check.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <set>

namespace kawara::tune {
namespace {

/// A sample is taken in this many parts.
constexpr int64_t kParts = 4;
/// Kernels whose code is kept for equal ones.
constexpr size_t kMostKernels = 256;

bool has_threads(const schedule::Schedule& schedule) {
  for (uint32_t s = 0; s < schedule.scop.statements.size(); ++s)
    for (const poly::LoopId loop : poly::path_of(schedule.order, poly::StmtId{s}))
      if (schedule.order[loop].marks.is_parallel)
        return true;
  return false;
}

class TaskBench : public Bench {
public:
  explicit TaskBench(std::shared_ptr<const Reference> reference)
      : reference_(std::move(reference)), task_(reference_->task), prover_(*reference_) {
    load_.pool = std::make_shared<run::ThreadPool>();
    const auto shapes = program::required_shapes(task_.program, task_.sizes);
    for (size_t t = 0; t < task_.program.tensors.size(); ++t) {
      const program::Tensor& tensor = task_.program.tensors[t];
      program::Array array(tensor.elem, (*shapes)[t]);
      if (const auto given = reference_->inputs.find(tensor.name);
          given != reference_->inputs.end())
        array = given->second;
      memory_.emplace_back(array.bytes());
      pristine_.push_back(std::move(array));
    }
    allowed_ = driver::tolerance_of(task_.program, task_.sizes);
  }

  /// Compiles the default; its results are the measure unless the interpreter's are known.
  Parsed<Done> begin() {
    const kernel::Kernel kernel = kernel_of(reference_->default_schedule);
    most_text_ = most_text_beside(kernel::print(kernel).size());
    KAWARA_TRY(run::Executable code, collected(code_of(kernel)));
    default_ = std::make_unique<run::Executable>(std::move(code));
    expected_ = reference_->expected;
    reset();
    const double begun = steady_seconds();
    KAWARA_TRY([[maybe_unused]] const Done done, collected(call(*default_)));
    call_seconds_ = steady_seconds() - begun;
    KAWARA_TRY([[maybe_unused]] const Done allowed, allow_for_rounding());
    if (expected_) {
      if (auto wrong = refuse_difference(task_.program, results(), *expected_, allowed_))
        return fail(Diagnostics{*std::move(wrong)});
      return Done{};
    }
    // Two results that may each be off by that much.
    allowed_ *= 2;
    expected_ = results();
    return Done{};
  }

  /// A program that magnifies roundings, as the default does with its inputs rounded elsewhere, may
  /// do so in candidates, too.
  Parsed<Done> allow_for_rounding() {
    if (allowed_ == 0)
      return Done{};
    const program::Arrays before = results();
    program::Arrays inputs;
    for (size_t t = 0; t < memory_.size(); ++t)
      if (const program::Tensor& tensor = task_.program.tensors[t];
          tensor.role == program::Role::Input || tensor.role == program::Role::Inout)
        inputs.emplace(tensor.name, pristine_[t]);
    inputs = driver::perturbed_by_one_ulp(std::move(inputs));
    reset();
    for (size_t t = 0; t < memory_.size(); ++t)
      if (const auto moved = inputs.find(task_.program.tensors[t].name); moved != inputs.end())
        std::memcpy(memory_[t].data(), moved->second.data(), moved->second.bytes());
    KAWARA_TRY([[maybe_unused]] const Done done, collected(call(*default_)));
    const double worst =
        driver::compare(results(), before, driver::freedom_of(task_.program)).worst;
    allowed_ = std::max(allowed_, driver::tolerance_from_rounding(worst));
    reset();
    KAWARA_TRY([[maybe_unused]] const Done again, collected(call(*default_)));
    return Done{};
  }

  Prepared prepare(uint32_t id, const std::string& directives) override {
    auto schedule = prover_.prove(directives);
    if (!schedule)
      return schedule.error();
    if (is_unrolled_too_far(*schedule))
      return {Outcome::Refused, "unrolled too far"};
    if (has_threads(*schedule))
      with_threads_.insert(id);
    const kernel::Kernel kernel = kernel_of(*std::move(schedule));
    const std::string text = kernel::print(kernel);
    if (text.size() > most_text_)
      return {Outcome::Refused, "too much code"};
    const uint64_t hash = hash_text(text);
    if (const auto known = codes_.find(hash); known != codes_.end()) {
      candidates_.insert_or_assign(id, known->second);
      return {};
    }
    auto made = code_of(kernel);
    if (!made)
      return {Outcome::Failed, made.error().headline};
    auto code = std::make_shared<const run::Executable>(*std::move(made));
    if (Prepared wrong = tried(*code); wrong.outcome != Outcome::Measured)
      return wrong;
    if (codes_.size() >= kMostKernels)
      codes_.clear();
    codes_[hash] = code;
    candidates_.insert_or_assign(id, std::move(code));
    return {};
  }

  Samples time(uint32_t id, const Effort& effort) override {
    const run::Executable& own = *candidates_.at(id);
    const int64_t own_batch = batch_of(own, effort);
    if (default_batch_ == 0)
      default_batch_ = batch_of(*default_, effort);
    // Who runs on one core is not slowed down by what others do on the next.
    const bool needs_all = with_threads_.contains(id) || has_threads(reference_->default_schedule);
    const LoadMonitor load_monitor(needs_all ? load_.pool->threads() : 1);
    Samples samples = samples_in_turns(
        effort, [&] { return sample(own, own_batch); },
        [&] { return sample(*default_, default_batch_); });
    samples.missing = load_monitor.missing();
    return samples;
  }

  void drop(uint32_t id) override {
    candidates_.erase(id);
    with_threads_.erase(id);
  }
  double call_seconds() const override { return call_seconds_; }

private:
  kernel::Kernel kernel_of(schedule::Schedule schedule) const {
    Trace trace;
    return driver::optimised_kernel_of(
        driver::Scheduled{task_.program, task_.program, std::move(schedule), {}}, task_.environment,
        trace);
  }

  Result<run::Executable, Diagnostic> code_of(const kernel::Kernel& kernel) const {
    return run::load(emit::module_from_kernel(kernel), load_);
  }

  /// Runs a candidate once and looks at what it did.
  Prepared tried(const run::Executable& code) {
    reset();
    if (const auto done = call(code); !done)
      return {Outcome::Failed, done.error().headline};
    if (std::string why = damage(); !why.empty())
      return {Outcome::Wrong, std::move(why)};
    const std::string difference = difference_of(task_.program, results(), *expected_, allowed_);
    return difference.empty() ? Prepared{} : Prepared{Outcome::Wrong, difference};
  }

  /// All tensors as before a first call.
  void reset() {
    for (size_t t = 0; t < memory_.size(); ++t)
      if (task_.program.tensors[t].role != program::Role::Temp)
        std::memcpy(memory_[t].data(), pristine_[t].data(), pristine_[t].bytes());
  }

  /// Only what calls change: they then all begin alike.
  void reset_inouts() {
    for (size_t t = 0; t < memory_.size(); ++t)
      if (task_.program.tensors[t].role == program::Role::Inout)
        std::memcpy(memory_[t].data(), pristine_[t].data(), pristine_[t].bytes());
  }

  Result<Done, Diagnostic> call(const run::Executable& code) {
    std::vector<void*> arguments;
    for (const emit::BufferInfo& argument : code.signature().arguments)
      for (size_t t = 0; t < memory_.size(); ++t)
        if (task_.program.tensors[t].name == argument.name)
          arguments.push_back(memory_[t].data());
    return code.call(arguments, task_.sizes);
  }

  /// What was written where nothing may be; empty when nothing was.
  std::string damage() const {
    for (size_t t = 0; t < memory_.size(); ++t) {
      const program::Tensor& tensor = task_.program.tensors[t];
      if (!memory_[t].is_intact())
        return "wrote beside `" + tensor.name + "`";
      if (tensor.role == program::Role::Input && pristine_[t].bytes() > 0 &&
          std::memcmp(memory_[t].data(), pristine_[t].data(), pristine_[t].bytes()) != 0)
        return "changed the input `" + tensor.name + "`";
    }
    return "";
  }

  program::Arrays results() const {
    program::Arrays arrays;
    for (size_t t = 0; t < memory_.size(); ++t) {
      const program::Tensor& tensor = task_.program.tensors[t];
      if (tensor.role != program::Role::Output && tensor.role != program::Role::Inout)
        continue;
      program::Array array(tensor.elem, pristine_[t].shape());
      std::memcpy(array.data(), memory_[t].data(), array.bytes());
      arrays.emplace(tensor.name, std::move(array));
    }
    return arrays;
  }

  /// Seconds per call over a batch: of its fastest part, so that an interruption does not count.
  double sample(const run::Executable& code, int64_t batch) {
    reset_inouts();
    double fastest = std::numeric_limits<double>::infinity();
    const int64_t parts = std::min(kParts, batch);
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t calls = batch / parts;
      const double begin = steady_seconds();
      for (int64_t k = 0; k < calls; ++k) {
        [[maybe_unused]] const bool is_fine = static_cast<bool>(call(code));
      }
      fastest = std::min(fastest, (steady_seconds() - begin) / static_cast<double>(calls));
    }
    return fastest;
  }

  int64_t batch_of(const run::Executable& code, const Effort& effort) {
    const double once = std::min(sample(code, 1), sample(code, 1));
    const double calls = effort.sample_seconds / std::max(once, 1e-8);
    return std::clamp<int64_t>(static_cast<int64_t>(calls), 1, 100'000);
  }

  std::shared_ptr<const Reference> reference_;
  const Task& task_;
  std::vector<Guarded> memory_;          ///< by tensor
  std::vector<program::Array> pristine_; ///< by tensor: what it holds before a call
  double allowed_ = 0, call_seconds_ = 0;
  std::unique_ptr<run::Executable> default_;
  int64_t default_batch_ = 0;
  size_t most_text_ = 0; ///< of a kernel
  std::optional<program::Arrays> expected_;
  Prover prover_;
  run::LoadOptions load_;
  std::map<uint64_t, std::shared_ptr<const run::Executable>>
      codes_; ///< right ones, by their kernel
  std::map<uint32_t, std::shared_ptr<const run::Executable>> candidates_;
  std::set<uint32_t> with_threads_; ///< candidates that run on more than one core
};

} // namespace

Parsed<std::shared_ptr<const Reference>> reference_of(Task task) {
  Trace trace;
  KAWARA_TRY(driver::Scheduled front, driver::schedule(task.request, task.environment, trace));
  auto chosen = schedule::apply(front.schedule, schedule::Auto{}, task.environment);
  KAWARA_CHECK(static_cast<bool>(chosen), "auto is never refused");
  KAWARA_TRY(program::Arrays inputs, driver::inputs_for(task.program, task.sizes, {}));
  std::optional<program::Arrays> expected;
  if (is_interpretable(task.program, task.sizes)) {
    KAWARA_TRY(expected, collected(program::interpret(task.program, task.sizes, inputs)));
  }
  return std::make_shared<const Reference>(Reference{std::move(task), std::move(front.schedule),
                                                     *std::move(chosen), std::move(front.warnings),
                                                     std::move(inputs), std::move(expected)});
}

Parsed<std::unique_ptr<Bench>> bench_of(const std::shared_ptr<const Reference>& reference) {
  if (!reference->expected) {
    KAWARA_TRY([[maybe_unused]] const Done checked, check_small(*reference));
  }
  if (reference->task.environment.gpu)
    return cuda_bench_of(reference);
  auto bench = std::make_unique<TaskBench>(reference);
  KAWARA_TRY([[maybe_unused]] const Done begun, bench->begin());
  return std::unique_ptr<Bench>(std::move(bench));
}

} // namespace kawara::tune
