#include "tune/predict/forest.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace kawara::tune {

/// Rows in ascending order of each feature.
using Sorted = std::vector<std::vector<size_t>>;

/// Grows one tree on the residuals.
class TreeBuilder {
public:
  TreeBuilder(const std::vector<std::vector<double>>& rows, const std::vector<double>& residuals,
              const std::vector<double>& weights, const ForestOptions& options)
      : rows_(rows), residuals_(residuals), weights_(weights), options_(options) {}

  std::vector<Forest::Node> grow(Sorted all) {
    nodes_.emplace_back();
    grow_at(0, std::move(all), options_.depth);
    return std::move(nodes_);
  }

private:
  struct Cut {
    double gain = 0;
    size_t feature = 0;
    double value = 0;
  };
  struct Sum {
    double residuals = 0, weight = 0;
    void add(double residual, double w) {
      residuals += w * residual;
      weight += w;
    }
    /// What the mean takes away of the squared error.
    double score() const { return weight > 0 ? residuals * residuals / weight : 0; }
  };

  Sum sum_of(const std::vector<size_t>& rows) const {
    Sum sum;
    for (const size_t r : rows)
      sum.add(residuals_[r], weights_[r]);
    return sum;
  }

  Cut best_cut(const Sorted& sorted) const {
    const Sum all = sum_of(sorted.front());
    const auto least = static_cast<size_t>(options_.least);
    Cut best;
    for (size_t feature = 0; feature < sorted.size(); ++feature) {
      const std::vector<size_t>& order = sorted[feature];
      Sum below;
      for (size_t k = 0; k + 1 < order.size(); ++k) {
        below.add(residuals_[order[k]], weights_[order[k]]);
        const double here = rows_[order[k]][feature], next = rows_[order[k + 1]][feature];
        if (here == next || k + 1 < least || order.size() - k - 1 < least)
          continue;
        const Sum above{all.residuals - below.residuals, all.weight - below.weight};
        const double gain = below.score() + above.score() - all.score();
        if (gain > best.gain * (1 + 1e-9) + 1e-12)
          best = {gain, feature, (here + next) / 2};
      }
    }
    return best;
  }

  void grow_at(size_t node, Sorted sorted, int depth) {
    const Cut cut = depth > 0 && sorted.front().size() >= 2 ? best_cut(sorted) : Cut{};
    if (cut.gain <= 0) {
      const Sum sum = sum_of(sorted.front());
      nodes_[node].value = sum.weight > 0 ? sum.residuals / sum.weight : 0;
      return;
    }
    Sorted below(sorted.size()), above(sorted.size());
    for (size_t feature = 0; feature < sorted.size(); ++feature)
      for (const size_t r : sorted[feature])
        (rows_[r][cut.feature] < cut.value ? below : above)[feature].push_back(r);
    const size_t children = nodes_.size();
    nodes_[node].feature = static_cast<int32_t>(cut.feature);
    nodes_[node].value = cut.value;
    nodes_[node].children = static_cast<int32_t>(children);
    nodes_.resize(children + 2);
    grow_at(children, std::move(below), depth - 1);
    grow_at(children + 1, std::move(above), depth - 1);
  }

  const std::vector<std::vector<double>>& rows_;
  const std::vector<double>& residuals_;
  const std::vector<double>& weights_;
  const ForestOptions& options_;
  std::vector<Forest::Node> nodes_;
};

namespace {

template <class Nodes> double value_of(const Nodes& tree, const std::vector<double>& row) {
  size_t at = 0;
  while (tree[at].feature >= 0)
    at = static_cast<size_t>(tree[at].children) +
         (row[static_cast<size_t>(tree[at].feature)] < tree[at].value ? 0 : 1);
  return tree[at].value;
}

Sorted sorted_by_feature(const std::vector<std::vector<double>>& rows) {
  Sorted sorted(rows.front().size(), std::vector<size_t>(rows.size()));
  for (size_t feature = 0; feature < sorted.size(); ++feature) {
    std::iota(sorted[feature].begin(), sorted[feature].end(), size_t{0});
    std::stable_sort(sorted[feature].begin(), sorted[feature].end(),
                     [&](size_t a, size_t b) { return rows[a][feature] < rows[b][feature]; });
  }
  return sorted;
}

} // namespace

Forest Forest::fit(const std::vector<std::vector<double>>& rows, const std::vector<double>& labels,
                   const std::vector<double>& weights, const ForestOptions& options) {
  Forest forest;
  if (rows.empty() || rows.front().empty())
    return forest;
  forest.rate_ = options.rate;
  forest.features_ = rows.front().size();
  double sum = 0, weight = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    sum += weights[r] * labels[r];
    weight += weights[r];
  }
  forest.offset_ = weight > 0 ? sum / weight : 0;
  std::vector<double> residuals;
  for (const double label : labels)
    residuals.push_back(label - forest.offset_);
  const Sorted sorted = sorted_by_feature(rows);
  for (int t = 0; t < options.trees; ++t) {
    forest.trees_.push_back(TreeBuilder(rows, residuals, weights, options).grow(sorted));
    for (size_t r = 0; r < rows.size(); ++r)
      residuals[r] -= forest.rate_ * value_of(forest.trees_.back(), rows[r]);
  }
  return forest;
}

double Forest::predict(const std::vector<double>& row) const {
  double sum = offset_;
  if (row.size() == features_)
    for (const auto& tree : trees_)
      sum += rate_ * value_of(tree, row);
  return sum;
}

std::string Forest::to_json() const {
  nlohmann::json trees = nlohmann::json::array();
  for (const auto& tree : trees_) {
    nlohmann::json nodes = nlohmann::json::array();
    for (const Node& node : tree)
      nodes.push_back({node.feature, node.value, node.children});
    trees.push_back(std::move(nodes));
  }
  return nlohmann::json{
      {"offset", offset_}, {"rate", rate_}, {"features", features_}, {"trees", std::move(trees)}}
      .dump();
}

std::optional<Forest> Forest::from_json(const std::string& text) {
  try {
    const nlohmann::json from = nlohmann::json::parse(text);
    Forest forest;
    forest.offset_ = from.at("offset").get<double>();
    forest.rate_ = from.at("rate").get<double>();
    forest.features_ = from.at("features").get<size_t>();
    for (const auto& nodes : from.at("trees")) {
      std::vector<Node> tree;
      for (const auto& node : nodes)
        tree.push_back(
            {node.at(0).get<int32_t>(), node.at(1).get<double>(), node.at(2).get<int32_t>()});
      // Children come after their parent: every walk ends.
      for (size_t k = 0; k < tree.size(); ++k)
        if (tree[k].feature >= static_cast<int32_t>(forest.features_) ||
            (tree[k].feature >= 0 && (tree[k].children <= static_cast<int32_t>(k) ||
                                      static_cast<size_t>(tree[k].children) + 1 >= tree.size())))
          return std::nullopt;
      if (tree.empty())
        return std::nullopt;
      forest.trees_.push_back(std::move(tree));
    }
    return forest;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

double pair_accuracy(const std::vector<double>& predicted, const std::vector<double>& measured) {
  double right = 0, pairs = 0;
  for (size_t a = 0; a < measured.size(); ++a)
    for (size_t b = a + 1; b < measured.size(); ++b) {
      if (measured[a] == measured[b])
        continue;
      pairs += 1;
      if (predicted[a] == predicted[b])
        right += 0.5;
      else
        right += (predicted[a] < predicted[b]) == (measured[a] < measured[b]) ? 1 : 0;
    }
  return pairs > 0 ? right / pairs : 0.5;
}

} // namespace kawara::tune
