#include "support/trace.h"

#include "support/check.h"
#include "support/text.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace kawara {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace

Trace::Trace() : Trace(TraceOptions{}) {}

Trace::Trace(TraceOptions options) : options_(std::move(options)) {
  if (!options_.now)
    options_.now = steady_seconds;
}

Trace::Running::Running(Trace& trace, std::string_view name) : trace_(trace), begin_(0) {
  auto& times = trace_.times_;
  const auto same = [&](const StageTime& t) { return t.name == name && t.depth == trace_.depth_; };
  const auto found = std::find_if(times.begin(), times.end(), same);
  at_ = static_cast<size_t>(found - times.begin());
  if (found == times.end())
    times.push_back({std::string(name), trace_.depth_, 0, 0});
  ++trace_.depth_;
  begin_ = trace_.options_.now();
}

Trace::Running::~Running() {
  StageTime& time = trace_.times_[at_];
  time.seconds += trace_.options_.now() - begin_;
  ++time.runs;
  --trace_.depth_;
}

void Trace::after(std::string_view name, const std::function<std::vector<std::string>()>& spec,
                  const std::function<std::string()>& print) {
  if (options_.verify) {
    const std::vector<std::string> broken = spec();
    KAWARA_CHECK(broken.empty(), "after stage " + std::string(name) + ": " + join(broken, "; "));
  }
  if (is_shown(name))
    options_.show(name, print());
}

void Trace::note(const std::string& text) {
  notes_.push_back(text);
  if (options_.note)
    options_.note(text);
}

bool Trace::is_shown(std::string_view name) const {
  const auto& wanted = options_.print_after;
  return options_.show && (wanted.contains(name) || wanted.contains("all"));
}

void Trace::add(const Trace& other) {
  for (const auto& [outcome, count] : other.outcomes_)
    outcomes_[outcome] += count;
  for (const StageTime& time : other.times_) {
    const auto at = std::find_if(times_.begin(), times_.end(), [&](const StageTime& t) {
      return t.name == time.name && t.depth == time.depth;
    });
    if (at == times_.end()) {
      times_.push_back(time);
      continue;
    }
    at->runs += time.runs;
    at->seconds += time.seconds;
  }
}

std::string Trace::time_table() const {
  double total = 0;
  size_t width = 5;
  for (const StageTime& time : times_) {
    total += time.depth == 0 ? time.seconds : 0;
    width = std::max<size_t>(width, time.name.size() + 2 * time.depth);
  }
  std::string table =
      fmt::format("{:<{}}  {:>10}  {:>6}  {:>5}\n", "stage", width, "ms", "share", "runs");
  for (const StageTime& time : times_) {
    const double share = total > 0 ? 100 * time.seconds / total : 0;
    table += fmt::format("{:<{}}  {:>10.3f}  {:>5.1f}%  {:>5}\n",
                         std::string(2 * time.depth, ' ') + time.name, width, 1e3 * time.seconds,
                         share, time.runs);
  }
  table += fmt::format("{:<{}}  {:>10.3f}\n", "total", width, 1e3 * total);
  std::vector<std::string> outcomes;
  for (const auto& [outcome, count] : outcomes_)
    outcomes.push_back(fmt::format("{} {}", count, outcome));
  return outcomes.empty() ? table : table + "proofs of kernels: " + join(outcomes, ", ") + "\n";
}

} // namespace kawara
