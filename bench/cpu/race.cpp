#include "cpu/race.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace kawara::bench {
namespace {

/// Calls that take longer need no call before that warms up; shorter ones are repeated until threads that slept are awake.
constexpr double kLongCall = 0.03, kWarmUp = 0.001;
/// Threads of ONNX Runtime look for work a million times, between pauses that take 140 cycles on some processors: 60 ms.
constexpr double kLongestSpin = 0.5;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double process_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double seconds_of(const std::function<void()>& work, int64_t calls, bool counts_cpu_time) {
  const auto clock = counts_cpu_time ? process_seconds : now;
  const double begin = clock();
  for (int64_t i = 0; i < calls; ++i)
    work();
  return clock() - begin;
}

/// Seconds of a call, from the faster of two tries.
double estimate(const std::function<void()>& work, const RaceOptions& options) {
  const double first = std::max(seconds_of(work, 1, options.counts_cpu_time), 1e-9);
  const auto tries =
      std::clamp<int64_t>(static_cast<int64_t>(options.sample_seconds / first), 1, 1000);
  if (first > kLongCall)
    return first;
  const double several = seconds_of(work, tries, options.counts_cpu_time);
  return std::max(std::min(first, several / static_cast<double>(tries)), 1e-9);
}

/// Whether another thread of this process is running or wants to. Its processor time would not tell: the system
/// adds up that of threads on other cores a few hundred times a second only, for all of them at once.
bool other_threads_run() {
  const auto own = std::to_string(gettid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == own)
      continue;
    std::ifstream file(task.path() / "stat");
    std::string line;
    std::getline(file, line);
    // The name in brackets may hold anything; the state follows it.
    const size_t end = line.rfind(')');
    if (end != std::string::npos && line.compare(end, 3, ") R") == 0)
      return true;
  }
  return false;
}

void warm_up(const std::function<void()>& work, bool has_threads) {
  const double begin = now();
  do
    work();
  while (has_threads && now() - begin < kWarmUp);
}

} // namespace

void wait_for_quiet() {
  const double begin = now();
  for (int quiet = 0; quiet < 2 && now() - begin < kLongestSpin;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    quiet = other_threads_run() ? 0 : quiet + 1;
  }
}

std::vector<run::Timing> race(const std::vector<std::function<void()>>& works,
                              const RaceOptions& options) {
  std::vector<int64_t> batches;
  std::vector<double> estimates;
  for (const auto& work : works) {
    estimates.push_back(estimate(work, options));
    const auto calls = static_cast<int64_t>(options.sample_seconds / estimates.back());
    batches.push_back(std::max<int64_t>(1, calls));
  }
  std::vector<std::vector<double>> samples(works.size());
  const double begin = now();
  for (int round = 0; round < options.rounds; ++round) {
    if (round >= 3 && now() - begin > options.limit_seconds)
      break;
    for (size_t turn = 0; turn < works.size(); ++turn) {
      const size_t i = (turn + static_cast<size_t>(round)) % works.size();
      if (options.waits_for_quiet)
        wait_for_quiet();
      if (estimates[i] < kLongCall)
        warm_up(works[i], options.waits_for_quiet);
      const double seconds = seconds_of(works[i], batches[i], options.counts_cpu_time);
      samples[i].push_back(seconds / static_cast<double>(batches[i]));
    }
  }
  std::vector<run::Timing> timings;
  for (size_t i = 0; i < works.size(); ++i)
    timings.push_back(run::summarise(std::move(samples[i]), batches[i]));
  return timings;
}

} // namespace kawara::bench
