#include "emit/llvm/addend.h"

#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

namespace kawara::emit {
namespace {

constexpr unsigned kRegisterBits = 128;

/// One register of the constant, as memory of the module.
llvm::GlobalVariable* constant_in(llvm::Module& module, llvm::Constant* element) {
  const llvm::APInt bits = llvm::cast<llvm::ConstantFP>(element)->getValueAPF().bitcastToAPInt();
  const std::string name =
      "kw_addend." + std::to_string(bits.getBitWidth()) + "." + std::to_string(bits.getZExtValue());
  if (llvm::GlobalVariable* known = module.getNamedGlobal(name))
    return known;
  llvm::Constant* lanes = llvm::ConstantVector::getSplat(
      llvm::ElementCount::getFixed(kRegisterBits / bits.getBitWidth()), element);
  // The module owns it.
  auto* global = new llvm::GlobalVariable(module, lanes->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::InternalLinkage, lanes, name);
  global->setAlignment(llvm::Align(kRegisterBits / 8));
  return global;
}

} // namespace

llvm::Value* loaded_addend(llvm::IRBuilder<>& b, llvm::Value* addend) {
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(addend->getType());
  auto* constant = llvm::dyn_cast<llvm::Constant>(addend);
  llvm::Constant* element =
      type == nullptr || constant == nullptr ? nullptr : constant->getSplatValue();
  if (element == nullptr || !llvm::isa<llvm::ConstantFP>(element) ||
      !llvm::Triple(module.getTargetTriple()).isAArch64() ||
      type->getPrimitiveSizeInBits() % kRegisterBits != 0)
    return addend;
  llvm::GlobalVariable* memory = constant_in(module, element);
  const unsigned lanes =
      llvm::cast<llvm::FixedVectorType>(memory->getValueType())->getNumElements();
  // Volatile: or LLVM would load it once, before the loop.
  const auto load = [&] {
    return b.CreateAlignedLoad(memory->getValueType(), memory, memory->getAlign(), true);
  };
  if (type == memory->getValueType())
    return load();
  llvm::Value* whole = llvm::PoisonValue::get(type);
  for (unsigned lane = 0; lane < type->getNumElements(); lane += lanes)
    whole = b.CreateInsertVector(type, whole, load(), b.getInt64(lane));
  return whole;
}

} // namespace kawara::emit
