#include "emit/llvm/emitter.h"
#include "kernel/vars.h"
#include "scalar/affine_sum.h"
#include "support/check.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/TargetParser/Triple.h>

#include <bit>
#include <numeric>

namespace kawara::emit {

using scalar::Elem;

// Sizes. Shapes depend on the parameters only, so products of extents are made at the start of the
// function, once.

llvm::Value* FunctionEmitter::extent(uint32_t buffer, size_t dim) {
  auto known = std::exchange(known_, {});
  auto made = std::exchange(made_, {});
  Value* value = emit(parts_.kernel.buffers.at(buffer).shape.at(dim));
  known_ = std::move(known);
  made_ = std::move(made);
  return value;
}

llvm::Value* FunctionEmitter::stride(uint32_t buffer, size_t dim) {
  const size_t rank = parts_.kernel.buffers.at(buffer).shape.size();
  std::vector<Value*>& strides = strides_.at(buffer);
  if (strides.empty()) {
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(entry_end_);
    strides.assign(rank, b_.getInt64(1));
    for (size_t d = rank - 1; d > 0; --d)
      strides[d - 1] = b_.CreateNSWMul(strides[d], extent(buffer, d));
  }
  return strides.at(dim);
}

llvm::Value* FunctionEmitter::byte_size(uint32_t buffer) {
  const kernel::Buffer& b = parts_.kernel.buffers.at(buffer);
  Value* bytes = b_.getInt64(static_cast<uint64_t>(scalar::bytes_of(b.elem)));
  for (size_t d = 0; d < b.shape.size(); ++d)
    bytes = b_.CreateNSWMul(bytes, extent(buffer, d));
  return bytes;
}

llvm::Align FunctionEmitter::element_align(uint32_t buffer) const {
  return llvm::Align(
      static_cast<uint64_t>(scalar::bytes_of(parts_.kernel.buffers.at(buffer).elem)));
}

// Addresses

/// A flat index. Its parts are added without wrapping: elements are inside their buffer.
void FunctionEmitter::add_flat(Offset& offset, const Expr& index) {
  const scalar::AffineSum sum = scalar::affine_sum(index);
  const auto number = [&](int64_t n) { return b_.getInt64(static_cast<uint64_t>(n)); };
  for (const auto& [term, factor] : sum.terms) {
    const auto* product = scalar::as<scalar::Binary>(term);
    const bool is_product = product != nullptr && product->op == scalar::BinaryOp::Mul;
    Value* value =
        is_product ? b_.CreateNSWMul(emit(product->lhs), emit(product->rhs)) : emit(term);
    if (factor != 1)
      value = b_.CreateNSWMul(value, number(factor));
    // Sizes alone are distances between neighbours, as constants are.
    add(kernel::vars_in(term).empty() ? offset.fixed : offset.variable, value);
  }
  if (sum.constant != 0)
    add(offset.fixed, number(sum.constant));
}

void FunctionEmitter::add(Value*& sum, Value* term) {
  sum = sum == nullptr ? term : b_.CreateNSWAdd(sum, term);
}

/// Pointer to one element. Constant parts of indices are added last, so that neighbouring elements
/// share everything else and differ by an immediate.
llvm::Value* FunctionEmitter::address(uint32_t buffer, const std::vector<Index>& index,
                                      bool is_inside) {
  const kernel::Buffer& b = parts_.kernel.buffers.at(buffer);
  const bool is_flat = index.size() == 1 && b.shape.size() > 1;
  KAWARA_CHECK(is_flat || index.size() == b.shape.size(), "indices of " + b.name);
  KAWARA_CHECK(frame_.buffers.at(buffer) != nullptr, b.name + " is used outside its Allocate");
  llvm::Type* element = memory_type(context_, {b.elem, 1});
  Offset offset;
  if (is_flat && index[0].value != nullptr)
    offset.variable = index[0].value;
  else if (is_flat)
    add_flat(offset, index[0].expr);
  for (size_t d = 0; d < index.size() && !is_flat; ++d) {
    Value* value = index[d].value;
    int64_t constant = 0;
    if (value == nullptr && index[d].expr.type() == scalar::kIndex) {
      scalar::AffineSum sum = scalar::affine_sum(index[d].expr);
      constant = std::exchange(sum.constant, 0);
      if (!sum.terms.empty())
        value = emit(scalar::expr_of(sum));
    } else if (value == nullptr) {
      value = convert(emit(index[d].expr), index[d].expr.type().elem, Elem::I64);
    }
    if (value != nullptr)
      add(offset.variable, b_.CreateNSWMul(value, stride(buffer, d)));
    if (constant != 0)
      add(offset.fixed,
          b_.CreateNSWMul(b_.getInt64(static_cast<uint64_t>(constant)), stride(buffer, d)));
  }
  if (offset.fixed != nullptr)
    add(offset.variable, offset.fixed);
  Value* pointer = frame_.buffers[buffer];
  if (offset.variable == nullptr)
    return pointer;
  // Elements are inside their buffer, except in lanes that a select does not want.
  return mask_ == nullptr && is_inside ? b_.CreateInBoundsGEP(element, pointer, offset.variable)
                                       : b_.CreateGEP(element, pointer, offset.variable);
}

std::vector<FunctionEmitter::Index> FunctionEmitter::lane_index(const std::vector<Expr>& index,
                                                                unsigned lane) {
  std::vector<Index> result;
  for (const Expr& e : index) {
    if (e.type().lanes == 1)
      result.push_back({e, nullptr});
    else
      result.push_back({{}, convert(emit_lane(e, lane), e.type().elem, Elem::I64)});
  }
  return result;
}

const scalar::Ramp* FunctionEmitter::run_of(const std::vector<Expr>& index) {
  if (index.empty())
    return nullptr;
  for (size_t d = 0; d + 1 < index.size(); ++d)
    if (index[d].type().lanes > 1)
      return nullptr;
  const auto* ramp = scalar::as<scalar::Ramp>(index.back());
  return ramp != nullptr && (ramp->stride == 1 || ramp->stride == -1) ? ramp : nullptr;
}

namespace {

/// Fewer lanes are loaded and stored in pieces.
constexpr unsigned kLeastUnderMask = 5;

bool has_masks(const llvm::Triple& triple, const llvm::Type* elements) {
  return triple.isX86() && elements->getScalarSizeInBits() >= 32;
}

/// The first lanes of a vector of a power of two.
llvm::Constant* first_lanes(llvm::IRBuilder<>& b, unsigned lanes, unsigned of) {
  std::vector<llvm::Constant*> mask;
  for (unsigned lane = 0; lane < of; ++lane)
    mask.push_back(b.getInt1(lane < lanes));
  return llvm::ConstantVector::get(mask);
}

/// With lanes of any value behind its own.
llvm::Value* with_more_lanes(llvm::IRBuilder<>& b, llvm::Value* elements, unsigned lanes) {
  std::vector<int> order(lanes, llvm::PoisonMaskElem);
  const unsigned own = llvm::cast<llvm::FixedVectorType>(elements->getType())->getNumElements();
  std::iota(order.begin(), order.begin() + own, 0);
  return b.CreateShuffleVector(elements, order);
}

std::vector<int> reversed(unsigned lanes) {
  std::vector<int> order(lanes);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

/// A run's index with the lowest element in place of the ramp.
scalar::Expr lowest_element(const scalar::Ramp& ramp, unsigned lanes) {
  if (ramp.stride == 1)
    return ramp.base;
  return ramp.base - scalar::int_lit(lanes - 1, ramp.base.type());
}

} // namespace

// Elements and values. Only bool differs: i1 in expressions, a byte in memory.

llvm::Value* FunctionEmitter::to_memory(uint32_t buffer, Value* value) {
  if (parts_.kernel.buffers.at(buffer).elem != Elem::Bool)
    return value;
  return b_.CreateZExt(value, value->getType()->getWithNewBitWidth(8));
}

llvm::Value* FunctionEmitter::from_memory(uint32_t buffer, Value* value) {
  if (parts_.kernel.buffers.at(buffer).elem != Elem::Bool)
    return value;
  return b_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

// Loads: of the buffer's own element type, before any cast.

llvm::Value* FunctionEmitter::load_elements(uint32_t buffer, const std::vector<Expr>& index,
                                            unsigned lanes) {
  if (lanes == 1) {
    std::vector<Index> plain;
    for (const Expr& e : index)
      plain.push_back({e, nullptr});
    return from_memory(buffer, load_scalar(buffer, plain));
  }
  if (const scalar::Ramp* ramp = run_of(index)) {
    const Elem elem = parts_.kernel.buffers.at(buffer).elem;
    if (Value* stored = lanes_under_mask(buffer, index, lanes))
      return stored;
    if (lanes * static_cast<uint64_t>(scalar::bytes_of(elem)) == kTileBytes && mask_ == nullptr &&
        ramp->stride == 1 && has_tiles())
      return load_tile(buffer, index, {elem, static_cast<uint16_t>(lanes)});
    std::vector<Index> first;
    for (const Expr& e : index)
      first.push_back({e, nullptr});
    first.back().expr = lowest_element(*ramp, lanes);
    return from_memory(buffer, load_run(buffer, first, lanes, ramp->stride == -1));
  }
  if (Value* column = column_of_square(buffer, index, lanes))
    return column;
  if (Value* elements = load_every_other(buffer, index, lanes))
    return from_memory(buffer, elements);
  return from_memory(buffer, load_lanes(buffer, index, lanes));
}

/// Lanes a few elements apart, out of loads of all elements between them. Null where those may not
/// be loaded. The lanes run along a dimension that has a few elements inside: X[i, ramp(j, 1, 16),
/// 0] of f32[N, M, 2] is every other element.
llvm::Value* FunctionEmitter::load_every_other(uint32_t buffer, const std::vector<Expr>& index,
                                               unsigned lanes) {
  const kernel::Buffer& b = parts_.kernel.buffers.at(buffer);
  constexpr int64_t kFarthest = 4;
  if (first_lanes_ != 0) { // no others are stored (masked_store.cpp)
    Value* mask = std::exchange(mask_, nullptr);
    const unsigned wanted = std::exchange(first_lanes_, 0);
    Value* elements = load_every_other(buffer, index, wanted);
    mask_ = mask;
    first_lanes_ = wanted;
    std::vector<int> padded(lanes, llvm::PoisonMaskElem);
    std::iota(padded.begin(), padded.begin() + wanted, 0);
    return elements != nullptr ? b_.CreateShuffleVector(elements, padded) : nullptr;
  }
  std::vector<Index> first;
  for (const Expr& e : index)
    first.push_back({e, nullptr});
  size_t d = index.size();
  int64_t inside = 1; // elements of the dimensions behind d
  while (d-- > 0 && index[d].type().lanes == 1) {
    const auto extent = d < b.shape.size() ? scalar::constant_of(b.shape[d]) : std::nullopt;
    if (!extent || *extent < 1 || *extent > kFarthest)
      return nullptr;
    inside *= *extent;
  }
  const auto* ramp = d < index.size() ? scalar::as<scalar::Ramp>(index[d]) : nullptr;
  if (ramp == nullptr || ramp->stride < 1 || ramp->stride > kFarthest || mask_ != nullptr ||
      ramp->base.type() != scalar::kIndex ||
      std::any_of(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(d),
                  [](const Expr& e) { return e.type().lanes > 1; }))
    return nullptr;
  const int64_t apart = ramp->stride * inside;
  if (apart < 2 || apart > kFarthest)
    return nullptr;
  first[d].expr = ramp->base;
  const auto stride = static_cast<unsigned>(apart);
  const bool is_last = d + 1 == index.size();
  if ((stride - 1) * scalar::bytes_of(b.elem) > kSlackBytes || !is_last ||
      !may_load_neighbours(buffer, ramp->base))
    return stored_.count(buffer) == 0 ? load_between(buffer, first, lanes, stride) : nullptr;
  std::vector<int> wanted(lanes);
  for (unsigned lane = 0; lane < lanes; ++lane)
    wanted[lane] = static_cast<int>(lane * stride);
  return b_.CreateShuffleVector(load_run(buffer, first, lanes * stride, false), wanted);
}

/// The same without an element that is not between the first and the last lane: the last of the
/// loads ends with it, and has some elements of the one before it again.
llvm::Value* FunctionEmitter::load_between(uint32_t buffer, const std::vector<Index>& first,
                                           unsigned lanes, unsigned stride) {
  const unsigned elements = stride * (lanes - 1) + 1, piece = std::bit_ceil(lanes);
  if (lanes < 3 || piece > elements)
    return nullptr;
  Value* found = nullptr;
  for (unsigned begin = 0; begin < elements; begin += piece) {
    const unsigned at = std::min(begin, elements - piece);
    std::vector<Index> start = first;
    start.back().expr = first.back().expr + scalar::int_lit(at);
    Value* run = load_run(buffer, start, piece, false);
    std::vector<int> wanted(piece, llvm::PoisonMaskElem);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const unsigned element = lane * stride;
      if (element < begin)
        wanted[lane] =
            static_cast<int>(begin == piece ? element : lane); // the first run is as it was
      else if (element < at + piece)
        wanted[lane] = static_cast<int>(piece + element - at);
    }
    found = begin == 0 ? run : b_.CreateShuffleVector(found, run, wanted);
  }
  std::vector<int> kept(lanes);
  std::iota(kept.begin(), kept.end(), 0);
  return lanes == piece ? found : b_.CreateShuffleVector(found, kept);
}

llvm::Value* FunctionEmitter::load_scalar(uint32_t buffer, const std::vector<Index>& index) {
  llvm::Type* element_type = memory_type(context_, {parts_.kernel.buffers.at(buffer).elem, 1});
  Value* pointer = address(buffer, index);
  if (mask_ == nullptr)
    return b_.CreateAlignedLoad(element_type, pointer, element_align(buffer));
  // Wanted when any lane is: a masked load of one lane needs no control flow.
  Value* any = mask_->getType()->isVectorTy() ? b_.CreateOrReduce(mask_) : mask_;
  Value* one_lane = b_.CreateVectorSplat(1, any);
  auto* type = llvm::FixedVectorType::get(element_type, 1);
  Value* loaded = b_.CreateMaskedLoad(type, pointer, element_align(buffer), one_lane,
                                      llvm::Constant::getNullValue(type));
  return b_.CreateExtractElement(loaded, uint64_t{0});
}

llvm::Value* FunctionEmitter::load_run(uint32_t buffer, const std::vector<Index>& first,
                                       unsigned lanes, bool is_reversed) {
  llvm::Type* element = memory_type(context_, {parts_.kernel.buffers.at(buffer).elem, 1});
  auto* type = llvm::FixedVectorType::get(element, lanes);
  Value* pointer = address(buffer, first);
  if (Value* run = is_reversed ? nullptr : load_longer_run(buffer, first, lanes))
    return run;
  if (mask_ == nullptr && !is_reversed && lanes >= kLeastUnderMask && !std::has_single_bit(lanes) &&
      stored_.count(buffer) == 0 &&
      has_masks(llvm::Triple(parts_.module.getTargetTriple()), element))
    return load_first_lanes(type, pointer, element_align(buffer));
  if (mask_ == nullptr || mask_->getType() != llvm::FixedVectorType::get(b_.getInt1Ty(), lanes)) {
    Value* run = b_.CreateAlignedLoad(type, pointer, element_align(buffer));
    return is_reversed ? b_.CreateShuffleVector(run, reversed(lanes)) : run;
  }
  Value* mask = is_reversed ? b_.CreateShuffleVector(mask_, reversed(lanes)) : mask_;
  Value* run = b_.CreateMaskedLoad(type, pointer, element_align(buffer), mask,
                                   llvm::Constant::getNullValue(type));
  return is_reversed ? b_.CreateShuffleVector(run, reversed(lanes)) : run;
}

/// x86 loads the first lanes of a register at once, under a mask.
llvm::Value* FunctionEmitter::load_first_lanes(llvm::FixedVectorType* type, Value* from,
                                               llvm::Align align) {
  const unsigned lanes = type->getNumElements(), longer = std::bit_ceil(lanes);
  auto* whole = llvm::FixedVectorType::get(type->getElementType(), longer);
  Value* run = b_.CreateMaskedLoad(whole, from, align, first_lanes(b_, lanes, longer),
                                   llvm::PoisonValue::get(whole));
  std::vector<int> wanted(lanes);
  std::iota(wanted.begin(), wanted.end(), 0);
  return b_.CreateShuffleVector(run, wanted);
}

/// As many lanes as a register has, of which the first are wanted. Null where the others may not be
/// loaded.
llvm::Value* FunctionEmitter::load_longer_run(uint32_t buffer, const std::vector<Index>& first,
                                              unsigned lanes) {
  const kernel::Buffer& b = parts_.kernel.buffers.at(buffer);
  const unsigned longer = std::bit_ceil(lanes);
  if (longer == lanes || mask_ != nullptr ||
      (longer - lanes) * static_cast<uint64_t>(scalar::bytes_of(b.elem)) > kSlackBytes ||
      first.back().value != nullptr || first.back().expr.type() != scalar::kIndex ||
      !may_load_neighbours(buffer, first.back().expr))
    return nullptr;
  auto* type = llvm::FixedVectorType::get(memory_type(context_, {b.elem, 1}), longer);
  Value* run = b_.CreateAlignedLoad(type, address(buffer, first, false), element_align(buffer));
  std::vector<int> wanted(lanes);
  std::iota(wanted.begin(), wanted.end(), 0);
  return b_.CreateShuffleVector(run, wanted);
}

llvm::Value* FunctionEmitter::load_lanes(uint32_t buffer, const std::vector<Expr>& index,
                                         unsigned lanes) {
  llvm::Type* element = memory_type(context_, {parts_.kernel.buffers.at(buffer).elem, 1});
  auto* type = llvm::FixedVectorType::get(element, lanes);
  std::vector<Value*> pointers;
  for (unsigned lane = 0; lane < lanes; ++lane)
    pointers.push_back(address(buffer, lane_index(index, lane)));
  if (mask_ == nullptr) {
    Value* result = llvm::PoisonValue::get(type);
    for (unsigned lane = 0; lane < lanes; ++lane)
      result = b_.CreateInsertElement(
          result, b_.CreateAlignedLoad(element, pointers[lane], element_align(buffer)), lane);
    return result;
  }
  Value* all = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getPtrTy(), lanes));
  for (unsigned lane = 0; lane < lanes; ++lane)
    all = b_.CreateInsertElement(all, pointers[lane], lane);
  return b_.CreateMaskedGather(type, all, element_align(buffer), mask_,
                               llvm::Constant::getNullValue(type));
}

// Stores: `value` has the buffer's element type.

namespace {

/// LLVM 19 for AArch64 stores the first and the last of three lanes that come from 64 bits as bytes
/// 0 and 1. One by one they are right.
bool store_three_bytes(llvm::IRBuilder<>& b, llvm::Value* elements, llvm::Value* to) {
  const llvm::Triple triple(b.GetInsertBlock()->getModule()->getTargetTriple());
  const auto* type = llvm::cast<llvm::FixedVectorType>(elements->getType());
  if (!triple.isAArch64() || type->getNumElements() != 3 || type->getScalarSizeInBits() != 8)
    return false;
  for (unsigned lane = 0; lane < 3; ++lane)
    b.CreateAlignedStore(b.CreateExtractElement(elements, lane),
                         b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), to, lane), llvm::Align(1));
  return true;
}

/// x86 stores the first lanes of a register at once, under a mask; LLVM would cut them into pieces.
/// What is stored so cannot be loaded again before it has reached the cache, so only what `leaves`
/// is, and columns of a square that was transposed, which have more lanes than are wanted where its
/// side is no power of two.
void store_run(llvm::IRBuilder<>& b, llvm::Value* elements, llvm::Value* to, llvm::Align align,
               unsigned lanes, bool leaves) {
  if (store_three_bytes(b, elements, to))
    return;
  const llvm::Triple triple(b.GetInsertBlock()->getModule()->getTargetTriple());
  const auto* column = llvm::dyn_cast<llvm::ShuffleVectorInst>(elements);
  const bool is_column = column != nullptr && column->isIdentityWithExtract() &&
                         llvm::isa<llvm::ShuffleVectorInst>(column->getOperand(0));
  if (!has_masks(triple, elements->getType()) || lanes < kLeastUnderMask ||
      (!is_column && (!leaves || std::has_single_bit(lanes)))) {
    b.CreateAlignedStore(elements, to, align);
    return;
  }
  llvm::Value* whole =
      is_column ? column->getOperand(0) : with_more_lanes(b, elements, std::bit_ceil(lanes));
  const auto* type = llvm::cast<llvm::FixedVectorType>(whole->getType());
  b.CreateMaskedStore(whole, to, align, first_lanes(b, lanes, type->getNumElements()));
}

/// Several registers are stored one after the other, those of lower addresses first, as processors
/// expect it: LLVM would begin with the last. 300 rows of 88 floats from the L2 took 4.6 us so, and
/// 3.4 (one Cascade Lake core, 19 November 2026).
void store_registers(llvm::IRBuilder<>& b, llvm::Value* elements, llvm::Value* to,
                     llvm::Align align, unsigned register_bits, bool leaves) {
  const auto* type = llvm::cast<llvm::FixedVectorType>(elements->getType());
  const unsigned lanes = type->getNumElements();
  const unsigned most = std::max(1U, register_bits / type->getScalarSizeInBits());
  if (lanes <= most)
    return store_run(b, elements, to, align, lanes, leaves);
  for (unsigned first = 0; first < lanes; first += most) {
    std::vector<int> part(std::min(most, lanes - first));
    std::iota(part.begin(), part.end(), static_cast<int>(first));
    store_run(b, b.CreateShuffleVector(elements, part),
              b.CreateConstInBoundsGEP1_64(type->getElementType(), to, first), align,
              static_cast<unsigned>(part.size()), leaves);
  }
}

} // namespace

void FunctionEmitter::finish() {
  if (parts_.streams && llvm::Triple(parts_.module.getTargetTriple()).isX86())
    b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  b_.CreateRetVoid();
}

unsigned FunctionEmitter::bits_stored_at_once() const {
  if (!llvm::Triple(parts_.module.getTargetTriple()).isX86())
    return ~0U;
  return parts_.has_masks ? 512 : 256;
}

void FunctionEmitter::store_elements(uint32_t buffer, const std::vector<Expr>& index, Value* value,
                                     unsigned lanes) {
  Value* elements = to_memory(buffer, value);
  std::vector<Index> plain;
  for (const Expr& e : index)
    plain.push_back({e, nullptr});
  if (lanes == 1) {
    b_.CreateAlignedStore(elements, address(buffer, plain), element_align(buffer));
    return;
  }
  if (const scalar::Ramp* ramp = run_of(index)) {
    plain.back().expr = lowest_element(*ramp, lanes);
    if (ramp->stride == -1)
      elements = b_.CreateShuffleVector(elements, reversed(lanes));
    Value* to = address(buffer, plain);
    if (parts_.streams && parts_.kernel.buffers.at(buffer).is_streamed)
      stream_run(elements, to);
    else
      store_registers(b_, elements, to, element_align(buffer), bits_stored_at_once(),
                      parts_.kernel.buffers.at(buffer).role == program::Role::Output &&
                          !loaded_.contains(buffer));
    return;
  }
  bool has_vector_index = false;
  for (const Expr& e : index)
    has_vector_index = has_vector_index || e.type().lanes > 1;
  KAWARA_CHECK(has_vector_index,
               "vector stored to one element of " + parts_.kernel.buffers.at(buffer).name);
  for (unsigned lane = 0; lane < lanes; ++lane)
    b_.CreateAlignedStore(b_.CreateExtractElement(elements, lane),
                          address(buffer, lane_index(index, lane)), element_align(buffer));
}

} // namespace kawara::emit
