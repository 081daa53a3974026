#include "emit/llvm/emitter.h"
#include "scalar/float8.h"
#include "scalar/half.h"
#include "support/check.h"

#include <llvm/TargetParser/Triple.h>

#include <bit>
#include <cmath>

namespace kawara::emit {

using scalar::Elem;

namespace {

unsigned bits_of(Elem elem) { return static_cast<unsigned>(scalar::bytes_of(elem)) * 8; }

/// `like` with another element type: the same number of lanes.
llvm::Type* with_element(llvm::Type* like, llvm::Type* element) {
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like))
    return llvm::FixedVectorType::get(element, vector->getNumElements());
  return element;
}

llvm::Type* element_type(llvm::LLVMContext& context, Elem elem) {
  switch (elem) {
  case Elem::F64:
    return llvm::Type::getDoubleTy(context);
  case Elem::F32:
    return llvm::Type::getFloatTy(context);
  case Elem::F16:
    return llvm::Type::getHalfTy(context);
  case Elem::Bool:
    return llvm::Type::getInt1Ty(context);
  default:
    return llvm::IntegerType::get(context, bits_of(elem));
  }
}

llvm::Type* with_lanes(llvm::Type* element, uint16_t lanes) {
  return lanes > 1 ? llvm::FixedVectorType::get(element, lanes) : element;
}

bool has_no_sign(Elem elem) { return scalar::is_unsigned(elem) || elem == Elem::Bool; }

} // namespace

llvm::Type* value_type(llvm::LLVMContext& context, scalar::Type type) {
  return with_lanes(element_type(context, type.elem), type.lanes);
}

llvm::Type* memory_type(llvm::LLVMContext& context, scalar::Type type) {
  const Elem elem = type.elem == Elem::Bool ? Elem::U8 : type.elem;
  return with_lanes(element_type(context, elem), type.lanes);
}

llvm::Value* FunctionEmitter::constant(const scalar::IntLit& lit, Elem elem) {
  return llvm::ConstantInt::get(element_type(context_, elem), static_cast<uint64_t>(lit.value),
                                !has_no_sign(elem));
}

llvm::Value* FunctionEmitter::constant(const scalar::FloatLit& lit, Elem elem) {
  if (elem == Elem::BF16)
    return b_.getInt16(scalar::bf16_bits(lit.value));
  if (scalar::is_float8(elem))
    return b_.getInt8(scalar::float8_bits(elem, lit.value));
  return llvm::ConstantFP::get(element_type(context_, elem), lit.value);
}

/// Nearest even: add just under half of the dropped part, one more when the kept part is odd.
llvm::Value* FunctionEmitter::bf16_from_f32(Value* v) {
  llvm::Type* i32 = with_element(v->getType(), b_.getInt32Ty());
  llvm::Type* i16 = with_element(v->getType(), b_.getInt16Ty());
  if (parts_.rounds_to_bf16)
    return b_.CreateBitCast(b_.CreateFPTrunc(v, with_element(v->getType(), b_.getBFloatTy())), i16);
  const auto number = [&](uint64_t n) { return llvm::ConstantInt::get(i32, n); };
  Value* bits = b_.CreateBitCast(v, i32);
  Value* high = b_.CreateLShr(bits, number(16));
  Value* odd = b_.CreateAnd(high, number(1));
  Value* rounded = b_.CreateAdd(b_.CreateAdd(bits, number(0x7fff)), odd);
  Value* nan = b_.CreateOr(b_.CreateAnd(high, number(0x8000)), number(0x7fc0));
  Value* is_nan = b_.CreateFCmpUNO(v, v);
  Value* result = b_.CreateSelect(is_nan, nan, b_.CreateLShr(rounded, number(16)));
  return b_.CreateTrunc(result, i16);
}

/// The code's exponent and fraction in their places in an f32 are a value 2^(bias - 127) times too
/// small, also where the code is subnormal.
llvm::Value* FunctionEmitter::f32_from_float8(Value* v, Elem elem) {
  const scalar::Float8Format& format = scalar::float8_format(elem);
  llvm::Type* i32 = with_element(v->getType(), b_.getInt32Ty());
  llvm::Type* f32 = with_element(v->getType(), b_.getFloatTy());
  const auto number = [&](uint64_t n) { return llvm::ConstantInt::get(i32, n); };
  const llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  b_.setFastMathFlags({});
  Value* wide = b_.CreateZExt(v, i32);
  Value* code = b_.CreateAnd(wide, number(0x7f));
  const unsigned shift = 23 - static_cast<unsigned>(format.fraction_bits);
  Value* small = b_.CreateBitCast(b_.CreateShl(code, shift), f32);
  Value* finite =
      b_.CreateFMul(small, llvm::ConstantFP::get(f32, std::ldexp(1.0, 127 - format.bias)));
  Value* bits = b_.CreateBitCast(finite, i32);
  Value* special = number(0x7fc00000);
  if (format.has_infinity)
    special = b_.CreateSelect(b_.CreateICmpEQ(code, number(format.first_special)),
                              number(0x7f800000), special);
  Value* is_finite = b_.CreateICmpULT(code, number(format.first_special));
  Value* sign = b_.CreateShl(b_.CreateAnd(wide, number(0x80)), 24);
  return b_.CreateBitCast(b_.CreateOr(b_.CreateSelect(is_finite, bits, special), sign), f32);
}

/// Nearest even. From the least normal number on as for bf16; below it, adding a number whose last
/// bit is worth the format's last bit does the rounding.
llvm::Value* FunctionEmitter::float8_from_f32(Value* v, Elem elem) {
  const scalar::Float8Format& format = scalar::float8_format(elem);
  llvm::Type* i32 = with_element(v->getType(), b_.getInt32Ty());
  const auto number = [&](uint64_t n) { return llvm::ConstantInt::get(i32, n); };
  const auto real = [&](double x) { return llvm::ConstantFP::get(v->getType(), x); };
  const llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  b_.setFastMathFlags({});
  const unsigned dropped = 23 - static_cast<unsigned>(format.fraction_bits);
  const auto least = static_cast<uint64_t>(127 - format.bias) << format.fraction_bits;
  const int lowest = 1 - format.bias;
  const double magic = std::ldexp(1.0, lowest + static_cast<int>(dropped));
  Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v);
  size = b_.CreateSelect(b_.CreateFCmpOGT(size, real(format.largest)), real(format.largest), size);
  Value* bits = b_.CreateBitCast(size, i32);
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, dropped), number(1));
  Value* rounded = b_.CreateAdd(b_.CreateAdd(bits, number((1u << (dropped - 1)) - 1)), odd);
  Value* normal = b_.CreateSub(b_.CreateLShr(rounded, dropped), number(least));
  Value* steps = b_.CreateBitCast(b_.CreateFAdd(size, real(magic)), i32);
  Value* subnormal =
      b_.CreateSub(steps, number(std::bit_cast<uint32_t>(static_cast<float>(magic))));
  Value* is_small = b_.CreateFCmpOLT(size, real(std::ldexp(1.0, lowest)));
  Value* code = b_.CreateSelect(is_small, subnormal, normal);
  Value* sign = b_.CreateAnd(b_.CreateLShr(b_.CreateBitCast(v, i32), 24), number(0x80));
  Value* result = b_.CreateSelect(b_.CreateFCmpUNO(v, v), number(0x7f), b_.CreateOr(code, sign));
  return b_.CreateTrunc(result, with_element(v->getType(), b_.getInt8Ty()));
}

/// An inexact result gets an odd last bit, so that a second rounding to fewer bits is the same as
/// one rounding of the f64.
llvm::Value* FunctionEmitter::f32_rounded_to_odd(Value* v) {
  llvm::Type* f32 = with_element(v->getType(), b_.getFloatTy());
  llvm::Type* i32 = with_element(v->getType(), b_.getInt32Ty());
  const auto number = [&](uint64_t n) { return llvm::ConstantInt::get(i32, n); };
  Value* narrow = b_.CreateFPTrunc(v, f32);
  Value* back = b_.CreateFPExt(narrow, v->getType());
  Value* is_inexact = b_.CreateFCmpONE(back, v);
  Value* grew = b_.CreateFCmpOGT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                 b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v));
  Value* bits = b_.CreateBitCast(narrow, i32);
  Value* cut = b_.CreateSelect(grew, b_.CreateSub(bits, number(1)), bits);
  Value* odd = b_.CreateSelect(is_inexact, b_.CreateOr(cut, number(1)), bits);
  return b_.CreateBitCast(odd, f32);
}

/// Floats as the nearest integers of a type, without their fractions; 0 for NaN. For vectors of
/// x86, LLVM would convert lane by lane.
llvm::Value* FunctionEmitter::saturated(Value* v, llvm::Type* to, bool is_unsigned) {
  const bool is_lane_by_lane =
      v->getType()->isVectorTy() && llvm::Triple(parts_.module.getTargetTriple()).isX86();
  if (is_unsigned || !is_lane_by_lane || v->getType()->getScalarType()->isHalfTy()) {
    const auto saturating = is_unsigned ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
    return b_.CreateIntrinsic(saturating, {to, v->getType()}, {v});
  }
  const unsigned bits = to->getScalarSizeInBits();
  // The highest integer is no float; the next number is a power of two.
  const double end = std::ldexp(1.0, static_cast<int>(bits) - 1);
  const auto number = [&](double value) { return llvm::ConstantFP::get(v->getType(), value); };
  const auto integer = [&](const llvm::APInt& value) { return llvm::ConstantInt::get(to, value); };
  Value* is_above = b_.CreateFCmpOGE(v, number(end));
  Value* is_inside = b_.CreateAnd(b_.CreateFCmpOGE(v, number(-end)), b_.CreateNot(is_above));
  Value* cut = b_.CreateFPToSI(b_.CreateSelect(is_inside, v, number(0)), to);
  Value* low = b_.CreateSelect(b_.CreateFCmpOLT(v, number(-end)),
                               integer(llvm::APInt::getSignedMinValue(bits)), cut);
  return b_.CreateSelect(is_above, integer(llvm::APInt::getSignedMaxValue(bits)), low);
}

llvm::Value* FunctionEmitter::convert(Value* v, Elem from, Elem to) {
  if (from == to)
    return v;
  const auto typed = [&](Elem elem) {
    return with_element(v->getType(), element_type(context_, elem));
  };
  if (from == Elem::BF16) {
    Value* wide = b_.CreateShl(b_.CreateZExt(v, typed(Elem::I32)), 16);
    return convert(b_.CreateBitCast(wide, typed(Elem::F32)), Elem::F32, to);
  }
  if (scalar::is_float8(from))
    return convert(f32_from_float8(v, from), Elem::F32, to);
  if (to == Elem::BF16) {
    if (from == Elem::F32)
      return bf16_from_f32(v);
    if (from == Elem::F64)
      return bf16_from_f32(f32_rounded_to_odd(v));
    const Elem middle = from == Elem::F16 ? Elem::F32 : Elem::F64;
    return convert(convert(v, from, middle), middle, to);
  }
  if (scalar::is_float8(to)) {
    if (from == Elem::F32)
      return float8_from_f32(v, to);
    if (from == Elem::F64)
      return float8_from_f32(f32_rounded_to_odd(v), to);
    const Elem middle = from == Elem::F16 ? Elem::F32 : Elem::F64;
    return convert(convert(v, from, middle), middle, to);
  }
  if (scalar::is_float(from)) {
    // Directly, x86 without f16 arithmetic would call a function that programs need not have.
    if (from == Elem::F64 && to == Elem::F16)
      return b_.CreateFPCast(f32_rounded_to_odd(v), typed(to));
    if (scalar::is_float(to))
      return b_.CreateFPCast(v, typed(to));
    if (to == Elem::Bool)
      return b_.CreateFCmpUNE(v, llvm::Constant::getNullValue(v->getType()));
    const Elem whole = scalar::compute_type(to);
    return b_.CreateTrunc(saturated(v, typed(whole), whole == Elem::U64), typed(to));
  }
  if (scalar::is_float(to))
    return has_no_sign(from) ? b_.CreateUIToFP(v, typed(to)) : b_.CreateSIToFP(v, typed(to));
  if (to == Elem::Bool)
    return b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
  return b_.CreateIntCast(v, typed(to), !has_no_sign(from));
}

} // namespace kawara::emit
