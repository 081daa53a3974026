#include "schedule/auto/facts/dataflow.h"
#include "schedule/auto/product/blocking.h"
#include "schedule/auto/product/product.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;

namespace {

/// Loops of at most this many iterations around the innermost are unrolled whole.
constexpr int64_t kShort = 8;
/// Rows of the result that make it worth to keep operands of narrow types converted.
constexpr int64_t kWorthConverting = 8;
/// Elements of a cache line, those of f32; narrower ones are copied in parts of a line.
constexpr int64_t kLineElements = 16;

/// Builds the directive list; loops are named by statement, so that equal names do not matter.
class ProductPlanner {
public:
  ProductPlanner(const Schedule& schedule, const Product& p, const Environment& environment,
                 bool may_be_parallel)
      : schedule_(schedule), p_(p), cuts_(cuts_of(schedule, p, environment)),
        may_be_parallel_(may_be_parallel) {}

  std::vector<Directive> plan(const std::vector<FusedNest>& before,
                              const std::vector<FusedNest>& after) {
    tile_product();
    for (const auto* list : {&before, &after})
      for (const FusedNest& c : *list)
        tile_fused_nest(c);
    for (const FusedNest& c : before)
      fuse(c, true);
    for (const FusedNest& c : after)
      fuse(c, false);
    pack();
    const std::string update = name(p_.update());
    if (cuts_.instruction)
      tensorize(update);
    else
      mark_tile(update, own(p_.rows), own(p_.lanes));
    for (const auto* list : {&before, &after})
      for (const FusedNest& c : *list)
        mark_tile(name(c.statement), loop_name(c.loops.back()), loop_name(lanes_of(c)));
    if (!cuts_.has_groups())
      unroll_depth(update);
    if (cuts_.prefetches_next_c_tile)
      add(Prefetch{schedule_.scop.tensors[p_.result].name, {update, own(p_.rows) + ".1.0"}, 1});
    if (cuts_.prefetches_next_a_block)
      add(Prefetch{schedule_.scop.tensors[p_.left].name, {update, own(p_.rows) + ".0"}, 1});
    if (cuts_.prefetches_next_b_panel)
      call_panel(update);
    if (cuts_.prefetches_next_b_columns)
      add(Prefetch{schedule_.scop.tensors[p_.right].name, {update, own(p_.lanes) + ".1.0"}, 1});
    if (may_be_parallel_ && cuts_.threads > 1)
      spread();
    return std::move(plan_);
  }

private:
  const std::string& name(StmtId id) const { return schedule_.scop[id].text.name; }
  const std::string& loop_name(LoopId loop) const { return schedule_.order[loop].name; }
  std::string own(size_t position) const { return loop_name(p_.nest.loops[position]); }
  static LoopId lanes_of(const FusedNest& c) { return c.loops[c.loops.size() - 2]; }
  int64_t width() const { return cuts_.tile.vectors * cuts_.lanes; }

  template <class D> void add(D directive) { plan_.emplace_back(std::move(directive)); }

  void cut_result(const std::string& statement, const std::string& rows, const std::string& lanes) {
    add(Split{{statement, lanes}, cuts_.blocks.columns});
    add(Split{{statement, rows}, cuts_.blocks.rows});
    add(Split{{statement, lanes + ".1"}, width()});
    add(Split{{statement, rows + ".1"}, cuts_.tile.rows});
  }

  /// Outer loops stand around blocks, or inside blocks of columns where only one of these fits a
  /// cache. A reduction among `outer` comes last: its results stay in the nearest cache.
  std::vector<std::string> around_tile(std::vector<std::string> outer,
                                       std::vector<std::string> blocks) const {
    if (outer.size() > p_.outer.size()) {
      blocks.push_back(outer.back());
      outer.pop_back();
    }
    if (cuts_.columns_outside) {
      outer.insert(outer.begin(), blocks.front());
      blocks.erase(blocks.begin());
    }
    outer.insert(outer.end(), blocks.begin(), blocks.end());
    return outer;
  }
  std::vector<std::string> own_outer() const {
    std::vector<std::string> outer;
    for (const size_t k : p_.outer)
      outer.push_back(own(k));
    if (p_.combined)
      outer.push_back(own(*p_.combined));
    return outer;
  }

  /// Blocks, then the register tiles of one, outermost first.
  std::vector<std::string> blocks_of(const std::string& rows, const std::string& lanes) const {
    if (cuts_.rows_outside)
      return {lanes + ".0", rows + ".0", rows + ".1.0", lanes + ".1.0"};
    return {lanes + ".0", rows + ".0", lanes + ".1.0", rows + ".1.0"};
  }

  /// Outer loops, blocks, register tiles, then `inside`, then the elements of the tile.
  void order(const std::string& statement, const std::vector<std::string>& outer,
             const std::string& rows, const std::string& lanes, bool has_depth_blocks,
             const std::vector<std::string>& inside, const std::vector<std::string>& innermost) {
    std::vector<std::string> names = around_tile(outer, blocks_of(rows, lanes));
    const size_t place = p_.outer.size() + (cuts_.packs_right_before() ? 2 : 1);
    if (has_depth_blocks)
      names.insert(names.begin() + (cuts_.depth_outside ? 0 : static_cast<std::ptrdiff_t>(place)),
                   own(cuts_.deepest) + ".0");
    names.insert(names.end(), inside.begin(), inside.end());
    names.insert(names.end(), innermost.begin(), innermost.end());
    Reorder reorder;
    for (const std::string& n : names)
      reorder.loops.push_back({statement, n});
    add(std::move(reorder));
  }

  void tile_product() {
    const std::string statement = name(p_.update());
    const bool is_cut = cuts_.depth_part != 0;
    cut_result(statement, own(p_.rows), own(p_.lanes));
    if (is_cut)
      add(Split{{statement, own(cuts_.deepest)}, cuts_.depth_part});
    std::vector<std::string> inside, innermost{own(p_.rows) + ".1.1", own(p_.lanes) + ".1.1"};
    if (cuts_.instruction_rows() > 1)
      innermost = cut_tile(statement, own(p_.rows), own(p_.lanes));
    if (cuts_.instruction_depth() > 1) {
      add(Split{{statement, deepest_part()}, cuts_.instruction_depth()});
      if (cuts_.has_groups()) {
        add(Split{{statement, deepest_part() + ".1"}, cuts_.instruction->group});
        innermost.insert(innermost.end() - 1, deepest_part() + ".1.0");
        innermost.push_back(deepest_part() + ".1.1");
      } else
        innermost.push_back(deepest_part() + ".1");
    }
    for (const size_t k : p_.depth)
      inside.push_back(depth_loop(k));
    order(statement, own_outer(), own(p_.rows), own(p_.lanes), is_cut, inside, innermost);
  }

  /// The register tile as results of the instruction, and their elements.
  std::vector<std::string> cut_tile(const std::string& statement, const std::string& rows,
                                    const std::string& lanes) {
    const std::string high = rows + ".1.1", wide = lanes + ".1.1";
    add(Split{{statement, high}, cuts_.instruction_rows()});
    add(Split{{statement, wide}, cuts_.instruction->lanes});
    return {high + ".0", wide + ".0", high + ".1", wide + ".1"};
  }

  std::string deepest_part() const {
    return own(cuts_.deepest) + (cuts_.depth_part != 0 ? ".1" : "");
  }

  /// The loop of the reduction that runs around the register tile.
  std::string depth_loop(size_t k) const {
    if (k != cuts_.deepest)
      return own(k);
    return deepest_part() + (cuts_.instruction_depth() > 1 ? ".0" : "");
  }

  /// Unrolls the innermost reduction loop: by four, by two vectors, or a short one whole.
  void unroll_depth(const std::string& update) {
    const size_t last = p_.depth.back();
    const bool reads_runs = p_.left_contiguous_along_k && !packs_left(p_, cuts_.lanes);
    if (p_.extents[last] > kShort || p_.depth.size() == 1)
      return add(Unroll{{update, depth_loop(last)}, reads_runs ? 2 * cuts_.lanes : 4});
    add(Unroll{{update, depth_loop(last)}, std::nullopt});
  }

  /// In the loop over panels: that of a block, or of blocks that are single panels.
  void call_panel(const std::string& update) {
    const std::string packed = schedule_.scop.tensors[p_.right].name + "_packed";
    const bool are_blocks = cuts_.threads == 1 && cuts_.blocks.columns <= width();
    if (std::none_of(schedule_.scop.tensors.begin(), schedule_.scop.tensors.end(),
                     [&](const program::Tensor& other) { return other.name == packed; }))
      add(Prefetch{packed, {update, own(p_.lanes) + (are_blocks ? ".0" : ".1.0")}, 1});
  }

  void tile_fused_nest(const FusedNest& c) {
    const std::string& rows = loop_name(c.loops.back());
    const std::string& lanes = loop_name(lanes_of(c));
    cut_result(name(c.statement), rows, lanes);
    std::vector<std::string> outer, elements{rows + ".1.1", lanes + ".1.1"};
    for (size_t k = 0; k + 2 < c.loops.size(); ++k)
      outer.push_back(loop_name(c.loops[k]));
    if (cuts_.has_groups())
      elements = cut_tile(name(c.statement), rows, lanes);
    order(name(c.statement), outer, rows, lanes, false, {}, elements);
  }

  /// Loop by loop, from the outermost down to the register tiles.
  void fuse(const FusedNest& c, bool is_before) {
    std::vector<std::string> theirs;
    for (size_t k = 0; k + 2 < c.loops.size(); ++k)
      theirs.push_back(loop_name(c.loops[k]));
    const std::vector<std::string> mine =
        around_tile(own_outer(), blocks_of(own(p_.rows), own(p_.lanes)));
    theirs = around_tile(std::move(theirs),
                         blocks_of(loop_name(c.loops.back()), loop_name(lanes_of(c))));
    // What starts sums of blocks does not have the loop over those.
    for (size_t k = 0; k < theirs.size(); ++k) {
      const LoopName a{name(p_.update()), mine[k]}, b{name(c.statement), theirs[k]};
      if (is_before)
        add(Fuse{b, a});
      else
        add(Fuse{a, b});
    }
  }

  void pack() {
    const std::string statement = name(p_.update());
    const bool is_cut = cuts_.depth_part != 0;
    auto number = static_cast<uint32_t>(schedule_.scop.statements.size());
    const auto pack_one = [&](uint32_t tensor, bool is_whole, const std::string& at,
                              const std::string& elements) {
      add(Pack{schedule_.scop.tensors[tensor].name,
               is_whole ? std::nullopt : std::optional(LoopName{statement, at}),
               packed_type(tensor), reader_if_several(schedule_.scop, tensor, p_.update())});
      return std::pair("S" + std::to_string(number++), elements + ".1.1");
    };
    if (packs_right(p_, cuts_.copied_lanes())) {
      const bool is_whole = p_.right_reused_by_some_outer || cuts_.packs_right_before();
      const bool is_at_depth = is_cut && !cuts_.depth_outside;
      const auto [copy, elements] = pack_one(
          p_.right, is_whole, own(is_at_depth ? cuts_.deepest : p_.lanes) + ".0", own(p_.lanes));
      // Of a single panel there are only steps to share, if they are not taken otherwise.
      const bool is_one = std::min(cuts_.blocks.columns, p_.extents[p_.lanes]) <= width();
      const bool takes_steps = is_one && (p_.has_far_lanes || cuts_.instruction_depth() > 1);
      right_copy_ = is_whole || takes_steps ? "" : copy;
      right_copy_loop_ = is_one ? copied_depth(p_.depth[0]) : own(p_.lanes) + ".1.0";
      if (cuts_.instruction_depth() > 1)
        unroll_groups(copy, elements);
      else if (copies_lines())
        copy_line_by_line(copy, elements);
      else {
        add(Vectorize{{copy, elements}, cuts_.lanes});
        add(Unroll{{copy, elements}, std::nullopt});
        if (!p_.has_far_lanes && !p_.right_reused_by_some_outer && !cuts_.packs_right_before() &&
            has_bands(cuts_.blocks.columns, width())) {
          copy_in_bands(copy, p_.lanes);
          right_copy_loop_ = copied_depth(p_.depth[0]) + ".0";
        }
        if (p_.has_far_lanes && p_.extents[p_.depth.back()] >= cuts_.lanes)
          add(Unroll{{copy, copied_depth(p_.depth.back())}, cuts_.lanes});
      }
      if (cuts_.packs_right_before() && !p_.right_reused_by_some_outer)
        share_copy(copy, p_.lanes, cuts_.blocks.columns, width());
    }
    if (packs_left(p_, cuts_.copied_lanes())) {
      const bool by_rows = copies_rows();
      if (by_rows)
        order_elements(true);
      const auto [copy, elements] =
          pack_one(p_.left, p_.left_reused_by_some_outer || cuts_.packs_left_before(),
                   own(p_.rows) + ".0", own(p_.rows));
      if (by_rows)
        copy_row_by_row(copy);
      else if (cuts_.instruction_depth() > 1)
        unroll_groups(copy, elements);
      else {
        if (!p_.has_far_rows && !p_.left_reused_by_some_outer && !cuts_.packs_left_before() &&
            has_bands(cuts_.blocks.rows, cuts_.tile.rows))
          copy_in_bands(copy, p_.rows);
        else if (cuts_.prefetches_next_a_block)
          walk_along_rows(copy);
        add(Unroll{{copy, elements}, std::nullopt});
      }
      if (cuts_.packs_left_before() && !p_.left_reused_by_some_outer)
        share_copy(copy, p_.rows, cuts_.blocks.rows, cuts_.tile.rows);
    }
    for (Directive& directive : bring_left_together(schedule_, p_, cuts_.lanes, number))
      plan_.push_back(std::move(directive));
  }

  /// Duplicated elements of the left operand are read by broadcasts: so rows that are contiguous
  /// along the reduction stay contiguous, and are copied by vectors.
  ///
  ///   for k.1: for i.1.1: # unroll           =>   for i.1.1: for k.1: # vector(32)
  ///     A_packed[i.1.0, k.1, i.1.1] = A[i, k]       A_packed[i.1.0, i.1.1, k.1] = A[i, k]
  bool copies_rows() const { return cuts_.instruction && cuts_.instruction->copies_rows; }
  void order_elements(bool rows_first) {
    const LoopName rows{name(p_.update()), own(p_.rows) + ".1.1"};
    const LoopName steps{name(p_.update()), depth_loop(p_.depth[0])};
    add(rows_first ? Reorder{{rows, steps}} : Reorder{{steps, rows}});
  }
  void copy_row_by_row(const std::string& copy) {
    order_elements(false);
    add(Vectorize{{copy, copied_depth(p_.depth[0])}, cuts_.lanes});
  }

  /// Threads share the panels of all blocks copied before the product's loop; parts of the
  /// reduction where the last block has fewer.
  void share_copy(const std::string& copy, size_t position, int64_t block, int64_t panel) {
    if (!may_be_parallel_ || cuts_.threads == 1 || !p_.outer.empty())
      return;
    const std::string blocks = own(position) + ".0", panels = own(position) + ".1.0";
    const int64_t extent = p_.extents[position], count = (extent + panel - 1) / panel;
    if (block >= extent)
      return add(Parallel{{copy, panels}});
    if (block <= panel)
      return add(Parallel{{copy, blocks}});
    const bool is_cut = cuts_.depth_part != 0;
    const std::string depth = deepest_part(), depth_blocks = own(cuts_.deepest) + ".0";
    Reorder order{{{copy, blocks}, {copy, panels}}};
    if (count % (block / panel) == 0) {
      if (is_cut)
        order.loops.push_back({copy, depth_blocks});
      add(std::move(order));
      add(Coalesce{{copy, blocks}, {copy, panels}});
      return add(Parallel{{copy, blocks + "_" + panels}});
    }
    if (cuts_.instruction && (extent + block - 1) / block >= cuts_.threads)
      return add(Parallel{{copy, blocks}});
    if (cuts_.instruction || (position == p_.lanes && p_.has_far_lanes))
      return;
    const int64_t steps = is_cut ? cuts_.depth_part : p_.extents[cuts_.deepest];
    add(Split{{copy, depth}, (steps + cuts_.threads - 1) / cuts_.threads});
    order.loops.insert(order.loops.begin(), {copy, depth + ".0"});
    if (is_cut)
      order.loops.push_back({copy, depth_blocks});
    order.loops.push_back({copy, depth + ".1"});
    add(std::move(order));
    add(Parallel{{copy, depth + ".0"}});
  }

  std::string copied_depth(size_t k) const { return k == cuts_.deepest ? deepest_part() : own(k); }

  /// A copy from afar takes neighbours together: each row of the reduction may be on another page.
  void walk_along_rows(const std::string& copy) {
    Reorder order;
    for (const size_t k : p_.depth)
      order.loops.push_back({copy, copied_depth(k)});
    order.loops.push_back({copy, own(p_.rows) + ".1.0"});
    order.loops.push_back({copy, own(p_.rows) + ".1.1"});
    add(std::move(order));
  }

  /// A few steps of the reduction at a time, all panels of them: neighbours are read one after the
  /// other, though they go to different panels, and each panel is written in runs.
  bool has_bands(int64_t block, int64_t panel) const {
    return p_.depth.size() == 1 && p_.extents[p_.depth[0]] >= 2 * kBand && block >= 2 * panel;
  }
  void copy_in_bands(const std::string& copy, size_t position) {
    const std::string depth = copied_depth(p_.depth[0]), elements = own(position);
    add(Split{{copy, depth}, kBand});
    Reorder order;
    for (const std::string& loop :
         {depth + ".0", elements + ".1.0", depth + ".1", elements + ".1.1"})
      order.loops.push_back({copy, loop});
    add(std::move(order));
  }

  /// Lanes that lie far apart come as squares, transposed in registers. Constant operands are
  /// copied a line of a wide panel at a time: a whole panel is no faster and compiles for seconds.
  ///
  ///   for k: # unroll(4)                          for j.1.1.0:
  ///     for j.1.1: # vector(4) unroll       =>      for k: # unroll(4)
  ///       B_packed[j.0, k, j.1.1] = B[j, k]           for j.1.1.1: # vector(4) unroll
  ///                                                     B_packed[j.0, k, 16*j.1.1.0 + j.1.1.1] =
  ///                                                     B[j, k]
  bool copies_lines() const {
    return p_.has_far_lanes && p_.right_reused_by_some_outer &&
           p_.extents[p_.depth.back()] >= cuts_.lanes && width() > line() && width() % line() == 0;
  }
  int64_t line() const { return std::max(cuts_.lanes, kLineElements); }
  void copy_line_by_line(const std::string& copy, const std::string& elements) {
    const std::string steps = copied_depth(p_.depth.back());
    add(Split{{copy, elements}, line()});
    add(Reorder{{{copy, elements + ".0"}, {copy, steps}, {copy, elements + ".1"}}});
    add(Vectorize{{copy, elements + ".1"}, cuts_.lanes});
    add(Unroll{{copy, elements + ".1"}, std::nullopt});
    add(Unroll{{copy, steps}, cuts_.lanes});
  }

  /// The elements that an instruction takes of a row or column, inside the loops over those.
  void unroll_groups(const std::string& copy, const std::string& elements) {
    if (cuts_.has_groups())
      return copy_tiles(copy, elements);
    if (cuts_.instruction_rows() > 1) {
      add(Unroll{{copy, elements + ".0"}, std::nullopt});
      add(Unroll{{copy, elements + ".1"}, std::nullopt});
    } else
      add(Unroll{{copy, elements}, std::nullopt});
    add(Vectorize{{copy, deepest_part() + ".1"}, cuts_.instruction_depth()});
  }

  /// Rows of a left tile are runs; those of a right one interleave several rows, or are groups.
  void copy_tiles(const std::string& copy, const std::string& elements) {
    const std::string groups = deepest_part() + ".1.0", group = deepest_part() + ".1.1";
    const bool is_right = elements == own(p_.lanes) + ".1.1";
    const bool is_far = is_right ? p_.has_far_lanes : p_.has_far_rows;
    // A partial last group keeps the two loops apart.
    const bool is_whole = p_.extents[cuts_.deepest] % cuts_.instruction->group == 0;
    if (!is_right && is_far && is_whole) {
      const std::string row = groups + "_" + group;
      add(Coalesce{{copy, groups}, {copy, group}});
      add(Split{{copy, row}, cuts_.instruction->depth});
      return add(Vectorize{{copy, row + ".1"}, cuts_.instruction->depth});
    }
    if (is_far)
      return add(Vectorize{{copy, group}, cuts_.instruction->group});
    add(Reorder{{{copy, groups}, {copy, group}, {copy, elements + ".1"}}});
    add(Vectorize{{copy, elements + ".1"}, is_right ? cuts_.lanes : cuts_.instruction_rows()});
    add(Unroll{{copy, group}, std::nullopt});
  }

  void tensorize(const std::string& update) {
    const std::string rows = own(p_.rows) + ".1.1", lanes = own(p_.lanes) + ".1.1";
    const bool has_rows = cuts_.instruction_rows() > 1;
    add(Unroll{{update, has_rows ? rows + ".0" : rows}, std::nullopt});
    if (has_rows)
      add(Unroll{{update, lanes + ".0"}, std::nullopt});
    add(Tensorize{{update, has_rows ? rows + ".1" : lanes}, cuts_.instruction->name});
  }

  /// The instruction's operands; for plain vectors the compute type, so that elements are converted
  /// once, unless they are used but a few times.
  std::optional<scalar::Elem> packed_type(uint32_t tensor) const {
    if (cuts_.instruction)
      return cuts_.instruction->type;
    const scalar::Elem elem = schedule_.scop.tensors[tensor].elem;
    const scalar::Elem computed = scalar::compute_type(elem);
    const bool is_used_often = p_.extents[p_.rows] >= kWorthConverting;
    return computed != elem && is_used_often ? std::optional(computed) : std::nullopt;
  }

  void mark_tile(const std::string& statement, const std::string& rows, const std::string& lanes) {
    // A block of tiles has more rows than code should have.
    if (cuts_.has_groups())
      return add(Vectorize{{statement, lanes + ".1.1.1"}, cuts_.fused_lanes});
    add(Unroll{{statement, rows + ".1.1"}, std::nullopt});
    add(Vectorize{{statement, lanes + ".1.1"}, cuts_.fused_lanes});
    add(Unroll{{statement, lanes + ".1.1"}, std::nullopt});
  }

  void spread() {
    const std::string statement = name(p_.update());
    if (p_.parts)
      return add(Parallel{{statement, own(*p_.parts)}});
    std::vector<std::string> outer = own_outer();
    outer.resize(p_.outer.size());
    if (cuts_.columns_outside) {
      outer.insert(outer.begin(), own(p_.lanes) + ".0");
      return share_as_one(outer);
    }
    if (cuts_.grid.is_one_loop) {
      outer.emplace_back(own(p_.lanes) + ".0");
      if (cuts_.grid.row_parts > 1)
        outer.push_back(own(p_.rows) + ".0");
      return share_as_one(outer);
    }
    if (const size_t shared = shared_outer_loops(p_, cuts_.threads); shared > 0) {
      outer.resize(shared);
      return share_as_one(outer);
    }
    add(Parallel{{statement, own(cuts_.rows_in_parallel ? p_.rows : p_.lanes) + ".0"}});
    if (cuts_.rows_in_parallel && !right_copy_.empty())
      add(Parallel{{right_copy_, right_copy_loop_}});
  }

  /// One loop that counts through these, which are directly inside each other.
  void share_as_one(const std::vector<std::string>& loops) {
    const std::string& statement = name(p_.update());
    std::string whole = loops.front();
    for (size_t k = 1; k < loops.size(); ++k) {
      add(Coalesce{{statement, whole}, {statement, loops[k]}});
      whole += "_" + loops[k];
    }
    add(Parallel{{statement, whole}});
  }

  const Schedule& schedule_;
  const Product& p_;
  Cuts cuts_;
  bool may_be_parallel_;
  std::string right_copy_, right_copy_loop_; ///< the copy's outermost loop, for threads
  std::vector<Directive> plan_;
};

} // namespace

std::vector<Directive> product_plan(const Schedule& schedule, const Product& p,
                                    const std::vector<FusedNest>& before,
                                    const std::vector<FusedNest>& after,
                                    const Environment& environment, bool may_be_parallel) {
  return ProductPlanner(schedule, p, environment, may_be_parallel).plan(before, after);
}

} // namespace kawara::schedule
