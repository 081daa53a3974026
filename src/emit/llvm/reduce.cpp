#include "emit/llvm/emitter.h"
#include "scalar/reduce_op.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace kawara::emit {

using scalar::Elem;
using scalar::ReduceOp;

/// `old op value`, the combining operation of an update.
llvm::Value* FunctionEmitter::combine(ReduceOp op, Elem elem, Value* old, Value* value) {
  const scalar::BinaryOp binary = scalar::operation_of(op);
  if (!scalar::is_float(elem))
    return integer_binary(binary, elem, old, value);
  const llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  b_.setFastMathFlags(value->getType()->isVectorTy() ? plain_flags() : update_flags());
  return float_binary(binary, old, value);
}

/// One half of the lanes with the other, until few enough are left: as many operations as lanes one
/// after the other, but without waiting for each other.
llvm::Value* FunctionEmitter::folded(ReduceOp op, Elem elem, Value* value, uint16_t lanes) {
  unsigned width = llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
  for (; width > lanes; width /= 2) {
    const int half = static_cast<int>(width / 2);
    std::vector<int> low(static_cast<size_t>(half)), high(low.size());
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), half);
    value =
        combine(op, elem, b_.CreateShuffleVector(value, low), b_.CreateShuffleVector(value, high));
  }
  return value;
}

llvm::Value* FunctionEmitter::emit_reduce(const scalar::Reduce& n, uint16_t lanes) {
  const Elem elem = n.arg.type().elem;
  Value* v = emit(n.arg);
  if (lanes > 1)
    return folded(n.op, elem, v, lanes);
  if (!scalar::is_float(elem)) {
    switch (n.op) {
    case ReduceOp::Sum:
      return b_.CreateAddReduce(v);
    case ReduceOp::Prod:
      return b_.CreateMulReduce(v);
    case ReduceOp::Max:
      return b_.CreateIntMaxReduce(v, true);
    default:
      return b_.CreateIntMinReduce(v, true);
    }
  }
  const llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  llvm::FastMathFlags flags = update_flags();
  if (n.op == ReduceOp::Max || n.op == ReduceOp::Min)
    flags.setNoSignedZeros(); // either of two zeros will do
  b_.setFastMathFlags(flags);
  llvm::Type* element = value_type(context_, {elem, 1});
  switch (n.op) {
  case ReduceOp::Sum: // -0.0 is the neutral element of + in every rounding
    return b_.CreateFAddReduce(llvm::ConstantFP::get(element, -0.0), v);
  case ReduceOp::Prod:
    return b_.CreateFMulReduce(llvm::ConstantFP::get(element, 1.0), v);
  case ReduceOp::Max:
    return b_.CreateFPMaximumReduce(v);
  default:
    return b_.CreateFPMinimumReduce(v);
  }
}

/// Each lane takes the one before it, then the one two before, four before, ...: as many steps as
/// the number of lanes has digits. Only the last step waits for the lanes before.
llvm::Value* FunctionEmitter::emit_scan(const scalar::Scan& n, scalar::Type type) {
  const int lanes = type.lanes;
  Value* neutral = emit(scalar::identity_of(n.op, type));
  Value* v = emit(n.arg);
  std::vector<int> places(static_cast<size_t>(lanes));
  for (int distance = 1; distance < lanes; distance *= 2) {
    for (int lane = 0; lane < lanes; ++lane) // from the second operand on: the neutral element
      places[static_cast<size_t>(lane)] = lane < distance ? lanes : lane - distance;
    v = combine(n.op, type.elem, b_.CreateShuffleVector(v, neutral, places), v);
  }
  std::fill(places.begin(), places.end(), lanes - 1);
  return combine(n.op, type.elem, b_.CreateShuffleVector(emit(n.before), places), v);
}

} // namespace kawara::emit
