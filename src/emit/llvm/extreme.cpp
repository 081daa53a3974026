#include "emit/llvm/emitter.h"

#include "kernel/walk.h"

#include <llvm/TargetParser/Triple.h>

#include <utility>
#include <vector>

namespace kawara::emit {

using scalar::BinaryOp;

namespace {

/// The same number in all lanes, and neither zero.
bool is_limit(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant != nullptr && constant->getType()->isVectorTy())
    constant = constant->getSplatValue();
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return number != nullptr && !number->isNaN() && !number->isZero();
}

bool is_max(BinaryOp op) { return op == BinaryOp::Max || op == BinaryOp::NanMax; }

/// Operands of the same operator below `e`, those that something else needs as well as they are.
void add_operands(const scalar::Expr& e, BinaryOp op, std::vector<scalar::Expr>& operands) {
  const auto* n = scalar::as<scalar::Binary>(e);
  if (n == nullptr || n->op != op || (!operands.empty() && e.is_shared())) {
    operands.push_back(e);
    return;
  }
  add_operands(n->lhs, op, operands);
  add_operands(n->rhs, op, operands);
}

} // namespace

/// Variables of which NaN is kept apart, where there are registers for it: another vector for each,
/// or one of seven masks.
std::unordered_set<uint32_t> extreme_variables(const kernel::Kernel& kernel, bool has_masks) {
  std::unordered_map<uint32_t, BinaryOp> found;
  std::unordered_set<uint32_t> others;
  const auto is_self = [](uint32_t var, const scalar::Expr& side) {
    const auto* v = scalar::as<scalar::Var>(side);
    return v != nullptr && v->id == var;
  };
  kernel::visit(kernel.body, [&](const kernel::Stmt& s) {
    if (const auto* define = std::get_if<kernel::Define>(&s)) {
      const auto* lanes = scalar::as<scalar::Broadcast>(define->value);
      const auto* number = lanes == nullptr ? nullptr : scalar::as<scalar::FloatLit>(lanes->arg);
      if (number == nullptr || number->value != number->value)
        others.insert(define->var);
    } else if (const auto* assign = std::get_if<kernel::Assign>(&s)) {
      const auto* n = scalar::as<scalar::Binary>(assign->value);
      const bool is_choice = n != nullptr && (n->op == BinaryOp::Max || n->op == BinaryOp::Min) &&
                             (is_self(assign->var, n->lhs) || is_self(assign->var, n->rhs));
      if (!is_choice || found.emplace(assign->var, n->op).first->second != n->op)
        others.insert(assign->var);
    }
  });
  const int64_t bytes = has_masks ? 64 : 32, most = has_masks ? 6 : 7;
  std::unordered_set<uint32_t> result;
  int64_t registers = 0;
  for (const auto& [var, op] : found) {
    if (others.contains(var))
      continue;
    const scalar::Type type = kernel.variables[var].type;
    registers += (type.lanes * scalar::bytes_of(type.elem) + bytes - 1) / bytes;
    result.insert(var);
  }
  return registers <= most ? result : std::unordered_set<uint32_t>();
}

/// The greater or smaller of two in one instruction of x86: `b` where `a` is NaN.
llvm::Value* FunctionEmitter::number_extreme(BinaryOp op, Value* a, Value* b) {
  return b_.CreateSelect(is_max(op) ? b_.CreateFCmpOGT(a, b) : b_.CreateFCmpOLT(a, b), a, b);
}

// Which lanes saw a NaN: bits that are set in lanes without, or floats that are NaN themselves in
// lanes with one. Either takes one instruction for each vector that is looked at, beside the one of
// the greater or smaller: `vcmpordps` under a mask, `vcmpunordps` with what it gave before.

llvm::Value* FunctionEmitter::no_nans(llvm::Type* type) {
  if (!parts_.has_masks)
    return llvm::Constant::getNullValue(type);
  return llvm::Constant::getAllOnesValue(
      llvm::VectorType::get(b_.getInt1Ty(), llvm::cast<llvm::VectorType>(type)->getElementCount()));
}

llvm::Value* FunctionEmitter::with_nans_of(Value* nans, Value* value) {
  if (parts_.has_masks)
    return b_.CreateAnd(nans, b_.CreateFCmpORD(value, value));
  llvm::Type* type = value->getType();
  llvm::Type* bits = llvm::VectorType::getInteger(llvm::cast<llvm::VectorType>(type));
  return b_.CreateBitCast(b_.CreateSExt(b_.CreateFCmpUNO(nans, value), bits), type);
}

llvm::Value* FunctionEmitter::put_nans(Value* nans, Value* value) {
  llvm::Type* type = value->getType();
  if (parts_.has_masks)
    return b_.CreateSelect(nans, value, llvm::ConstantFP::getNaN(type));
  llvm::Type* bits = llvm::VectorType::getInteger(llvm::cast<llvm::VectorType>(type));
  return b_.CreateBitCast(b_.CreateOr(b_.CreateBitCast(value, bits), b_.CreateBitCast(nans, bits)),
                          type);
}

void FunctionEmitter::update_extreme(const kernel::Assign& n) {
  const auto& binary = *scalar::as<scalar::Binary>(n.value);
  const auto* left = scalar::as<scalar::Var>(binary.lhs);
  const bool is_left = left != nullptr && left->id == n.var;
  Value* value = emit(is_left ? binary.rhs : binary.lhs);
  const Binding& binding = variables_.at(n.var);
  Value* old = b_.CreateLoad(value->getType(), binding.slot);
  b_.CreateStore(number_extreme(binary.op, value, old), binding.slot);
  Value* nans = b_.CreateLoad(binding.nans->getAllocatedType(), binding.nans);
  b_.CreateStore(with_nans_of(nans, value), binding.nans);
}

/// Of three vectors of floats and more, where NaN takes several instructions; else null.
llvm::Value* FunctionEmitter::extreme_of_many(const Expr& e) {
  const auto op = scalar::as<scalar::Binary>(e)->op;
  if ((op != BinaryOp::Max && op != BinaryOp::Min) || e.type().lanes == 1 ||
      !scalar::is_float(e.type().elem) || !llvm::Triple(parts_.module.getTargetTriple()).isX86())
    return nullptr;
  std::vector<Expr> operands;
  add_operands(e, op, operands);
  if (operands.size() < 3)
    return nullptr;
  Value* result = nullptr;
  Value* nans = nullptr;
  for (const Expr& operand : operands) {
    Value* value = emit(operand);
    result = result == nullptr ? value : number_extreme(op, value, result);
    if (!is_limit(value))
      nans = with_nans_of(nans == nullptr ? no_nans(value->getType()) : nans, value);
  }
  return nans == nullptr ? result : put_nans(nans, result);
}

/// The greater or smaller of two, NaN where one is. Arm has an instruction for that. That of x86
/// gives its second operand where either is NaN or both are zeros: enough beside a number, else
/// LLVM puts a NaN of the first operand in afterwards. To know which zero is below the other would
/// take more, so only NanMin and NanMax do.
llvm::Value* FunctionEmitter::extreme(BinaryOp op, Value* a, Value* b) {
  const bool knows_zeros = op == BinaryOp::NanMax || op == BinaryOp::NanMin;
  const llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  if (llvm::Triple(parts_.module.getTargetTriple()).isX86()) {
    if (is_limit(b))
      std::swap(a, b);
    if (is_limit(a))
      return number_extreme(op, a, b);
    if (!knows_zeros && !parts_.has_masks && a->getType()->isVectorTy())
      return put_nans(with_nans_of(no_nans(b->getType()), b), number_extreme(op, b, a));
    if (!knows_zeros) {
      llvm::FastMathFlags flags = b_.getFastMathFlags();
      flags.setNoSignedZeros();
      b_.setFastMathFlags(flags);
    }
  }
  return b_.CreateBinaryIntrinsic(is_max(op) ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum,
                                  a, b);
}

} // namespace kawara::emit
