#include "emit/llvm/emitter.h"
#include "scalar/match.h"
#include "support/check.h"

#include <llvm/TargetParser/Triple.h>

#include <bit>

namespace kawara::emit {

using program::Numerics;
using scalar::BinaryOp;
using scalar::Elem;
using scalar::ReduceOp;
using scalar::UnaryOp;

// Relaxations

llvm::FastMathFlags FunctionEmitter::plain_flags() const {
  llvm::FastMathFlags flags;
  const Numerics numerics = parts_.kernel.numerics;
  if (numerics != Numerics::Exact)
    flags.setAllowContract(true);
  if (numerics == Numerics::Fast) {
    flags.setApproxFunc();
    flags.setAllowReciprocal();
  }
  return flags;
}

llvm::FastMathFlags FunctionEmitter::update_flags() const {
  llvm::FastMathFlags flags = plain_flags();
  if (parts_.kernel.numerics != Numerics::Exact) {
    flags.setAllowReassoc();
    flags.setNoSignedZeros();
  }
  return flags;
}

// Nodes

llvm::Value* FunctionEmitter::emit(const Expr& e) {
  const auto found = known_.find(&e.node());
  if (found != known_.end())
    return found->second.value;
  Value* value = emit_node(e);
  known_.emplace(&e.node(), Known{e, value});
  made_.push_back(&e.node());
  return value;
}

/// What was made from `from` on is known in a branch only.
void FunctionEmitter::forget(size_t from) {
  for (; made_.size() > from; made_.pop_back())
    known_.erase(made_.back());
}

llvm::Value* FunctionEmitter::emit_node(const Expr& e) {
  const scalar::Type type = e.type();
  return scalar::match(
      e, [&](const scalar::IntLit& n) -> Value* { return constant(n, type.elem); },
      [&](const scalar::FloatLit& n) -> Value* { return constant(n, type.elem); },
      [&](const scalar::Iter&) -> Value* { KAWARA_CHECK(false, "iterator in a kernel"); },
      [&](const scalar::Param& n) -> Value* { return frame_.params.at(n.index); },
      [&](const scalar::Var& n) -> Value* { return variable(n.id); },
      [&](const scalar::Load& n) -> Value* {
        Value* elements = load_elements(n.tensor, n.index, type.lanes);
        if (mask_ == nullptr)
          safe_loads_.push_back(e);
        return convert(elements, parts_.kernel.buffers.at(n.tensor).elem, type.elem);
      },
      [&](const scalar::Unary& n) -> Value* { return emit_unary(n); },
      [&](const scalar::Binary& n) -> Value* { return emit_binary(e, n); },
      [&](const scalar::Select& n) -> Value* { return emit_select(n); },
      [&](const scalar::Cast& n) -> Value* {
        return convert(emit(n.arg), n.arg.type().elem, type.elem);
      },
      [&](const scalar::Ramp& n) -> Value* {
        std::vector<llvm::Constant*> steps;
        auto* element = llvm::cast<llvm::IntegerType>(value_type(context_, {type.elem, 1}));
        for (unsigned lane = 0; lane < type.lanes; ++lane)
          steps.push_back(llvm::ConstantInt::getSigned(element, n.stride * lane));
        return b_.CreateAdd(b_.CreateVectorSplat(type.lanes, emit(n.base)),
                            llvm::ConstantVector::get(steps));
      },
      [&](const scalar::Runs& n) -> Value* {
        std::vector<llvm::Constant*> steps;
        auto* element = llvm::cast<llvm::IntegerType>(value_type(context_, {type.elem, 1}));
        for (int64_t lane = 0; lane < type.lanes; ++lane)
          steps.push_back(
              llvm::ConstantInt::getSigned(element, lane / n.length * n.stride + lane % n.length));
        return b_.CreateAdd(b_.CreateVectorSplat(type.lanes, emit(n.base)),
                            llvm::ConstantVector::get(steps));
      },
      [&](const scalar::Broadcast& n) -> Value* {
        if (Value* lanes = splat_of_neighbour(n.arg, type.lanes))
          return lanes;
        return repeated(emit(n.arg), type.lanes);
      },
      [&](const scalar::Reduce& n) -> Value* { return emit_reduce(n, e.type().lanes); },
      [&](const scalar::Scan& n) -> Value* { return emit_scan(n, type); },
      [&](const scalar::Fma& n) -> Value* {
        Value* a = constants_.operand(emit(n.a));
        Value* b = constants_.operand(emit(n.b));
        return b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()},
                                  {a, b, constants_.addend(emit(n.c))});
      },
      [&](const scalar::Instruction& n) -> Value* { return emit_instruction(n, type); },
      [&](const scalar::Within& n) -> Value* { return emit_within(e, n); });
}

llvm::Value* FunctionEmitter::variable(uint32_t id) {
  const Binding& binding = variables_.at(id);
  if (binding.slot != nullptr) {
    Value* value = b_.CreateLoad(binding.slot->getAllocatedType(), binding.slot);
    if (binding.nans == nullptr)
      return value;
    return put_nans(b_.CreateLoad(binding.nans->getAllocatedType(), binding.nans), value);
  }
  KAWARA_CHECK(binding.value != nullptr,
               "variable " + parts_.kernel.variables.at(id).name + " is read before it is defined");
  return binding.value;
}

/// One lane of an integer vector as a scalar; ramps need no vector for it.
llvm::Value* FunctionEmitter::emit_lane(const Expr& e, unsigned lane) {
  if (e.type().lanes == 1)
    return emit(e);
  if (const auto* n = scalar::as<scalar::Broadcast>(e))
    return emit(n->arg);
  if (const auto* n = scalar::as<scalar::Ramp>(e)) {
    Value* base = emit(n->base);
    return b_.CreateAdd(base, llvm::ConstantInt::getSigned(base->getType(), n->stride * lane));
  }
  const auto* n = scalar::as<scalar::Binary>(e);
  if (n != nullptr && (n->op == BinaryOp::Add || n->op == BinaryOp::Sub || n->op == BinaryOp::Mul))
    return integer_binary(n->op, n->lhs.type().elem, emit_lane(n->lhs, lane),
                          emit_lane(n->rhs, lane));
  if (Value* read = emit_read_lane(e, lane))
    return read;
  return b_.CreateExtractElement(emit(e), lane);
}

/// 1 / sqrt(x). Where approximations are allowed, LLVM refines an estimate on x86, and makes NaN of
/// zeros and infinities on the way.
llvm::Value* FunctionEmitter::reciprocal_root(Value* x) {
  const auto number = [&](double value) { return llvm::ConstantFP::get(x->getType(), value); };
  Value* root = b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  Value* result = b_.CreateFDiv(number(1.0), root);
  if (!b_.getFastMathFlags().approxFunc() || !llvm::Triple(parts_.module.getTargetTriple()).isX86())
    return result;
  Value* infinity = llvm::ConstantFP::getInfinity(x->getType());
  Value* of_zero = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, infinity, x);
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, infinity), number(0.0), result);
  return b_.CreateSelect(b_.CreateFCmpOEQ(x, number(0.0)), of_zero, result);
}

llvm::Value* FunctionEmitter::emit_unary(const scalar::Unary& n) {
  Value* x = emit(n.arg);
  const bool is_float = scalar::is_float(n.arg.type().elem);
  const llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  b_.setFastMathFlags(plain_flags());
  const auto intrinsic = [&](llvm::Intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, x); };
  const auto one = [&] { return llvm::ConstantFP::get(x->getType(), 1.0); };
  switch (n.op) {
  case UnaryOp::Neg:
    return is_float ? b_.CreateFNeg(x) : b_.CreateNeg(x);
  case UnaryOp::Not:
    return b_.CreateNot(x);
  case UnaryOp::Abs:
    if (n.arg.type().elem == Elem::U64)
      return x;
    return is_float ? intrinsic(llvm::Intrinsic::fabs)
                    : b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse());
  case UnaryOp::Exp:
    return intrinsic(llvm::Intrinsic::exp);
  case UnaryOp::Log:
    return intrinsic(llvm::Intrinsic::log);
  case UnaryOp::Exp2:
    return intrinsic(llvm::Intrinsic::exp2);
  case UnaryOp::Log2:
    return intrinsic(llvm::Intrinsic::log2);
  case UnaryOp::Sqrt:
    return intrinsic(llvm::Intrinsic::sqrt);
  case UnaryOp::Rsqrt:
    return reciprocal_root(x);
  case UnaryOp::Tanh:
    return call_function("tanh", {x});
  case UnaryOp::Erf:
    return call_function("erf", {x});
  case UnaryOp::Sigmoid: {
    Value* e = b_.CreateUnaryIntrinsic(llvm::Intrinsic::exp, b_.CreateFNeg(x));
    return b_.CreateFDiv(one(), b_.CreateFAdd(one(), e));
  }
  case UnaryOp::Sin:
    return intrinsic(llvm::Intrinsic::sin);
  case UnaryOp::Cos:
    return intrinsic(llvm::Intrinsic::cos);
  case UnaryOp::Floor:
    return intrinsic(llvm::Intrinsic::floor);
  case UnaryOp::Ceil:
    return intrinsic(llvm::Intrinsic::ceil);
  case UnaryOp::Round:
    return intrinsic(llvm::Intrinsic::roundeven);
  case UnaryOp::Silu:
  case UnaryOp::Gelu:
  case UnaryOp::GeluTanh:
    return activation(n.op, x);
  case UnaryOp::Bits:
  case UnaryOp::FromBits: {
    const Elem elem = scalar::unary(n.op, n.arg).type().elem;
    return b_.CreateBitCast(x, value_type(context_, {elem, n.arg.type().lanes}));
  }
  }
  KAWARA_CHECK(false, "unknown function");
}

llvm::Value* FunctionEmitter::emit_binary(const Expr& e, const scalar::Binary& n) {
  if (Value* inserted = shifted_onto_number(n))
    return inserted;
  if (Value* extreme = extreme_of_many(e))
    return extreme;
  // Operands first: they are no part of the update that `e` may be.
  Value* a = emit(n.lhs);
  Value* b = emit(n.rhs);
  if (is_natural_division(n))
    return n.op == BinaryOp::Mod ? b_.CreateURem(a, b) : b_.CreateUDiv(a, b);
  if (!scalar::is_float(n.lhs.type().elem))
    return integer_binary(n.op, n.lhs.type().elem, a, b);
  const llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  // Vector code has its shape already; reassociating it would only break chains of fma.
  const bool is_update = update_ == &e.node() && e.type().lanes == 1;
  b_.setFastMathFlags(is_update ? update_flags() : plain_flags());
  return float_binary(n.op, constants_.operand(a), constants_.operand(b));
}

llvm::Value* FunctionEmitter::float_binary(BinaryOp op, Value* a, Value* b) {
  switch (op) {
  case BinaryOp::Add:
    return b_.CreateFAdd(a, b);
  case BinaryOp::Sub:
    return b_.CreateFSub(a, b);
  case BinaryOp::Mul:
    return b_.CreateFMul(a, b);
  case BinaryOp::Div:
    return b_.CreateFDiv(a, b);
  case BinaryOp::Min:
  case BinaryOp::Max:
  case BinaryOp::NanMin:
  case BinaryOp::NanMax:
    return extreme(op, a, b);
  case BinaryOp::Pow:
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::pow, a, b);
  case BinaryOp::Atan2:
    return call_function("atan2", {a, b});
  case BinaryOp::CopySign:
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, a, b);
  case BinaryOp::Lt:
    return b_.CreateFCmpOLT(a, b);
  case BinaryOp::Le:
    return b_.CreateFCmpOLE(a, b);
  case BinaryOp::Gt:
    return b_.CreateFCmpOGT(a, b);
  case BinaryOp::Ge:
    return b_.CreateFCmpOGE(a, b);
  case BinaryOp::Eq:
    return b_.CreateFCmpOEQ(a, b);
  case BinaryOp::Ne:
    return b_.CreateFCmpUNE(a, b);
  default:
    KAWARA_CHECK(false, "float operands of " + std::string(scalar::name_of(op)));
  }
}

/// What of u64 differs from i64 of the same bits; null for the rest.
llvm::Value* FunctionEmitter::natural_binary(BinaryOp op, Value* a, Value* b) {
  switch (op) {
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod: {
    Value* one = llvm::ConstantInt::get(b->getType(), 1);
    if (mask_ != nullptr && b->getType()->isVectorTy())
      b = b_.CreateSelect(mask_, b, one); // lanes not wanted may divide by zero
    Value* zero = llvm::Constant::getNullValue(b->getType());
    if (!llvm::isa<llvm::Constant>(b))
      report_zero(b);
    Value* safe = b_.CreateSelect(b_.CreateICmpEQ(b, zero), one, b);
    return op == BinaryOp::Mod ? b_.CreateURem(a, safe) : b_.CreateUDiv(a, safe);
  }
  case BinaryOp::Min:
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, b);
  case BinaryOp::Max:
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, a, b);
  case BinaryOp::Lt:
    return b_.CreateICmpULT(a, b);
  case BinaryOp::Le:
    return b_.CreateICmpULE(a, b);
  case BinaryOp::Gt:
    return b_.CreateICmpUGT(a, b);
  case BinaryOp::Ge:
    return b_.CreateICmpUGE(a, b);
  default:
    return nullptr;
  }
}

/// Null for operators that see more than bits.
llvm::Value* FunctionEmitter::bits_binary(BinaryOp op, Elem elem, Value* a, Value* b) {
  // A count counts modulo the number of bits: larger ones have no answer in LLVM.
  const auto count = [&] {
    const auto bits = static_cast<uint64_t>(scalar::bytes_of(elem)) * 8;
    return b_.CreateAnd(b, llvm::ConstantInt::get(b->getType(), bits - 1));
  };
  switch (op) {
  case BinaryOp::BitAnd:
    return b_.CreateAnd(a, b);
  case BinaryOp::BitOr:
    return b_.CreateOr(a, b);
  case BinaryOp::BitXor:
    return b_.CreateXor(a, b);
  case BinaryOp::Shl:
    return b_.CreateShl(a, count());
  case BinaryOp::Shr:
    return elem == Elem::U64 ? b_.CreateLShr(a, count()) : b_.CreateAShr(a, count());
  default:
    return nullptr;
  }
}

llvm::Value* FunctionEmitter::integer_binary(BinaryOp op, Elem elem, Value* a, Value* b) {
  if (Value* value = bits_binary(op, elem, a, b))
    return value;
  if (Value* value = elem == Elem::U64 ? natural_binary(op, a, b) : nullptr)
    return value;
  switch (op) {
  case BinaryOp::Add:
    return b_.CreateAdd(a, b);
  case BinaryOp::Sub:
    return b_.CreateSub(a, b);
  case BinaryOp::Mul:
    return b_.CreateMul(a, b);
  case BinaryOp::FloorDiv:
    return floor_divide(a, b, false);
  case BinaryOp::Mod:
    return floor_divide(a, b, true);
  case BinaryOp::Min:
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  case BinaryOp::Max:
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
  case BinaryOp::Lt:
    return b_.CreateICmpSLT(a, b);
  case BinaryOp::Le:
    return b_.CreateICmpSLE(a, b);
  case BinaryOp::Gt:
    return b_.CreateICmpSGT(a, b);
  case BinaryOp::Ge:
    return b_.CreateICmpSGE(a, b);
  case BinaryOp::Eq:
    return b_.CreateICmpEQ(a, b);
  case BinaryOp::Ne:
    return b_.CreateICmpNE(a, b);
  case BinaryOp::And:
    return b_.CreateAnd(a, b);
  case BinaryOp::Or:
    return b_.CreateOr(a, b);
  default:
    KAWARA_CHECK(false, "integer operands of " + std::string(scalar::name_of(op)));
  }
}

// Selection

bool FunctionEmitter::is_speculatable(const Expr& e) const {
  std::unordered_set<const scalar::Node*> seen;
  return is_speculatable(e, seen);
}

/// What was computed already costs and risks nothing; nodes that are shared are looked at once.
bool FunctionEmitter::is_speculatable(const Expr& e,
                                      std::unordered_set<const scalar::Node*>& seen) const {
  if (known_.contains(&e.node()) || !seen.insert(&e.node()).second)
    return true;
  if (scalar::as<scalar::Within>(e) != nullptr)
    return false;
  if (const auto* n = scalar::as<scalar::Binary>(e))
    if ((n->op == BinaryOp::FloorDiv || n->op == BinaryOp::Mod) && !scalar::constant_of(n->rhs))
      return false;
  if (scalar::as<scalar::Load>(e) != nullptr &&
      std::none_of(safe_loads_.begin(), safe_loads_.end(),
                   [&](const Expr& known) { return scalar::equal(known, e); }))
    return false;
  const std::vector<Expr> parts = scalar::children(e);
  return std::all_of(parts.begin(), parts.end(),
                     [&](const Expr& part) { return is_speculatable(part, seen); });
}

/// select(x > limit, x, ...) after all that was made of x: it need not wait for that in registers.
void FunctionEmitter::load_limited(const scalar::Select& n) {
  const auto* chosen = scalar::as<scalar::Var>(n.then);
  const auto* compared = scalar::as<scalar::Binary>(n.cond);
  if (chosen == nullptr || compared == nullptr || !scalar::equal(compared->lhs, n.then) ||
      known_.contains(&n.then.node()))
    return;
  const Binding& binding = variables_.at(chosen->id);
  if (binding.slot == nullptr && binding.value != nullptr)
    bind(chosen->id, constants_.again(binding.value));
}

llvm::Value* FunctionEmitter::emit_select(const scalar::Select& n) {
  const bool is_vector_choice = n.cond.type().lanes > 1;
  load_limited(n);
  Value* cond = emit(n.cond);
  if (is_speculatable(n.then) && is_speculatable(n.otherwise)) {
    Value* a = emit(n.then);
    Value* b = emit(n.otherwise);
    return b_.CreateSelect(cond, a, b);
  }
  return is_vector_choice ? masked_select(n) : branch_select(n);
}

/// Both sides, each with loads only in the lanes that want it.
llvm::Value* FunctionEmitter::masked_select(const scalar::Select& n) {
  Value* cond = emit(n.cond);
  Value* outer = mask_;
  const auto side = [&](const Expr& e, Value* lanes) {
    const size_t made = made_.size();
    mask_ = outer != nullptr && outer->getType() == lanes->getType() ? b_.CreateAnd(outer, lanes)
                                                                     : lanes;
    Value* value = emit(e);
    mask_ = outer;
    forget(made);
    return value;
  };
  Value* a = side(n.then, cond);
  Value* b = side(n.otherwise, b_.CreateNot(cond));
  return b_.CreateSelect(cond, a, b);
}

llvm::Value* FunctionEmitter::branch_select(const scalar::Select& n) {
  Value* cond = emit(n.cond);
  llvm::BasicBlock* then = new_block("then");
  llvm::BasicBlock* otherwise = new_block("else");
  llvm::BasicBlock* join = new_block("join");
  b_.CreateCondBr(cond, then, otherwise);
  const auto side = [&](const Expr& e, llvm::BasicBlock* begin) {
    const size_t made = made_.size(), loads = safe_loads_.size();
    b_.SetInsertPoint(begin);
    Value* value = emit(e);
    forget(made);
    safe_loads_.resize(loads);
    llvm::BasicBlock* end = b_.GetInsertBlock();
    b_.CreateBr(join);
    return std::pair(value, end);
  };
  const auto a = side(n.then, then);
  const auto b = side(n.otherwise, otherwise);
  b_.SetInsertPoint(join);
  llvm::PHINode* phi = b_.CreatePHI(a.first->getType(), 2);
  phi->addIncoming(a.first, a.second);
  phi->addIncoming(b.first, b.second);
  return phi;
}

} // namespace kawara::emit
