#include "driver/kernels.h"

#include "driver/pipeline.h"
#include "estimate/count.h"
#include "support/build_id.h"

#include <fmt/format.h>

#include <algorithm>
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

/// Everything but the program that code depends on; empty when a build cannot be told from another.
std::string key_of(const schedule::Environment& environment) {
  const std::string build = build_id();
  if (build.empty())
    return "";
  const emit::CodeTarget target = emit::host_code_target();
  return fmt::format("{}\n{} {} {}\n{}", build, target.triple, target.cpu, target.features,
                     target::print(environment.cpu));
}

} // namespace

Kernels::Kernels(const std::string& cache_folder, Progress progress)
    : environment_(host_environment()), cache_(cache_folder), progress_(std::move(progress)),
      key_(key_of(environment_)) {
  options_.pool = std::make_shared<run::ThreadPool>();
}

/// Code from the cache.
std::optional<run::Executable> Kernels::found(const std::string& key) const {
  const auto bytes = key_.empty() ? std::nullopt : cache_.get(key);
  const auto kept = bytes ? run::kept_from_bytes(*bytes) : std::nullopt;
  if (!kept)
    return std::nullopt;
  auto loaded = run::load_kept({*kept}, emit::host_code_target(), options_);
  if (!loaded || loaded->size() != 1)
    return std::nullopt;
  return std::move(loaded->front());
}

Parsed<Kernels::Made> Kernels::make(const std::string& text) const {
  Request request;
  request.text = make_source("operator.kw", text);
  KAWARA_TRY(const program::Program program, program_of(request));
  if (iterations_of(program) > kWorthScheduling)
    request.directives = make_source("operator.sched", "auto");
  if (const SourcePtr known = known_ ? known_(request) : nullptr)
    request.directives = known;
  const std::string key =
      fmt::format("{}\n{}\n{}", key_, request.directives ? request.directives->text : "", text);
  if (auto code = found(key))
    return Made{std::make_shared<const run::Executable>(*std::move(code)), true};
  Trace trace;
  auto compiled = driver::compile(request, environment_, trace, options_);
  if (!compiled && request.directives) { // an order of its own always works
    request.directives = nullptr;
    compiled = driver::compile(request, environment_, trace, options_);
  }
  if (!compiled)
    return fail(std::move(compiled).error());
  auto code = std::make_shared<const run::Executable>(std::move(compiled->executable));
  if (const auto bytes = run::bytes_of({code->signature(), code->object()}); bytes && !key_.empty())
    cache_.put(key, *bytes);
  return Made{std::move(code), false};
}

void Kernels::keep(const std::string& text, const Made& made) {
  if (kernels_.emplace(text, made.code).second && made.is_from_cache)
    ++from_cache_;
}

Parsed<std::shared_ptr<const run::Executable>> Kernels::compile(const std::string& text) {
  ++uses_[text];
  const auto known = kernels_.find(text);
  if (known != kernels_.end())
    return known->second;
  const auto begin = std::chrono::steady_clock::now();
  KAWARA_TRY(const Made made, make(text));
  keep(text, made);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return made.code;
}

void Kernels::prepare(const std::vector<std::string>& texts) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::string> missing;
  for (const std::string& text : std::set<std::string>(texts.begin(), texts.end()))
    if (kernels_.count(text) == 0)
      missing.push_back(text);
  // Long programs take longest: with them first, no thread is left alone with one at the end.
  std::stable_sort(missing.begin(), missing.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  std::atomic<size_t> next = 0;
  size_t done = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (size_t k = next++; k < missing.size(); k = next++) {
      auto made = make(missing[k]);
      const std::lock_guard lock(mutex);
      if (made)
        keep(missing[k], *made);
      if (progress_)
        progress_(++done, missing.size());
    }
  };
  const auto helpers =
      std::min<size_t>(missing.size(), static_cast<size_t>(environment_.cpu.cores));
  std::vector<std::thread> threads;
  for (size_t k = 1; k < helpers; ++k)
    threads.emplace_back(work);
  work();
  for (std::thread& thread : threads)
    thread.join();
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace kawara::driver
