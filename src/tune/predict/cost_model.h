#pragma once

#include "tune/predict/features.h"
#include "tune/predict/forest.h"
#include "tune/predict/kriging.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kawara::tune {

/// Grows a forest from rows, labels and weights.
using GrowForest =
    std::function<Forest(const std::vector<std::vector<double>>& rows,
                         const std::vector<double>& labels, const std::vector<double>& weights)>;

/// Predicts how long points take. What is known beforehand (a formula, or trees that earlier
/// searches have learnt) is put right by what was measured in this search: a line through both,
/// and, from what the line leaves over, a mean of two guesses, by trees and by nearness.
class CostModel {
public:
  /// log2 of the predicted time over that of the default. Before anything was learnt and without
  /// `set_default`, only good for comparing.
  double predict(const Features& features) const { return guess(features).mean; }
  /// ... and how far off it may be; 0 while that is unknown.
  Guess guess(const Features&) const;

  /// Who grows the trees; `Forest::fit` unless somebody else is named.
  void set_learner(GrowForest grow) { grow_ = std::move(grow); }

  /// What the formula says about others is taken relative to this point.
  void set_default(const Features&);

  /// One measured point: its time over that of the default.
  void add(const Features&, double ratio);
  /// Learns from all that was added. Before that, says of the new ones how well they were
  /// predicted.
  void refit();

  /// Share of pairs of new points that were in the right order before they were learnt; nothing
  /// until some were.
  std::optional<double> rank_accuracy() const;

  /// For other searches: trees fitted to the points of this one and of those that its model came
  /// from.
  std::string to_json() const;
  static std::optional<CostModel> from_json(const std::string& text);

private:
  struct Row {
    Features features;
    double label = 0; ///< log2 of the ratio; of earlier searches: less the median of theirs
  };

  double before(const Features&) const;
  void fit_line();

  GrowForest grow_ = [](const auto& rows, const auto& labels, const auto& weights) {
    return Forest::fit(rows, labels, weights);
  };
  std::vector<Row> earlier_;
  std::optional<Forest> prior_; ///< fitted to `earlier_`
  std::vector<Row> rows_;
  size_t learnt_ = 0;             ///< rows of this search that were learnt
  double slope_ = 1, offset_ = 0; ///< of what was known beforehand
  std::optional<Forest> forest_;
  std::optional<Kriging> near_;
  double formula_default_ = 0; ///< log2 of what the formula says about the default
  double right_ = 0, pairs_ = 0;
};

} // namespace kawara::tune
