#include "tune/confidence.h"

#include <algorithm>
#include <cmath>

namespace kawara::tune {

Interval median_interval(std::vector<double> samples) {
  if (samples.empty())
    return {};
  std::sort(samples.begin(), samples.end());
  const auto n = static_cast<double>(samples.size());
  // The number of samples below the true median is binomial (n, 1/2).
  const double reach = 1.96 * std::sqrt(n) / 2;
  const auto low = static_cast<size_t>(std::max(0.0, std::floor(n / 2 - reach)));
  const auto high = static_cast<size_t>(std::min(n - 1, std::ceil(n / 2 + reach)));
  const size_t middle = samples.size() / 2;
  const double median =
      samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
  return {samples[low], median, samples[high]};
}

Interval ratio_interval(const std::vector<double>& own, const std::vector<double>& theirs) {
  std::vector<double> ratios;
  for (size_t k = 0; k < std::min(own.size(), theirs.size()); ++k)
    if (theirs[k] > 0)
      ratios.push_back(own[k] / theirs[k]);
  return median_interval(std::move(ratios));
}

} // namespace kawara::tune
