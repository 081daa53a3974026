#pragma once

#include <vector>

namespace kawara::tune {

/// What is expected of a row, and how far off that may be.
struct Guess {
  double mean = 0, spread = 0;
};

/// Guesses from rows that are near in all their numbers (a Gaussian process with a smooth kernel).
/// Made for few rows, where trees have not enough to split. The same rows give the same guesses on
/// every machine.
class Kriging {
public:
  /// All rows have the same length. `labels` are taken as differences from 0: far from every row
  /// the guess is 0. How far influence reaches, and how much of the labels is noise, are what makes
  /// the labels likeliest among a few choices.
  static Kriging fit(const std::vector<std::vector<double>>& rows,
                     const std::vector<double>& labels);

  Guess predict(const std::vector<double>& row) const;

private:
  std::vector<double> scaled(const std::vector<double>& row) const;
  double nearness(const std::vector<double>& a, const std::vector<double>& b) const;
  /// Works out the factors for one reach and noise; the likelihood of the labels (a logarithm), or
  /// less than any other when the numbers are no good.
  double solve(const std::vector<double>& labels, double reach, double noise);

  std::vector<double> middle_, width_;     ///< of each number
  std::vector<std::vector<double>> rows_;  ///< scaled
  std::vector<std::vector<double>> lower_; ///< the Cholesky factor of the rows' nearness
  std::vector<double> weights_;
  double variance_ = 1, reach_ = 1;
};

} // namespace kawara::tune
