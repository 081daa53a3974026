#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace kawara::target {

/// A product in tiles on tensor cores. A block computes one tile after the other, in steps of 128
/// bytes along the reduction, and brings the rows of both operands for each step.
struct TiledProduct {
  std::array<int64_t, 3> tiles = {1, 1, 1}; ///< along columns, along rows, others
  int64_t rows = 0, columns = 0;            ///< of a tile
  int64_t steps = 1;                        ///< of a tile
  /// Rows of the left and of the right operand that a tile reads: fewer than it has where the
  /// tensor has fewer.
  std::array<int64_t, 2> brought = {0, 0};
  /// Whether rows of these operands begin within cache lines: each 128 bytes of them are then parts
  /// of two lines.
  std::array<bool, 2> is_split = {false, false};
  /// In how many parts blocks can bring them, at most.
  std::array<int64_t, 2> most_parts = {4, 4};
};

/// Blocks that compute neighbouring tiles at the same time, along columns (axis 0) or rows (1).
/// They read the same of one operand: of the left one along columns, of the right one along rows.
/// Each brings a part of it, for all.
struct TileCluster {
  size_t axis = 0;
  int64_t blocks = 1;
  friend bool operator==(const TileCluster&, const TileCluster&) = default;
};

/// Time that bringing operands takes, as a multiple of the time that products take.
double bring_time(const TiledProduct&, const std::optional<TileCluster>&);

/// Clusters that run at the same time; blocks where there are none.
int64_t clusters_at_once(const std::optional<TileCluster>&, int64_t multiprocessors);

/// Tiles, or clusters of them, that are computed one after the other.
int64_t turns_of(const TiledProduct&, const std::optional<TileCluster>&, int64_t multiprocessors);

/// The cluster with which the product is fastest; nothing where blocks by themselves are, as they
/// are where operands lie in whole lines.
std::optional<TileCluster> best_cluster(const TiledProduct&, int64_t multiprocessors);

} // namespace kawara::target
