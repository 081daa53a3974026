#include "kernel/chain_tiles.h"

#include "kernel/group_parts.h"
#include "kernel/vars.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

std::optional<int64_t> count_of_tiles(const Launch& launch) {
  int64_t count = 1;
  for (const Expr& n : launch.blocks) {
    const auto value = scalar::constant_of(n);
    if (!value)
      return std::nullopt;
    count *= *value;
  }
  return count;
}

/// The number of a tile, and where it is.
class TileOrder {
public:
  TileOrder(Kernel& kernel, const Launch& launch, const ChainTiles& tiles, const target::Gpu& gpu)
      : kernel_(kernel), launch_(launch), tiles_(tiles), gpu_(gpu) {}

  /// Tiles have different numbers of steps.
  bool is_uneven() const {
    const VarSet blocks(launch_.block_vars.begin(), launch_.block_vars.end());
    return mentions_any(tiles_.steps.lo, blocks) || mentions_any(tiles_.steps.hi, blocks);
  }

  Expr define(const std::string& name, const Expr& value, Block& out) const {
    const uint32_t var = add_variable(kernel_, name, scalar::kIndex);
    out.emplace_back(Define{var, scalar::simplify(value)});
    return scalar::var(var);
  }

  std::array<Expr, 3> place_of(const Expr& tile, Block& out) const {
    return is_uneven() ? longest_first(tile, out) : row_by_row(tile, out);
  }

private:
  int64_t along(size_t axis) const { return *scalar::constant_of(launch_.blocks[axis]); }

  std::array<Expr, 3> row_by_row(const Expr& tile, Block& out) const {
    const Expr nx = int_lit(along(0)), ny = int_lit(along(1));
    const Expr head = binary(BinaryOp::FloorDiv, tile, nx);
    const Expr x = define("tile_x", binary(BinaryOp::Mod, tile, nx), out);
    const Expr y = define("tile_y", binary(BinaryOp::Mod, head, ny), out);
    return {x, y, define("tile_z", binary(BinaryOp::FloorDiv, head, ny), out)};
  }

  /// The last tiles of a band of (y, z), then those before them.
  std::array<Expr, 3> longest_first(const Expr& tile, Block& out) const {
    const int64_t nx = along(0), ny = along(1), all = ny * along(2);
    const int64_t fit = std::clamp<int64_t>(gpu_.l2 / 2 * all / tiles_.bytes, 1, all);
    const Expr one = int_lit(fit * nx);
    const Expr first =
        define("tile_band", binary(BinaryOp::FloorDiv, tile, one) * int_lit(fit), out);
    const Expr high =
        define("tile_rows", binary(BinaryOp::Min, int_lit(fit), int_lit(all) - first), out);
    const Expr rest = define("tile_rest", binary(BinaryOp::Mod, tile, one), out);
    const Expr column = define("tile_column", binary(BinaryOp::FloorDiv, rest, high), out);
    const Expr head = define("tile_row", first + rest - column * high, out);
    const Expr y = define("tile_y", binary(BinaryOp::Mod, head, int_lit(ny)), out);
    const Expr z = define("tile_z", binary(BinaryOp::FloorDiv, head, int_lit(ny)), out);
    return {define("tile_x", int_lit(nx - 1) - column, out), y, z};
  }

  Kernel& kernel_;
  const Launch& launch_;
  const ChainTiles& tiles_;
  const target::Gpu& gpu_;
};

} // namespace

std::optional<int64_t> blocks_that_stay(const Launch& launch, const target::Gpu& gpu) {
  const auto tiles = count_of_tiles(launch);
  return tiles ? std::optional(std::min(*tiles, gpu.multiprocessors)) : std::nullopt;
}

Block tiles_in_turn(Kernel& kernel, const Launch& launch, const ChainTiles& tiles,
                    const target::Gpu& gpu, Block work) {
  const auto stay = blocks_that_stay(launch, gpu);
  if (!stay)
    return work;
  const int64_t blocks = *stay, count = *count_of_tiles(launch);
  const TileOrder order(kernel, launch, tiles, gpu);
  For loop;
  loop.var = add_variable(kernel, "turn", scalar::kIndex);
  loop.lo = int_lit(0);
  loop.hi = int_lit((count + blocks - 1) / blocks);
  const Expr turn = scalar::var(loop.var), block = scalar::var(launch.block_vars[0]);
  // Who had the first tile of a turn, which is the longest, has the last one of the next.
  const Expr is_even = is_equal(binary(BinaryOp::Mod, turn, int_lit(2)), 0);
  const Expr place =
      order.is_uneven() ? scalar::select(is_even, block, int_lit(blocks - 1) - block) : block;
  const Expr tile = order.define("tile", turn * int_lit(blocks) + place, loop.body);
  Block body;
  const std::array<Expr, 3> at = order.place_of(tile, body);
  for (size_t axis = 0; axis < 3; ++axis)
    work = substitute_var(work, launch.block_vars[axis], at[axis]);
  body.insert(body.end(), work.begin(), work.end());
  if (count % blocks == 0)
    loop.body.insert(loop.body.end(), body.begin(), body.end());
  else
    loop.body.emplace_back(If{binary(BinaryOp::Lt, tile, int_lit(count)), std::move(body), {}});
  return block_of(std::move(loop));
}

} // namespace kawara::kernel
