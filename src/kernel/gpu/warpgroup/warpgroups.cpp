#include "kernel/gpu/warpgroup/warpgroups.h"

#include "kernel/gpu/warpgroup/collective_form.h"
#include "kernel/gpu/warpgroup/fragment.h"
#include "kernel/gpu/warpgroup/group_parts.h"
#include "kernel/gpu/warpgroup/im2col_load.h"
#include "kernel/gpu/warpgroup/padded_rows.h"
#include "kernel/gpu/warpgroup/tile_results.h"
#include "kernel/gpu/warpgroup/tile_walk.h"
#include "kernel/gpu/warpgroup/transposed_copy.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <set>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

constexpr int64_t kCopyAlignment = 16; ///< bytes between rows that TMA can address
constexpr int64_t kMostStages = 8;

Expr quotient_of(const Expr& a, const Expr& b) { return binary(BinaryOp::FloorDiv, a, b); }

constexpr int64_t kRowsOfSwizzle = 8; ///< after which the places of their bytes repeat
constexpr int64_t kLineBytes = 128;   ///< of the cache
constexpr uint32_t kHeld = 2;         ///< row of barriers for an operand that stays

class GroupBuilder {
public:
  GroupBuilder(Kernel& kernel, const Launch& launch, CollectiveForm form, const target::Gpu& gpu,
               bool is_result_used)
      : kernel_(kernel), launch_(launch), form_(std::move(form)), gpu_(gpu),
        is_result_used_(is_result_used) {
    const int64_t rows = form_.instruction->extents[0];
    rows_ = (form_.rows.most + rows - 1) / rows * rows;
    columns_ = form_.instruction->extents[1];
    warps_ = rows_ / kRowsOfGroup * kWarpsOfGroup;
    depth_ = kPanelBytes / scalar::bytes_of(kernel.buffers[form_.a.buffer].elem);
    stages_ = form_.steps.marks.stages > 1 ? form_.steps.marks.stages : stages_that_fit();
    if (!form_.steps.lo) {
      form_.steps.var = add_variable(kernel_, "step", scalar::kIndex);
      form_.steps.lo = int_lit(0);
      form_.steps.hi = int_lit(1);
    }
  }

  bool can_run() const {
    const bool has_place = form_.columns.most <= columns_ && form_.depth.most <= depth_ &&
                           rows_ <= 4 * kRowsOfGroup && form_.steps.step == 1 &&
                           std::all_of(form_.around.begin(), form_.around.end(),
                                       [](const For& loop) { return loop.step == 1; });
    const bool has_other_storage =
        std::any_of(form_.allocated.begin(), form_.allocated.end(),
                    [&](uint32_t b) { return b != form_.result.buffer; });
    return has_place && !has_other_storage && can_load(form_.a) && can_load(form_.b);
  }

  Block build() {
    Block out;
    for (TileAccess* access : {&form_.a, &form_.b})
      if (kernel_.buffers[access->buffer].window)
        continue;
      else if (is_transposed(*access) && !can_be_transposed(*access)) {
        TransposedCopy transposed = transposed_copy(kernel_, access->buffer, kCopyAlignment);
        transposed.copy.name = launch_.name + "_" + kernel_.buffers[transposed.buffer].name;
        out.emplace_back(std::move(transposed.copy));
        access->buffer = transposed.buffer;
        std::swap(access->base[access->line], access->base[access->other]);
        std::swap(access->line, access->other);
      } else if (auto copied = padded_rows(kernel_, access->buffer, kCopyAlignment)) {
        copied->copy.name = launch_.name + "_" + kernel_.buffers[access->buffer].name;
        out.emplace_back(std::move(copied->copy));
        access->buffer = copied->buffer;
      }
    out.emplace_back(grouped());
    return out;
  }

private:
  Launch grouped() {
    Launch result = launch_;
    result.thread_private.clear();
    part_ = add_group_buffer(kernel_, kernel_.buffers[form_.result.buffer].name + "_part",
                             form_.instruction->result().elem, {columns_ / 2}, Scope::Private);
    TileResults results(kernel_, launch_, form_, part_, rows_, columns_);
    EpilogueOperands sources = results.sources();
    held_ = steps_to_hold();
    if (held_ > 0)
      stages_ = stages_beside_held();
    stages_ =
        sources.share(room() - held_ * bytes_of_tile(form_.b, columns_), bytes_of_stage(), stages_);
    walk_.emplace(kernel_, launch_, rows_, best_cluster(), gpu_.multiprocessors);
    result.cluster = walk_->blocks_of_cluster();
    result.threads = {kFragmentX, kFragmentY, warps_ + (sources.empty() ? 1 : 2)};
    result.mbarriers = {{"full", stages_, 1}, {"empty", stages_, result.cluster * warps_}};
    if (held_ > 0)
      result.mbarriers.push_back({"held", held_, 1});
    tiles_of_a_ = add_tiles(form_.a, rows_, stages_);
    tiles_of_b_ = add_tiles(form_.b, columns_, held_ > 0 ? held_ : stages_);
    if (!sources.empty())
      results.set_sources(sources.add(result, rows_ / kRowsOfGroup, counters_));
    Block compute = in_tiles(consumer(results));
    for (Stmt& stmt : results.at_end())
      compute.push_back(std::move(stmt));
    compute = block_of(Allocate{part_, std::move(compute)});
    Block bring = in_tiles(producer());
    const Expr z = thread(2);
    if (!sources.empty())
      bring =
          block_of(If{is_equal(z, warps_), std::move(bring), in_tiles(sources.bring(counters_))});
    Block other = block_of(If{is_first_lane(launch_), std::move(bring), {}});
    Block body = block_of(
        If{binary(BinaryOp::Lt, z, int_lit(warps_)), std::move(compute), std::move(other)});
    std::vector<uint32_t> shared = sources.buffers();
    shared.insert(shared.end(), {tiles_of_a_, tiles_of_b_});
    if (const auto out = results.buffer())
      shared.push_back(*out);
    for (const uint32_t buffer : shared)
      body = block_of(Allocate{buffer, std::move(body)});
    result.body = std::move(body);
    result.blocks = walk_->blocks();
    return result;
  }

  /// Blocks that compute neighbouring tiles together, where that is faster.
  std::optional<target::TileCluster> best_cluster() const {
    if (!tile_count() || held_ > 0)
      return std::nullopt;
    target::TiledProduct product;
    for (size_t a = 0; a < 3; ++a)
      product.tiles[a] = *scalar::constant_of(launch_.blocks[a]);
    product.rows = rows_;
    product.columns = columns_;
    product.steps = steps_of_tile().value_or(1);
    const std::array<const TileAccess*, 2> operands = {&form_.a, &form_.b};
    for (size_t side = 0; side < 2; ++side) {
      const TileAccess& operand = *operands[side];
      const int64_t lines = side == 0 ? rows_ : columns_;
      const auto all = scalar::constant_of(kernel_.buffers[operand.buffer].shape[operand.line]);
      product.brought[side] =
          kernel_.buffers[operand.buffer].window ? lines : std::min(lines, all.value_or(lines));
      product.is_split[side] = splits_lines(operand);
      product.most_parts[side] = parts_of(operand, lines);
    }
    return target::best_cluster(product, gpu_.multiprocessors);
  }

  /// How many blocks can bring parts of a tile, each of whole groups of swizzled rows.
  int64_t parts_of(const TileAccess& access, int64_t lines) const {
    if (kernel_.buffers[access.buffer].window)
      return 1;
    const int64_t groups = (is_transposed(access) ? depth_ : lines) / kRowsOfSwizzle;
    return groups % 4 == 0 ? 4 : groups % 2 == 0 ? 2 : 1;
  }

  /// Rows of the operand in memory begin within lines of the cache.
  bool splits_lines(const TileAccess& access) const {
    const Buffer& buffer = kernel_.buffers[access.buffer];
    const auto row = scalar::constant_of(scalar::simplify(buffer.shape.back()));
    return !buffer.window && row && *row * scalar::bytes_of(buffer.elem) % kLineBytes != 0;
  }

  /// A reduction of one step has no loop that could say how many: the ring goes on over tiles and
  /// the loops around.
  int64_t stages_that_fit() const {
    const int64_t stage = bytes_of_tile(form_.a, rows_) + bytes_of_tile(form_.b, columns_);
    return std::clamp<int64_t>(room() / stage, 2, kMostStages);
  }

  /// Of the right operand, when it stays in shared memory because all tiles of a block, several of
  /// them, read the same of it; 0 when it comes with every step, because there is no room or the
  /// tiles differ.
  int64_t steps_to_hold() const {
    constexpr int64_t kFewestStages = 4;
    const auto tiles = tile_count();
    if (!tiles || *tiles < 2 * gpu_.multiprocessors)
      return 0;
    for (const Expr& e : form_.b.base)
      for (size_t a = 0; a < 3; ++a)
        if (scalar::constant_of(launch_.blocks[a]) != 1 && mentions(e, launch_.block_vars[a]))
          return 0;
    const auto steps = steps_of_tile();
    if (!steps)
      return 0;
    const int64_t rest = room() - *steps * bytes_of_tile(form_.b, columns_);
    return rest >= kFewestStages * bytes_of_tile(form_.a, rows_) ? *steps : 0;
  }

  /// Of the reduction, where that is constant.
  std::optional<int64_t> steps_of_tile() const {
    int64_t steps = 1;
    std::vector<For> loops = form_.around;
    loops.push_back(form_.steps);
    for (const For& loop : loops) {
      const auto lo = scalar::constant_of(loop.lo), hi = scalar::constant_of(loop.hi);
      if (!lo || !hi)
        return std::nullopt;
      steps *= *hi - *lo;
    }
    return steps;
  }

  int64_t stages_beside_held() const {
    const int64_t rest = room() - held_ * bytes_of_tile(form_.b, columns_);
    const int64_t most = form_.steps.marks.stages > 1 ? form_.steps.marks.stages : kMostStages;
    return std::min(most, rest / bytes_of_tile(form_.a, rows_));
  }

  int64_t bytes_of_stage() const {
    return bytes_of_tile(form_.a, rows_) + (held_ > 0 ? 0 : bytes_of_tile(form_.b, columns_));
  }

  /// Bytes of shared memory besides barriers and results.
  int64_t room() const {
    constexpr int64_t kBesides = 2048, kResultsOfGroup = 16384;
    return gpu_.shared_per_block - kBesides - rows_ / kRowsOfGroup * kResultsOfGroup;
  }

  Expr thread(size_t axis) const { return scalar::var(launch_.thread_vars[axis]); }

  /// TMA can bring boxes of it, with zeros beyond the end of the reduction.
  bool can_load(const TileAccess& access) const {
    const Buffer& buffer = kernel_.buffers[access.buffer];
    if (buffer.window)
      return can_walk(kernel_, launch_, access) &&
             ends_with_buffer(kernel_, form_.depth, depth_, access, access.other);
    const size_t rank = buffer.shape.size();
    const bool is_global = buffer.scope == Scope::Argument || buffer.scope == Scope::Workspace;
    if (rank < 2 || rank > 5 || (access.line + 1 != rank && access.other + 1 != rank) ||
        !is_global || buffers_stored_in(launch_.body).contains(access.buffer))
      return false;
    if (is_transposed(access) && !can_be_transposed(access) && access.other + 2 != rank)
      return false;
    for (const Expr& extent : buffer.shape)
      if (!scalar::constant_of(extent))
        return false;
    return ends_with_buffer(kernel_, form_.depth, depth_, access, access.other);
  }

  bool is_transposed(const TileAccess& access) const {
    return access.line + 1 == kernel_.buffers[access.buffer].shape.size();
  }

  /// Tensor cores take operands whose reduction runs down the rows only where elements have two
  /// bytes.
  bool can_be_transposed(const TileAccess& access) const {
    return scalar::bytes_of(kernel_.buffers[access.buffer].elem) == 2;
  }

  /// Of an operand that is transposed; the last one may hold more than the lines.
  int64_t panels_of(int64_t lines) const { return (lines + depth_ - 1) / depth_; }

  int64_t bytes_of_tile(const TileAccess& access, int64_t lines) const {
    return (is_transposed(access) ? panels_of(lines) * depth_ : lines) * depth_ *
           scalar::bytes_of(kernel_.buffers[access.buffer].elem);
  }

  /// A ring of boxes, or all of them: [count, panels, rows, elements of 128 bytes].
  uint32_t add_tiles(const TileAccess& access, int64_t lines, int64_t count) {
    const Buffer source = kernel_.buffers[access.buffer];
    const std::vector<int64_t> shape =
        is_transposed(access) ? std::vector<int64_t>{count, panels_of(lines), depth_, depth_}
                              : std::vector<int64_t>{count, 1, lines, depth_};
    return add_group_buffer(kernel_, source.name + "_tiles", source.elem, shape, Scope::Shared);
  }

  std::optional<int64_t> tile_count() const { return TileWalk::tile_count(launch_); }

  /// Work on all tiles of a block, with the counters that were added for it.
  Block in_tiles(Block work) {
    return walk_->in_tiles(std::move(work), std::exchange(counters_, {}));
  }

  static Stmt async_op(decltype(AsyncOp::what) what) { return AsyncOp{std::move(what)}; }

  For step_loop() const {
    For loop = form_.steps;
    loop.marks = {};
    return loop;
  }

  Block consumer(TileResults& results) {
    const Ring ring = add_ring(kernel_, "product", stages_, counters_);
    const uint32_t last = add_variable(kernel_, "product_last", scalar::kIndex);
    counters_.emplace_back(Define{last, int_lit(0)});
    const Expr slot = scalar::var(ring.slot);
    Block out = results.ask_ahead();
    for (Stmt& stmt : results.before())
      out.push_back(std::move(stmt));
    For loop = step_loop();
    const Expr group = quotient_of(thread(2), int_lit(kWarpsOfGroup));
    Expr place_of_b = slot;
    if (held_ > 0) {
      place_of_b = counted_steps("product_step", out);
      loop.body.push_back(async_op(AwaitPhase{{kHeld, place_of_b}, int_lit(0)}));
    }
    loop.body.push_back(async_op(AwaitPhase{{0, slot}, scalar::var(ring.parity)}));
    Mma mma;
    mma.instruction = form_.instruction->data->name;
    mma.is_a_transposed = is_transposed(form_.a);
    mma.is_b_transposed = is_transposed(form_.b);
    const Expr none = int_lit(0);
    mma.a = {tiles_of_a_, mma.is_a_transposed
                              ? std::vector<Expr>{slot, group, none, none}
                              : std::vector<Expr>{slot, none, group * int_lit(kRowsOfGroup), none}};
    mma.b = {tiles_of_b_, {place_of_b, none, none, none}};
    mma.c = part_;
    mma.steps = depth_ / form_.instruction->extents[2];
    loop.body.push_back(async_op(std::move(mma)));
    loop.body.push_back(async_op(AwaitMma{1}));
    const Expr is_first = walk_->cluster() ? has_lane_for_block() : is_first_lane(launch_);
    Expr has_last = binary(BinaryOp::Gt, scalar::var(loop.var), loop.lo);
    for (const For& outer : form_.around)
      has_last =
          binary(BinaryOp::Or, binary(BinaryOp::Gt, scalar::var(outer.var), outer.lo), has_last);
    // A lane for each block that the slot is filled by.
    const Block release = block_of(async_op(Arrive{
        {1, scalar::var(last)}, 0, walk_->cluster() ? std::optional(thread(0)) : std::nullopt}));
    loop.body.emplace_back(If{both(has_last, is_first), release, {}});
    loop.body.emplace_back(Assign{last, slot});
    advance(ring, loop.body);
    if (held_ > 0)
      count_step(place_of_b, loop.body);
    for (Stmt& stmt : in_loops_around(block_of(std::move(loop))))
      out.push_back(std::move(stmt));
    out.push_back(async_op(AwaitMma{0}));
    out.emplace_back(If{is_first, release, {}});
    for (Stmt& stmt : results.after(is_result_used_))
      out.push_back(std::move(stmt));
    return out;
  }

  Expr has_lane_for_block() const {
    return both(binary(BinaryOp::Lt, thread(0), int_lit(walk_->blocks_of_cluster())),
                is_equal(thread(1), 0));
  }

  Block producer() {
    const Ring ring = add_ring(kernel_, "copy", stages_, counters_);
    const Expr slot = scalar::var(ring.slot);
    For loop = step_loop();
    const uint32_t own = add_variable(kernel_, kernel_.variables[loop.var].name, scalar::kIndex);
    loop.body.push_back(async_op(AwaitPhase{{1, slot}, int_lit(1) - scalar::var(ring.parity)}));
    loop.body.push_back(async_op(Arrive{{0, slot}, bytes_of_stage()}));
    add_loads(form_.a, tiles_of_a_, rows_, 0, slot, loop.body);
    if (held_ > 0)
      add_held(loop.body);
    else
      add_loads(form_.b, tiles_of_b_, columns_, 0, slot, loop.body);
    advance(ring, loop.body);
    loop.body = substitute_var(loop.body, loop.var, scalar::var(own));
    loop.var = own;
    Block out = in_loops_around(block_of(std::move(loop)));
    for (const For& outer : form_.around)
      out = with_own_variable(out, outer.var);
    return out;
  }

  /// The step of the right operand that stays, which comes with the first tile: a counter that goes
  /// on over all tiles says so.
  void add_held(Block& out) {
    const uint32_t count = add_variable(kernel_, "copy_step", scalar::kIndex);
    counters_.emplace_back(Define{count, int_lit(0)});
    const Expr step = scalar::var(count);
    Block bring = block_of(async_op(Arrive{{kHeld, step}, bytes_of_tile(form_.b, columns_)}));
    add_loads(form_.b, tiles_of_b_, columns_, kHeld, step, bring);
    count_step(step, bring);
    out.emplace_back(If{binary(BinaryOp::Lt, step, int_lit(held_)), std::move(bring), {}});
  }

  /// A variable that is 0 from here on.
  Expr counted_steps(const std::string& name, Block& out) {
    const uint32_t var = add_variable(kernel_, name, scalar::kIndex);
    counters_.emplace_back(Define{var, int_lit(0)});
    out.emplace_back(Assign{var, int_lit(0)});
    return scalar::var(var);
  }

  static void count_step(const Expr& step, Block& out) {
    out.emplace_back(Assign{scalar::as<scalar::Var>(step)->id, step + int_lit(1)});
  }

  Block in_loops_around(Block body) const {
    for (size_t k = form_.around.size(); k-- > 0;) {
      For loop = form_.around[k];
      loop.marks = {};
      loop.body = std::move(body);
      body = block_of(std::move(loop));
    }
    return body;
  }

  /// The loops with another variable for `var`, which counts elsewhere, too.
  Block with_own_variable(const Block& block, uint32_t var) {
    const uint32_t own = add_variable(kernel_, kernel_.variables[var].name, scalar::kIndex);
    Block out = substitute_var(block, var, scalar::var(own));
    visit(out, [&](For& loop) {
      if (loop.var == var)
        loop.var = own;
    });
    return out;
  }

  void add_loads(const TileAccess& access, uint32_t tiles, int64_t lines, uint32_t barrier,
                 const Expr& slot, Block& out) const {
    if (kernel_.buffers[access.buffer].window) {
      BulkLoad load = walk_load(kernel_, access, lines, depth_);
      load.to = {tiles, {slot, int_lit(0), int_lit(0), int_lit(0)}};
      load.done = {barrier, slot};
      out.push_back(async_op(std::move(load)));
      return;
    }
    const bool transposed = is_transposed(access);
    const bool is_shared =
        walk_->cluster() && (walk_->cluster()->axis == 1) == (tiles == tiles_of_b_);
    for (int64_t panel = 0; panel < (transposed ? panels_of(lines) : 1); ++panel) {
      BulkLoad load;
      load.to = {tiles, {slot, int_lit(panel), int_lit(0), int_lit(0)}};
      load.from = {access.buffer, access.base};
      Expr& line = load.from.index[access.line];
      line = scalar::simplify(line + int_lit(panel * depth_));
      load.box.assign(access.base.size(), 1);
      load.box[access.line] = transposed ? depth_ : lines;
      load.box[access.other] = depth_;
      load.done = {barrier, slot};
      if (is_shared)
        take_part(load, transposed ? access.other : access.line);
      out.push_back(async_op(std::move(load)));
    }
  }

  /// Each block of a cluster brings a part of the box's rows, for all of them.
  void take_part(BulkLoad& load, size_t rows) const {
    load.is_multicast = true;
    load.box[rows] /= walk_->blocks_of_cluster();
    const Expr first = walk_->place_in_cluster() * int_lit(load.box[rows]);
    load.from.index[rows] = scalar::simplify(load.from.index[rows] + first);
    load.to.index[2] = first;
  }

  Kernel& kernel_;
  const Launch& launch_;
  CollectiveForm form_;
  const target::Gpu& gpu_;
  bool is_result_used_; ///< after the launch, or as an output
  int64_t rows_ = 0, columns_ = 0, warps_ = 0, stages_ = 0;
  int64_t depth_ = 0; ///< of a step: a row of swizzled shared memory
  int64_t held_ = 0;  ///< steps of the right operand that stay in shared memory
  std::optional<TileWalk> walk_ = {};
  uint32_t tiles_of_a_ = 0, tiles_of_b_ = 0, part_ = 0;
  Block counters_; ///< defined around the loop over tiles
};

/// Whether elements of the buffer count outside this launch.
bool is_used_elsewhere(const Kernel& kernel, const Launch& launch, uint32_t buffer) {
  if (kernel.buffers[buffer].scope == Scope::Argument)
    return true;
  Kernel others = kernel;
  others.body = rewrite(kernel.body, [&](Launch other) {
    return other.name == launch.name ? Block{} : block_of(std::move(other));
  });
  return used_buffers(others).contains(buffer);
}

} // namespace

Kernel warpgroups(Kernel kernel, const target::Gpu& gpu) {
  const Kernel given = kernel;
  kernel.body = rewrite(given.body, [&](Launch launch) {
    auto form = collective_form(given, launch);
    if (!form || !target::is_available(*form->instruction->data, gpu))
      return block_of(std::move(launch));
    const bool is_used = is_used_elsewhere(given, launch, form->result.buffer);
    GroupBuilder builder(kernel, launch, *std::move(form), gpu, is_used);
    return builder.can_run() ? builder.build() : block_of(std::move(launch));
  });
  return kernel;
}

} // namespace kawara::kernel
