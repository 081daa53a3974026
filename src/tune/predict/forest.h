#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kawara::tune {

struct ForestOptions {
  int trees = 60;
  int depth = 5;
  double rate = 0.15; ///< share of the error that each tree takes on
  int least = 2;      ///< rows on either side of a split
};

/// Regression trees, each fitted to what those before leave over (gradient boosting, squared
/// error). The same rows give the same forest on every machine.
class Forest {
public:
  /// All rows have the same length; `weights` say how much a row's error counts.
  static Forest fit(const std::vector<std::vector<double>>& rows, const std::vector<double>& labels,
                    const std::vector<double>& weights, const ForestOptions& = {});

  double predict(const std::vector<double>& row) const;

  /// For keeping and carrying to other machines. Nothing comes back from text that is no forest.
  std::string to_json() const;
  static std::optional<Forest> from_json(const std::string& text);

private:
  struct Node {
    int32_t feature = -1; ///< -1: a leaf
    double value = 0;     ///< of a leaf; else rows below it go to the first child
    int32_t children = 0; ///< index of the first of two
  };
  friend class TreeBuilder;

  double offset_ = 0, rate_ = 0;
  size_t features_ = 0;
  std::vector<std::vector<Node>> trees_;
};

/// Share of the pairs with different values that are in the same order in both; half of those that
/// are predicted equal count. 0.5 without a pair.
double pair_accuracy(const std::vector<double>& predicted, const std::vector<double>& measured);

} // namespace kawara::tune
