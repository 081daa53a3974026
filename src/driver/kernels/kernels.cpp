#include "driver/kernels/kernels.h"

#include "driver/pipeline.h"
#include "estimate/count.h"
#include "support/build_id.h"
#include "support/side_by_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <malloc.h>
#include <mutex>
#include <set>

namespace kawara::driver {
namespace {

/// Iterations from which a better order of loops is worth the time to find it: tens of
/// milliseconds, once. What is not scheduled runs without lanes; 8,000 elements of GELU took 45 us
/// so, and 7 in lanes (one Cascade Lake core).
constexpr double kWorthScheduling = 256;

double iterations_of(const program::Program& program, const std::vector<int64_t>& params) {
  const auto work = estimate::count(program, params);
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

Kernels::Kernels(const std::string& cache_folder, Progress progress, const CodeOptions& how)
    : environment_(host_environment()), how_(how), cache_(how.verify ? "" : cache_folder),
      progress_(std::move(progress)), key_(key_of(environment_)) {
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

/// Convolutions in tiles where they can be.
Request Kernels::request_of(const std::string& text) const {
  Request request;
  request.text = make_source("operator.kw", text);
  request.numerics = how_.numerics;
  request.winograd = how_.winograd;
  if (how_.winograd > 1 && !program_of(request))
    request.winograd = 1;
  return request;
}

Parsed<Kernels::Made> Kernels::make(const Job& job) const {
  const std::string& text = job.text;
  Request request = request_of(text);
  const bool is_in_tiles = request.winograd > 1;
  KAWARA_TRY(const program::Program program, program_of(request));
  if (iterations_of(program, job.params) > kWorthScheduling)
    request.directives = make_source("operator.sched", "auto");
  if (const SourcePtr known = known_ ? known_(request) : nullptr)
    request.directives = known;
  const std::string key =
      fmt::format("{} {} {}\n{}\n{}", key_, program::name_of(how_.numerics), request.winograd,
                  request.directives ? request.directives->text : "", text);
  if (auto code = found(key))
    return Made{std::make_shared<const run::Executable>(*std::move(code)), true, is_in_tiles, {}};
  TraceOptions traced;
  traced.verify = how_.verify;
  traced.together = job.together;
  Trace trace(std::move(traced));
  auto made = executable_of(request, environment_, trace, options_);
  if (!made && request.directives) { // an order of its own always works
    request.directives = nullptr;
    made = executable_of(request, environment_, trace, options_);
  }
  if (!made)
    return fail(std::move(made).error());
  auto code = std::make_shared<const run::Executable>(*std::move(made));
  if (const auto bytes = run::bytes_of({code->signature(), code->object()}); bytes && !key_.empty())
    cache_.put(key, *bytes);
  return Made{std::move(code), false, is_in_tiles, std::move(trace)};
}

void Kernels::keep(const std::string& text, const Made& made) {
  if (!kernels_.emplace(text, made.code).second)
    return;
  from_cache_ += made.is_from_cache ? 1 : 0;
  in_tiles_ += made.is_in_tiles ? 1 : 0;
  trace_.add(made.trace);
  if (!made.trace.notes().empty())
    notes_[text] = made.trace.notes();
}

std::vector<std::string> Kernels::notes() const {
  std::vector<std::string> out;
  for (const auto& [text, notes] : notes_) {
    const auto name = names_.find(text);
    for (const std::string& note : notes)
      out.push_back((name == names_.end() ? "operator" : name->second) + ": " + note);
  }
  std::stable_sort(out.begin(), out.end(), [](const std::string& a, const std::string& b) {
    return a.substr(0, a.find(':')) < b.substr(0, b.find(':'));
  });
  return out;
}

Parsed<SizedCode> Kernels::compile(const std::string& text) {
  ++uses_[text];
  if (const auto known = kernels_.find(text); known != kernels_.end())
    return SizedCode{known->second, {}};
  if (family_with(text))
    prepare({text});
  if (const Family* family = family_with(text))
    if (const auto known = kernels_.find(family->texts.text()); known != kernels_.end())
      return SizedCode{known->second, {*family->texts.size_in(text)}};
  const auto begin = std::chrono::steady_clock::now();
  KAWARA_TRY(const Made made, make({text, {}, 1}));
  keep(text, made);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return SizedCode{made.code, {}};
}

void Kernels::prepare(const std::vector<std::string>& texts) {
  const auto begin = std::chrono::steady_clock::now();
  std::set<std::string> missing;
  for (const std::string& text : texts)
    if (kernels_.count(text) == 0)
      missing.insert(text);
  make_families(missing);
  std::vector<Job> jobs;
  for (const std::string& text : missing)
    if (!family_with(text))
      jobs.push_back({text, {}, 1});
  compile_all(std::move(jobs));
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Kernels::compile_all(std::vector<Job> jobs) {
  // Long programs take longest: with them first, no thread is left alone with one at the end.
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.text.size() > b.text.size(); });
  for (Job& job : jobs)
    job.together = jobs.size();
  std::atomic<size_t> next = 0;
  size_t done = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (size_t k = next++; k < jobs.size(); k = next++) {
      auto made = make(jobs[k]);
      const std::lock_guard lock(mutex);
      if (made)
        keep(jobs[k].text, *made);
      if (progress_)
        progress_(++done, jobs.size());
    }
  };
  // All cores compile, also where plans are for fewer.
  const auto threads =
      std::min<size_t>(jobs.size(), static_cast<size_t>(target::detect_cpu().cores));
  side_by_side(threads, work);
#if defined(__GLIBC__)
  if (!jobs.empty())
    ::malloc_trim(
        0); // what compilers need is freed, but would stay with the process while the model runs
#endif
}

/// Gives the families of these texts their code. Where the program does not hold for all sizes, it
/// may from the least one on that was met; families without code are refused for good.
void Kernels::make_families(const std::set<std::string>& texts) {
  for (const bool is_last : {false, true}) {
    std::map<std::string, Job> jobs;
    for (const std::string& text : texts)
      if (const Family* family = family_with(text))
        if (const std::string whole = family->texts.text(); kernels_.count(whole) == 0) {
          jobs[whole] = {whole, {*family->texts.size_in(text)}, 1};
          if (const auto name = names_.find(text); name != names_.end())
            names_[whole] = name->second;
        }
    std::vector<Job> list;
    for (const auto& [whole, job] : jobs)
      list.push_back(job);
    compile_all(std::move(list));
    for (Family& family : families_) {
      const std::string whole = family.texts.text();
      if (jobs.count(whole) == 0 || kernels_.count(whole))
        continue;
      family.is_refused = is_last || family.texts.least() == family.texts.least_met();
      family.texts.begin_at(family.texts.least_met());
    }
  }
}

void Kernels::relate(const std::string& first, const std::string& second) {
  if (first == second || family_with(second))
    return;
  if (auto family = TextFamily::of(first, second))
    families_.push_back({*std::move(family), false});
}

const Kernels::Family* Kernels::family_with(const std::string& text) const {
  const auto at = std::find_if(families_.begin(), families_.end(), [&](const Family& family) {
    return !family.is_refused && family.texts.size_in(text);
  });
  return at == families_.end() ? nullptr : &*at;
}

std::vector<TextFamily> Kernels::families() const {
  std::vector<TextFamily> out;
  for (const Family& family : families_)
    if (kernels_.count(family.texts.text()))
      out.push_back(family.texts);
  return out;
}

std::shared_ptr<const run::Executable>
Kernels::with_constants(const std::shared_ptr<const run::Executable>& code,
                        const std::vector<const void*>& constants) {
  auto& kept = duplicates_[{code.get(), constants}];
  auto clone = kept.lock();
  if (!clone) {
    clone = std::make_shared<const run::Executable>(code->clone());
    kept = clone;
  }
  return clone;
}

} // namespace kawara::driver
