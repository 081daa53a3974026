#pragma once

#include "schedule/auto/facts/nest_facts.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kawara::schedule {

/// A nest that multiplies: one update whose two operands are each used again along a loop of the
/// result (matrix products, convolutions, batched or transposed).
struct Product {
  Nest nest;
  std::vector<int64_t> extents;             ///< by position in the nest, as all positions below
  size_t lanes = 0;                         ///< the result's neighbouring elements; moves `right`
  size_t rows = 0;                          ///< moves `left` and the result
  std::vector<size_t> outer;                ///< the other loops that move the result
  std::vector<size_t> depth;                ///< the loops that reduce
  uint32_t result = 0, left = 0, right = 0; ///< tensors
  bool left_reused_by_some_outer = false,
       right_reused_by_some_outer = false; ///< along some outer loop
  bool left_invariant_in_all_outer = true,
       right_invariant_in_all_outer = true; ///< along every outer loop
  bool left_has_window = false;             ///< neighbouring results read the same elements of it
  bool has_strided_lanes = false;           ///< the result's elements are not neighbours in lanes
  bool stores_transposed = false;           ///< but they are along the rows
  bool has_far_lanes = false;               ///< the right operand's are not, in lanes
  bool has_far_rows = false;                ///< the left operand's are not, along the rows
  bool left_contiguous_along_k =
      false; ///< but they are along the reduction, and come as vectors as they are
  bool has_runs =
      false; ///< the left operand's elements are neighbours along the innermost reduction
  int64_t row_lines = 64;            ///< of a way of the L1, that its rows begin in
  bool reads_left_in_place = false;  ///< its rows are read element by element unpacked: no copies
  bool reads_left_elements = false;  ///< and so are neighbours along the rows, used by few columns
  bool reads_right_in_place = false; ///< vectors of it are read unpacked
  bool has_epilogue = false;         ///< what follows uses the results element by element
  bool avoids_one_loop = false;      ///< for all blocks: it was refused
  bool avoids_tiles = false;         ///< a plan with registers for tiles was refused
  bool is_inside = false;            ///< of a loop that threads share
  /// The loop of the reduction along which the left operand's elements are neighbours: an
  /// instruction takes them from there.
  std::optional<size_t> groups;
  /// Elements of an image that tiles take unpacked (schedule/auto/product/amx_convolution.h), as
  /// many neighbours at a time.
  std::optional<int64_t> tile_rows;
  std::optional<size_t> parts; ///< the outer loop over parts of the reduction, one thread each
  /// The loop over blocks of the reduction whose results are added up by what follows; none of the
  /// outer ones, it stands inside all blocks of the result.
  std::optional<size_t> combined;
  /// Results that are computed for each element.
  int64_t combined_extent() const { return combined ? extents[*combined] : 1; }
  poly::StmtId update() const { return nest.statements.front(); }
};

/// Whether some operand is copied: a product fills the machine as it is; an order that brings it
/// together with others would not.
bool has_packed(const Schedule&);

/// The nest as a product, when it is one that is worth registers and packing.
std::optional<Product> product_of(const Schedule&, const Nest&, const NestFacts&,
                                  const Environment&);
/// Whether it adds up something of two operands: what is no product otherwise needs no facts to be
/// seen.
bool may_be_product(const Schedule&, const Nest&);

/// The same of what stands at that loop.
std::optional<Product> product_at(const Schedule&, poly::LoopId, const Environment&);

/// Makes the outer loop of that name the one over blocks of the reduction (`combined`). False where
/// there is none.
bool combine_along(const Schedule&, Product&, const std::string& loop);

/// Other nests that run with a product's tile while it is in registers: `loops` are those that
/// stand for the product's outer loops, then its lanes and its rows.
struct FusedNest {
  poly::StmtId statement;
  poly::LoopId nest; ///< outermost loop
  std::vector<poly::LoopId> loops;
};

/// The nest as a fused nest: one statement that touches the product's result at one element for
/// each element of its own, in loops of the same lengths.
std::optional<FusedNest> fused_nest_of(const Schedule&, const Nest&, const Product&);
/// The same for any nest of one update: the fused nest's loops are those that stand for its loops
/// at `positions`, all of those that move the result.
std::optional<FusedNest> fused_nest_of(const Schedule&, const Nest&, const Nest& product,
                                       const std::vector<size_t>& positions);

/// The nests directly before and after the one at `loop` that are fused nests of it.
struct FusedNests {
  std::vector<FusedNest> before, after;
};
using FusedNestFinder = std::function<std::optional<FusedNest>(const Nest&)>;
FusedNests fused_nests_around(const poly::Order&, poly::LoopId loop, const FusedNestFinder&);
/// The nest before `first` that starts what `sum` adds the results of blocks of a reduction to: a
/// fused nest of the tile without the loop over those (`Product::combined`).
std::optional<FusedNest> start_of(const Schedule&, const FusedNest& first, const FusedNest& sum);

/// Directives that block for the caches, pack both operands and keep a tile of the result in
/// registers. `before` and `after`: what comes directly before and after the nest and runs with its
/// tile.
std::vector<Directive> product_plan(const Schedule&, const Product&,
                                    const std::vector<FusedNest>& before,
                                    const std::vector<FusedNest>& after, const Environment&,
                                    bool may_be_parallel);

/// Gives an update's result, a temp, storage of the size of a register tile. For the schedule after
/// `product_plan` or `window_plan` with fused nests.
Directive keep_tile_in_registers(const Schedule&, poly::StmtId update);

/// Whether the innermost loops will run as an instruction.
bool runs_as_instruction(const Schedule&, const Product&, const Environment&);

/// Whether threads share one loop over all blocks of the result.
bool shares_one_loop(const Schedule&, const Product&, const Environment&);

/// Whether the reduction runs in one go, so that fused nests find the finished tile in registers.
bool runs_in_one_go(const Schedule&, const Product&, const Environment&);

} // namespace kawara::schedule
