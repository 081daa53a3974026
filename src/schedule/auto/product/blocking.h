#pragma once

#include "schedule/auto/product/instruction.h"
#include "schedule/auto/product/product.h"
#include "schedule/auto/product/register_tile.h"
#include "schedule/auto/product/thread_grid.h"

namespace kawara::schedule {

/// Sizes that a product is cut into, and the loop of the reduction that is cut.
struct Cuts {
  std::optional<ProductInstruction> instruction;
  RegisterTile tile;
  CacheBlocks blocks;
  int64_t lanes = 1; ///< of one vector
  size_t deepest = 0;
  int64_t depth_part = 0; ///< of the deepest loop; 0: it is not cut
  int64_t threads = 1;
  ThreadGrid grid;
  bool rows_in_parallel = true;
  bool columns_outside = false;           ///< blocks of columns stand around the outer loops
  bool depth_outside = false;             ///< or blocks of the reduction (depth_outside.h)
  bool rows_outside = false;              ///< tiles of rows around those of columns, inside a block
  bool prefetches_next_c_tile = false;    ///< the next tile's results are called into the cache
  bool prefetches_next_a_block = false;   ///< and what the next block of rows will copy
  bool prefetches_next_b_panel = false;   ///< and the next panel of the right operand
  bool prefetches_next_b_columns = false; ///< and its next columns, unpacked
  int64_t fused_lanes = 1;                ///< of one vector of a fused nest
  /// Several blocks read it, and threads have one each: it is copied before their loop. So it is
  /// where blocks of columns stand around the outer loops: each of them would copy all of it again.
  bool packs_left_before() const {
    return columns_outside || (grid.is_one_loop && grid.column_parts > 1);
  }
  bool packs_right_before() const {
    return grid.is_one_loop && !columns_outside && grid.row_parts > 1;
  }
  int64_t instruction_depth() const { return instruction ? instruction->depth : 1; }
  int64_t instruction_rows() const { return instruction ? instruction->rows : 1; }
  int64_t copied_lanes() const { return instruction ? instruction->copied_lanes() : lanes; }
  /// Its depth is several groups, which lie around the columns.
  bool has_groups() const { return instruction && instruction->group < instruction->depth; }
};

Cuts cuts_of(const Schedule&, const Product&, const Environment&);

/// Whether an operand is used often enough to be copied, with that many lanes in a vector.
bool packs_right(const Product&, int64_t lanes);
bool packs_left(const Product&, int64_t lanes);
/// Whether tiles would wait for a right operand that is read unpacked: few rows use what comes from
/// beyond the L2.
bool asks_for_columns(const Schedule&, const Product&, const target::Cpu&);
/// Some index of the tensor adds a loop of the result to one that reduces: neighbouring results
/// read the same elements, and a copy in reading order would hold each several times.
bool has_window(const Schedule&, const Product&, uint32_t tensor);
/// Whether no index of the tensor in the update moves along the loop at that position.
bool stays_along(const Schedule&, const Product&, uint32_t tensor, size_t position);
/// Elements of the left operand from the first to the last that so many rows and all taps, the
/// innermost steps of the reduction, read of a run of neighbours; 0 where the two do not move along
/// one.
int64_t window_span(const Schedule&, const Product&, int64_t rows);
/// Whether the register file holds a tile of results and, as vectors, all that its rows and taps
/// read. Narrow vectors are read by lane, and taps share them; many taps do whatever they spill.
bool keeps_window(const Schedule&, const Product&, const target::Cpu&);
/// The innermost loop of the reduction is unrolled. Where it moves a window along the rows, its
/// steps share elements, and LLVM would keep each of those in a register from step to step: there
/// are not enough for a large tile. Another loop goes inside.
void unroll_channels_not_taps(const Schedule&, Product&);
/// Directives for a left operand that cannot be packed and of which one iteration of the outer
/// loops reads elements far apart: a temp is laid out so that they lie together; of other tensors
/// they are copied, by statement `next`.
std::vector<Directive> bring_left_together(const Schedule&, const Product&, int64_t lanes,
                                           uint32_t next);

/// What tiles at the edges of the result cost with that many lanes in a vector.
EdgeCosts edge_costs(const Product&, int64_t lanes, const target::Cpu&);

/// Of the extents at these positions, at most 2^40.
int64_t product_over(const std::vector<int64_t>& extents, const std::vector<size_t>& positions);
/// The longest loop of the reduction.
size_t deepest_of(const Product&);
/// Of the type that the product is computed in.
int64_t element_bytes(const Schedule&, const Product&);

} // namespace kawara::schedule
