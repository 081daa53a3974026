#include "emit/llvm/loaded_constant.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include <bit>
#include <vector>

namespace kawara::emit {
namespace {

constexpr unsigned kRegisterBits = 128;
/// Registers from which one more load is nothing to their arithmetic.
constexpr unsigned kSeveralRegisters = 4;
/// Registers that are better free than full of what memory has.
constexpr unsigned kManyRegisters = 8;

llvm::GlobalVariable* constant_in(llvm::Module& module, const std::string& name,
                                  llvm::Constant* value) {
  if (llvm::GlobalVariable* known = module.getNamedGlobal(name))
    return known;
  // The module owns it.
  auto* global = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::InternalLinkage, value, name);
  global->setAlignment(llvm::Align(kRegisterBits / 8));
  return global;
}

/// The float that every lane of `value` is, where that is a constant in whole registers of AArch64;
/// else null.
llvm::Constant* lane_of(llvm::Module& module, llvm::Value* value) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  llvm::Constant* element =
      type == nullptr || constant == nullptr ? nullptr : constant->getSplatValue();
  return element != nullptr && llvm::isa<llvm::ConstantFP>(element) &&
                 llvm::Triple(module.getTargetTriple()).isAArch64() &&
                 type->getPrimitiveSizeInBits() % kRegisterBits == 0
             ? element
             : nullptr;
}

bool writes(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const bool is_zero = call != nullptr && call->isInlineAsm(); // LoadedConstants::zero
  return !is_zero && !llvm::isa<llvm::LoadInst>(instruction) && instruction.mayWriteToMemory();
}

bool writes_after(const llvm::LoadInst& load) {
  const llvm::Instruction* next = load.getNextNode();
  while (next != nullptr && !writes(*next))
    next = next->getNextNode();
  return next != nullptr;
}

} // namespace

/// Nothing, as far as LLVM knows some number: what is loaded at an address that it is added to
/// cannot leave the loop, and is free to move within.
llvm::Value* LoadedConstants::zero() {
  if (block_ == b_.GetInsertBlock())
    return zero_;
  block_ = b_.GetInsertBlock();
  auto* type = llvm::FunctionType::get(b_.getInt64Ty(), {b_.getInt64Ty()}, false);
  zero_ = b_.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", /*hasSideEffects=*/true),
                        {b_.getInt64(0)});
  return zero_;
}

llvm::Value* LoadedConstants::load(llvm::Constant* element, llvm::FixedVectorType* type) {
  const llvm::APInt bits = llvm::cast<llvm::ConstantFP>(element)->getValueAPF().bitcastToAPInt();
  const std::string name = "kw_constant." + std::to_string(type->getNumElements()) + "x" +
                           std::to_string(bits.getBitWidth()) + "." +
                           std::to_string(bits.getZExtValue());
  // As many others behind it, which are never read: a load that can only be this one would be
  // folded.
  std::vector<llvm::Constant*> elements(type->getNumElements(), element);
  elements.resize(2 * elements.size(),
                  llvm::ConstantFP::get(element->getType(), element->isZeroValue() ? 1 : 0));
  llvm::GlobalVariable* memory =
      constant_in(*b_.GetInsertBlock()->getModule(), name,
                  llvm::ConstantArray::get(
                      llvm::ArrayType::get(element->getType(), elements.size()), elements));
  return b_.CreateAlignedLoad(type, b_.CreateGEP(b_.getInt8Ty(), memory, {zero()}),
                              memory->getAlign());
}

llvm::Value* LoadedConstants::addend(llvm::Value* value) {
  llvm::Constant* element = lane_of(*b_.GetInsertBlock()->getModule(), value);
  return element == nullptr ? value
                            : load(element, llvm::cast<llvm::FixedVectorType>(value->getType()));
}

llvm::Value* LoadedConstants::operand(llvm::Value* value) {
  llvm::Constant* element = lane_of(*b_.GetInsertBlock()->getModule(), value);
  // Zero is made without reading anything.
  if (is_kept_ || element == nullptr || element->isZeroValue() ||
      value->getType()->getPrimitiveSizeInBits() < kSeveralRegisters * kRegisterBits)
    return value;
  auto* type = llvm::cast<llvm::FixedVectorType>(value->getType());
  const auto lanes = kRegisterBits / element->getType()->getScalarSizeInBits();
  llvm::Value* once = load(element, llvm::FixedVectorType::get(element->getType(), lanes));
  llvm::Value* whole = llvm::PoisonValue::get(type);
  for (unsigned lane = 0; lane < type->getNumElements(); lane += lanes)
    whole = b_.CreateInsertVector(type, whole, once, b_.getInt64(lane));
  return whole;
}

llvm::Value* LoadedConstants::shifted_onto(llvm::Value* low, llvm::Value* value, uint64_t factor) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  auto* lanes = llvm::dyn_cast<llvm::Constant>(low);
  auto* lane = type == nullptr || lanes == nullptr
                   ? nullptr
                   : llvm::dyn_cast_or_null<llvm::ConstantInt>(lanes->getSplatValue());
  if (lane == nullptr || lane->getBitWidth() != 32 || !std::has_single_bit(factor) ||
      lane->getValue().uge(factor) || factor > uint64_t{1} << 31 ||
      type->getPrimitiveSizeInBits() % kRegisterBits != 0 ||
      !llvm::Triple(b_.GetInsertBlock()->getModule()->getTargetTriple()).isAArch64())
    return nullptr;
  auto* part = llvm::FixedVectorType::get(type->getElementType(), kRegisterBits / 32);
  auto* number = llvm::ConstantFP::get(
      b_.getContext(), llvm::APFloat(llvm::APFloat::IEEEsingle(), lane->getValue()));
  llvm::Value* from = b_.CreateBitCast(
      load(number, llvm::FixedVectorType::get(b_.getFloatTy(), type->getNumElements())), type);
  llvm::Value* whole = llvm::PoisonValue::get(type);
  for (unsigned first = 0; first < type->getNumElements(); first += part->getNumElements()) {
    const auto lanes_of = [&](llvm::Value* all) {
      return b_.CreateExtractVector(part, all, b_.getInt64(first));
    };
    llvm::Value* made = b_.CreateIntrinsic(
        llvm::Intrinsic::aarch64_neon_vsli, {part},
        {lanes_of(from), lanes_of(value), b_.getInt32(std::countr_zero(factor))});
    whole = b_.CreateInsertVector(type, whole, made, b_.getInt64(first));
  }
  return whole;
}

llvm::Value* LoadedConstants::again(llvm::Value* value) {
  auto* load = llvm::dyn_cast<llvm::LoadInst>(value);
  if (load == nullptr || load->getParent() != b_.GetInsertBlock() ||
      b_.GetInsertPoint() != load->getParent()->end() ||
      !llvm::Triple(load->getModule()->getTargetTriple()).isAArch64() ||
      load->getType()->getPrimitiveSizeInBits() < kManyRegisters * kRegisterBits ||
      writes_after(*load))
    return value;
  return b_.CreateAlignedLoad(load->getType(),
                              b_.CreateGEP(b_.getInt8Ty(), load->getPointerOperand(), {zero()}),
                              load->getAlign());
}

} // namespace kawara::emit
