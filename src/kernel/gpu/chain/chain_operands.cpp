#include "kernel/gpu/chain/chain_operands.h"

#include "kernel/gpu/warpgroup/fragment.h"
#include "kernel/gpu/warpgroup/padded_rows.h"
#include "kernel/vars.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::int_lit;

constexpr int64_t kRowAlignment = 16; ///< bytes between rows that TMA can address
constexpr int64_t kSide = 64; ///< of a block of the reduction: a row of swizzled shared memory
constexpr int64_t kMostLines = 256; ///< of a box

} // namespace

bool ChainOperands::can_load(const TileAccess& access, const TileAxis& depth, int64_t full,
                             bool may_read_more) const {
  const Buffer& buffer = kernel_.buffers[access.buffer];
  const size_t rank = buffer.shape.size();
  const bool is_global = buffer.scope == Scope::Argument || buffer.scope == Scope::Workspace;
  if (rank < 2 || rank > 5 || (access.line + 1 != rank && access.other + 1 != rank) || !is_global ||
      buffers_stored_in(launch_.body).contains(access.buffer) ||
      scalar::bytes_of(buffer.elem) * kSide != kPanelBytes)
    return false;
  for (const Expr& extent : buffer.shape)
    if (!scalar::constant_of(extent))
      return false;
  return may_read_more || ends_with_buffer(kernel_, depth, full, access, access.other);
}

size_t ChainOperands::add(const TileAccess& given, Side side, int64_t lines, int64_t depth,
                          Block& copies) {
  ChainOperand operand;
  operand.access = given;
  operand.lines = lines;
  operand.depth = (depth + kSide - 1) / kSide * kSide;
  operand.is_resident = side == Side::Rows &&
                        std::none_of(given.base.begin(), given.base.end(),
                                     [&](const Expr& e) { return mentions(e, form_.steps.var); });
  if (auto copied = padded_rows(kernel_, given.buffer, kRowAlignment)) {
    copied->copy.name = launch_.name + "_" + kernel_.buffers[given.buffer].name;
    copies.emplace_back(std::move(copied->copy));
    operand.access.buffer = copied->buffer;
  }
  operands_.push_back(std::move(operand));
  return operands_.size() - 1;
}

bool ChainOperands::is_transposed(const ChainOperand& operand) const {
  return operand.access.line + 1 == kernel_.buffers[operand.access.buffer].shape.size();
}

int64_t ChainOperands::bytes_of(const ChainOperand& operand) const {
  return operand.lines * operand.depth *
         scalar::bytes_of(kernel_.buffers[operand.access.buffer].elem);
}

void ChainOperands::make(const Stages& stages, int64_t warps, std::vector<Mbarriers>& barriers) {
  for (ChainOperand& operand : operands_) {
    const Buffer source = kernel_.buffers[operand.access.buffer];
    operand.stages = operand.is_resident ? stages.resident : stages.moving;
    const int64_t blocks = operand.depth / kSide;
    const std::vector<int64_t> shape =
        is_transposed(operand)
            ? std::vector<int64_t>{operand.stages, blocks, operand.lines / kSide, kSide, kSide}
            : std::vector<int64_t>{operand.stages, blocks, operand.lines, kSide};
    operand.tiles =
        add_group_buffer(kernel_, source.name + "_tiles", source.elem, shape, Scope::Shared);
    const std::string name = kernel_.buffers[operand.tiles].name;
    operand.full = static_cast<uint32_t>(barriers.size());
    barriers.push_back({name + "_full", operand.stages, 1});
    operand.empty = static_cast<uint32_t>(barriers.size());
    barriers.push_back({name + "_empty", operand.stages, warps});
  }
}

ElementAt ChainOperands::element(size_t number, const Expr& slot, int64_t block,
                                 const Expr& group) const {
  const ChainOperand& operand = operands_[number];
  if (is_transposed(operand))
    return {operand.tiles, {slot, int_lit(block), group, int_lit(0), int_lit(0)}};
  return {operand.tiles,
          {slot, int_lit(block), scalar::simplify(group * int_lit(kRowsOfGroup)), int_lit(0)}};
}

Block ChainOperands::bring(Block& counters) {
  Block out;
  For loop = form_.steps;
  loop.marks = {};
  const uint32_t own = add_variable(kernel_, kernel_.variables[loop.var].name, scalar::kIndex);
  for (const ChainOperand& operand : operands_) {
    const Ring ring =
        add_ring(kernel_, kernel_.buffers[operand.tiles].name + "_copy", operand.stages, counters);
    load(operand, ring, operand.is_resident ? out : loop.body);
  }
  loop.body = substitute_var(loop.body, loop.var, scalar::var(own));
  loop.var = own;
  out.emplace_back(std::move(loop));
  return out;
}

void ChainOperands::load(const ChainOperand& operand, const Ring& ring, Block& out) const {
  const Expr slot = operand.stages == 1 ? int_lit(0) : scalar::var(ring.slot);
  const Expr parity = int_lit(1) - scalar::var(ring.parity);
  out.emplace_back(AsyncOp{AwaitPhase{{operand.empty, slot}, parity}});
  out.emplace_back(AsyncOp{Arrive{{operand.full, slot}, bytes_of(operand)}});
  const bool transposed = is_transposed(operand);
  const int64_t high = transposed ? kSide : std::min(operand.lines, kMostLines);
  for (int64_t block = 0; block < operand.depth / kSide; ++block)
    for (int64_t first = 0; first < operand.lines; first += high) {
      BulkLoad load;
      load.to = element(static_cast<size_t>(&operand - operands_.data()), slot, block,
                        int_lit(first / kRowsOfGroup));
      load.from = {operand.access.buffer, operand.access.base};
      Expr& line = load.from.index[operand.access.line];
      line = scalar::simplify(line + int_lit(first));
      Expr& depth = load.from.index[operand.access.other];
      depth = scalar::simplify(depth + int_lit(block * kSide));
      load.box.assign(operand.access.base.size(), 1);
      load.box[operand.access.line] = high;
      load.box[operand.access.other] = kSide;
      load.done = {operand.full, slot};
      out.emplace_back(AsyncOp{std::move(load)});
    }
  advance(ring, out);
}

} // namespace kawara::kernel
