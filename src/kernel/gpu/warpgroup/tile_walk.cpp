#include "kernel/gpu/warpgroup/tile_walk.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

constexpr int64_t kRasterRows = 2048; ///< of the result that neighbouring blocks share

Expr quotient(const Expr& a, int64_t b) { return binary(BinaryOp::FloorDiv, a, int_lit(b)); }
Expr remainder(const Expr& a, int64_t b) { return binary(BinaryOp::Mod, a, int_lit(b)); }

} // namespace

TileWalk::TileWalk(Kernel& kernel, const Launch& launch, int64_t rows,
                   std::optional<target::TileCluster> cluster, int64_t multiprocessors)
    : kernel_(kernel), launch_(launch), rows_(rows), cluster_(cluster),
      multiprocessors_(multiprocessors) {
  if (cluster_)
    place_in_cluster_ = add_variable(kernel_, "place_in_cluster", scalar::kIndex);
}

std::optional<int64_t> TileWalk::tile_count(const Launch& launch) {
  int64_t count = 1;
  for (const Expr& n : launch.blocks) {
    const auto value = scalar::constant_of(n);
    if (!value)
      return std::nullopt;
    count *= *value;
  }
  return count;
}

/// Tiles, or clusters of them; where tiles do not make whole clusters, the last ones have fewer.
int64_t TileWalk::turns_along(size_t axis) const {
  const int64_t tiles = *scalar::constant_of(launch_.blocks[axis]);
  return cluster_ && cluster_->axis == axis ? (tiles + cluster_->blocks - 1) / cluster_->blocks
                                            : tiles;
}

int64_t TileWalk::turn_count() const { return turns_along(0) * turns_along(1) * turns_along(2); }

int64_t TileWalk::turns_at_once() const {
  return std::min(turn_count(), target::clusters_at_once(cluster_, multiprocessors_));
}

std::array<Expr, 3> TileWalk::blocks() const {
  if (!tile_count(launch_))
    return launch_.blocks;
  return {int_lit(blocks_of_cluster() * turns_at_once()), int_lit(1), int_lit(1)};
}

Block TileWalk::in_tiles(Block work, Block counters) const {
  if (!tile_count(launch_))
    return work;
  For loop;
  const Expr block = scalar::var(launch_.block_vars[0]);
  loop.var = add_variable(kernel_, "tile", scalar::kIndex);
  loop.lo = cluster_ ? quotient(block, cluster_->blocks) : block;
  loop.hi = int_lit(turn_count());
  loop.step = turns_at_once();
  const int64_t nn = turns_along(0), nm = turns_along(1);
  const auto define = [&](const std::string& name, const Expr& value) {
    const uint32_t var = add_variable(kernel_, name, scalar::kIndex);
    loop.body.emplace_back(Define{var, scalar::simplify(value)});
    return scalar::var(var);
  };
  const Expr tile = scalar::var(loop.var);
  const Expr z = define("tile_z", quotient(tile, nm * nn));
  const Expr flat = define("tile_flat", remainder(tile, nm * nn));
  const int64_t height = rows_ * (cluster_ && cluster_->axis == 1 ? cluster_->blocks : 1);
  const int64_t rows = std::clamp<int64_t>(kRasterRows / height, 1, nm);
  const Expr first = define("tile_band", quotient(flat, rows * nn) * int_lit(rows));
  const Expr high = define("tile_rows", binary(BinaryOp::Min, int_lit(rows), int_lit(nm) - first));
  const Expr rest = define("tile_rest", remainder(flat, rows * nn));
  const Expr x = define("tile_x", binary(BinaryOp::FloorDiv, rest, high));
  const Expr y = define("tile_y", first + rest - x * high);
  std::array<Expr, 3> place = {x, y, z};
  if (cluster_) {
    const int64_t count = *scalar::constant_of(launch_.blocks[cluster_->axis]);
    Expr& one = place[cluster_->axis];
    one = define("tile_of_block", one * int_lit(cluster_->blocks) + place_in_cluster());
    if (count % cluster_->blocks != 0) { // some blocks have the last tile again, and store nothing
      work = stores_if(work, binary(BinaryOp::Lt, one, int_lit(count)));
      one = define("tile_inside", binary(BinaryOp::Min, one, int_lit(count - 1)));
    }
  }
  // The copies below are made once for the warps that compute and once for the one that copies.
  for (size_t a = 0; a < 3; ++a)
    work = substitute_var(work, launch_.block_vars[a], place[a]);
  loop.body.insert(loop.body.end(), work.begin(), work.end());
  if (cluster_)
    counters.emplace_back(Define{place_in_cluster_, remainder(block, cluster_->blocks)});
  counters.emplace_back(std::move(loop));
  return counters;
}

/// The work, with stores to tensors only where the condition holds.
Block TileWalk::stores_if(const Block& work, const Expr& cond) const {
  return rewrite(work, [&](Stmt stmt) {
    const auto* store = std::get_if<Store>(&stmt);
    const auto* order = std::get_if<AsyncOp>(&stmt);
    const bool is_global =
        (store != nullptr && kernel_.buffers[store->buffer].scope != Scope::Shared &&
         kernel_.buffers[store->buffer].scope != Scope::Private) ||
        (order != nullptr && std::holds_alternative<BulkStore>(order->what));
    Block one = block_of(std::move(stmt));
    return is_global ? block_of(If{cond, std::move(one), {}}) : one;
  });
}

} // namespace kawara::kernel
