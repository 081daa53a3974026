#include "kernel/gpu/warpgroup/collective_form.h"

#include "kernel/vars.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::int_lit;

std::vector<Expr> bounds_under_min(const Expr& e) {
  const auto* n = as<scalar::Binary>(e);
  if (n == nullptr || n->op != BinaryOp::Min)
    return {e};
  std::vector<Expr> bounds = bounds_under_min(n->lhs);
  for (Expr& more : bounds_under_min(n->rhs))
    bounds.push_back(std::move(more));
  return bounds;
}

std::optional<TileAxis> axis_from_0(const For& loop) {
  return scalar::constant_of(loop.lo) == 0 ? axis_of(loop) : std::nullopt;
}

class FormReader {
public:
  FormReader(const Kernel& kernel, const Launch& launch) : kernel_(kernel), launch_(launch) {}

  std::optional<CollectiveForm> read() {
    const Block* body = &launch_.body;
    while (body->size() == 1 && std::get_if<Allocate>(&body->front()) != nullptr) {
      form_.allocated.push_back(std::get<Allocate>(body->front()).buffer);
      body = &std::get<Allocate>(body->front()).body;
    }
    const auto update = std::find_if(body->begin(), body->end(), [&](const Stmt& stmt) {
      const auto* loop = std::get_if<For>(&stmt);
      return loop != nullptr && read_update(*loop);
    });
    if (update == body->end())
      return std::nullopt;
    for (auto at = body->begin(); at != body->end(); ++at) {
      if (at == update)
        continue;
      const auto nest = nest_of(*at);
      if (!nest)
        return std::nullopt;
      (at < update ? form_.before : form_.after).push_back(*nest);
    }
    return form_;
  }

private:
  bool read_update(const For& outermost) {
    const For* loop = &outermost;
    form_.steps = For{};
    form_.around.clear();
    while (loop->marks.instruction.empty()) {
      if (loop->body.size() != 1 || std::get_if<For>(&loop->body[0]) == nullptr)
        return false;
      if (form_.steps.lo)
        form_.around.push_back(form_.steps);
      form_.steps = *loop;
      form_.steps.body.clear();
      loop = &std::get<For>(loop->body[0]);
    }
    const target::Intrinsic* data = target::find_intrinsic(loop->marks.instruction);
    if (data == nullptr || !data->is_collective)
      return false;
    form_.instruction = &program::instruction_of(*data);
    std::vector<std::optional<TileAxis>> axes(3);
    for (size_t n = 0; n < 3; ++n) {
      if (loop->marks.instruction != data->name || loop->marks.instruction_axis > 2)
        return false;
      axes[loop->marks.instruction_axis] = axis_from_0(*loop);
      if (loop->body.size() != 1)
        return false;
      if (n < 2 && std::get_if<For>(&loop->body[0]) == nullptr)
        return false;
      if (n < 2)
        loop = &std::get<For>(loop->body[0]);
    }
    const auto* store = std::get_if<Store>(&loop->body[0]);
    if (store == nullptr || !axes[0] || !axes[1] || !axes[2])
      return false;
    form_.rows = *axes[0];
    form_.columns = *axes[1];
    form_.depth = *axes[2];
    return read_accesses(*store);
  }

  bool read_accesses(const Store& store) {
    const VarSet vars = {form_.rows.var, form_.columns.var, form_.depth.var};
    if (store.op != form_.instruction->op)
      return false;
    const auto result =
        tile_access(store.buffer, store.index, form_.rows.var, form_.columns.var, vars);
    if (!result || kernel_.buffers[store.buffer].elem != form_.instruction->result().elem)
      return false;
    form_.result = *result;
    for (const program::OperandLoads& loads :
         program::matching_loads(*form_.instruction, store.value)) {
      const auto* left = as<scalar::Load>(loads[0]);
      const auto* right = as<scalar::Load>(loads[1]);
      const auto a = tile_access(left->tensor, left->index, form_.rows.var, form_.depth.var, vars);
      const auto b =
          tile_access(right->tensor, right->index, form_.columns.var, form_.depth.var, vars);
      if (!a || !b || a->buffer == store.buffer || b->buffer == store.buffer)
        continue;
      form_.a = *a;
      form_.b = *b;
      return true;
    }
    return false;
  }

  /// Loops over rows and columns around stores; which is which, the result's index tells.
  std::optional<TileNest> nest_of(const Stmt& stmt) const {
    const auto* outer = std::get_if<For>(&stmt);
    if (outer == nullptr || outer->body.size() != 1)
      return std::nullopt;
    const auto* inner = std::get_if<For>(&outer->body[0]);
    if (inner == nullptr)
      return std::nullopt;
    const auto first = axis_from_0(*outer), second = axis_from_0(*inner);
    if (!first || !second || mentions(inner->hi, outer->var))
      return std::nullopt;
    for (const bool is_transposed : {false, true}) {
      TileNest nest{is_transposed ? *second : *first, is_transposed ? *first : *second, {}};
      bool is_fine = true;
      for (const Stmt& child : inner->body) {
        const auto* store = std::get_if<Store>(&child);
        is_fine = is_fine && store != nullptr && has_result_elements(*store, nest);
        if (is_fine)
          nest.stores.push_back(*store);
      }
      if (is_fine)
        return nest;
    }
    return std::nullopt;
  }

  /// Every access to the result is to the nest's own element, and there is one.
  bool has_result_elements(const Store& store, const TileNest& nest) const {
    bool is_fine = true, is_found = false;
    const auto check = [&](uint32_t buffer, const std::vector<Expr>& index) {
      if (buffer != form_.result.buffer)
        return;
      is_found = true;
      const auto access = tile_access(buffer, index, nest.rows.var, nest.columns.var,
                                      {nest.rows.var, nest.columns.var});
      is_fine = is_fine && access && access->line == form_.result.line &&
                access->other == form_.result.other;
      for (size_t d = 0; is_fine && d < index.size(); ++d)
        is_fine =
            scalar::constant_of(scalar::simplify(access->base[d] - form_.result.base[d])) == 0;
    };
    check(store.buffer, store.index);
    scalar::visit(store.value, [&](const Expr& e) {
      if (const auto* load = as<scalar::Load>(e))
        check(load->tensor, load->index);
    });
    return is_fine && is_found;
  }

  const Kernel& kernel_;
  const Launch& launch_;
  CollectiveForm form_;
};

} // namespace

std::optional<TileAxis> axis_of(const For& loop) {
  if (loop.step != 1)
    return std::nullopt;
  std::optional<int64_t> most;
  Expr hi;
  for (const Expr& bound : bounds_under_min(loop.hi)) {
    const Expr distance = scalar::simplify(bound - loop.lo);
    if (const auto n = scalar::constant_of(distance))
      most = std::min(most.value_or(*n), *n);
    hi = hi ? scalar::binary(BinaryOp::Min, hi, distance) : distance;
  }
  if (!most)
    return std::nullopt;
  return TileAxis{loop.var, hi, *most};
}

std::optional<Expr> base_of(const Expr& e, uint32_t var, const std::set<uint32_t>& vars) {
  const Expr base = scalar::simplify(substitute_var(e, var, int_lit(0)));
  const Expr rest = scalar::simplify(e - base - scalar::var(var));
  if (scalar::constant_of(rest) != 0 || mentions_any(base, vars))
    return std::nullopt;
  return base;
}

std::optional<TileAccess> tile_access(uint32_t buffer, const std::vector<Expr>& index,
                                      uint32_t line, uint32_t other, const VarSet& vars) {
  TileAccess access{buffer, {}, index.size(), index.size()};
  for (size_t d = 0; d < index.size(); ++d) {
    if (!mentions_any(index[d], vars)) {
      access.base.push_back(index[d]);
      continue;
    }
    const bool is_line = mentions(index[d], line);
    const auto base = base_of(index[d], is_line ? line : other, vars);
    size_t& place = is_line ? access.line : access.other;
    if (!base || place != index.size() || has_load(*base))
      return std::nullopt;
    place = d;
    access.base.push_back(*base);
  }
  const bool is_complete = access.line != index.size() && access.other != index.size();
  return is_complete ? std::optional(access) : std::nullopt;
}

std::vector<Expr> short_bounds(const TileAxis& axis, int64_t full) {
  std::vector<Expr> bounds;
  for (const Expr& bound : bounds_under_min(axis.hi))
    if (scalar::constant_of(bound).value_or(0) < full)
      bounds.push_back(bound);
  return bounds;
}

bool ends_with_buffer(const Kernel& kernel, const TileAxis& axis, int64_t full,
                      const TileAccess& access, size_t dimension) {
  const Expr extent = kernel.buffers[access.buffer].shape[dimension];
  for (const Expr& bound : short_bounds(axis, full)) {
    const Expr gap = scalar::simplify(bound + access.base[dimension] - extent);
    if (scalar::constant_of(gap) != 0)
      return false;
  }
  return true;
}

std::optional<CollectiveForm> collective_form(const Kernel& kernel, const Launch& launch) {
  if (launch.threads != std::array<int64_t, 3>{1, 1, 1})
    return std::nullopt;
  return FormReader(kernel, launch).read();
}

} // namespace kawara::kernel
