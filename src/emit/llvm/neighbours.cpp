#include "emit/llvm/emitter.h"
#include "scalar/affine_sum.h"

#include <llvm/TargetParser/Triple.h>

#include <algorithm>

namespace kawara::emit {

/// Elements beyond the last of a row can be loaded too: those of packed buffers are in reading
/// order, a workspace has slack behind it (layout_of). One that is written in the same loop is left
/// alone: loads of elements just written by one would wait for all of them.
bool FunctionEmitter::may_load_neighbours(uint32_t buffer, const Expr& first) const {
  const kernel::Buffer& b = parts_.kernel.buffers.at(buffer);
  return b.is_packed || (b.scope != kernel::Scope::Argument && stored_.count(buffer) == 0 &&
                         intervals_.of(first).low.value_or(-1) >= 0);
}

/// Whether neighbours are steps of a loop that was unrolled. Each row of a tile would keep a vector
/// of its own over several steps, more than the registers hold: 180 x 16 results of 158 steps
/// took 12.5 us with elements one by one and 22.7 so (Neoverse-V1).
bool FunctionEmitter::goes_along_steps(const scalar::AffineSum& index) const {
  return std::any_of(index.terms.begin(), index.terms.end(), [&](const auto& term) {
    const auto* variable = scalar::as<scalar::Var>(term.first);
    const auto step = variable == nullptr ? steps_.end() : steps_.find(variable->id);
    return term.second == 1 && step != steps_.end() && step->second > 1;
  });
}

/// So many of the `count` elements from `first` on, the last index of `rank`, may lie behind the
/// last one: a group of them has to begin so much earlier. None where slack is behind them. Nothing
/// where the neighbours may not be loaded at all.
std::optional<int64_t> FunctionEmitter::beyond_last(uint32_t buffer, const Expr& first, size_t rank,
                                                    int64_t count) const {
  if (may_load_neighbours(buffer, first))
    return 0;
  // A single index counts through all dimensions.
  const std::vector<Expr>& shape = parts_.kernel.buffers.at(buffer).shape;
  int64_t elements = 1;
  for (size_t d = rank - 1; d < shape.size(); ++d)
    if (__builtin_mul_overflow(elements, scalar::constant_of(shape[d]).value_or(0), &elements))
      return std::nullopt;
  const scalar::Bounds bounds = intervals_.of(first);
  if (stored_.count(buffer) != 0 || !bounds.high || bounds.low.value_or(-1) < 0)
    return std::nullopt;
  return std::max<int64_t>(0, *bounds.high + count - elements);
}

/// Multiply-adds on aarch64 take one operand from any lane of a register: one load then serves
/// several rows of a register tile; instructions that take several elements at a time (sdot)
/// likewise. Elsewhere a load that broadcasts is free.
llvm::Value* FunctionEmitter::splat_of_neighbour(const Expr& element, unsigned lanes) {
  const auto* load = scalar::as<scalar::Load>(element);
  if (load == nullptr || mask_ != nullptr || load->index.empty())
    return nullptr;
  const kernel::Buffer& b = parts_.kernel.buffers.at(load->tensor);
  const llvm::Triple triple(parts_.module.getTargetTriple());
  const int64_t elements = element.type().lanes;
  const scalar::Ramp* run = elements > 1 ? run_of(load->index) : nullptr;
  const Expr& last_index = run != nullptr ? run->base : load->index.back();
  const int64_t group = kSlackBytes / (scalar::bytes_of(b.elem) * elements);
  if (!triple.isAArch64() || last_index.type() != scalar::kIndex || group < 2 ||
      (elements > 1 && (run == nullptr || run->stride != 1)))
    return nullptr;
  scalar::AffineSum last = scalar::affine_sum(last_index);
  if (last.constant < 0 || last.constant % elements != 0)
    return nullptr;
  int64_t lane = last.constant / elements % group;
  last.constant -= lane * elements;
  if (!may_load_neighbours(load->tensor, scalar::expr_of(last)) && goes_along_steps(last))
    return nullptr;
  const auto beyond =
      beyond_last(load->tensor, scalar::expr_of(last), load->index.size(), group * elements);
  if (!beyond)
    return nullptr;
  const int64_t earlier = (*beyond + elements - 1) / elements;
  last.constant -= earlier * elements;
  lane += earlier;
  if (lane >= group || (earlier > 0 && intervals_.of(scalar::expr_of(last)).low.value_or(-1) < 0))
    return nullptr;
  std::vector<Index> first;
  for (const Expr& e : load->index)
    first.push_back({e, nullptr});
  first.back().expr = scalar::expr_of(last);
  llvm::Type* element_type = memory_type(context_, {b.elem, 1});
  llvm::Type* picked_type =
      elements > 1 ? b_.getIntNTy(static_cast<unsigned>(elements * scalar::bytes_of(b.elem) * 8))
                   : element_type;
  auto* type = llvm::FixedVectorType::get(picked_type, static_cast<unsigned>(group));
  Value* neighbours =
      b_.CreateAlignedLoad(type, address(load->tensor, first), element_align(load->tensor));
  const std::vector<int> picked(lanes / static_cast<unsigned>(elements), static_cast<int>(lane));
  Value* splat = b_.CreateShuffleVector(neighbours, picked);
  return elements > 1 ? b_.CreateBitCast(splat, llvm::FixedVectorType::get(element_type, lanes))
                      : splat;
}

} // namespace kawara::emit
