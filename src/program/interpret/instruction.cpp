#include "program/interpret/instruction.h"

#include "support/check.h"

#include <algorithm>

namespace kawara::program {
namespace {

using scalar::as;
using scalar::BinaryOp;

/// The loops down to the only statement.
const Statement& read_axes(const Program& text, Instruction& instruction) {
  const Body* body = &text.body;
  while (const auto* loop = std::get_if<Loop>(&body->front())) {
    const auto lo = scalar::constant_of(loop->lo), hi = scalar::constant_of(loop->hi);
    KAWARA_CHECK(body->size() == 1 && lo == 0 && hi && loop->step == 1,
                 "loops of " + std::string(instruction.data->name));
    instruction.axes.push_back(loop->name);
    instruction.extents.push_back(*hi);
    body = &loop->body;
  }
  return text.statements.at(std::get<StatementRef>(body->front()).statement);
}

void read_index(Operand& operand, const std::vector<Expr>& index) {
  for (const Expr& e : index) {
    const auto* axis = as<scalar::Iter>(e);
    KAWARA_CHECK(axis != nullptr || scalar::constant_of(e) == 0, "index of " + operand.name);
    operand.axes.push_back(axis != nullptr ? std::optional(axis->index) : std::nullopt);
  }
}

bool is_commutative(BinaryOp op) {
  return op == BinaryOp::Add || op == BinaryOp::Mul || op == BinaryOp::Min || op == BinaryOp::Max;
}

/// Matches two values node by node; loads are bound to operands as they are met.
class Matcher {
public:
  explicit Matcher(size_t inputs) : inputs_(inputs) {}

  void match(const Expr& mine, const Expr& theirs) {
    const std::vector<OperandLoads> found = options(mine, theirs, OperandLoads(inputs_));
    for (const OperandLoads& loads : found)
      if (std::all_of(loads.begin(), loads.end(), [](const Expr& e) { return bool(e); }))
        all_.push_back(loads);
  }
  std::vector<OperandLoads> all() const { return all_; }

private:
  std::vector<OperandLoads> options(const Expr& mine, const Expr& theirs,
                                    const OperandLoads& bound) const {
    if (mine.type() != theirs.type() || mine.node().kind.index() != theirs.node().kind.index())
      return {};
    if (const auto* operand = as<scalar::Load>(mine)) {
      const Expr& known = bound[operand->tensor];
      if (known && !scalar::equal(known, theirs))
        return {};
      OperandLoads more = bound;
      more[operand->tensor] = theirs;
      return {more};
    }
    const auto* x = as<scalar::Binary>(mine);
    const auto* y = as<scalar::Binary>(theirs);
    if (x != nullptr) {
      if (x->op != y->op)
        return {};
      std::vector<OperandLoads> found = both(x->lhs, y->lhs, x->rhs, y->rhs, bound);
      if (is_commutative(x->op))
        for (OperandLoads& loads : both(x->lhs, y->rhs, x->rhs, y->lhs, bound))
          found.push_back(std::move(loads));
      return found;
    }
    if (const auto* cast = as<scalar::Cast>(mine))
      return options(cast->arg, as<scalar::Cast>(theirs)->arg, bound);
    return scalar::equal(mine, theirs) ? std::vector<OperandLoads>(1, bound)
                                       : std::vector<OperandLoads>{};
  }

  std::vector<OperandLoads> both(const Expr& a, const Expr& x, const Expr& b, const Expr& y,
                                 const OperandLoads& bound) const {
    std::vector<OperandLoads> found;
    for (const OperandLoads& first : options(a, x, bound))
      for (OperandLoads& loads : options(b, y, first))
        found.push_back(std::move(loads));
    return found;
  }

  size_t inputs_;
  std::vector<OperandLoads> all_;
};

Instruction instruction_from_text(const target::Intrinsic& data) {
  const auto text = parse(make_source(std::string(data.name), std::string(data.program)));
  KAWARA_CHECK(text, "program of " + std::string(data.name));
  Instruction instruction;
  instruction.data = &data;
  const Statement& update = read_axes(*text, instruction);
  for (const Tensor& tensor : text->tensors) {
    Operand operand;
    operand.name = tensor.name;
    operand.elem = tensor.elem;
    for (const Expr& extent : tensor.shape)
      operand.shape.push_back(*scalar::constant_of(extent));
    instruction.operands.push_back(std::move(operand));
  }
  KAWARA_CHECK(update.tensor + 1 == text->tensors.size(), "operands of " + std::string(data.name));
  scalar::visit(update.value, [&](const Expr& e) {
    if (const auto* load = as<scalar::Load>(e))
      read_index(instruction.operands[load->tensor], load->index);
  });
  read_index(instruction.operands.back(), update.index);
  instruction.op = update.op;
  instruction.value = update.value;
  return instruction;
}

} // namespace

int64_t Operand::lanes() const {
  int64_t product = 1;
  for (const int64_t extent : shape)
    product *= extent;
  return product;
}

bool Operand::follows(uint32_t axis) const {
  return std::find(axes.begin(), axes.end(), std::optional(axis)) != axes.end();
}

const Instruction& instruction_of(const target::Intrinsic& data) {
  static const std::vector<Instruction> all = [] {
    std::vector<Instruction> list;
    for (const target::Intrinsic& one : target::intrinsics())
      list.push_back(instruction_from_text(one));
    return list;
  }();
  return all.at(static_cast<size_t>(&data - target::intrinsics().data()));
}

std::optional<uint32_t> axis_of_rows(const Instruction& instruction) {
  if (!instruction.data->is_tile)
    return std::nullopt;
  for (uint32_t axis = 0; axis < instruction.axes.size(); ++axis)
    if (instruction.result().follows(axis) && instruction.operands.front().follows(axis))
      return axis;
  return std::nullopt;
}

Instruction with_rows(Instruction instruction, int64_t rows) {
  const auto axis = axis_of_rows(instruction);
  KAWARA_CHECK(axis && rows > 0 && rows <= instruction.extents[*axis],
               std::to_string(rows) + " rows of " + std::string(instruction.data->name));
  instruction.extents[*axis] = rows;
  for (Operand& operand : instruction.operands)
    for (size_t d = 0; d < operand.shape.size(); ++d)
      if (operand.axes[d] == axis)
        operand.shape[d] = rows;
  return instruction;
}

std::vector<OperandLoads> matching_loads(const Instruction& instruction, const Expr& value) {
  Matcher matcher(instruction.inputs());
  matcher.match(instruction.value, value);
  return matcher.all();
}

std::vector<int64_t> element_at(const Operand& operand, int64_t position) {
  std::vector<int64_t> element(operand.shape.size());
  for (size_t d = element.size(); d-- > 0; position /= operand.shape[d])
    element[d] = position % operand.shape[d];
  return element;
}

} // namespace kawara::program
