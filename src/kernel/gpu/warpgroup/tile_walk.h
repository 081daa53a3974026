#pragma once

#include "kernel/kernel.h"
#include "target/tile_clusters.h"

namespace kawara::kernel {

/// Which tiles of a launch its blocks compute, one after the other: as many blocks as fit,
/// neighbours in time near each other. Blocks of a cluster compute neighbours at the same time.
///
///   before   launch blocks(16, 32): work(block_x, block_y)
///   after    launch blocks(132):
///              for tile in range(block_x, 512, 132):
///                let tile_x = ..., tile_y = ...
///                work(tile_x, tile_y)
class TileWalk {
public:
  /// `launch` has a block for each tile, of `rows` rows. Where their number is not constant there
  /// is no walk: blocks stay as they are.
  TileWalk(Kernel&, const Launch& launch, int64_t rows, std::optional<target::TileCluster>,
           int64_t multiprocessors);

  /// How many tiles there are, where that is constant.
  static std::optional<int64_t> tile_count(const Launch&);

  /// The work on one tile, for all tiles of a block; `counters` are defined around.
  Block in_tiles(Block work, Block counters) const;
  /// Blocks of the launch that walks.
  std::array<Expr, 3> blocks() const;
  int64_t blocks_of_cluster() const { return cluster_ ? cluster_->blocks : 1; }
  const std::optional<target::TileCluster>& cluster() const { return cluster_; }
  /// Position of the block in its cluster; inside `in_tiles`.
  Expr place_in_cluster() const { return scalar::var(place_in_cluster_); }

private:
  int64_t turns_along(size_t axis) const;
  int64_t turn_count() const;
  int64_t turns_at_once() const;
  Block stores_if(const Block& work, const Expr& cond) const;

  Kernel& kernel_;
  const Launch& launch_;
  int64_t rows_;
  std::optional<target::TileCluster> cluster_;
  int64_t multiprocessors_;
  uint32_t place_in_cluster_ = 0;
};

} // namespace kawara::kernel
