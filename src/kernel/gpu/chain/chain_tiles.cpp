#include "kernel/gpu/chain/chain_tiles.h"

#include "kernel/gpu/warpgroup/group_parts.h"
#include "kernel/gpu/warpgroup/tile_walk.h"
#include "kernel/vars.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

/// Which tile a block has in which turn.
class TileOrder {
public:
  TileOrder(Kernel& kernel, const Launch& launch, const For& steps, int64_t blocks)
      : kernel_(kernel), launch_(launch), blocks_(blocks), nx_(along(0)), ny_(along(1)),
        rows_(ny_ * along(2)) {
    const VarSet vars(launch.block_vars.begin(), launch.block_vars.end());
    is_uneven_ = mentions_any(steps.lo, vars) || mentions_any(steps.hi, vars);
    const int64_t rounds = (pairs() + blocks_ - 1) / blocks_;
    // Where the last round of pairs would leave more blocks idle than this, tiles are dealt out one
    // by one.
    constexpr double kLeastBusy = 0.9;
    is_paired_ = is_uneven_ &&
                 static_cast<double>(pairs()) >= kLeastBusy * static_cast<double>(rounds * blocks_);
  }

  /// The tile in the middle of a row that is taken in pairs has no other: a turn without a tile.
  bool has_gaps() const { return is_paired_ && nx_ % 2 == 1; }

  int64_t turns() const {
    const int64_t each = is_paired_ ? pairs() : rows_ * nx_;
    return (each + blocks_ - 1) / blocks_ * (is_paired_ ? 2 : 1);
  }

  /// x, y and z of the tile, defined in `out`, and whether there is one (empty: always).
  std::pair<std::array<Expr, 3>, Expr> place_of(const Expr& turn, Block& out) const {
    return is_paired_   ? in_pairs(turn, out)
           : is_uneven_ ? longest_first(turn, out)
                        : row_by_row(turn, out);
  }

private:
  using Place = std::pair<std::array<Expr, 3>, Expr>;

  int64_t along(size_t axis) const { return *scalar::constant_of(launch_.blocks[axis]); }
  int64_t pairs() const { return rows_ * ((nx_ + 1) / 2); }
  Expr block() const { return scalar::var(launch_.block_vars[0]); }

  Expr define(const std::string& name, const Expr& value, Block& out) const {
    const uint32_t var = add_variable(kernel_, name, scalar::kIndex);
    out.emplace_back(Define{var, scalar::simplify(value)});
    return scalar::var(var);
  }
  static Expr quotient(const Expr& a, int64_t b) {
    return binary(BinaryOp::FloorDiv, a, int_lit(b));
  }
  static Expr remainder(const Expr& a, int64_t b) { return binary(BinaryOp::Mod, a, int_lit(b)); }
  Expr is_below(const Expr& number, int64_t count) const {
    return count % blocks_ == 0 ? Expr() : binary(BinaryOp::Lt, number, int_lit(count));
  }

  std::array<Expr, 3> at(const Expr& x, const Expr& row, Block& out) const {
    return {x, define("tile_y", remainder(row, ny_), out),
            define("tile_z", quotient(row, ny_), out)};
  }

  /// The last tile of a row has fewer rows than the others: no block gets that of every row.
  Place row_by_row(const Expr& turn, Block& out) const {
    const Expr tile = define("tile", turn * int_lit(blocks_) + block(), out);
    const Expr place = nx_ > 1 && blocks_ % nx_ == 0 ? tile + turn : tile;
    const Expr x = define("tile_x", remainder(place, nx_), out);
    return {at(x, quotient(tile, nx_), out), is_below(tile, rows_ * nx_)};
  }

  /// The last tile of a row and the first in two turns, then the last but one and the second.
  Place in_pairs(const Expr& turn, Block& out) const {
    const int64_t half = (nx_ + 1) / 2;
    const Expr pair = define("tile_pair", quotient(turn, 2) * int_lit(blocks_) + block(), out);
    const Expr place = define("tile_place", remainder(pair, half), out);
    const Expr is_first = is_equal(remainder(turn, 2), 0);
    const Expr x = define("tile_x", scalar::select(is_first, int_lit(nx_ - 1) - place, place), out);
    Expr exists = is_below(pair, pairs());
    if (nx_ % 2 == 1) {
      // The tile in the middle has no other.
      const Expr has_other = binary(BinaryOp::Lt, place, int_lit(half - 1));
      const Expr is_new = binary(BinaryOp::Or, is_first, has_other);
      exists = exists ? both(exists, is_new) : is_new;
    }
    return {at(x, quotient(pair, half), out), exists};
  }

  /// The last tiles of all rows, then those before them. Who had the first of a turn has the last
  /// of the next.
  Place longest_first(const Expr& turn, Block& out) const {
    const Expr is_even = is_equal(remainder(turn, 2), 0);
    const Expr place = scalar::select(is_even, block(), int_lit(blocks_ - 1) - block());
    const Expr tile = define("tile", turn * int_lit(blocks_) + place, out);
    const Expr x = define("tile_x", int_lit(nx_ - 1) - quotient(tile, rows_), out);
    return {at(x, remainder(tile, rows_), out), is_below(tile, rows_ * nx_)};
  }

  Kernel& kernel_;
  const Launch& launch_;
  int64_t blocks_, nx_, ny_, rows_; ///< rows: of tiles, all y and z
  bool is_uneven_ = false, is_paired_ = false;
};

} // namespace

std::optional<int64_t> blocks_that_stay(const Launch& launch, const target::Gpu& gpu) {
  const auto tiles = TileWalk::tile_count(launch);
  return tiles ? std::optional(std::min(*tiles, gpu.multiprocessors)) : std::nullopt;
}

Block tiles_in_turn(Kernel& kernel, const Launch& launch, const For& steps, const target::Gpu& gpu,
                    Block work) {
  const auto blocks = blocks_that_stay(launch, gpu);
  if (!blocks)
    return work;
  const TileOrder order(kernel, launch, steps, *blocks);
  For loop;
  loop.var = add_variable(kernel, "turn", scalar::kIndex);
  loop.lo = int_lit(0);
  loop.hi = int_lit(order.turns());
  const auto [at, exists] = order.place_of(scalar::var(loop.var), loop.body);
  for (size_t axis = 0; axis < 3; ++axis)
    work = substitute_var(work, launch.block_vars[axis], at[axis]);
  if (exists)
    loop.body.emplace_back(If{exists, std::move(work), {}});
  else
    loop.body.insert(loop.body.end(), work.begin(), work.end());
  return block_of(std::move(loop));
}

std::optional<TileTurns> TileTurns::make(Kernel& kernel, const Launch& launch, const For& steps,
                                         const target::Gpu& gpu) {
  const auto blocks = blocks_that_stay(launch, gpu);
  if (!blocks)
    return std::nullopt;
  TileTurns turns(kernel, launch, steps, *blocks);
  const TileOrder order(kernel, launch, steps, *blocks);
  turns.count_ = order.turns();
  return order.has_gaps() ? std::nullopt : std::optional(turns);
}

TilePlace TileTurns::of(const Expr& turn, Block& out) const {
  auto [at, exists] = TileOrder(*kernel_, *launch_, *steps_, blocks_).place_of(turn, out);
  const auto number = scalar::constant_of(turn);
  if (!number || *number >= count_) {
    const Expr is_turn = binary(BinaryOp::Lt, turn, int_lit(count_));
    exists = exists ? both(is_turn, exists) : is_turn;
  }
  return {at, exists};
}

} // namespace kawara::kernel
