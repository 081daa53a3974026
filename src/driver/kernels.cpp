#include "driver/kernels.h"

#include "driver/pipeline.h"
#include "estimate/count.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

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

Kernels::Kernel Kernels::make(const std::string& text) const {
  Request request;
  request.text = make_source("operator.kw", text);
  KAWARA_TRY(const program::Program program, program_of(request));
  if (iterations_of(program) > kWorthScheduling)
    request.directives = make_source("operator.sched", "auto");
  if (const SourcePtr known = known_ ? known_(request) : nullptr)
    request.directives = known;
  Trace trace;
  auto compiled = driver::compile(request, environment_, trace, options_);
  if (!compiled && request.directives) { // an order of its own always works
    request.directives = nullptr;
    compiled = driver::compile(request, environment_, trace, options_);
  }
  if (!compiled)
    return fail(std::move(compiled).error());
  return std::make_shared<const run::Executable>(std::move(compiled->executable));
}

Parsed<std::shared_ptr<const run::Executable>> Kernels::compile(const std::string& text) {
  ++uses_[text];
  const auto known = kernels_.find(text);
  if (known != kernels_.end())
    return known->second;
  const auto begin = std::chrono::steady_clock::now();
  KAWARA_TRY(auto kernel, make(text));
  kernels_.emplace(text, kernel);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return kernel;
}

void Kernels::prepare(const std::vector<std::string>& texts) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::string> missing;
  for (const std::string& text : std::set<std::string>(texts.begin(), texts.end()))
    if (kernels_.count(text) == 0)
      missing.push_back(text);
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (size_t k = next++; k < missing.size(); k = next++) {
      auto kernel = make(missing[k]);
      const std::lock_guard lock(mutex);
      if (kernel)
        kernels_.emplace(missing[k], *kernel);
    }
  };
  const auto helpers =
      std::min<size_t>(missing.size(), static_cast<size_t>(run::default_threads()));
  std::vector<std::thread> threads;
  for (size_t k = 1; k < helpers; ++k)
    threads.emplace_back(work);
  work();
  for (std::thread& thread : threads)
    thread.join();
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace kawara::driver
