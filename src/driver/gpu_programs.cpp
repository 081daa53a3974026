#include "driver/gpu_programs.h"

#include "driver/gpu.h"
#include "driver/pipeline.h"
#include "program/window_rows.h"
#include "support/check.h"
#include "support/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
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

/// Channels from which tensor cores are worth the detour.
constexpr int64_t kChannelsOfProduct = 16;

/// A program as a GPU likes it, and what that asks of its constants.
struct Suited {
  SourcePtr text;
  std::vector<GpuProgram::Reordered> reordered;
};

Suited suited_to_gpu(const GpuJob& job, bool shifts_rows) {
  Suited suited{make_source(job.name + ".kw", job.text), {}};
  const auto program = program::parse(suited.text);
  if (!program || !shifts_rows)
    return suited;
  const auto flat = program::with_flat_convolution(*program, kChannelsOfProduct);
  const auto is_narrow = [&] { // what tensor cores multiply
    const scalar::Elem elem = program->tensors[flat->weights].elem;
    return elem == scalar::Elem::BF16 || elem == scalar::Elem::F16;
  };
  if (!flat || !is_narrow())
    return suited;
  GpuProgram::Reordered weights;
  for (uint32_t t = 0; t < flat->weights; ++t)
    weights.argument += program->tensors[t].role != program::Role::Temp ? 1 : 0;
  for (const scalar::Expr& extent : program->tensors[flat->weights].shape)
    weights.shape.push_back(scalar::constant_of(scalar::simplify(extent)).value_or(0));
  weights.order = flat->order;
  suited.text = make_source(job.name + ".kw", program::print(flat->program));
  suited.reordered.push_back(std::move(weights));
  return suited;
}

/// Kernel and text of a program by a schedule that is known for it, or by its default schedule; by the order of its text
/// where that asks for more than a block can have.
Result<GpuProgram, Diagnostic> lowered(const GpuJob& job, const schedule::Environment& environment,
                                       const GpuProgramOptions& options) {
  std::optional<Diagnostic> problem;
  const Suited suited = suited_to_gpu(job, options.shifts_rows);
  Request request;
  request.text = suited.text;
  std::vector<SourcePtr> schedules{make_source("default.sched", "auto"), nullptr};
  if (SourcePtr known = options.known ? options.known(request) : nullptr)
    schedules.insert(schedules.begin(), std::move(known));
  for (const SourcePtr& directives : schedules) {
    const bool is_scheduled = directives != nullptr;
    request.directives = directives;
    Trace trace;
    const auto front = schedule(request, environment, trace);
    if (!front) {
      problem = front.error().front();
      continue;
    }
    GpuProgram made;
    made.name = job.name;
    made.is_scheduled = is_scheduled;
    made.reordered = suited.reordered;
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

std::map<std::string, int64_t> gpu_texts_of(const Tape& tape, const GpuProgramOptions& options) {
  std::map<std::string, int64_t> steps, uses;
  for (const TapeStep& step : tape.steps)
    if (const auto* kernel = std::get_if<TapeKernel>(&step))
      ++steps[kernel->program];
  for (const auto& [text, count] : steps)
    uses[suited_to_gpu({"operator", text}, options.shifts_rows).text->text] += count;
  return uses;
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

namespace {

/// The cells of a tensor of that shape with its dimensions in this order.
Tensor reordered_cells(const Tensor& tensor, const GpuProgram::Reordered& how) {
  const auto bytes = static_cast<size_t>(graph::bytes_of(tensor.type()));
  std::vector<size_t> strides(how.shape.size(), bytes);
  for (size_t d = how.shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * static_cast<size_t>(how.shape[d]);
  Shape shape;
  for (const size_t d : how.order)
    shape.push_back(how.shape[d]);
  Tensor out(tensor.type(), shape);
  std::vector<int64_t> at(shape.size(), 0);
  size_t from = 0;
  for (int64_t k = 0; k < out.cells(); ++k) {
    std::memcpy(out.data() + static_cast<size_t>(k) * bytes, tensor.data() + from, bytes);
    for (size_t d = shape.size(); d-- > 0;) {
      from += strides[how.order[d]];
      if (++at[d] < shape[d])
        break;
      from -= strides[how.order[d]] * static_cast<size_t>(shape[d]);
      at[d] = 0;
    }
  }
  return out;
}

} // namespace

Tape with_reordered_constants(Tape tape, const GpuPrograms& programs) {
  std::map<std::pair<int64_t, std::vector<size_t>>, int64_t> made;
  for (TapeStep& step : tape.steps) {
    auto* kernel = std::get_if<TapeKernel>(&step);
    if (!kernel)
      continue;
    for (const GpuProgram::Reordered& how : programs.at(kernel->program)->reordered) {
      Slot& slot = kernel->arguments[how.argument];
      KAWARA_CHECK(slot.where == Slot::Where::Constant, "weights that are no constant");
      const auto [at, is_new] =
          made.emplace(std::pair(slot.at, how.order), static_cast<int64_t>(tape.constants.size()));
      if (is_new)
        tape.constants.push_back(
            reordered_cells(tape.constants[static_cast<size_t>(slot.at)], how));
      slot.at = at->second;
    }
  }
  return tape;
}

} // namespace kawara::driver
