#pragma once

#include "kernel/kernel.h"
#include "target/gpu.h"

#include <optional>

namespace kawara::kernel {

/// Blocks of a launch that each do several tiles; nothing when it is not known how many tiles there
/// are.
std::optional<int64_t> blocks_that_stay(const Launch&, const target::Gpu&);

/// The work of one block of the launch, for all tiles that a block which stays has. `steps` is the
/// loop inside it.
///
/// Tiles with the same y and z follow each other. Where the number of steps grows with x, a block
/// takes a long tile and a short one, which together are as long as any other two; or, where there
/// are too few tiles for that, the longest first.
Block tiles_in_turn(Kernel&, const Launch&, const For& steps, const target::Gpu&, Block work);

/// x, y and z of a tile, and whether there is one (empty: always).
struct TilePlace {
  std::array<Expr, 3> at;
  Expr exists;
};

/// The same order, for whoever writes the loop over turns.
class TileTurns {
public:
  /// Nothing where `tiles_in_turn` has no loop, or where a block has a turn without a tile before
  /// one with.
  static std::optional<TileTurns> make(Kernel&, const Launch&, const For& steps,
                                       const target::Gpu&);
  int64_t count() const { return count_; }
  /// The tile of that turn; what it needs is defined in `out`. There is none after the last turn.
  TilePlace of(const Expr& turn, Block& out) const;

private:
  TileTurns(Kernel& kernel, const Launch& launch, const For& steps, int64_t blocks)
      : kernel_(&kernel), launch_(&launch), steps_(&steps), blocks_(blocks) {}

  Kernel* kernel_;
  const Launch* launch_;
  const For* steps_;
  int64_t blocks_, count_ = 0;
};

} // namespace kawara::kernel
