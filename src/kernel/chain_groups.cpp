#include "kernel/chain_groups.h"

#include "kernel/chain_operands.h"
#include "kernel/chain_shape.h"
#include "kernel/chain_tiles.h"
#include "kernel/fragment.h"
#include "kernel/tile_cells.h"
#include "kernel/vars.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

constexpr int64_t kDepthOfStep = 16;
constexpr int64_t kCellsOfBlock = 32; ///< of a thread, in 64 columns
constexpr int64_t kRegisterStep = 8, kMostRegisters = 240;
constexpr std::array<int64_t, 2> kFewRegisters = {32, 40}; ///< of threads that only copy
constexpr int64_t kBytesBesides = 2048; ///< of shared memory, for barriers and alignment

/// One product and what stands for its operands.
struct PlacedProduct {
  ChainProduct form;
  std::optional<size_t> a; ///< none: registers
  size_t b = 0;
  bool starts_at_zero = false;
};

class ChainBuilder {
public:
  ChainBuilder(Kernel& kernel, const Launch& launch, ChainForm form, const target::Gpu& gpu)
      : kernel_(kernel), launch_(launch), form_(std::move(form)), gpu_(gpu),
        operands_(kernel, launch, form_), cells_(kernel, launch, rows_of(form_)),
        rows_(rows_of(form_)), warps_(rows_ / kRowsOfGroup * kWarpsOfGroup) {}

  bool can_run() {
    if (form_.steps.step != 1 || rows_ > 4 * kRowsOfGroup)
      return false;
    for (const ChainItem& item : form_.inside)
      if (const auto* product = std::get_if<ChainProduct>(&item); product && !can_run(*product))
        return false;
    auto widths = chain_widths(form_, rows_);
    widths_ = widths.value_or(std::map<uint32_t, int64_t>{});
    return widths.has_value();
  }

  std::optional<Block> build() {
    Block out;
    place_products(out);
    Launch result = launch_;
    result.threads = {kFragmentX, kFragmentY, warps_ + kWarpsOfGroup};
    result.owned.clear();
    const int64_t stages = std::max<int64_t>(form_.steps.marks.stages, 2);
    operands_.make(stages, warps_, result.mbarriers);
    make_parts();
    Block compute = in_tiles(consumer());
    for (Stmt& stmt : cells_.at_end())
      compute.push_back(std::move(stmt));
    for (const uint32_t part : private_)
      compute = block_of(Allocate{part, std::move(compute)});
    Block bring = in_tiles(operands_.bring(counters_));
    const Expr is_one = both(is_first_lane(launch_), is_equal(thread(2), warps_));
    Block other = block_of(If{is_one, std::move(bring), {}});
    share_registers(compute, other);
    Block body = block_of(
        If{binary(BinaryOp::Lt, thread(2), int_lit(warps_)), std::move(compute), std::move(other)});
    int64_t bytes = kBytesBesides;
    std::vector<uint32_t> shared;
    for (const ChainOperand& operand : operands_.all()) {
      shared.push_back(operand.tiles);
      bytes += operands_.bytes_of(operand) * operand.stages;
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
  bool is_of_block(uint32_t buffer) const { return form_.buffers.contains(buffer); }

  bool can_run(const ChainProduct& product) const {
    const int64_t depth = whole_blocks(product.depth.most);
    if (!target::is_available(*product.instruction->data, gpu_) ||
        product.columns.most > product.instruction->extents[1])
      return false;
    const bool is_from_registers = is_of_block(product.a.buffer);
    if (!is_from_registers)
      return operands_.can_load(product.a, product.depth, depth, false) &&
             operands_.can_load(product.b, product.depth, depth, false);
    const bool is_row_sized = scalar::bytes_of(kernel_.buffers[product.a.buffer].elem) == 2;
    return is_row_sized && operands_.can_load(product.b, product.depth, depth,
                                              kernel_.numerics == program::Numerics::Fast);
  }

  void place_products(Block& copies) {
    for (size_t n = 0; n < form_.inside.size(); ++n) {
      const auto* product = std::get_if<ChainProduct>(&form_.inside[n]);
      if (product == nullptr)
        continue;
      PlacedProduct placed{*product, std::nullopt, 0, begins_with_zeros(n)};
      if (!is_of_block(product->a.buffer))
        placed.a = operands_.add(product->a, rows_, product->depth.most, copies);
      placed.b =
          operands_.add(product->b, product->instruction->extents[1], product->depth.most, copies);
      products_[n] = std::move(placed);
    }
  }

  /// The last item before the product that touches its result sets it to zero; it is left out then.
  bool begins_with_zeros(size_t product) {
    const uint32_t result = std::get<ChainProduct>(form_.inside[product]).result.buffer;
    for (size_t n = product; n-- > 0;) {
      if (!touched_by(form_.inside[n]).contains(result))
        continue;
      const auto* nest = std::get_if<ChainNest>(&form_.inside[n]);
      const auto* value = nest ? scalar::as<scalar::FloatLit>(nest->store.value) : nullptr;
      const bool is_zero =
          value != nullptr && value->value == 0 && nest->store.op == ReduceOp::None;
      if (is_zero)
        left_out_.insert(n);
      return is_zero;
    }
    return false;
  }

  void make_parts() {
    for (const auto& [buffer, place] : form_.buffers) {
      const Buffer own = kernel_.buffers[buffer];
      const auto form = place.column ? TilePart::Form::Cells : TilePart::Form::Rows;
      const int64_t cells = place.column ? widths_.at(buffer) / 2 : 2;
      cells_.set_part(buffer, {add_private(own.name + "_part", own.elem, cells), form});
    }
    for (const auto& [n, product] : products_)
      for (const auto& operand : {product.a, std::optional(product.b)})
        if (operand && !rings_.contains(*operand))
          rings_[*operand] =
              add_ring(kernel_, kernel_.buffers[operands_.all()[*operand].tiles].name,
                       operands_.all()[*operand].stages, counters_);
  }
  uint32_t add_private(const std::string& name, scalar::Elem elem, int64_t cells) {
    private_.push_back(add_group_buffer(kernel_, name, elem, {cells}, Scope::Private));
    return private_.back();
  }
  uint32_t part(uint32_t buffer) const { return cells_.part_of(buffer)->buffer; }

  Block in_tiles(const Block& work) {
    Block out = std::exchange(counters_, {});
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
      append(out, run(std::get<ChainNest>(item)));
    await_residents(out);
    const auto tail = chain_overlap(form_);
    append(out, tail ? rotated(*tail) : in_turn());
    for (const ChainItem& item : form_.after)
      append(out, run(std::get<ChainNest>(item)));
    return out;
  }

  Expr slot(size_t operand) const {
    return operands_.all()[operand].stages == 1 ? int_lit(0) : scalar::var(rings_.at(operand).slot);
  }
  void await(size_t operand, Block& out) const {
    out.emplace_back(Engine{AwaitPhase{{operands_.all()[operand].full, slot(operand)},
                                       scalar::var(rings_.at(operand).parity)}});
  }
  void release(size_t operand, Block& out) const {
    const Arrive arrive{{operands_.all()[operand].empty, slot(operand)}, 0};
    out.emplace_back(If{is_first_lane(launch_), block_of(Engine{arrive}), {}});
    advance(rings_.at(operand), out);
  }
  void await_residents(Block& out) const {
    for (const auto& [operand, ring] : rings_)
      if (operands_.all()[operand].is_resident)
        await(operand, out);
  }
  void release_residents(Block& out) const {
    for (const auto& [operand, ring] : rings_)
      if (operands_.all()[operand].is_resident)
        release(operand, out);
  }
  std::vector<size_t> moving_operands(const PlacedProduct& product) const {
    std::vector<size_t> moving;
    for (const auto& operand : {product.a, std::optional(product.b)})
      if (operand && !operands_.all()[*operand].is_resident)
        moving.push_back(*operand);
    return moving;
  }

  static int64_t orders_of(const PlacedProduct& product) {
    return whole_blocks(product.form.depth.most) / kDepthOfBlock;
  }

  /// Waits for what the product reads, and begins it.
  void begin(const PlacedProduct& product, Block& out) const {
    for (const size_t operand : moving_operands(product))
      await(operand, out);
    const Expr group =
        binary(BinaryOp::FloorDiv, scalar::var(launch_.thread_vars[2]), int_lit(kWarpsOfGroup));
    for (int64_t block = 0; block < orders_of(product); ++block) {
      Mma mma;
      mma.instruction = product.form.instruction->data->name;
      mma.c = part(product.form.result.buffer);
      const int64_t left = product.form.depth.most - block * kDepthOfBlock;
      mma.steps = (std::min(left, kDepthOfBlock) + kDepthOfStep - 1) / kDepthOfStep;
      mma.starts_at_zero = product.starts_at_zero && block == 0;
      mma.is_a_private = !product.a;
      if (product.a) {
        mma.a = operands_.cell(*product.a, slot(*product.a), block, group);
        mma.is_a_turned = operands_.is_turned(operands_.all()[*product.a]);
      } else
        mma.a = {part(product.form.a.buffer), {int_lit(block * kCellsOfBlock)}};
      mma.b = operands_.cell(product.b, slot(product.b), block, int_lit(0));
      mma.is_b_turned = operands_.is_turned(operands_.all()[product.b]);
      out.emplace_back(Engine{std::move(mma)});
    }
  }
  /// Waits until it is done, but for the last `pending` orders, and gives back what it read.
  void end(const PlacedProduct& product, int64_t pending, Block& out) const {
    std::vector<uint32_t> settled = {part(product.form.result.buffer)};
    if (!product.a)
      settled.push_back(part(product.form.a.buffer));
    out.emplace_back(Engine{AwaitMma{pending, std::move(settled)}});
    for (const size_t operand : moving_operands(product))
      release(operand, out);
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
      append(loop.body, run_inside(n));
      if (const auto product = products_.find(n); product != products_.end()) {
        begin(product->second, loop.body);
        end(product->second, 0, loop.body);
      }
    }
    Block out = block_of(std::move(loop));
    release_residents(out);
    return out;
  }

  void run_all(const std::vector<size_t>& items, Block& out) {
    for (const size_t n : items)
      append(out, run_inside(n));
  }

  Block rotated(const ChainOverlap& overlap) {
    const PlacedProduct& first = products_.at(overlap.first);
    const PlacedProduct& last = products_.at(overlap.last);
    const auto step = [&](bool has_last) {
      Block body;
      run_all(overlap.begin, body);
      begin(first, body);
      if (has_last)
        begin(last, body);
      end(first, has_last ? orders_of(last) : 0, body);
      run_all(overlap.free, body);
      if (has_last)
        end(last, 0, body);
      run_all(overlap.bound, body);
      append(body, run_inside(overlap.last));
      return body;
    };
    For loop = step_loop();
    Block out = substitute_var(step(false), loop.var, loop.lo);
    const Expr given = loop.lo;
    loop.lo = scalar::simplify(loop.lo + int_lit(1));
    loop.body = step(true);
    out.emplace_back(loop);
    release_residents(out);
    begin(last, out);
    end(last, 0, out);
    const Expr is_any = scalar::simplify(binary(BinaryOp::Lt, given, form_.steps.hi));
    const auto trips = scalar::constant_of(scalar::simplify(form_.steps.hi - given));
    if (trips && *trips > 0)
      return out;
    Block none;
    release_residents(none);
    return block_of(If{is_any, std::move(out), std::move(none)});
  }

  /// An item of the loop, but for the orders of a product: there it is what has to be true of its operand.
  Block run_inside(size_t n) {
    if (left_out_.contains(n))
      return {};
    if (const auto* nest = std::get_if<ChainNest>(&form_.inside[n]))
      return run(*nest);
    const ChainProduct& product = std::get<ChainProduct>(form_.inside[n]);
    if (!is_of_block(product.a.buffer))
      return {};
    const uint32_t a = product.a.buffer;
    const scalar::Type computed{scalar::compute_type(kernel_.buffers[a].elem), 1};
    return cells_.fill_outside({product.rows, product.depth, {}}, widths_.at(a), a,
                               scalar::float_lit(0.0, computed));
  }

  Block run(const ChainNest& given) {
    const Store store = with_known_scalars(given.store);
    if (!given.columns)
      return cells_.run_rows({given.rows, {}, {store}});
    const int64_t width = width_of(widths_, given).value_or((given.columns->most + 7) / 8 * 8);
    const TileNest nest{given.rows, *given.columns, {store}};
    const auto own = form_.buffers.find(store.buffer);
    const bool combines = own != form_.buffers.end() && !own->second.column;
    if (combines)
      return combine(nest, width);
    Block out = own != form_.buffers.end() ? zeros_outside(nest, width) : Block{};
    append(out, cells_.run({nest, width}));
    return out;
  }

  /// A nest that reads a tensor stores nothing outside its bounds, and what follows reads all cells that a thread
  /// has: they are something at least.
  Block zeros_outside(const TileNest& nest, int64_t width) {
    TileNest zeros = nest;
    Store& store = zeros.stores.front();
    const bool is_complete =
        short_bounds(nest.rows, rows_).empty() && short_bounds(nest.columns, width).empty();
    if (is_complete || store.op != ReduceOp::None || cells_.is_private({nest, width}))
      return {};
    store.value = scalar::zero_of(store.value.type());
    return cells_.run({zeros, width});
  }

  /// Cells of a row: first those of each thread, then threads.
  Block combine(const TileNest& given, int64_t width) {
    TileNest nest = given;
    Store& store = nest.stores.front();
    const uint32_t rows = part(store.buffer);
    const ReduceOp op = store.op;
    const scalar::Type type{scalar::compute_type(kernel_.buffers[rows].elem), 1};
    const Expr neutral = scalar::identity_of(op, type);
    const std::string name = kernel_.buffers[store.buffer].name;
    const uint32_t lanes = add_private(name + "_lanes", type.elem, 4);
    cells_.set_part(lanes, {lanes, TilePart::Form::Lanes});
    Block out;
    for (int64_t n = 0; n < 4; ++n)
      out.emplace_back(Store{lanes, {int_lit(n)}, ReduceOp::None, neutral});
    store.buffer = lanes;
    store.index = {int_lit(0)};
    const Block plain = cells_.run({nest, width});
    if (const Expr partial = cells_.is_partial(nest, width)) {
      store.value = scalar::select(cells_.is_inside(nest, width), store.value,
                                   scalar::identity_of(op, store.value.type()));
      out.emplace_back(If{partial, cells_.run({nest, width}), plain});
    } else
      append(out, plain);
    for (int64_t half = 0; half < 2; ++half) {
      const auto lane = [&](int64_t place) {
        return scalar::load(lanes, {int_lit(2 * half + place)}, type);
      };
      const uint32_t total = add_variable(kernel_, name + "_all", type);
      out.emplace_back(Combine{total, op, scalar::combine(op, lane(0), lane(1))});
      out.emplace_back(Store{rows, {int_lit(half)}, op, scalar::var(total, type)});
    }
    return out;
  }

  /// Loads that are the same for all threads and steps are done once.
  Store with_known_scalars(Store store) {
    store.value = scalar::rewrite(store.value, [&](const Expr& e) {
      const auto* load = scalar::as<scalar::Load>(e);
      const bool is_scalar = load != nullptr && !is_of_block(load->tensor) &&
                             std::all_of(load->index.begin(), load->index.end(), [](const Expr& i) {
                               return scalar::constant_of(i).has_value();
                             });
      if (!is_scalar)
        return Expr();
      for (const auto& [known, var] : scalars_)
        if (scalar::equal(known, e))
          return scalar::var(var, e.type());
      const uint32_t var =
          add_variable(kernel_, kernel_.buffers[load->tensor].name + "_value", e.type());
      counters_.emplace_back(Define{var, e});
      scalars_.emplace_back(e, var);
      return scalar::var(var, e.type());
    });
    return store;
  }

  Kernel& kernel_;
  const Launch& launch_;
  ChainForm form_;
  const target::Gpu& gpu_;
  ChainOperands operands_;
  TileCells cells_;
  int64_t rows_, warps_;
  std::map<uint32_t, int64_t> widths_;       ///< of buffers of the block that have columns
  std::map<size_t, PlacedProduct> products_; ///< by their place in `inside`
  std::set<size_t> left_out_;                ///< items of `inside`
  std::map<size_t, Ring> rings_;             ///< by operand
  std::vector<uint32_t> private_;
  std::vector<std::pair<Expr, uint32_t>> scalars_;
  Block counters_; ///< defined around the loop over tiles
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
