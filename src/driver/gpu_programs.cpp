#include "driver/gpu_programs.h"

#include "driver/gpu.h"
#include "driver/pipeline.h"
#include "support/check.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace kawara::driver {
namespace {

struct GpuJob {
  std::string name, text;
};

/// Each program once, those that take longest first.
std::vector<GpuJob> jobs_of(const Tape& tape) {
  std::map<std::string, std::string> names;
  for (const TapeStep& step : tape.steps)
    if (const auto* kernel = std::get_if<TapeKernel>(&step))
      names.emplace(kernel->program, kernel->name);
  std::vector<GpuJob> jobs;
  for (const auto& [text, name] : names)
    jobs.push_back({name, text});
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const GpuJob& a, const GpuJob& b) { return a.text.size() > b.text.size(); });
  return jobs;
}

/// Kernel and text of a program by its default schedule; by the order of its text where that asks for
/// more than a block can have.
Result<GpuProgram, Diagnostic> lowered(const GpuJob& job,
                                       const schedule::Environment& environment) {
  std::optional<Diagnostic> problem;
  for (const bool is_scheduled : {true, false}) {
    Request request;
    request.text = make_source(job.name + ".kw", job.text);
    if (is_scheduled)
      request.directives = make_source("default.sched", "auto");
    Trace trace;
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
    if (!problem)
      return made;
  }
  return fail(*std::move(problem));
}

Result<GpuProgram, Diagnostic> made_of(const GpuJob& job, const schedule::Environment& environment,
                                       const GpuProgramOptions& options) {
  KAWARA_TRY(GpuProgram made, lowered(job, environment));
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

Result<GpuPrograms, Diagnostic> gpu_programs_of(const Tape& tape,
                                                const schedule::Environment& environment,
                                                const GpuProgramOptions& options) {
  KAWARA_CHECK(environment.gpu, "programs for a GPU need one");
  const std::vector<GpuJob> jobs = jobs_of(tape);
  GpuPrograms programs;
  std::optional<Diagnostic> problem;
  std::atomic<size_t> next = 0;
  size_t done = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (size_t k = next++; k < jobs.size(); k = next++) {
      auto made = made_of(jobs[k], environment, options);
      const std::lock_guard lock(mutex);
      if (made)
        programs[jobs[k].text] = std::make_shared<const GpuProgram>(*std::move(made));
      else if (!problem)
        problem = std::move(made).error();
      if (options.progress)
        options.progress(++done, jobs.size());
    }
  };
  const size_t helpers =
      std::min<size_t>(jobs.size(), std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (size_t k = 1; k < helpers; ++k)
    threads.emplace_back(work);
  work();
  for (std::thread& thread : threads)
    thread.join();
  if (problem)
    return fail(*std::move(problem));
  return programs;
}

} // namespace kawara::driver
