#include "target/tile_clusters.h"

#include <algorithm>

namespace kawara::target {
namespace {

// Measured on an H200, 18 November 2026 (docs/notes/gpu_clusters.md).

/// Elements of a tile whose products, over one step, take as long as a line of the cache takes to
/// come.
constexpr double kElementsOfLine = 64;
/// Part of the lines' time that nothing overlaps with.
constexpr double kOfLines = 0.85;
/// Clusters start later than blocks by themselves. Shorter work does not make up for that.
constexpr int64_t kFewestSteps = 12;
/// The same of a single turn in which blocks share the left operand.
constexpr int64_t kManySteps = 64;
/// Blocks of a cluster wait for each other.
constexpr double kClearlyFaster = 0.95;
/// A cluster's blocks lie in one group of multiprocessors. Groups have an even number of them, not
/// always a multiple of four: of 132 multiprocessors 12 have no place in clusters of four.
constexpr int64_t kWithoutPlace = 12;

int64_t pieces(int64_t count, int64_t size) { return (count + size - 1) / size; }

} // namespace

double bring_time(const TiledProduct& product, const std::optional<TileCluster>& cluster) {
  double lines = 0;
  for (size_t side = 0; side < 2; ++side)
    lines += static_cast<double>(product.brought[side]) * (product.is_split[side] ? 2 : 1) /
             static_cast<double>(cluster && cluster->axis == side ? cluster->blocks : 1);
  return kOfLines * lines * kElementsOfLine / static_cast<double>(product.rows * product.columns);
}

int64_t clusters_at_once(const std::optional<TileCluster>& cluster, int64_t multiprocessors) {
  if (!cluster)
    return multiprocessors;
  return cluster->blocks == 2
             ? multiprocessors / 2
             : std::max<int64_t>(multiprocessors - kWithoutPlace, 0) / cluster->blocks;
}

int64_t turns_of(const TiledProduct& product, const std::optional<TileCluster>& cluster,
                 int64_t multiprocessors) {
  std::array<int64_t, 3> tiles = product.tiles;
  if (cluster)
    tiles[cluster->axis] = pieces(tiles[cluster->axis], cluster->blocks);
  return pieces(tiles[0] * tiles[1] * tiles[2], clusters_at_once(cluster, multiprocessors));
}

std::optional<TileCluster> best_cluster(const TiledProduct& product, int64_t multiprocessors) {
  const auto time = [&](const std::optional<TileCluster>& cluster) {
    return static_cast<double>(turns_of(product, cluster, multiprocessors)) *
           std::max(1.0, bring_time(product, cluster));
  };
  std::optional<TileCluster> best;
  for (const int64_t blocks : {2, 4})
    for (const size_t axis : {size_t{1}, size_t{0}}) {
      const std::optional<TileCluster> other = TileCluster{axis, blocks};
      if (!product.is_split[axis] || blocks > product.most_parts[axis] ||
          blocks > product.tiles[axis] || clusters_at_once(other, multiprocessors) == 0)
        continue;
      const int64_t turns = turns_of(product, other, multiprocessors);
      // Four have no place for more turns. Blocks that share the left operand gain less.
      if (turns * product.steps >= (axis == 1 || turns > 1 ? kFewestSteps : kManySteps) &&
          (blocks == 2 || turns == 1) && time(other) < kClearlyFaster * time(best))
        best = other;
    }
  return best;
}

} // namespace kawara::target
