#pragma once

#include "kernel/gpu/chain/chain_form.h"

namespace kawara::kernel {

/// Of the reduction of a product: what one row of swizzled shared memory holds.
inline constexpr int64_t kDepthOfBlock = 64;
inline int64_t whole_blocks(int64_t depth) {
  return (depth + kDepthOfBlock - 1) / kDepthOfBlock * kDepthOfBlock;
}

/// Columns of each buffer of the block that has some, as threads have them: what products need, and
/// the same for all buffers that meet in a nest. Nothing when that cannot be, or a nest has more
/// than `rows` rows.
std::optional<std::map<uint32_t, int64_t>> chain_widths(const ChainForm&, int64_t rows);
/// Of the buffers that a nest touches; nothing when they have none.
std::optional<int64_t> width_of(const std::map<uint32_t, int64_t>& widths, const ChainNest&);

/// The items of a step when its last product, whose left operand is a buffer of the block, runs
/// during the next step. Numbers are places in ChainForm::inside.
struct ChainOverlap {
  size_t first = 0, last = 0; ///< the two products
  std::vector<size_t> begin;  ///< before the first
  std::vector<size_t> free; ///< between them, and need not wait for the last one of the step before
  std::vector<size_t> bound; ///< between them, and must
};

/// Nothing when there are not two such products, or an item would have to change places with one
/// that it needs.
std::optional<ChainOverlap> chain_overlap(const ChainForm&);

/// What follows from scores that are minus infinity outside the columns of their row: their maximum
/// needs no other bounds, and weights made of them by exp are zero there, as are copies of weights.
struct ChainMask {
  uint32_t scores = 0;      ///< a buffer of the block
  std::set<uint32_t> zeros; ///< buffers of the block
};

/// Nothing where no maximum of a buffer of the block is taken.
std::optional<ChainMask> chain_mask(const ChainForm&);

} // namespace kawara::kernel
