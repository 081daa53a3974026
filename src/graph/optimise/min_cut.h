#pragma once

#include <cstddef>
#include <vector>

namespace kawara::graph::optimise {

/// The cheapest way to part the vertices of a directed network into two sides. An edge costs its
/// capacity when it leads from the first side to the second.
class MinCut {
public:
  static constexpr size_t kFirst = 0, kSecond = 1; ///< vertices that are on these sides
  static constexpr double kNever = 1e30;           ///< capacity of edges that must not be cut

  size_t add_vertex();
  void add_edge(size_t from, size_t to, double capacity);
  /// Is the vertex on the second side? Of several cheapest ways, the one with the smallest first
  /// side.
  std::vector<bool> solve();

private:
  struct Edge {
    size_t to, back; ///< `back`: position of the opposite edge at `to`
    double left;
  };
  bool level_vertices();
  double push(size_t from, double most);

  std::vector<std::vector<Edge>> edges_{2};
  std::vector<int> levels_;
  std::vector<size_t> next_;
};

} // namespace kawara::graph::optimise
