#include "driver/gpu/gpu_programs.h"

#include "driver/gpu/gpu.h"
#include "driver/gpu/horizontal_fusion.h"
#include "driver/pipeline.h"
#include "support/check.h"
#include "support/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

namespace kawara::driver {
namespace {

struct GpuJob {
  std::string name, text;
  size_t together = 1; ///< jobs of which it is one
};

/// Each program once, those that take longest first.
std::vector<GpuJob> jobs_of(const Tape& tape) {
  std::map<std::string, std::string> names;
  for (const TapeStep& step : tape.steps)
    if (const auto* kernel = std::get_if<TapeKernel>(&step))
      names.emplace(kernel->program, kernel->name);
  std::vector<GpuJob> jobs;
  for (const auto& [text, name] : names)
    jobs.push_back({name, text, names.size()});
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const GpuJob& a, const GpuJob& b) { return a.text.size() > b.text.size(); });
  return jobs;
}

/// Kernel and text of a program by a schedule that is known for it, or by its default schedule; by
/// the order of its text where that asks for more than a block can have.
Result<GpuProgram, Diagnostic> lowered(const GpuJob& job, const schedule::Environment& environment,
                                       const GpuProgramOptions& options) {
  std::optional<Diagnostic> problem;
  Request request;
  request.text = make_source(job.name + ".kw", job.text);
  std::vector<SourcePtr> schedules{make_source("default.sched", "auto"), nullptr};
  if (SourcePtr known = options.known ? options.known(request) : nullptr)
    schedules.insert(schedules.begin(), std::move(known));
  for (const SourcePtr& directives : schedules) {
    const bool is_scheduled = directives != nullptr;
    request.directives = directives;
    TraceOptions traced;
    traced.verify = options.verify;
    traced.together = job.together;
    Trace trace(std::move(traced));
    const auto front = schedule(request, environment, trace);
    if (!front) {
      problem = front.error().front();
      continue;
    }
    GpuProgram made;
    made.name = job.name;
    made.is_scheduled = is_scheduled;
    made.kernel = optimised_kernel_of(*front, environment, trace);
    made.unit = emit::cuda_from_kernel(made.kernel);
    problem = run::refuse_resources(made.unit, *environment.gpu);
    made.trace = std::move(trace);
    if (!problem)
      return made;
  }
  return fail(*std::move(problem));
}

Result<GpuProgram, Diagnostic> made_of(const GpuJob& job, const schedule::Environment& environment,
                                       const GpuProgramOptions& options) {
  KAWARA_TRY(GpuProgram made, lowered(job, environment, options));
  if (!options.makes_code)
    return made;
  run::NvrtcOptions how;
  how.arch = environment.gpu->arch;
  how.cache = options.cache;
  how.flags = made.unit.flags;
  KAWARA_TRY(made.cubin,
             run::cubin_from_cuda(made.unit.text, made.unit.function, how, options.wants_log));
  return made;
}

} // namespace

ModelOptions options_for_gpu(ModelOptions options) {
  const bool is_narrow = options.floats != graph::DataType::F32;
  if (options.graph.attention == graph::optimise::AttentionUse::ByCost && is_narrow)
    options.graph.attention = graph::optimise::AttentionUse::Always;
  options.multiplies_bytes = false;
  options.images = is_narrow ? ImageOrder::ChannelsLast : ImageOrder::Written;
  return options;
}

Result<Tape, Diagnostic> gpu_tape_of(Model& model, const std::map<std::string, Datum>& inputs) {
  KAWARA_TRY(Tape tape, model.tape_of_programs(inputs));
  return horizontally_fused(std::move(tape));
}

std::map<std::string, int64_t> gpu_texts_of(const Tape& tape, const GpuProgramOptions&) {
  std::map<std::string, int64_t> uses;
  for (const TapeStep& step : tape.steps)
    if (const auto* kernel = std::get_if<TapeKernel>(&step))
      ++uses[kernel->program];
  return uses;
}

std::vector<std::string> proof_notes(const Tape& tape, const GpuPrograms& programs) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const TapeStep& step : tape.steps)
    if (const auto* kernel = std::get_if<TapeKernel>(&step))
      if (seen.insert(kernel->program).second)
        for (const std::string& note : programs.at(kernel->program)->trace.notes())
          out.push_back(kernel->name + ": " + note);
  return out;
}

Result<GpuPrograms, Diagnostic> gpu_programs_of(const Tape& tape,
                                                const schedule::Environment& environment,
                                                const GpuProgramOptions& options) {
  KAWARA_CHECK(environment.gpu, "programs for a GPU need one");
  const std::vector<GpuJob> jobs = jobs_of(tape);
  GpuPrograms programs;
  std::optional<Diagnostic> problem;
  std::exception_ptr bug;
  std::atomic<size_t> next = 0;
  size_t done = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (size_t k = next++; k < jobs.size(); k = next++) {
      Result<GpuProgram, Diagnostic> made = GpuProgram{};
      try {
        made = made_of(jobs[k], environment, options);
      } catch (...) { // a bug; the threads come home first
        const std::lock_guard lock(mutex);
        bug = std::current_exception();
        return;
      }
      const std::lock_guard lock(mutex);
      if (made)
        programs[jobs[k].text] = std::make_shared<const GpuProgram>(*std::move(made));
      else if (!problem)
        problem = std::move(made).error();
      if (options.progress)
        options.progress(++done, jobs.size());
    }
  };
  const size_t threads =
      std::min<size_t>(jobs.size(), std::max(1U, std::thread::hardware_concurrency()));
  side_by_side(threads, work);
  if (bug)
    std::rethrow_exception(bug);
  if (problem)
    return fail(*std::move(problem));
  return programs;
}

} // namespace kawara::driver
