#include "emit/llvm/emitter.h"
#include "emit/runtime_faults.h"
#include "kernel/walk.h"
#include "scalar/loads.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>

namespace kawara::emit {

using scalar::Elem;

namespace {

/// Places of the members of `RuntimeFaults`, in words.
constexpr unsigned kOutside = 4, kIndex = 5, kExtent = 6, kElement = 7;

/// The statements of the scop that a statement of the kernel runs.
std::string names_of(const kernel::Origins* origins) {
  std::string names;
  for (size_t k = 0; origins != nullptr && k < origins->size(); ++k)
    names += (k == 0 ? "S" : ", S") + std::to_string((*origins)[k].statement);
  return names;
}

} // namespace

int64_t FunctionEmitter::number_of_check(const scalar::Within& n, const scalar::Load* read) {
  const auto name = [&](uint32_t buffer) { return parts_.kernel.buffers.at(buffer).name; };
  const int64_t rank = read == nullptr ? 0
                                       : std::min<int64_t>(static_cast<int64_t>(read->index.size()),
                                                           RuntimeFaults::kMostTold);
  const IndexCheck check{name(n.tensor), read == nullptr ? "" : name(read->tensor),
                         names_of(origins_), n.dim, rank};
  const auto known = std::find(parts_.checks.begin(), parts_.checks.end(), check);
  const int64_t number = known - parts_.checks.begin();
  if (known == parts_.checks.end())
    parts_.checks.push_back(check);
  return number;
}

/// Tells the caller what is outside, and returns: neither this thread nor one that waits for it
/// goes on with an element that is not there.
void FunctionEmitter::report_outside(const scalar::Within& n, Value* index, Value* extent,
                                     Value* is_outside) {
  const unsigned lanes = n.index.type().lanes;
  const auto loads = scalar::loads_in(n.index);
  const scalar::Load* read = loads.empty() ? nullptr : loads.front();
  const int64_t number = number_of_check(n, read);
  const auto word = [&](unsigned at) {
    return b_.CreateConstGEP1_64(b_.getInt64Ty(), frame_.runtime, at);
  };
  llvm::BasicBlock* first = new_block("first");
  llvm::BasicBlock* leave = new_block("leave");
  Value* claimed = b_.CreateAtomicCmpXchg(
      word(kOutside), b_.getInt64(0), b_.getInt64(static_cast<uint64_t>(number + 1)),
      llvm::Align(8), llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic);
  b_.CreateCondBr(b_.CreateExtractValue(claimed, 1), first, leave);
  b_.SetInsertPoint(first);
  // Of several lanes the first that is outside.
  const auto tell = [&](unsigned at, const auto& in_lane) {
    Value* told = in_lane(lanes - 1);
    for (unsigned lane = lanes - 1; lane-- > 0;)
      told = b_.CreateSelect(b_.CreateExtractElement(is_outside, lane), in_lane(lane), told);
    b_.CreateStore(told, word(at))->setAtomic(llvm::AtomicOrdering::Monotonic);
  };
  const auto lane_of = [&](Value* value) {
    return [this, value](unsigned lane) {
      return value->getType()->isVectorTy() ? b_.CreateExtractElement(value, lane) : value;
    };
  };
  tell(kIndex, lane_of(index));
  tell(kExtent, lane_of(extent));
  const size_t made = made_.size();
  Value* mask = std::exchange(mask_, nullptr);
  for (size_t d = 0; read != nullptr && d < read->index.size() && d < RuntimeFaults::kMostTold; ++d)
    tell(kElement + static_cast<unsigned>(d), [&](unsigned lane) {
      return convert(emit_lane(read->index[d], lane), read->index[d].type().elem, Elem::I64);
    });
  mask_ = mask;
  forget(made);
  b_.CreateBr(leave);
  b_.SetInsertPoint(leave);
  finish();
}

/// The index, after code that leaves the function where it is outside. Indices of 32 bits are
/// compared as such: twice as many at once.
llvm::Value* FunctionEmitter::emit_within(const Expr& e, const scalar::Within& n) {
  Value* index = emit(n.index);
  Value* extent = emit(n.extent);
  const auto* cast = scalar::as<scalar::Cast>(n.index);
  const bool is_narrow = cast != nullptr && cast->arg.type().elem == Elem::I32;
  Value* compared = is_narrow ? emit(cast->arg) : index;
  Value* limit = extent;
  if (is_narrow) {
    Value* most = llvm::ConstantInt::get(extent->getType(), uint64_t{1} << 31);
    limit = b_.CreateTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, extent, most),
                           compared->getType());
  }
  Value* is_outside = b_.CreateICmpUGE(compared, limit);
  if (mask_ != nullptr && mask_->getType()->isVectorTy() == is_outside->getType()->isVectorTy())
    is_outside = b_.CreateAnd(is_outside, mask_); // lanes not wanted may hold anything
  else if (mask_ != nullptr)
    is_outside = b_.CreateAnd(is_outside, b_.CreateOrReduce(mask_));
  Value* any = e.type().lanes > 1 ? b_.CreateOrReduce(is_outside) : is_outside;
  llvm::BasicBlock* found = new_block("outside");
  llvm::BasicBlock* rest = new_block("inside");
  b_.CreateCondBr(any, found, rest, llvm::MDBuilder(context_).createBranchWeights(1, 1 << 20));
  b_.SetInsertPoint(found);
  report_outside(n, index, extent, is_outside);
  b_.SetInsertPoint(rest);
  return index;
}

/// A lane of an index that is read: of neighbouring elements the one that is wanted, which is
/// loaded sooner than it is taken out of a vector. Null for other expressions.
llvm::Value* FunctionEmitter::emit_read_lane(const Expr& e, unsigned lane) {
  if (const auto* within = scalar::as<scalar::Within>(e)) {
    emit(e); // all lanes are looked at once
    return emit_lane(within->index, lane);
  }
  const auto* cast = scalar::as<scalar::Cast>(e);
  if (cast != nullptr && scalar::is_integer(cast->arg.type().elem))
    return convert(emit_lane(cast->arg, lane), cast->arg.type().elem, e.type().elem);
  const auto* load = scalar::as<scalar::Load>(e);
  const auto* ramp = load != nullptr && !load->index.empty()
                         ? scalar::as<scalar::Ramp>(load->index.back())
                         : nullptr;
  if (ramp == nullptr || mask_ != nullptr || !scalar::is_integer(e.type().elem) ||
      ramp->base.type() != scalar::kIndex)
    return nullptr;
  std::vector<Index> element;
  for (const Expr& index : load->index) {
    if (&index != &load->index.back() && index.type().lanes > 1)
      return nullptr;
    element.push_back({index, nullptr});
  }
  element.back().expr = ramp->base + scalar::int_lit(ramp->stride * lane);
  return load_scalar(load->tensor, element);
}

/// After a parallel loop: whether one of its threads has left.
void FunctionEmitter::leave_if_outside(const kernel::Block& body) {
  bool may_leave = false;
  kernel::visit_exprs(body, [&](const Expr& root) {
    scalar::visit(root, [&](const Expr& e) {
      may_leave = may_leave || scalar::as<scalar::Within>(e) != nullptr;
    });
  });
  if (!may_leave)
    return;
  Value* place = b_.CreateConstGEP1_64(b_.getInt64Ty(), frame_.runtime, kOutside);
  llvm::LoadInst* flag = b_.CreateLoad(b_.getInt64Ty(), place);
  flag->setAtomic(llvm::AtomicOrdering::Monotonic);
  flag->setAlignment(llvm::Align(8));
  llvm::BasicBlock* leave = new_block("left");
  llvm::BasicBlock* rest = new_block("stayed");
  b_.CreateCondBr(b_.CreateICmpNE(flag, b_.getInt64(0)), leave, rest);
  b_.SetInsertPoint(leave);
  finish();
  b_.SetInsertPoint(rest);
}

} // namespace kawara::emit
