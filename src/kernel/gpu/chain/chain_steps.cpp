#include "kernel/gpu/chain/chain_steps.h"

#include "kernel/gpu/warpgroup/fragment.h"
#include "kernel/vars.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

constexpr int64_t kDepthOfStep = 16;
constexpr int64_t kElementsOfBlock = 32; ///< of a thread, in 64 columns

void append_all(Block& out, Block more) {
  for (Stmt& stmt : more)
    out.push_back(std::move(stmt));
}

} // namespace

bool ChainSteps::can_run() {
  for (const ChainItem& item : form_.inside)
    if (const auto* product = std::get_if<ChainProduct>(&item); product && !can_run(*product))
      return false;
  auto widths = chain_widths(form_, rows_);
  widths_ = widths.value_or(std::map<uint32_t, int64_t>{});
  return widths.has_value();
}

void ChainSteps::place(const ChainOperands::Stages& stages, int64_t warps, Block& copies,
                       std::vector<Mbarriers>& barriers) {
  place_products(copies);
  operands_.make(stages, warps, barriers);
  make_parts();
}

bool ChainSteps::can_run(const ChainProduct& product) const {
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

void ChainSteps::place_products(Block& copies) {
  for (size_t n = 0; n < form_.inside.size(); ++n) {
    const auto* product = std::get_if<ChainProduct>(&form_.inside[n]);
    if (product == nullptr)
      continue;
    PlacedProduct placed{*product, std::nullopt, 0, begins_with_zeros(n)};
    if (!is_of_block(product->a.buffer))
      placed.a =
          operands_.add(product->a, ChainOperands::Side::Rows, rows_, product->depth.most, copies);
    placed.b = operands_.add(product->b, ChainOperands::Side::Columns,
                             product->instruction->extents[1], product->depth.most, copies);
    products_[n] = std::move(placed);
  }
}

/// The last item before the product that touches its result sets it to zero; it is left out then.
bool ChainSteps::begins_with_zeros(size_t product) {
  const uint32_t result = std::get<ChainProduct>(form_.inside[product]).result.buffer;
  for (size_t n = product; n-- > 0;) {
    if (!touched_by(form_.inside[n]).contains(result))
      continue;
    const auto* nest = std::get_if<ChainNest>(&form_.inside[n]);
    const auto* value = nest ? scalar::as<scalar::FloatLit>(nest->store.value) : nullptr;
    const bool is_zero = value != nullptr && value->value == 0 && nest->store.op == ReduceOp::None;
    if (is_zero)
      left_out_.insert(n);
    return is_zero;
  }
  return false;
}

void ChainSteps::make_parts() {
  for (const auto& [buffer, place] : form_.buffers) {
    const Buffer own = kernel_.buffers[buffer];
    const auto form = place.column ? TilePart::Form::Elements : TilePart::Form::Rows;
    const int64_t elements = place.column ? widths_.at(buffer) / 2 : 2;
    elements_.set_part(buffer, {nests_.add_private(own.name + "_part", own.elem, elements), form});
  }
  for (const auto& [n, product] : products_)
    for (const auto& operand : {product.a, std::optional(product.b)})
      if (operand && !rings_.contains(*operand))
        rings_[*operand] = add_ring(kernel_, kernel_.buffers[operands_.all()[*operand].tiles].name,
                                    operands_.all()[*operand].stages, registers_.counters);
}

Expr ChainSteps::slot(size_t operand) const {
  return operands_.all()[operand].stages == 1 ? int_lit(0) : scalar::var(rings_.at(operand).slot);
}

void ChainSteps::await(size_t operand, Block& out) const {
  out.emplace_back(AsyncOp{AwaitPhase{{operands_.all()[operand].full, slot(operand)},
                                      scalar::var(rings_.at(operand).parity)}});
}

void ChainSteps::release(size_t operand, Block& out) const {
  const Arrive arrive{{operands_.all()[operand].empty, slot(operand)}, 0};
  out.emplace_back(If{is_first_lane(launch_), block_of(AsyncOp{arrive}), {}});
  advance(rings_.at(operand), out);
}

void ChainSteps::await_residents(Block& out) const {
  for (const auto& [operand, ring] : rings_)
    if (operands_.all()[operand].is_resident)
      await(operand, out);
}

void ChainSteps::release_residents(Block& out) const {
  for (const auto& [operand, ring] : rings_)
    if (operands_.all()[operand].is_resident)
      release(operand, out);
}

std::vector<size_t> ChainSteps::moving_operands(const PlacedProduct& product) const {
  std::vector<size_t> moving;
  for (const auto& operand : {product.a, std::optional(product.b)})
    if (operand && !operands_.all()[*operand].is_resident)
      moving.push_back(*operand);
  return moving;
}

int64_t ChainSteps::orders_of(size_t product) const {
  return whole_blocks(products_.at(product).form.depth.most) / kDepthOfBlock;
}

void ChainSteps::begin(size_t number, Block& out) const {
  const PlacedProduct& product = products_.at(number);
  for (const size_t operand : moving_operands(product))
    await(operand, out);
  const Expr group =
      binary(BinaryOp::FloorDiv, scalar::var(launch_.thread_vars[2]), int_lit(kWarpsOfGroup));
  for (int64_t block = 0; block < orders_of(number); ++block) {
    Mma mma;
    mma.instruction = product.form.instruction->data->name;
    mma.c = part(product.form.result.buffer);
    const int64_t left = product.form.depth.most - block * kDepthOfBlock;
    mma.steps = (std::min(left, kDepthOfBlock) + kDepthOfStep - 1) / kDepthOfStep;
    mma.starts_at_zero = product.starts_at_zero && block == 0;
    mma.is_a_private = !product.a;
    if (product.a) {
      mma.a = operands_.element(*product.a, slot(*product.a), block, group);
      mma.is_a_transposed = operands_.is_transposed(operands_.all()[*product.a]);
    } else
      mma.a = {part(product.form.a.buffer), {int_lit(block * kElementsOfBlock)}};
    mma.b = operands_.element(product.b, slot(product.b), block, int_lit(0));
    mma.is_b_transposed = operands_.is_transposed(operands_.all()[product.b]);
    out.emplace_back(AsyncOp{std::move(mma)});
  }
}

void ChainSteps::end(size_t number, int64_t pending, Block& out) const {
  const PlacedProduct& product = products_.at(number);
  std::vector<uint32_t> settled = {part(product.form.result.buffer)};
  if (!product.a)
    settled.push_back(part(product.form.a.buffer));
  out.emplace_back(AsyncOp{AwaitMma{pending, std::move(settled)}});
  for (const size_t operand : moving_operands(product))
    release(operand, out);
}

Block ChainSteps::run(size_t n) {
  if (left_out_.contains(n))
    return {};
  if (const auto* nest = std::get_if<ChainNest>(&form_.inside[n]))
    return nests_.run(*nest);
  const ChainProduct& product = std::get<ChainProduct>(form_.inside[n]);
  return nests_.prepare(product);
}

void ChainSteps::run_all(const std::vector<size_t>& items, Block& out) {
  for (const size_t n : items)
    append_all(out, run(n));
}

Block ChainSteps::step(const ChainOverlap& overlap, bool has_last) {
  Block body;
  run_all(overlap.begin, body);
  begin(overlap.first, body);
  if (has_last)
    begin(overlap.last, body);
  end(overlap.first, has_last ? orders_of(overlap.last) : 0, body);
  run_all(overlap.free, body);
  if (has_last)
    end(overlap.last, 0, body);
  run_all(overlap.bound, body);
  append_all(body, run(overlap.last));
  return body;
}

} // namespace kawara::kernel
