#include "tune/cost_model.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace kawara::tune {
namespace {

/// With fewer rows the formula is the better guess.
constexpr size_t kLeastRows = 12;

} // namespace

double CostModel::predict(const Features& features) const {
  return forest_ ? forest_->predict(features)
                 : std::log2(analytic_cost(features)) - formula_default_;
}

void CostModel::set_default(const Features& features) {
  formula_default_ = std::log2(analytic_cost(features));
}

void CostModel::add(const Features& features, double ratio) {
  rows_.push_back(features);
  labels_.push_back(std::log2(std::max(ratio, 1e-6)));
}

void CostModel::refit() {
  if (rows_.size() == learnt_)
    return;
  std::vector<double> predicted, measured;
  for (size_t k = learnt_; k < rows_.size(); ++k) {
    predicted.push_back(predict(rows_[k]));
    measured.push_back(labels_[k]);
  }
  const double pairs = static_cast<double>(measured.size() * (measured.size() - 1)) / 2;
  right_ += pair_accuracy(predicted, measured) * pairs;
  pairs_ += pairs;
  learnt_ = rows_.size();
  if (rows_.size() < kLeastRows)
    return;
  // Fast points matter: they are the ones to be told apart.
  const double best = *std::min_element(labels_.begin(), labels_.end());
  std::vector<double> weights;
  for (const double label : labels_)
    weights.push_back(std::exp2(best - label) + 0.05);
  forest_ = Forest::fit(rows_, labels_, weights);
}

std::optional<double> CostModel::rank_accuracy() const {
  return pairs_ > 0 ? std::optional(right_ / pairs_) : std::nullopt;
}

std::string CostModel::to_json() const {
  nlohmann::json json{{"features", feature_names()}};
  if (forest_)
    json["forest"] = nlohmann::json::parse(forest_->to_json());
  return json.dump();
}

std::optional<CostModel> CostModel::from_json(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  // A model that counts other things knows nothing about these.
  if (!json.is_object() || !json.contains("features") ||
      json["features"] != nlohmann::json(feature_names()))
    return std::nullopt;
  CostModel model;
  if (json.contains("forest")) {
    model.forest_ = Forest::from_json(json["forest"].dump());
    if (!model.forest_)
      return std::nullopt;
  }
  return model;
}

} // namespace kawara::tune
