#include "tune/predict/kriging.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kawara::tune {
namespace {

/// Distances over which a row says something about others, in widths of the numbers.
constexpr double kReaches[] = {0.5, 1, 2, 4};
/// Shares of the variance that no number explains.
constexpr double kNoises[] = {0.003, 0.03, 0.3};
/// A number that hardly changed so far: a step of this size counts as much as a usual one of
/// others.
constexpr double kLeastWidth = 0.25;
/// Of the logarithms of times: nothing is measured better.
constexpr double kLeastVariance = 1e-4;

/// L x = b, in place.
void substitute_down(const std::vector<std::vector<double>>& lower, std::vector<double>& b) {
  for (size_t r = 0; r < b.size(); ++r) {
    for (size_t c = 0; c < r; ++c)
      b[r] -= lower[r][c] * b[c];
    b[r] /= lower[r][r];
  }
}

/// L^T x = b, in place.
void substitute_up(const std::vector<std::vector<double>>& lower, std::vector<double>& b) {
  for (size_t r = b.size(); r-- > 0;) {
    for (size_t c = r + 1; c < b.size(); ++c)
      b[r] -= lower[c][r] * b[c];
    b[r] /= lower[r][r];
  }
}

/// Turns the lower half of a symmetric matrix into its factor; false when it has none.
bool factorise(std::vector<std::vector<double>>& a) {
  for (size_t r = 0; r < a.size(); ++r)
    for (size_t c = 0; c <= r; ++c) {
      double sum = a[r][c];
      for (size_t k = 0; k < c; ++k)
        sum -= a[r][k] * a[c][k];
      if (c < r)
        a[r][c] = sum / a[c][c];
      else if (sum <= 0)
        return false;
      else
        a[r][r] = std::sqrt(sum);
    }
  return true;
}

} // namespace

std::vector<double> Kriging::scaled(const std::vector<double>& row) const {
  std::vector<double> out;
  for (size_t k = 0; k < middle_.size(); ++k)
    out.push_back((row[k] - middle_[k]) / width_[k]);
  return out;
}

double Kriging::nearness(const std::vector<double>& a, const std::vector<double>& b) const {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k)
    sum += (a[k] - b[k]) * (a[k] - b[k]);
  const auto numbers = static_cast<double>(std::max<size_t>(a.size(), 1));
  const double distance = std::sqrt(5 * sum / numbers) / reach_;
  return (1 + distance + distance * distance / 3) * std::exp(-distance);
}

double Kriging::solve(const std::vector<double>& labels, double reach, double noise) {
  reach_ = reach;
  lower_.assign(rows_.size(), {});
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t c = 0; c <= r; ++c)
      lower_[r].push_back(nearness(rows_[r], rows_[c]));
    lower_[r][r] += noise;
  }
  if (!factorise(lower_))
    return -std::numeric_limits<double>::infinity();
  weights_ = labels;
  substitute_down(lower_, weights_);
  double square = 0, determinant = 0;
  for (size_t r = 0; r < rows_.size(); ++r) {
    square += weights_[r] * weights_[r];
    determinant += std::log(lower_[r][r]);
  }
  const auto count = static_cast<double>(rows_.size());
  variance_ = std::max(square / count, kLeastVariance);
  substitute_up(lower_, weights_);
  return -0.5 * (square / variance_ + count * std::log(variance_)) - determinant;
}

Kriging Kriging::fit(const std::vector<std::vector<double>>& rows,
                     const std::vector<double>& labels) {
  Kriging made;
  if (rows.empty())
    return made;
  const auto count = static_cast<double>(rows.size());
  for (size_t k = 0; k < rows.front().size(); ++k) {
    double sum = 0, square = 0;
    for (const auto& row : rows)
      sum += row[k];
    for (const auto& row : rows)
      square += (row[k] - sum / count) * (row[k] - sum / count);
    made.middle_.push_back(sum / count);
    made.width_.push_back(std::max(std::sqrt(square / count), kLeastWidth));
  }
  for (const auto& row : rows)
    made.rows_.push_back(made.scaled(row));
  double best = -std::numeric_limits<double>::infinity();
  double reach = kReaches[0], noise = kNoises[0];
  for (const double r : kReaches)
    for (const double n : kNoises)
      if (const double likely = made.solve(labels, r, n); likely > best) {
        best = likely;
        reach = r;
        noise = n;
      }
  made.solve(labels, reach, noise);
  return made;
}

Guess Kriging::predict(const std::vector<double>& row) const {
  const std::vector<double> here = scaled(row);
  std::vector<double> near;
  double mean = 0;
  for (size_t r = 0; r < rows_.size(); ++r) {
    near.push_back(nearness(here, rows_[r]));
    mean += near.back() * weights_[r];
  }
  substitute_down(lower_, near);
  double known = 0;
  for (const double value : near)
    known += value * value;
  return {mean, std::sqrt(std::max(0.0, 1 - known) * variance_)};
}

} // namespace kawara::tune
