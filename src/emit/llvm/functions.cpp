#include "emit/llvm/emitter.h"
#include "support/check.h"

#include <numbers>

namespace kawara::emit {

using scalar::UnaryOp;

/// A function of the C library on numbers of one type, or lane by lane. `name` is the f64 function;
/// the f32 one has an `f` appended. It is declared without effects, so that calls can move and
/// merge.
llvm::Value* FunctionEmitter::call_function(const char* name, const std::vector<Value*>& args) {
  llvm::Type* type = args.front()->getType();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    Value* result = llvm::PoisonValue::get(vector);
    for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
      std::vector<Value*> of_lane;
      for (Value* arg : args)
        of_lane.push_back(b_.CreateExtractElement(arg, lane));
      result = b_.CreateInsertElement(result, call_function(name, of_lane), lane);
    }
    return result;
  }
  const std::string symbol = std::string(name) + (type->isFloatTy() ? "f" : "");
  auto* signature =
      llvm::FunctionType::get(type, std::vector<llvm::Type*>(args.size(), type), false);
  auto* function =
      llvm::cast<llvm::Function>(parts_.module.getOrInsertFunction(symbol, signature).getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  return b_.CreateCall(function, args);
}

/// silu, gelu and gelu_tanh by the C library, in f64: in f32 their parts cancel or underflow before
/// the whole does. Far below zero all three are -0.
llvm::Value* FunctionEmitter::activation(UnaryOp op, Value* arg) {
  llvm::Type* f64 = b_.getDoubleTy();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(arg->getType()))
    f64 = llvm::FixedVectorType::get(f64, vector->getNumElements());
  const auto number = [&](double value) { return llvm::ConstantFP::get(f64, value); };
  Value* x = b_.CreateFPCast(arg, f64);
  Value* result = nullptr;
  if (op == UnaryOp::Gelu) {
    Value* tail = call_function("erfc", {b_.CreateFMul(x, number(-1 / std::numbers::sqrt2))});
    result = b_.CreateFMul(b_.CreateFMul(number(0.5), x), tail);
  } else {
    Value* z = x;
    if (op == UnaryOp::GeluTanh) {
      Value* cube = b_.CreateFMul(b_.CreateFMul(x, x), x);
      z = b_.CreateFAdd(x, b_.CreateFMul(number(0.044715), cube));
      z = b_.CreateFMul(number(1.5957691216057308), z); // 2 sqrt(2 / pi)
    }
    Value* e = b_.CreateUnaryIntrinsic(llvm::Intrinsic::exp, b_.CreateFNeg(z));
    result = b_.CreateFDiv(x, b_.CreateFAdd(number(1.0), e));
  }
  Value* is_far = b_.CreateFCmpOLT(x, number(-1e3));
  return b_.CreateFPCast(b_.CreateSelect(is_far, number(-0.0), result), arg->getType());
}

} // namespace kawara::emit
