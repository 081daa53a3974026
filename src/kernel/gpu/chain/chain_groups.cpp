#include "kernel/gpu/chain/chain_groups.h"

#include "kernel/analysis/ranges.h"
#include "kernel/gpu/chain/chain_steps.h"
#include "kernel/gpu/chain/chain_tiles.h"
#include "kernel/gpu/warpgroup/fragment.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

constexpr int64_t kRegisterStep = 8, kMostRegisters = 240;
constexpr std::array<int64_t, 2> kFewRegisters = {32, 40}; ///< of threads that only copy
constexpr int64_t kBytesBesides = 2048; ///< of shared memory, for barriers and alignment

class ChainBuilder {
public:
  ChainBuilder(Kernel& kernel, const Launch& launch, ChainForm form, const target::Gpu& gpu)
      : kernel_(kernel), launch_(launch), form_(std::move(form)), gpu_(gpu),
        elements_(kernel, launch, rows_of(form_)), rows_(rows_of(form_)),
        warps_(rows_ / kRowsOfGroup * kWarpsOfGroup),
        steps_(kernel, launch, form_, gpu, elements_, rows_) {}

  bool can_run() { return form_.steps.step == 1 && rows_ <= 4 * kRowsOfGroup && steps_.can_run(); }

  /// With `are_joined`, tiles of a block as one row of steps; nothing where that is not possible,
  /// or when shared memory is too small.
  std::optional<Block> build(bool are_joined) {
    const auto overlap = chain_overlap(form_);
    const auto turns = are_joined && overlap && has_steps()
                           ? TileTurns::make(kernel_, launch_, form_.steps, gpu_)
                           : std::nullopt;
    if (are_joined && (!turns || turns->count() == 1))
      return std::nullopt;
    Block out;
    Launch result = launch_;
    result.threads = {kFragmentX, kFragmentY, warps_ + kWarpsOfGroup};
    result.thread_private.clear();
    const int64_t stages = std::max<int64_t>(form_.steps.marks.stages, 2);
    steps_.place({stages, turns ? 2 : 1}, warps_, out, result.mbarriers);
    Block compute = turns ? across_tiles(*overlap, *turns) : in_tiles(consumer());
    for (Stmt& stmt : elements_.at_end())
      compute.push_back(std::move(stmt));
    for (const uint32_t part : steps_.registers().buffers)
      compute = block_of(Allocate{part, std::move(compute)});
    Block bring = in_tiles(steps_.operands().bring(steps_.registers().counters));
    const Expr is_one = both(is_first_lane(launch_), is_equal(thread(2), warps_));
    Block other = block_of(If{is_one, std::move(bring), {}});
    share_registers(compute, other);
    Block body = block_of(
        If{binary(BinaryOp::Lt, thread(2), int_lit(warps_)), std::move(compute), std::move(other)});
    int64_t bytes = kBytesBesides;
    std::vector<uint32_t> shared;
    for (const ChainOperand& operand : steps_.operands().all()) {
      shared.push_back(operand.tiles);
      bytes += steps_.operands().bytes_of(operand) * operand.stages;
    }
    if (const auto panels = elements_.buffer()) {
      shared.push_back(*panels);
      bytes += 2 * rows_ * kPanelBytes;
    }
    if (bytes > gpu_.shared_per_block)
      return std::nullopt;
    for (const uint32_t buffer : shared)
      body = block_of(Allocate{buffer, std::move(body)});
    result.body = std::move(body);
    if (const auto blocks = blocks_that_stay(launch_, gpu_))
      result.blocks = {int_lit(*blocks), int_lit(1), int_lit(1)};
    out.emplace_back(std::move(result));
    return out;
  }

private:
  /// The group that only copies gives registers to the others.
  void share_registers(Block& compute, Block& other) const {
    const int64_t groups = warps_ / kWarpsOfGroup + 1;
    const int64_t given =
        gpu_.registers_per_multiprocessor / (groups * kWarpgroup) / kRegisterStep * kRegisterStep;
    const int64_t few =
        given > kFewRegisters.back() * 4 ? kFewRegisters.back() : kFewRegisters.front();
    const int64_t most = (given * groups - few) / (groups - 1) / kRegisterStep * kRegisterStep;
    if (given >= kMostRegisters || most <= given)
      return;
    compute.insert(compute.begin(),
                   Stmt(AsyncOp{SetRegisters{std::min(most, kMostRegisters), true}}));
    other.insert(other.begin(), Stmt(AsyncOp{SetRegisters{few, false}}));
  }

  static int64_t rows_of(const ChainForm& form) {
    int64_t most = 1;
    for (const ChainItem& item : form.inside)
      if (const auto* product = std::get_if<ChainProduct>(&item))
        most = std::max(most, product->rows.most);
    return (most + kRowsOfGroup - 1) / kRowsOfGroup * kRowsOfGroup;
  }

  Expr thread(size_t axis) const { return scalar::var(launch_.thread_vars[axis]); }

  Block in_tiles(const Block& work) {
    Block out = std::exchange(steps_.registers().counters, {});
    append(out, tiles_in_turn(kernel_, launch_, form_.steps, gpu_, work));
    return out;
  }

  static void append(Block& out, Block more) {
    for (Stmt& stmt : more)
      out.push_back(std::move(stmt));
  }

  Block consumer() {
    Block out;
    for (const ChainItem& item : form_.before)
      append(out, steps_.nests().run(std::get<ChainNest>(item)));
    steps_.await_residents(out);
    const auto tail = chain_overlap(form_);
    append(out, tail ? rotated(*tail) : in_turn());
    for (const ChainItem& item : form_.after)
      append(out, steps_.nests().run(std::get<ChainNest>(item)));
    return out;
  }

  For step_loop() const {
    For loop = form_.steps;
    loop.marks = {};
    return loop;
  }

  /// Every product is waited for before anything else happens.
  Block in_turn() {
    For loop = step_loop();
    for (size_t n = 0; n < form_.inside.size(); ++n) {
      append(loop.body, steps_.run(n));
      if (steps_.is_product(n)) {
        steps_.begin(n, loop.body);
        steps_.end(n, 0, loop.body);
      }
    }
    Block out = block_of(std::move(loop));
    steps_.release_residents(out);
    return out;
  }

  Block rotated(const ChainOverlap& overlap) {
    For loop = step_loop();
    Block out = substitute_var(steps_.step(overlap, false), loop.var, loop.lo);
    const Expr given = loop.lo;
    loop.lo = scalar::simplify(loop.lo + int_lit(1));
    loop.body = steps_.step(overlap, true);
    out.emplace_back(loop);
    steps_.release_residents(out);
    steps_.begin(overlap.last, out);
    steps_.end(overlap.last, 0, out);
    const Expr is_any = scalar::simplify(binary(BinaryOp::Lt, given, form_.steps.hi));
    const auto trips = scalar::constant_of(scalar::simplify(form_.steps.hi - given));
    if (trips && *trips > 0)
      return out;
    Block none;
    steps_.release_residents(none);
    return block_of(If{is_any, std::move(out), std::move(none)});
  }

  /// Every tile has a step, as far as its bounds show.
  bool has_steps() const {
    const VarSet tile(launch_.block_vars.begin(), launch_.block_vars.end());
    const auto is_positive = [&](const Expr& end) {
      const scalar::AffineSum sum = scalar::affine_sum(scalar::simplify(end - form_.steps.lo));
      return sum.constant > 0 &&
             std::all_of(sum.terms.begin(), sum.terms.end(), [&](const auto& term) {
               const auto* v = scalar::as<scalar::Var>(term.first);
               return term.second > 0 && v != nullptr && tile.contains(v->id);
             });
    };
    const std::vector<Expr> ends = operands_of(form_.steps.hi, BinaryOp::Min);
    return std::all_of(ends.begin(), ends.end(), is_positive);
  }

  Block at_tile(Block code, const TilePlace& place) const {
    for (size_t axis = 0; axis < 3; ++axis)
      code = substitute_var(code, launch_.block_vars[axis], place.at[axis]);
    return code;
  }
  Block at_first_step(const Block& code, const TilePlace& place) const {
    return at_tile(substitute_var(code, form_.steps.var, form_.steps.lo), place);
  }

  /// Nests before the steps: those of rows, or those of elements.
  Block beginning(bool has_columns) {
    Block out;
    for (const ChainItem& item : form_.before)
      if (const auto& nest = std::get<ChainNest>(item); nest.columns.has_value() == has_columns)
        append(out, steps_.nests().run(nest));
    return out;
  }

  Block ending(const std::map<uint32_t, uint32_t>& saved) {
    Block out;
    for (const ChainItem& item : form_.after) {
      ChainNest nest = std::get<ChainNest>(item);
      if (const auto own = saved.find(nest.store.buffer); own != saved.end())
        nest.store.buffer = own->second;
      nest.store.value = scalar::rewrite(nest.store.value, [&](const Expr& e) {
        const auto* load = scalar::as<scalar::Load>(e);
        const auto other = load != nullptr ? saved.find(load->tensor) : saved.end();
        return other != saved.end() ? scalar::load(other->second, load->index, e.type()) : Expr();
      });
      append(out, steps_.nests().run(nest));
    }
    return out;
  }

  /// Copies of what the nests after the steps read of a tile's rows.
  std::map<uint32_t, uint32_t> add_saved_rows() {
    std::map<uint32_t, uint32_t> saved;
    for (const ChainItem& item : form_.after)
      for (const uint32_t buffer : touched_by(item)) {
        const auto own = form_.buffers.find(buffer);
        if (own == form_.buffers.end() || own->second.column || saved.contains(buffer))
          continue;
        const Buffer& rows = kernel_.buffers[buffer];
        saved[buffer] = steps_.nests().add_private(rows.name + "_before", rows.elem, 2);
        elements_.set_part(saved[buffer], {saved[buffer], TilePart::Form::Rows});
      }
    return saved;
  }
  void save_rows(const std::map<uint32_t, uint32_t>& saved, Block& out) const {
    for (const auto& [buffer, copy] : saved)
      for (int64_t half = 0; half < 2; ++half) {
        const scalar::Elem elem = kernel_.buffers[copy].elem;
        const Expr old = scalar::load(steps_.part(buffer), {int_lit(half)}, {elem, 1});
        out.emplace_back(Store{copy,
                               {int_lit(half)},
                               ReduceOp::None,
                               scalar::cast(old, {scalar::compute_type(elem), 1})});
      }
  }

  /// The last product of a tile, and the first step of the next one, whose first product runs while
  /// results are written.
  Block to_next(const ChainOverlap& overlap, const TilePlace& here, const TilePlace& next,
                const std::map<uint32_t, uint32_t>& saved) {
    Block out;
    save_rows(saved, out);
    append(out, at_tile(beginning(false), next));
    steps_.begin(overlap.last, out);
    steps_.await_residents(out);
    Block begun;
    steps_.run_all(overlap.begin, begun);
    steps_.begin(overlap.first, begun);
    append(out, at_first_step(begun, next));
    steps_.end(overlap.last, steps_.orders_of(overlap.first), out);
    append(out, at_tile(ending(saved), here));
    append(out, at_tile(beginning(true), next));
    Block rest;
    steps_.end(overlap.first, 0, rest);
    steps_.run_all(overlap.free, rest);
    steps_.run_all(overlap.bound, rest);
    append(rest, steps_.run(overlap.last));
    append(out, at_first_step(rest, next));
    return out;
  }

  /// All tiles of a block as one row of steps: nothing waits between two tiles.
  Block across_tiles(const ChainOverlap& overlap, const TileTurns& turns) {
    const std::map<uint32_t, uint32_t> saved = add_saved_rows();
    Block out;
    const TilePlace start = turns.of(int_lit(0), out);
    Block work = at_tile(beginning(false), start);
    append(work, at_tile(beginning(true), start));
    steps_.await_residents(work);
    append(work, at_first_step(steps_.step(overlap, false), start));
    For loop;
    loop.var = add_variable(kernel_, "turn", scalar::kIndex);
    loop.lo = int_lit(0);
    loop.hi = int_lit(turns.count());
    const TilePlace here = turns.of(scalar::var(loop.var), loop.body);
    For steps = step_loop();
    steps.lo = scalar::simplify(steps.lo + int_lit(1));
    steps.body = steps_.step(overlap, true);
    Block inside = at_tile(block_of(std::move(steps)), here);
    steps_.release_residents(inside);
    const TilePlace next = turns.of(scalar::var(loop.var) + int_lit(1), inside);
    Block none;
    steps_.begin(overlap.last, none);
    steps_.end(overlap.last, 0, none);
    append(none, at_tile(ending({}), here));
    inside.emplace_back(If{next.exists, to_next(overlap, here, next, saved), std::move(none)});
    append(loop.body, where(here.exists, std::move(inside)));
    work.emplace_back(std::move(loop));
    Block all = std::exchange(steps_.registers().counters, {});
    append(all, std::move(out));
    append(all, where(start.exists, std::move(work)));
    return all;
  }

  static Block where(const Expr& condition, Block block) {
    return condition ? block_of(If{condition, std::move(block), {}}) : std::move(block);
  }

  Kernel& kernel_;
  const Launch& launch_;
  ChainForm form_;
  const target::Gpu& gpu_;
  TileElements elements_;
  int64_t rows_, warps_;
  ChainSteps steps_;
};

/// The launch as one of warpgroups; nothing when it is no chain or they cannot run it.
std::optional<Block> grouped_chain(Kernel& kernel, const Launch& launch, const target::Gpu& gpu) {
  const auto form = chain_form(kernel, launch);
  if (!form)
    return std::nullopt;
  for (const bool are_joined : {true, false}) {
    Kernel made = kernel;
    ChainBuilder builder(made, launch, *form, gpu);
    if (!builder.can_run())
      return std::nullopt;
    if (auto block = builder.build(are_joined)) {
      kernel = std::move(made);
      return block;
    }
  }
  return std::nullopt;
}

} // namespace

Kernel chain_groups(Kernel kernel, const target::Gpu& gpu) {
  const Block given = kernel.body;
  kernel.body = rewrite(given, [&](Launch launch) {
    auto chain = has_async_op(launch.body) ? std::nullopt : grouped_chain(kernel, launch, gpu);
    return chain ? *std::move(chain) : block_of(std::move(launch));
  });
  return kernel;
}

} // namespace kawara::kernel
