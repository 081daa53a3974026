#pragma once

#include "schedule/auto/facts/nest_facts.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kawara::schedule {

/// A nest that multiplies: one update whose two operands are each used again along a loop of the result
/// (matrix products, convolutions, batched or transposed).
struct Product {
  Nest nest;
  std::vector<int64_t> extents;                 ///< by position in the nest, as all positions below
  size_t lanes = 0;                             ///< the result's neighbouring cells; moves `right`
  size_t rows = 0;                              ///< moves `left` and the result
  std::vector<size_t> outer;                    ///< the other loops that move the result
  std::vector<size_t> depth;                    ///< the loops that reduce
  uint32_t result = 0, left = 0, right = 0;     ///< tensors
  bool left_stays = false, right_stays = false; ///< along some outer loop
  bool right_rests = true;                      ///< along every outer loop
  bool left_has_window = false;                 ///< neighbouring results read the same cells of it
  bool has_strided_lanes = false;               ///< the result's cells are not neighbours in lanes
  bool turns_over = false;                      ///< but they are along the rows
  bool has_far_lanes = false;                   ///< the right operand's are not, in lanes
  bool has_far_rows = false;                    ///< the left operand's are not, along the rows
  bool has_near_depth =
      false;              ///< but they are along the reduction, and come as vectors as they are
  bool has_runs = false;  ///< the left operand's cells are neighbours along the innermost reduction
  int64_t row_lines = 64; ///< of a way of the first cache, that its rows begin in
  bool reads_left_in_place = false;  ///< its rows are read cell by cell where they lie: no copies
  bool reads_left_cells = false;     ///< and so are neighbours along the rows, used by few columns
  bool reads_right_in_place = false; ///< vectors of it are read where they lie
  bool has_followers = false;        ///< what follows uses the results cell by cell
  bool avoids_one_loop = false;      ///< for all blocks: it was refused
  bool avoids_tiles = false;         ///< a plan with registers for tiles was refused
  bool is_inside = false;            ///< of a loop that threads share
  /// The loop of the reduction along which the left operand's cells are neighbours: an instruction takes them from there.
  std::optional<size_t> groups;
  /// Cells of an image that tiles take where they lie (schedule/auto/product/amx_convolution.h), as many neighbours at a time.
  std::optional<int64_t> tile_rows;
  std::optional<size_t> parts; ///< the outer loop over parts of the reduction, one thread each
  /// The loop over blocks of the reduction whose results are added up by what follows; none of the outer ones, it stands inside
  /// all blocks of the result.
  std::optional<size_t> combined;
  /// Results that are computed for each cell.
  int64_t combined_extent() const { return combined ? extents[*combined] : 1; }
  poly::StmtId update() const { return nest.statements.front(); }
};

/// Whether the tensor has the same values in every call: a constant, or a temp that is made of such tensors alone and not of
/// itself.
bool keeps_values(const Schedule&, uint32_t tensor);

/// Whether some operand is copied: a product fills the machine as it is; an order that brings it together with others would not.
bool has_packed(const Schedule&);

/// The nest as a product, when it is one that is worth registers and packing.
std::optional<Product> product_of(const Schedule&, const Nest&, const NestFacts&,
                                  const Environment&);
/// Whether it adds up something of two operands: what is no product otherwise needs no facts to be seen.
bool may_be_product(const Schedule&, const Nest&);

/// The same of what stands at that loop.
std::optional<Product> product_at(const Schedule&, poly::LoopId, const Environment&);

/// Makes the outer loop of that name the one over blocks of the reduction (`combined`). False where there is none.
bool combine_along(const Schedule&, Product&, const std::string& loop);

/// Other nests that run with a product's tile while it is in registers: `loops` are those that stand
/// for the product's outer loops, then its lanes and its rows.
struct Companion {
  poly::StmtId statement;
  poly::LoopId nest; ///< outermost loop
  std::vector<poly::LoopId> loops;
};

/// The nest as a companion: one statement that touches the product's result at one cell for each cell of
/// its own, in loops of the same lengths.
std::optional<Companion> companion_of(const Schedule&, const Nest&, const Product&);
/// The same for any nest of one update: the companion's loops are those that stand for its loops at `positions`,
/// all of those that move the result.
std::optional<Companion> companion_of(const Schedule&, const Nest&, const Nest& product,
                                      const std::vector<size_t>& positions);

/// The nests directly before and after the one at `loop` that are companions of it.
struct Company {
  std::vector<Companion> before, after;
};
using CompanionFinder = std::function<std::optional<Companion>(const Nest&)>;
Company companions_around(const poly::Order&, poly::LoopId loop, const CompanionFinder&);
/// The nest before `first` that starts what `sum` adds the results of blocks of a reduction to: a companion of the tile without
/// the loop over those (`Product::combined`).
std::optional<Companion> start_of(const Schedule&, const Companion& first, const Companion& sum);

/// Directives that block for the caches, pack both operands and keep a tile of the result in
/// registers. `before` and `after`: what comes directly before and after the nest and runs with its tile.
std::vector<Directive> product_plan(const Schedule&, const Product&,
                                    const std::vector<Companion>& before,
                                    const std::vector<Companion>& after, const Environment&,
                                    bool may_be_parallel);

/// Gives an update's result, a temp, storage of the size of a register tile. For the schedule after
/// `product_plan` or `window_plan` with companions.
Directive keep_tile_in_registers(const Schedule&, poly::StmtId update);

/// Whether the innermost loops will run as an instruction.
bool runs_as_instruction(const Schedule&, const Product&, const Environment&);

/// Whether threads share one loop over all blocks of the result.
bool shares_one_loop(const Schedule&, const Product&, const Environment&);

/// Whether the reduction runs in one go, so that companions find the finished tile in registers.
bool runs_in_one_go(const Schedule&, const Product&, const Environment&);

} // namespace kawara::schedule
