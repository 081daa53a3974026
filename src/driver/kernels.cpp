#include "driver/kernels.h"

#include "driver/pipeline.h"
#include "estimate/count.h"

#include <chrono>

namespace kawara::driver {
namespace {

/// Iterations from which a better order of loops is worth the time to find it.
constexpr double kWorthScheduling = 30'000;

double iterations_of(const program::Program& program) {
  const auto work = estimate::count(program, {});
  double iterations = 0;
  if (work)
    for (const estimate::StatementWork& statement : work->statements)
      iterations += statement.instances;
  return iterations;
}

} // namespace

Kernels::Kernels() : environment_(host_environment()) {
  options_.pool = std::make_shared<run::ThreadPool>();
}

Parsed<std::shared_ptr<const run::Executable>> Kernels::compile(const std::string& text) {
  const auto known = kernels_.find(text);
  if (known != kernels_.end())
    return known->second;
  const auto begin = std::chrono::steady_clock::now();
  Request request;
  request.text = make_source("operator.kw", text);
  KAWARA_TRY(const program::Program program, program_of(request));
  if (iterations_of(program) > kWorthScheduling)
    request.directives = make_source("operator.sched", "auto");
  Trace trace;
  auto compiled = driver::compile(request, environment_, trace, options_);
  if (!compiled && request.directives) { // an order of its own always works
    request.directives = nullptr;
    compiled = driver::compile(request, environment_, trace, options_);
  }
  if (!compiled)
    return fail(std::move(compiled).error());
  auto kernel = std::make_shared<const run::Executable>(std::move(compiled->executable));
  kernels_.emplace(text, kernel);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return kernel;
}

} // namespace kawara::driver
