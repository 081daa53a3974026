#include "run/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace kawara::run {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds_of(const std::function<void()>& work, int64_t calls) {
  const double begin = now();
  for (int64_t i = 0; i < calls; ++i)
    work();
  return now() - begin;
}

/// Linear interpolation between the two nearest of the sorted samples.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - std::floor(at)) * (sorted[above] - sorted[below]);
}

/// Runs until the warm-up time has passed; returns calls per sample, from the fastest of the timed
/// groups, so that one slow first call does not make batches short.
int64_t calibrate(const std::function<void()>& work, const MeasureOptions& options) {
  const double end = now() + options.warm_up_seconds;
  double fastest = seconds_of(work, 1);
  int64_t group = 1;
  while (now() < end) {
    const double each = seconds_of(work, group) / static_cast<double>(group);
    fastest = std::min(fastest, each);
    if (each * static_cast<double>(group) < options.warm_up_seconds / 8)
      group *= 2;
  }
  const double calls = options.sample_seconds / std::max(fastest, 1e-9);
  return std::max<int64_t>(1, static_cast<int64_t>(std::llround(calls)));
}

} // namespace

Timing summarise(std::vector<double> samples, int64_t batch) {
  Timing timing;
  timing.batch = batch;
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  timing.samples = std::move(samples);
  if (sorted.empty())
    return timing;
  timing.median = quantile(sorted, 0.5);
  timing.min = sorted.front();
  timing.max = sorted.back();
  if (timing.median > 0)
    timing.spread = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / timing.median;
  return timing;
}

Timing quotient(const Timing& other, const Timing& own) {
  std::vector<double> quotients;
  for (size_t n = 0; n < std::min(other.samples.size(), own.samples.size()); ++n)
    quotients.push_back(other.samples[n] / own.samples[n]);
  return summarise(std::move(quotients), 1);
}

Timing measure(const std::function<void()>& work, const MeasureOptions& options) {
  return measure_interleaved({work}, options).front();
}

std::vector<Timing> measure_interleaved(const std::vector<std::function<void()>>& works,
                                        const MeasureOptions& options) {
  std::vector<int64_t> batches;
  for (const auto& work : works)
    batches.push_back(calibrate(work, options));
  std::vector<std::vector<double>> samples(works.size());
  const double begin = now();
  for (int round = 0; round < std::max(options.samples, 1); ++round) {
    if (round >= 3 && now() - begin > options.limit_seconds)
      break;
    for (size_t i = 0; i < works.size(); ++i) {
      if (options.pause_seconds > 0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(options.pause_seconds));
        works[i]();
      }
      if (options.sampling)
        options.sampling();
      samples[i].push_back(seconds_of(works[i], batches[i]) / static_cast<double>(batches[i]));
      if (options.sampled)
        options.sampled();
    }
  }
  std::vector<Timing> result;
  for (size_t i = 0; i < works.size(); ++i)
    result.push_back(summarise(std::move(samples[i]), batches[i]));
  return result;
}

std::string to_string(const Timing& timing) {
  const double s = timing.median;
  const auto [scale, unit] = s >= 1      ? std::pair(1.0, "s")
                             : s >= 1e-3 ? std::pair(1e3, "ms")
                                         : std::pair(1e6, "us");
  return fmt::format("{:.3f} {}, spread {:.1f} %, {} samples of {} call{}", s * scale, unit,
                     timing.spread * 100, timing.samples.size(), timing.batch,
                     timing.batch == 1 ? "" : "s");
}

} // namespace kawara::run
