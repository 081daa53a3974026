#include "graph/optimise/min_cut.h"

#include <algorithm>

namespace kawara::graph::optimise {
namespace {
/// Less than any cost that matters; rounding leaves such crumbs.
constexpr double kCrumb = 1e-15;
} // namespace

size_t MinCut::add_vertex() {
  edges_.emplace_back();
  return edges_.size() - 1;
}

void MinCut::add_edge(size_t from, size_t to, double capacity) {
  if (from == to)
    return;
  edges_[from].push_back({to, edges_[to].size(), capacity});
  edges_[to].push_back({from, edges_[from].size() - 1, 0});
}

bool MinCut::level_vertices() {
  levels_.assign(edges_.size(), -1);
  levels_[kFirst] = 0;
  std::vector<size_t> reached{kFirst};
  for (size_t k = 0; k < reached.size(); ++k)
    for (const Edge& edge : edges_[reached[k]])
      if (edge.left > kCrumb && levels_[edge.to] < 0) {
        levels_[edge.to] = levels_[reached[k]] + 1;
        reached.push_back(edge.to);
      }
  return levels_[kSecond] >= 0;
}

double MinCut::push(size_t from, double most) {
  if (from == kSecond)
    return most;
  for (size_t& k = next_[from]; k < edges_[from].size(); ++k) {
    Edge& edge = edges_[from][k];
    if (edge.left <= kCrumb || levels_[edge.to] != levels_[from] + 1)
      continue;
    const double pushed = push(edge.to, std::min(most, edge.left));
    if (pushed <= kCrumb)
      continue;
    edge.left -= pushed;
    edges_[edge.to][edge.back].left += pushed;
    return pushed;
  }
  return 0;
}

std::vector<bool> MinCut::solve() {
  while (level_vertices()) {
    next_.assign(edges_.size(), 0);
    while (push(kFirst, kNever) > kCrumb) {}
  }
  std::vector<bool> is_second(edges_.size());
  for (size_t v = 0; v < edges_.size(); ++v)
    is_second[v] = levels_[v] < 0;
  return is_second;
}

} // namespace kawara::graph::optimise
