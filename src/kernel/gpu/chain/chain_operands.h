#pragma once

#include "kernel/gpu/chain/chain_form.h"
#include "kernel/gpu/warpgroup/group_parts.h"
#include "target/gpu.h"

namespace kawara::kernel {

/// A tensor of which a chain's products read boxes: brought to shared memory by TMA, in a ring
/// where each step of the chain reads another box, once a tile where all read the same.
struct ChainOperand {
  TileAccess access; ///< other: the reduction
  int64_t lines = 0, depth = 0;
  bool is_resident = false;
  uint32_t tiles = 0;           ///< [stages, blocks of 64 of the reduction, (panels,) rows, 64]
  uint32_t full = 0, empty = 0; ///< rows of mbarriers
  int64_t stages = 1;
};

/// The operands of a chain's products and the protocol around them.
class ChainOperands {
public:
  ChainOperands(Kernel& kernel, const Launch& launch, const ChainForm& form)
      : kernel_(kernel), launch_(launch), form_(form) {}

  /// Whether TMA can bring it, with zeros beyond the end of the reduction. `may_read_more`: what
  /// else lies there counts for nothing.
  bool can_load(const TileAccess&, const TileAxis& depth, int64_t full, bool may_read_more) const;

  enum class Side : uint8_t { Rows, Columns };
  /// Its number. What has the tile's rows stays for all steps where it does not move with them;
  /// what has columns comes in each step, of which there may be one only. Rows of which TMA cannot
  /// find the beginning are copied first: `copies`.
  size_t add(const TileAccess&, Side, int64_t lines, int64_t depth, Block& copies);
  /// Boxes of an operand that lie in shared memory at a time: of one that steps move, and of one
  /// that stays for a tile.
  struct Stages {
    int64_t moving = 2, resident = 1;
  };
  /// Shared buffers and barriers, when all are known.
  void make(const Stages&, int64_t warps, std::vector<Mbarriers>& barriers);

  const std::vector<ChainOperand>& all() const { return operands_; }
  int64_t bytes_of(const ChainOperand&) const; ///< of one box
  bool is_transposed(const ChainOperand&) const;
  /// Where the part for block `block` of the reduction begins that has lines from 64 * `group` on.
  ElementAt element(size_t operand, const Expr& slot, int64_t block, const Expr& group) const;

  /// What the copying thread does for one tile.
  Block bring(Block& counters);

private:
  void load(const ChainOperand&, const Ring&, Block& out) const;

  Kernel& kernel_;
  const Launch& launch_;
  const ChainForm& form_;
  std::vector<ChainOperand> operands_;
};

} // namespace kawara::kernel
