#include "emit/llvm/bf16_stores.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Local.h>

#include <map>
#include <vector>

namespace kawara::emit {
namespace {

/// Lanes that one instruction rounds.
constexpr unsigned kRoundedLanes = 4;

/// The bits of single bf16 values of a function, as i16 that nothing of type bf16 stands behind.
class Bits {
public:
  explicit Bits(llvm::LLVMContext& context) : i16_(llvm::Type::getInt16Ty(context)) {}

  llvm::Value* of(llvm::Value* v) {
    const auto known = known_.find(v);
    if (known != known_.end())
      return known->second;
    llvm::Value* bits = made(v);
    known_[v] = bits;
    return bits;
  }

private:
  llvm::Value* made(llvm::Value* v) {
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(v))
      return llvm::ConstantExpr::getBitCast(constant, i16_);
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(v);
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(v))
      return of_phi(*phi);
    if (instruction == nullptr)
      return v; // an argument; there are none
    llvm::IRBuilder<> b(instruction);
    if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(v);
        cast != nullptr && cast->getSrcTy() == i16_)
      return cast->getOperand(0);
    if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(v)) {
      llvm::Value *then = of(choice->getTrueValue()), *otherwise = of(choice->getFalseValue());
      return b.CreateSelect(choice->getCondition(), then, otherwise);
    }
    if (auto* lane = llvm::dyn_cast<llvm::ExtractElementInst>(v))
      return b.CreateExtractElement(as_integers(b, lane->getVectorOperand()),
                                    lane->getIndexOperand());
    if (auto* rounding = llvm::dyn_cast<llvm::FPTruncInst>(v);
        rounding != nullptr && rounding->getSrcTy()->isFloatTy())
      return of_rounding(b, *rounding);
    // Whatever else there is: an f32 begins with the bits of the bf16 that it was.
    b.SetInsertPoint(instruction->getNextNode());
    llvm::Value* wide =
        b.CreateBitCast(b.CreateFPExt(v, b.getFloatTy()), llvm::Type::getInt32Ty(b.getContext()));
    return b.CreateTrunc(b.CreateLShr(wide, 16), i16_);
  }

  llvm::Value* of_phi(llvm::PHINode& phi) {
    llvm::IRBuilder<> b(&phi);
    llvm::PHINode* bits = b.CreatePHI(i16_, phi.getNumIncomingValues());
    known_[&phi] = bits; // before what comes in: it may come around
    for (unsigned k = 0; k < phi.getNumIncomingValues(); ++k)
      bits->addIncoming(of(phi.getIncomingValue(k)), phi.getIncomingBlock(k));
    return bits;
  }

  llvm::Value* of_rounding(llvm::IRBuilder<>& b, llvm::FPTruncInst& rounding) const {
    auto* f32 = llvm::FixedVectorType::get(b.getFloatTy(), kRoundedLanes);
    auto* bf16 = llvm::FixedVectorType::get(b.getBFloatTy(), kRoundedLanes);
    llvm::Value* lanes =
        b.CreateInsertElement(llvm::PoisonValue::get(f32), rounding.getOperand(0), uint64_t{0});
    return b.CreateExtractElement(as_integers(b, b.CreateFPTrunc(lanes, bf16)), uint64_t{0});
  }

  llvm::Value* as_integers(llvm::IRBuilder<>& b, llvm::Value* vector) const {
    const auto lanes = llvm::cast<llvm::VectorType>(vector->getType())->getElementCount();
    return b.CreateBitCast(vector, llvm::VectorType::get(i16_, lanes));
  }

  llvm::Type* i16_;
  std::map<llvm::Value*, llvm::Value*> known_;
};

bool is_bf16(const llvm::Value* v) { return v->getType()->isBFloatTy(); }

} // namespace

void store_bf16_as_integers(llvm::Module& module) {
  for (llvm::Function& function : module) {
    std::vector<llvm::Instruction*> uses;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(&instruction);
      if ((store != nullptr && is_bf16(store->getValueOperand())) ||
          (cast != nullptr && is_bf16(cast->getOperand(0)) && cast->getType()->isIntegerTy(16)))
        uses.push_back(&instruction);
    }
    Bits bits(module.getContext());
    for (llvm::Instruction* use : uses) {
      llvm::Value* operand = use->getOperand(0); // of a store the value
      llvm::Value* integer = bits.of(operand);
      if (use->getOpcode() == llvm::Instruction::Store)
        use->setOperand(0, integer);
      else
        use->replaceAllUsesWith(integer);
    }
    for (llvm::Instruction* use : uses)
      if (use->getOpcode() != llvm::Instruction::Store)
        llvm::RecursivelyDeleteTriviallyDeadInstructions(use);
  }
}

} // namespace kawara::emit
