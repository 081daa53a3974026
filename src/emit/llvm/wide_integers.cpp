#include "emit/llvm/wide_integers.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include <numeric>
#include <vector>

namespace kawara::emit {
namespace {

/// Integers of at most this many bits are legal everywhere, in one register or two.
constexpr unsigned kLegalBits = 128;

/// The part of a vector that an extracted integer is, as the vector that it is used as.
llvm::Value* lanes_of(llvm::ExtractElementInst& part, llvm::BitCastInst& use) {
  const auto* index = llvm::dyn_cast<llvm::ConstantInt>(part.getIndexOperand());
  auto* wanted = llvm::dyn_cast<llvm::FixedVectorType>(use.getType());
  if (index == nullptr || wanted == nullptr)
    return nullptr;
  const unsigned lanes = wanted->getNumElements();
  const unsigned parts =
      llvm::cast<llvm::FixedVectorType>(part.getVectorOperandType())->getNumElements();
  llvm::IRBuilder<> builder(&use);
  llvm::Value* whole = builder.CreateBitCast(
      part.getVectorOperand(), llvm::FixedVectorType::get(wanted->getElementType(), lanes * parts));
  std::vector<int> taken(lanes);
  std::iota(taken.begin(), taken.end(), static_cast<int>(index->getZExtValue() * lanes));
  return builder.CreateShuffleVector(whole, taken);
}

} // namespace

void take_vectors_apart_by_lanes(llvm::Module& module) {
  std::vector<llvm::ExtractElementInst*> parts;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (auto* part = llvm::dyn_cast<llvm::ExtractElementInst>(&instruction);
          part != nullptr && part->getType()->isIntegerTy() &&
          part->getType()->getIntegerBitWidth() > kLegalBits)
        parts.push_back(part);
  for (llvm::ExtractElementInst* part : parts) {
    const std::vector<llvm::User*> users(part->user_begin(), part->user_end());
    for (llvm::User* user : users) {
      auto* use = llvm::dyn_cast<llvm::BitCastInst>(user);
      if (llvm::Value* lanes = use != nullptr ? lanes_of(*part, *use) : nullptr) {
        use->replaceAllUsesWith(lanes);
        use->eraseFromParent();
      }
    }
    if (part->use_empty())
      part->eraseFromParent();
  }
}

} // namespace kawara::emit
