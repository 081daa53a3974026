#pragma once

#include <vector>

namespace kawara::tune {

/// A median with the interval that holds the true one in 95 of 100 cases.
struct Interval {
  double low = 0, median = 0, high = 0;
};

/// From order statistics: nothing is assumed about how the samples are spread. With fewer than six
/// samples the interval is from the smallest to the largest.
Interval median_interval(std::vector<double> samples);

/// Of own[k] / theirs[k]: what slows both down at a moment cancels out.
Interval ratio_interval(const std::vector<double>& own, const std::vector<double>& theirs);

} // namespace kawara::tune
