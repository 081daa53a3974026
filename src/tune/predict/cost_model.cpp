#include "tune/predict/cost_model.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace kawara::tune {
namespace {

/// With fewer rows only the line is fitted.
constexpr size_t kLeastRows = 6;
/// Rows that nearness looks at: the fastest, and the newest. More take long and say little.
constexpr size_t kNearFastest = 96, kNearNewest = 64;
/// How sure the line is of a slope of one, in rows.
constexpr double kSlopeRows = 6;
/// Rows of earlier searches that are carried on.
constexpr size_t kMostEarlier = 4000;

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

} // namespace

double CostModel::before(const Features& features) const {
  return prior_ ? prior_->predict(features) : std::log2(analytic_cost(features)) - formula_default_;
}

Guess CostModel::guess(const Features& features) const {
  Guess guess{offset_ + slope_ * before(features), 0};
  if (!forest_ || !near_)
    return guess;
  const Guess near = near_->predict(features);
  guess.mean += 0.5 * (near.mean + forest_->predict(features));
  guess.spread = near.spread;
  return guess;
}

void CostModel::set_default(const Features& features) {
  formula_default_ = std::log2(analytic_cost(features));
}

void CostModel::add(const Features& features, double ratio) {
  rows_.push_back({features, std::log2(std::max(ratio, 1e-6))});
}

/// Least squares, drawn towards a slope of one.
void CostModel::fit_line() {
  double known = 0, label = 0;
  const auto count = static_cast<double>(rows_.size());
  for (const Row& row : rows_) {
    known += before(row.features) / count;
    label += row.label / count;
  }
  double square = 0, product = 0;
  for (const Row& row : rows_) {
    const double x = before(row.features) - known;
    square += x * x;
    product += x * (row.label - label);
  }
  const double pull = square / count * kSlopeRows + 1e-9;
  slope_ = std::max(0.0, (product + pull) / (square + pull));
  offset_ = label - slope_ * known;
}

void CostModel::refit() {
  if (rows_.size() == learnt_)
    return;
  std::vector<double> predicted, measured;
  for (size_t k = learnt_; k < rows_.size(); ++k) {
    predicted.push_back(predict(rows_[k].features));
    measured.push_back(rows_[k].label);
  }
  const double pairs = static_cast<double>(measured.size() * (measured.size() - 1)) / 2;
  right_ += pair_accuracy(predicted, measured) * pairs;
  pairs_ += pairs;
  learnt_ = rows_.size();
  fit_line();
  if (rows_.size() < kLeastRows)
    return;
  std::vector<Features> features;
  std::vector<double> labels, left, weights;
  for (const Row& row : rows_) {
    features.push_back(row.features);
    labels.push_back(row.label);
    left.push_back(row.label - offset_ - slope_ * before(row.features));
  }
  // Fast points matter: they are the ones to be told apart.
  std::vector<double> ascending = labels;
  std::sort(ascending.begin(), ascending.end());
  for (const double label : labels)
    weights.push_back(std::exp2(ascending.front() - label) + 0.05);
  forest_ = grow_(features, left, weights);
  const double fast = ascending[std::min(kNearFastest, ascending.size()) - 1];
  std::vector<Features> near;
  std::vector<double> near_left;
  for (size_t k = 0; k < rows_.size(); ++k)
    if (labels[k] <= fast || k + kNearNewest >= rows_.size()) {
      near.push_back(features[k]);
      near_left.push_back(left[k]);
    }
  near_ = Kriging::fit(near, near_left);
}

std::optional<double> CostModel::rank_accuracy() const {
  return pairs_ > 0 ? std::optional(right_ / pairs_) : std::nullopt;
}

std::string CostModel::to_json() const {
  std::vector<double> labels;
  for (const Row& row : rows_)
    labels.push_back(row.label);
  const double median = median_of(labels);
  std::vector<Row> all = earlier_;
  for (const Row& row : rows_)
    all.push_back({row.features, row.label - median});
  if (all.size() > kMostEarlier)
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kMostEarlier));
  nlohmann::json json{{"features", feature_names()}};
  std::vector<Features> features;
  labels.clear();
  for (const Row& row : all) {
    features.push_back(row.features);
    labels.push_back(row.label);
    json["rows"].push_back({{"label", row.label}, {"values", row.features}});
  }
  if (!all.empty())
    json["forest"] = nlohmann::json::parse(
        grow_(features, labels, std::vector<double>(all.size(), 1)).to_json());
  return json.dump();
}

std::optional<CostModel> CostModel::from_json(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  // A model that counts other things knows nothing about these.
  if (!json.is_object() || !json.contains("features") ||
      json["features"] != nlohmann::json(feature_names()))
    return std::nullopt;
  CostModel model;
  try {
    if (json.contains("rows"))
      for (const auto& row : json.at("rows"))
        model.earlier_.push_back({row.at("values").get<Features>(), row.at("label").get<double>()});
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  for (const Row& row : model.earlier_)
    if (row.features.size() != feature_names().size())
      return std::nullopt;
  if (json.contains("forest")) {
    model.prior_ = Forest::from_json(json["forest"].dump());
    if (!model.prior_)
      return std::nullopt;
  }
  return model;
}

} // namespace kawara::tune
