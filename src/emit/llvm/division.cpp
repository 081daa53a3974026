#include "emit/llvm/emitter.h"

#include <llvm/IR/MDBuilder.h>

#include <bit>

namespace kawara::emit {

using scalar::BinaryOp;

namespace {

/// Place of `RuntimeFaults::divided_by_zero`, in words.
constexpr unsigned kDividedByZero = 3;

} // namespace

/// Of a number that is never negative by a positive constant: rounding has one direction.
bool FunctionEmitter::is_natural_division(const scalar::Binary& n) const {
  if ((n.op != BinaryOp::FloorDiv && n.op != BinaryOp::Mod))
    return false;
  const auto* lanes = scalar::as<scalar::Broadcast>(n.rhs);
  const int64_t divisor = scalar::constant_of(lanes != nullptr ? lanes->arg : n.rhs).value_or(0);
  return divisor > 0 && intervals_.of(n.lhs).low.value_or(-1) >= 0;
}

/// Tells the caller where a divisor is zero.
void FunctionEmitter::report_zero(Value* divisor) {
  Value* is_zero = b_.CreateICmpEQ(divisor, llvm::Constant::getNullValue(divisor->getType()));
  if (is_zero->getType()->isVectorTy())
    is_zero = b_.CreateOrReduce(is_zero);
  llvm::BasicBlock* found = new_block("zero");
  llvm::BasicBlock* rest = new_block("nonzero");
  b_.CreateCondBr(is_zero, found, rest, llvm::MDBuilder(context_).createBranchWeights(1, 1 << 20));
  b_.SetInsertPoint(found);
  Value* place = b_.CreateConstGEP1_64(b_.getInt64Ty(), frame_.runtime, kDividedByZero);
  llvm::StoreInst* store = b_.CreateStore(b_.getInt64(1), place);
  store->setAtomic(llvm::AtomicOrdering::Monotonic); // several threads may
  b_.CreateBr(rest);
  b_.SetInsertPoint(rest);
}

/// Rounds towards minus infinity. Divisors of -1 and 0 are kept away from the division instruction:
/// it has no answer for the lowest integer by -1, and x86's none by 0.
llvm::Value* FunctionEmitter::floor_divide(Value* a, Value* b, bool wants_remainder) {
  llvm::Type* type = a->getType();
  const auto number = [&](int64_t n) { return llvm::ConstantInt::getSigned(type, n); };
  const auto* literal = llvm::dyn_cast<llvm::Constant>(b);
  if (literal != nullptr && type->isVectorTy())
    literal = literal->getSplatValue();
  const auto* divisor = llvm::dyn_cast_or_null<llvm::ConstantInt>(literal);
  const int64_t c = divisor != nullptr ? divisor->getSExtValue() : 0;
  if (c > 0 && std::has_single_bit(static_cast<uint64_t>(c)))
    return wants_remainder ? b_.CreateAnd(a, number(c - 1))
                           : b_.CreateAShr(a, number(std::countr_zero(static_cast<uint64_t>(c))));
  if (divisor == nullptr && mask_ != nullptr && type->isVectorTy())
    b = b_.CreateSelect(mask_, b, number(1)); // lanes not wanted may divide by zero
  Value* is_minus_one = b_.getInt1(c == -1);
  Value* safe = c == -1 ? number(1) : b;
  if (c == 0) {
    report_zero(b);
    is_minus_one = b_.CreateICmpEQ(b, number(-1));
    Value* has_none = b_.CreateICmpULE(b_.CreateAdd(b, number(1)), number(1)); // -1 or 0
    safe = b_.CreateSelect(has_none, number(1), b);
  }
  Value* remainder = b_.CreateSRem(a, safe);
  Value* differs = b_.CreateICmpSLT(b_.CreateXor(remainder, safe), number(0));
  Value* off = b_.CreateAnd(b_.CreateICmpNE(remainder, number(0)), differs);
  if (wants_remainder) // a remainder by 1 is 0, as is one by -1
    return b_.CreateSelect(off, b_.CreateAdd(remainder, safe), remainder);
  Value* quotient = b_.CreateSDiv(a, safe);
  Value* floored = b_.CreateSelect(off, b_.CreateSub(quotient, number(1)), quotient);
  return b_.CreateSelect(is_minus_one, b_.CreateNeg(a), floored);
}

} // namespace kawara::emit
