#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kawara::run {

struct MeasureOptions {
  double warm_up_seconds = 0.02; ///< at least one call in any case
  double sample_seconds = 0.005; ///< a sample is a batch of calls that takes about this long
  int samples = 11;
  double limit_seconds = 5; ///< fewer samples, at least three, when they would take longer
  /// Rest before each sample of interleaved works, and one call that is not counted: threads that
  /// one work left waiting fall asleep before the next is measured.
  double pause_seconds = 0;
  int64_t most_calls = 1000; ///< of a sample on a GPU, which works off what was asked of it
  /// Called right before and after each sample, where there is something to call.
  std::function<void()> sampling = {}, sampled = {};
};

/// Seconds per call. Every sample is the mean of one batch.
struct Timing {
  std::vector<double> samples; ///< in the order they were taken
  int64_t batch = 1;           ///< calls per sample
  double median = 0;
  double min = 0;
  double max = 0;
  /// Distance between the quartiles, relative to the median.
  double spread = 0;
};

/// Median, extremes and spread of the samples.
Timing summarise(std::vector<double> samples, int64_t batch);

/// How many times as long as `own` the other took, sample by sample: of two that were measured in
/// turns. Whatever slows the machine down for some turns slows both, so that this says more than
/// the quotient of their medians.
Timing quotient(const Timing& other, const Timing& own);

/// Warms up, finds a batch size, and takes the samples.
Timing measure(const std::function<void()>& work, const MeasureOptions& = {});

/// Several works in turns, one sample each a round: what slows the machine down for a while slows
/// all of them. In the order given.
std::vector<Timing> measure_interleaved(const std::vector<std::function<void()>>& works,
                                        const MeasureOptions& = {});

/// "1.234 ms, spread 0.8 %, 11 samples of 4 calls"
std::string to_string(const Timing&);

} // namespace kawara::run
