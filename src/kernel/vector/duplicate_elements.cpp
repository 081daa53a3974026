#include "kernel/vector/duplicate_elements.h"

#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <map>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::int_lit;

/// A buffer's elements as instructions take them.
struct ElementUse {
  bool is_taken = false;   ///< one element, into all lanes of an instruction's operand
  bool has_others = false; ///< vectors of different elements, updates
};

/// Where the last index alone says which element of a row it is.
bool has_plain_end(const std::vector<Expr>& index) {
  const auto* ramp = index.empty() ? nullptr : as<scalar::Ramp>(index.back());
  return !index.empty() && (ramp != nullptr ? ramp->base : index.back()).type() == scalar::kIndex;
}

class ElementSurvey {
public:
  explicit ElementSurvey(const Kernel& kernel) {
    visit_exprs(kernel.body, [&](const Expr& root) {
      scalar::visit(root, [&](const Expr& e) {
        if (const auto* load = as<scalar::Load>(e);
            load != nullptr && (e.type().lanes > 1 || !has_plain_end(load->index)))
          uses_[load->tensor].has_others = true;
        if (const auto* instruction = as<scalar::Instruction>(e))
          for (const Expr& argument : instruction->args)
            if (const auto* load = taken_element(argument))
              uses_[load->tensor].is_taken = true;
      });
    });
    visit(kernel.body, [&](const Store& store) {
      if (store.op != ReduceOp::None || !has_plain_end(store.index))
        uses_[store.buffer].has_others = true;
    });
  }

  const std::map<uint32_t, ElementUse>& uses() const { return uses_; }

private:
  static const scalar::Load* taken_element(const Expr& e) {
    const auto* lanes = as<scalar::Broadcast>(e);
    return lanes != nullptr && lanes->arg.type().lanes == 1 ? as<scalar::Load>(lanes->arg)
                                                            : nullptr;
  }

  std::map<uint32_t, ElementUse> uses_;
};

/// How often each element of a buffer is there, by buffer.
using ElementCopies = std::map<uint32_t, int64_t>;

/// The index of copy `which` of the elements there.
std::vector<Expr> element_copy(std::vector<Expr> index, int64_t copies, int64_t which) {
  const auto scaled = [&](const Expr& e) {
    return scalar::expr_of(scalar::affine_sum(e * int_lit(copies) + int_lit(which)));
  };
  if (const auto* ramp = as<scalar::Ramp>(index.back()))
    index.back() =
        scalar::ramp(scaled(ramp->base), ramp->stride * copies, index.back().type().lanes);
  else
    index.back() = scaled(index.back());
  return index;
}

class ElementCopying {
public:
  explicit ElementCopying(ElementCopies copies) : copies_(std::move(copies)) {}

  Block of(const Block& block) const {
    Block with_loads = map_exprs(block, [&](const Expr& e) { return loads_in(e); });
    visit(with_loads, [&](Prefetch& called) {
      if (times(called.buffer) > 1)
        called.index = element_copy(called.index, times(called.buffer), 0);
    });
    return rewrite(std::move(with_loads), [&](const Store& store) {
      if (times(store.buffer) == 1)
        return block_of(store);
      Block all;
      for (int64_t which = 0; which < times(store.buffer); ++which) {
        Store one = store;
        one.index = element_copy(store.index, times(store.buffer), which);
        if (which > 0)
          one.origins.clear(); // the first runs the instance, the others copy what it stored
        all.emplace_back(std::move(one));
      }
      return all;
    });
  }

private:
  int64_t times(uint32_t buffer) const {
    const auto found = copies_.find(buffer);
    return found == copies_.end() ? 1 : found->second;
  }

  Expr loads_in(const Expr& root) const {
    return scalar::rewrite(root, [&](const Expr& e) -> Expr {
      if (const auto* load = as<scalar::Load>(e); load != nullptr && times(load->tensor) > 1)
        return scalar::load(load->tensor, element_copy(load->index, times(load->tensor), 0),
                            e.type());
      const auto* lanes = as<scalar::Broadcast>(e);
      const auto* load = lanes != nullptr ? as<scalar::Load>(lanes->arg) : nullptr;
      if (load == nullptr || times(load->tensor) == 1)
        return {};
      const auto copies = static_cast<uint16_t>(times(load->tensor));
      std::vector<Expr> index = load->index;
      index.back() = scalar::ramp(index.back(), 1, copies);
      return scalar::broadcast(
          scalar::load(load->tensor, std::move(index), {lanes->arg.type().elem, copies}),
          e.type().lanes);
    });
  }

  ElementCopies copies_;
};

} // namespace

Kernel duplicate_elements(Kernel kernel, const target::Cpu& cpu) {
  const int64_t least = target::least_broadcast(cpu);
  const ElementSurvey survey(kernel);
  ElementCopies copies;
  for (const auto& [id, use] : survey.uses()) {
    Buffer& buffer = kernel.buffers[id];
    const int64_t bytes = scalar::bytes_of(buffer.elem);
    if (!use.is_taken || use.has_others || !buffer.is_packed || buffer.scope != Scope::Workspace ||
        bytes >= least)
      continue;
    copies[id] = least / bytes;
    buffer.shape.back() = scalar::simplify(buffer.shape.back() * int_lit(least / bytes));
  }
  if (!copies.empty())
    kernel.body = ElementCopying(std::move(copies)).of(kernel.body);
  return kernel;
}

} // namespace kawara::kernel
