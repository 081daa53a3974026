#include "emit/llvm/emitter.h"

#include "kernel/vars.h"
#include "scalar/affine_sum.h"

#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <bit>
#include <numeric>

// Vectors of, say, 14 lanes: LLVM computes with 16 and cuts what is stored into pieces of 8, 4 and
// 2, and what is loaded, too. x86 can store and load the first lanes of a register at once, under a
// mask. What was stored so cannot be loaded again before it has reached the cache: the statements
// that follow find it in a register, and what other iterations load is not stored so.

namespace kawara::emit {

using scalar::Expr;

namespace {

/// The same value with more lanes, of which the first are the old ones; empty where it is made of
/// lanes that cannot be had more of.
Expr widened(const Expr& e, uint16_t lanes) {
  const scalar::Type type{e.type().elem, lanes};
  if (e.type().lanes == 1)
    return e;
  if (const auto* ramp = scalar::as<scalar::Ramp>(e))
    return scalar::ramp(ramp->base, ramp->stride, lanes);
  if (const auto* element = scalar::as<scalar::Broadcast>(e))
    return element->arg.type().lanes == 1 ? scalar::broadcast(element->arg, lanes) : Expr();
  const bool is_known =
      scalar::as<scalar::Load>(e) != nullptr || scalar::as<scalar::Unary>(e) != nullptr ||
      scalar::as<scalar::Binary>(e) != nullptr || scalar::as<scalar::Fma>(e) != nullptr ||
      scalar::as<scalar::Cast>(e) != nullptr;
  if (!is_known)
    return {};
  std::vector<Expr> parts = scalar::children(e);
  for (Expr& part : parts)
    if (part = widened(part, lanes); !part)
      return {};
  if (const auto* load = scalar::as<scalar::Load>(e))
    return scalar::load(load->tensor, std::move(parts), type);
  if (scalar::as<scalar::Cast>(e) != nullptr)
    return scalar::cast(parts.front(), type);
  return scalar::with_children(e, std::move(parts));
}

/// The first index of neighbouring elements.
const scalar::Ramp* upward_run(const std::vector<Expr>& index) {
  const auto* ramp = index.empty() ? nullptr : scalar::as<scalar::Ramp>(index.back());
  const bool is_run = ramp != nullptr && ramp->stride == 1 &&
                      std::all_of(index.begin(), index.end() - 1,
                                  [](const Expr& e) { return e.type().lanes == 1; });
  return is_run ? ramp : nullptr;
}

/// Whether so many lanes of one and as many of the other are different elements, whatever the
/// variables are.
bool are_apart(const std::vector<Expr>& a, const std::vector<Expr>& b, unsigned lanes) {
  const auto distance = [](const Expr& from, const Expr& to) -> int64_t {
    const scalar::AffineSum sum =
        scalar::difference(scalar::affine_sum(to), scalar::affine_sum(from));
    return sum.terms.empty() ? std::abs(sum.constant) : 0;
  };
  for (size_t d = 0; d + 1 < a.size(); ++d)
    if (a[d].type() == scalar::kIndex && b[d].type() == scalar::kIndex && distance(a[d], b[d]) > 0)
      return true;
  const scalar::Ramp *from = upward_run(a), *to = upward_run(b);
  const bool is_same_row =
      from != nullptr && to != nullptr &&
      std::equal(a.begin(), a.end() - 1, b.begin(),
                 [](const Expr& x, const Expr& y) { return scalar::equal(x, y); });
  return is_same_row && distance(from->base, to->base) >= static_cast<int64_t>(lanes);
}

} // namespace

/// Lanes that the block has stored under a mask and not changed since; null for others.
llvm::Value* FunctionEmitter::lanes_under_mask(uint32_t buffer, const std::vector<Expr>& index,
                                               unsigned lanes) {
  const scalar::Ramp* run = masked_.empty() ? nullptr : upward_run(index);
  if (run == nullptr || (mask_ != nullptr && first_lanes_ == 0))
    return nullptr;
  for (const MaskedLanes& stored : masked_) {
    const auto* start = scalar::as<scalar::Ramp>(stored.index.back());
    const auto held = llvm::cast<llvm::FixedVectorType>(stored.value->getType())->getNumElements();
    if (stored.buffer != buffer || stored.lanes < (first_lanes_ != 0 ? first_lanes_ : lanes) ||
        held < lanes || !scalar::equal(start->base, run->base) ||
        !std::equal(index.begin(), index.end() - 1, stored.index.begin(),
                    [](const Expr& x, const Expr& y) { return scalar::equal(x, y); }))
      continue;
    std::vector<int> first(lanes);
    std::iota(first.begin(), first.end(), 0);
    return held == lanes ? stored.value : b_.CreateShuffleVector(stored.value, first);
  }
  return nullptr;
}

/// After a statement: what it may have stored over, or may not have run through.
void FunctionEmitter::forget_masked(const kernel::Stmt& stmt) {
  if (const auto* store = std::get_if<kernel::Store>(&stmt))
    std::erase_if(masked_, [&](const MaskedLanes& held) {
      return held.buffer == store->buffer && held.store != store &&
             !are_apart(held.index, store->index,
                        std::max<unsigned>(held.lanes, store->value.type().lanes));
    });
  else if (const auto* assign = std::get_if<kernel::Assign>(&stmt))
    std::erase_if(masked_, [&](const MaskedLanes& held) {
      return std::any_of(held.index.begin(), held.index.end(),
                         [&](const Expr& e) { return kernel::mentions(e, assign->var); });
    });
  else if (std::get_if<kernel::Define>(&stmt) == nullptr)
    masked_.clear();
}

bool FunctionEmitter::store_under_mask(const kernel::Store& store) {
  constexpr unsigned kLeast = 5;
  const kernel::Buffer& buffer = parts_.kernel.buffers.at(store.buffer);
  const unsigned lanes = store.value.type().lanes, longer = std::bit_ceil(lanes);
  const scalar::Ramp* run = lanes >= kLeast && lanes != longer ? upward_run(store.index) : nullptr;
  if (run == nullptr || store.op != kernel::ReduceOp::None || mask_ != nullptr ||
      !llvm::Triple(parts_.module.getTargetTriple()).isX86() ||
      buffer.role != program::Role::Output || loaded_.contains(store.buffer) ||
      buffer.is_streamed || scalar::bytes_of(buffer.elem) < 4 ||
      buffer.elem != store.value.type().elem)
    return false;
  const Expr value = widened(store.value, static_cast<uint16_t>(longer));
  if (!value)
    return false;
  std::vector<llvm::Constant*> wanted;
  for (unsigned lane = 0; lane < longer; ++lane)
    wanted.push_back(b_.getInt1(lane < lanes));
  Value* first_lanes = llvm::ConstantVector::get(wanted);
  mask_ = first_lanes;
  first_lanes_ = lanes;
  Value* elements = emit(value);
  mask_ = nullptr;
  first_lanes_ = 0;
  std::vector<Index> first;
  for (const Expr& e : store.index)
    first.push_back({e, nullptr});
  first.back().expr = run->base;
  b_.CreateMaskedStore(to_memory(store.buffer, elements), address(store.buffer, first),
                       element_align(store.buffer), first_lanes);
  masked_.push_back({store.buffer, store.index, lanes, elements, &store});
  return true;
}

/// Whole cache lines non-temporally. aarch64 has an instruction for 32 bytes; what LLVM cuts in
/// other pieces would come out as ordinary stores.
void FunctionEmitter::stream_run(Value* elements, Value* to) {
  const bool is_x86 = llvm::Triple(parts_.module.getTargetTriple()).isX86();
  const auto* type = llvm::cast<llvm::FixedVectorType>(elements->getType());
  const unsigned bits = type->getScalarSizeInBits();
  const unsigned piece = (is_x86 ? 512 : 256) / bits;
  llvm::MDNode* hint = llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(b_.getInt32(1)));
  for (unsigned at = 0; at < type->getNumElements(); at += piece) {
    std::vector<int> lanes(piece);
    std::iota(lanes.begin(), lanes.end(), static_cast<int>(at));
    Value* place = at == 0 ? to : b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), to, at * bits / 8);
    b_.CreateAlignedStore(b_.CreateShuffleVector(elements, lanes), place,
                          llvm::Align(piece * bits / 8))
        ->setMetadata(llvm::LLVMContext::MD_nontemporal, hint);
  }
}

} // namespace kawara::emit
