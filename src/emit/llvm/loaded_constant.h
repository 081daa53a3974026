#pragma once

// For emit/llvm only: LLVM types.

#include <llvm/IR/IRBuilder.h>

#include <utility>

namespace kawara::emit {

/// Constants of vector arithmetic as loads, where these take no place among the arithmetic
/// (AArch64). Left to LLVM, a constant stays in a register, is copied for whatever overwrites it,
/// and is made again (`dup`) where registers are short: instructions that the pipes of arithmetic
/// have to do. Anything but such a constant comes back as it is. So do elements that are needed
/// once more after arithmetic that fills the registers.
class LoadedConstants {
public:
  explicit LoadedConstants(llvm::IRBuilder<>& b) : b_(b) {}

  /// So many have registers of their own in a loop, and need no load in each iteration.
  static constexpr size_t kFew = 4;
  /// Says whether the loop under way has few: those that are only read stay as they are. What was
  /// said before.
  bool keep(bool is_kept) { return std::exchange(is_kept_, is_kept); }

  /// What a vector fma adds to its product, and overwrites: a load for each register.
  llvm::Value* addend(llvm::Value*);
  /// What is only read, for vectors that take several registers: one load for all of them.
  llvm::Value* operand(llvm::Value*);

  /// value * 2^shift + low, `low` being less than 2^shift and the same in all lanes: `value`
  /// shifted into registers that have `low` in them already, an instruction of AArch64. Null where
  /// that is not so.
  llvm::Value* shifted_onto(llvm::Value* low, llvm::Value* value, uint64_t factor);

  /// The same elements, loaded once more: what is a load of many registers in this block, since
  /// which nothing was written. Else itself.
  llvm::Value* again(llvm::Value*);

private:
  llvm::Value* load(llvm::Constant* element, llvm::FixedVectorType*);
  llvm::Value* zero();

  llvm::IRBuilder<>& b_;
  llvm::BasicBlock* block_ = nullptr; ///< where `zero_` was loaded
  llvm::Value* zero_ = nullptr;
  bool is_kept_ = false;
};

} // namespace kawara::emit
