#pragma once

#include "tune/features.h"
#include "tune/forest.h"

#include <optional>
#include <string>
#include <vector>

namespace kawara::tune {

/// Predicts how long points take: by formula at first, from what was measured as soon as there is
/// enough of it.
class CostModel {
public:
  /// log2 of the predicted time over that of the default. Before anything was learnt and without
  /// `set_default`, only good for comparing.
  double predict(const Features&) const;

  /// What the formula says about others is taken relative to this point.
  void set_default(const Features&);

  /// One measured point: its time over that of the default.
  void add(const Features&, double ratio);
  /// Learns from all that was added. Before that, says of the new ones how well they were predicted.
  void refit();

  /// Share of pairs of new points that were in the right order before they were learnt; nothing until
  /// some were.
  std::optional<double> rank_accuracy() const;

  std::string to_json() const;
  static std::optional<CostModel> from_json(const std::string& text);

private:
  std::vector<Features> rows_;
  std::vector<double> labels_; ///< log2 of the ratio
  size_t learnt_ = 0;          ///< rows that the forest knows
  std::optional<Forest> forest_;
  double formula_default_ = 0; ///< log2 of what the formula says about the default
  double right_ = 0, pairs_ = 0;
};

} // namespace kawara::tune
