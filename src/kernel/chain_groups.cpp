#include "kernel/chain_groups.h"

#include "kernel/chain_steps.h"
#include "kernel/chain_tiles.h"
#include "kernel/fragment.h"
#include "kernel/vars.h"

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
        cells_(kernel, launch, rows_of(form_)), rows_(rows_of(form_)),
        warps_(rows_ / kRowsOfGroup * kWarpsOfGroup),
        steps_(kernel, launch, form_, gpu, cells_, rows_) {}

  bool can_run() { return form_.steps.step == 1 && rows_ <= 4 * kRowsOfGroup && steps_.can_run(); }

  std::optional<Block> build() {
    Block out;
    Launch result = launch_;
    result.threads = {kFragmentX, kFragmentY, warps_ + kWarpsOfGroup};
    result.owned.clear();
    const int64_t stages = std::max<int64_t>(form_.steps.marks.stages, 2);
    steps_.place(stages, warps_, out, result.mbarriers);
    Block compute = in_tiles(consumer());
    for (Stmt& stmt : cells_.at_end())
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
    if (const auto panels = cells_.buffer()) {
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
                   Stmt(Engine{SetRegisters{std::min(most, kMostRegisters), true}}));
    other.insert(other.begin(), Stmt(Engine{SetRegisters{few, false}}));
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

  Kernel& kernel_;
  const Launch& launch_;
  ChainForm form_;
  const target::Gpu& gpu_;
  TileCells cells_;
  int64_t rows_, warps_;
  ChainSteps steps_;
};

} // namespace

std::optional<Block> chain_groups(Kernel& kernel, const Launch& launch, const target::Gpu& gpu) {
  auto form = chain_form(kernel, launch);
  if (!form)
    return std::nullopt;
  Kernel made = kernel;
  ChainBuilder builder(made, launch, *std::move(form), gpu);
  if (!builder.can_run())
    return std::nullopt;
  auto block = builder.build();
  if (block)
    kernel = std::move(made);
  return block;
}

} // namespace kawara::kernel
