#include "kernel/tile_results.h"

#include "kernel/fragment.h"
#include "kernel/vars.h"
#include "scalar/affine_sum.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

constexpr int64_t kColumnsOfGroup = 8;
constexpr int64_t kPair = 2; ///< neighbouring columns of a thread

/// Pairs of columns lie on one side of all bounds.
bool are_even(const std::vector<Expr>& bounds) {
  return std::all_of(bounds.begin(), bounds.end(), [](const Expr& bound) {
    const scalar::AffineSum sum = scalar::affine_sum(bound);
    return sum.constant % kPair == 0 &&
           std::all_of(sum.terms.begin(), sum.terms.end(),
                       [](const auto& term) { return term.second % kPair == 0; });
  });
}

Expr all_below(const Expr& e, const std::vector<Expr>& bounds) {
  Expr cond;
  for (const Expr& bound : bounds) {
    const Expr one = scalar::simplify(binary(BinaryOp::Lt, e, bound));
    cond = cond ? binary(BinaryOp::And, cond, one) : one;
  }
  return cond;
}

Block only_if(const Expr& cond, Block block) {
  return cond ? block_of(If{cond, std::move(block), {}}) : block;
}

For unrolled(uint32_t var, int64_t count, Block body) {
  For loop;
  loop.var = var;
  loop.lo = int_lit(0);
  loop.hi = int_lit(count);
  loop.marks.unroll = poly::kFullUnroll;
  loop.body = std::move(body);
  return loop;
}

} // namespace

std::string unique_buffer_name(const Kernel& kernel, const std::string& name) {
  std::string unique = name;
  const auto is_taken = [&](const Buffer& b) { return b.name == unique; };
  for (int n = 1; std::any_of(kernel.buffers.begin(), kernel.buffers.end(), is_taken); ++n)
    unique = name + "_" + std::to_string(n);
  return unique;
}

Expr TileResults::leader() const {
  Expr cond;
  const Expr warp =
      binary(BinaryOp::Mod, scalar::var(launch_.thread_vars[2]), int_lit(kWarpsOfGroup));
  for (const Expr& e :
       {scalar::var(launch_.thread_vars[0]), scalar::var(launch_.thread_vars[1]), warp}) {
    const Expr is_first = binary(BinaryOp::Eq, e, int_lit(0));
    cond = cond ? binary(BinaryOp::And, cond, is_first) : is_first;
  }
  return cond;
}

TileNest TileResults::copy_of_result() const {
  const TileAccess& result = form_.result;
  std::vector<Expr> index = result.base;
  index[result.line] = scalar::simplify(index[result.line] + scalar::var(form_.rows.var));
  index[result.other] = scalar::simplify(index[result.other] + scalar::var(form_.columns.var));
  const scalar::Type type{kernel_.buffers[result.buffer].elem, 1};
  Store store{result.buffer, index, ReduceOp::None, scalar::load(result.buffer, index, type)};
  return {form_.rows, form_.columns, {std::move(store)}};
}

Block TileResults::before() {
  Block out;
  bool has_values = false;
  for (const TileNest& nest : form_.before) {
    for (const Store& store : nest.stores)
      has_values = has_values || store.buffer == form_.result.buffer;
    for (Stmt& stmt : run({nest}))
      out.push_back(std::move(stmt));
  }
  if (has_values)
    return out;
  for (Stmt& stmt : run({copy_of_result(), false, true}))
    out.push_back(std::move(stmt));
  return out;
}

Block TileResults::after(bool keeps_result) {
  Block out;
  for (const TileNest& nest : form_.after)
    for (Stmt& stmt : run({nest}))
      out.push_back(std::move(stmt));
  if (keeps_result)
    for (Stmt& stmt : run({copy_of_result(), true, false}))
      out.push_back(std::move(stmt));
  return out;
}

Block TileResults::at_end() const {
  return panels_ ? block_of(If{leader(), block_of(Engine{AwaitBulkStores{0}}), {}}) : Block{};
}

Block TileResults::run(const Work& work) {
  if (const auto to = bulk_target(work)) {
    const Buffer& target = kernel_.buffers[to->buffer];
    const int64_t width = kPanelBytes / scalar::bytes_of(target.elem);
    if (!panels_) {
      Buffer panels;
      panels.name = unique_buffer_name(kernel_, target.name + "_tiles");
      panels.elem = target.elem;
      panels.shape = {int_lit(2 * rows_ / kRowsOfGroup), int_lit(kRowsOfGroup), int_lit(width)};
      panels.scope = Scope::Shared;
      panels.is_swizzled = true;
      kernel_.buffers.push_back(std::move(panels));
      panels_ = static_cast<uint32_t>(kernel_.buffers.size() - 1);
    }
    return through_panels(work, *to, width);
  }
  return cells(work, {0, columns_}, std::nullopt);
}

/// The tensor, when the copy engine can write the nest's cells and writes no others.
std::optional<TileAccess> TileResults::bulk_target(const Work& work) const {
  const TileNest& nest = work.nest;
  const Store& store = nest.stores.front();
  const bool is_result = store.buffer == form_.result.buffer;
  if (nest.stores.size() != 1 || store.op != ReduceOp::None || (is_result && work.stores_part))
    return std::nullopt;
  const Buffer& target = kernel_.buffers[store.buffer];
  const auto to = tile_access(store.buffer, store.index, nest.rows.var, nest.columns.var,
                              {nest.rows.var, nest.columns.var});
  const int64_t bytes = scalar::bytes_of(target.elem);
  if (!to || to->other + 1 != target.shape.size() || target.shape.size() > 5 ||
      (bytes != 2 && bytes != 4) || columns_ % (kPanelBytes / bytes) != 0)
    return std::nullopt;
  for (const Expr& extent : target.shape)
    if (!scalar::constant_of(extent))
      return std::nullopt;
  constexpr int64_t kAlignment = 16;
  if (*scalar::constant_of(target.shape.back()) * bytes % kAlignment != 0 ||
      (panels_ && kernel_.buffers[*panels_].elem != target.elem))
    return std::nullopt;
  bool is_loaded = false;
  visit_exprs(launch_.body, [&](const Expr& root) {
    scalar::visit(root, [&](const Expr& e) {
      const auto* load = scalar::as<scalar::Load>(e);
      is_loaded = is_loaded || (load != nullptr && load->tensor == store.buffer);
    });
  });
  const bool is_whole = ends_with_buffer(kernel_, nest.rows, rows_, *to, to->line) &&
                        ends_with_buffer(kernel_, nest.columns, columns_, *to, to->other);
  return is_whole && (!is_loaded || is_result) ? to : std::nullopt;
}

Block TileResults::through_panels(const Work& work, const TileAccess& to, int64_t width) {
  const Expr group =
      binary(BinaryOp::FloorDiv, scalar::var(launch_.thread_vars[2]), int_lit(kWarpsOfGroup));
  const int64_t count = columns_ / width;
  Block out;
  for (int64_t n = 0; n < count; ++n) {
    const Panel panel{scalar::simplify(group * int_lit(2) + int_lit(n % 2)), width};
    out.emplace_back(If{leader(), block_of(Engine{AwaitBulkStores{count > 1 ? 1 : 0}}), {}});
    out.emplace_back(Engine{GroupBarrier{}});
    for (Stmt& stmt : cells(work, {n * width, width}, panel))
      out.push_back(std::move(stmt));
    out.emplace_back(Engine{GroupBarrier{}});
    BulkStore store;
    store.from = {*panels_, {panel.number, int_lit(0), int_lit(0)}};
    store.to = {to.buffer, to.base};
    Expr& line = store.to.index[to.line];
    line = scalar::simplify(line + group * int_lit(kRowsOfGroup));
    Expr& column = store.to.index[to.other];
    column = scalar::simplify(column + int_lit(n * width));
    store.box.assign(to.base.size(), 1);
    store.box[to.line] = kRowsOfGroup;
    store.box[to.other] = width;
    out.emplace_back(If{leader(), block_of(Engine{std::move(store)}), {}});
  }
  return out;
}

/// Touches nothing but the thread's own part of the result.
bool TileResults::is_private(const Work& work) const {
  bool is_own = work.stores_part;
  for (const Store& store : work.nest.stores) {
    is_own = is_own && store.buffer == form_.result.buffer;
    scalar::visit(store.value, [&](const Expr& e) {
      const auto* load = scalar::as<scalar::Load>(e);
      is_own =
          is_own && (load == nullptr || (work.loads_part && load->tensor == form_.result.buffer));
    });
  }
  return is_own;
}

/// All cells of a thread in these columns.
Block TileResults::cells(const Work& work, const Columns& columns,
                         const std::optional<Panel>& panel) {
  const uint32_t group = add_variable(kernel_, "group", scalar::kIndex);
  const uint32_t half = add_variable(kernel_, "half", scalar::kIndex);
  const Expr number = scalar::var(group) + int_lit(columns.first / kColumnsOfGroup);
  Block body = pair_of_cells(work, number, scalar::var(half), panel);
  body = block_of(unrolled(half, 2, std::move(body)));
  return block_of(unrolled(group, columns.count / kColumnsOfGroup, std::move(body)));
}

Block TileResults::pair_of_cells(const Work& work, const Expr& group, const Expr& half,
                                 const std::optional<Panel>& panel) {
  const TileNest& nest = work.nest;
  // What stays with the thread needs no bounds, and products may add to all of it.
  const bool is_own = is_private(work);
  const std::vector<Expr> bounds =
      is_own ? std::vector<Expr>{} : short_bounds(nest.columns, columns_);
  const bool is_even = are_even(bounds);
  For pair = unrolled(add_variable(kernel_, "pair", scalar::kIndex), kPair, {});
  if (is_even) {
    pair.marks.unroll = 0;
    pair.marks.vector_width = kPair;
  }
  const FragmentPlace at{half, group, scalar::var(pair.var)};
  const Expr row = scalar::simplify(fragment_row(launch_, at));
  const Expr column = scalar::simplify(fragment_column(launch_, at));
  const Expr cell = scalar::simplify(fragment_cell(at));
  const auto place = [&](const Expr& e) {
    return substitute_var(substitute_var(e, nest.rows.var, row), nest.columns.var, column);
  };
  Block stores;
  for (const Store& given : nest.stores) {
    Store store = given;
    store.value = place(scalar::rewrite(given.value, [&](const Expr& e) {
      const auto* load = scalar::as<scalar::Load>(e);
      return load != nullptr && load->tensor == form_.result.buffer && work.loads_part
                 ? scalar::load(part_, {cell}, e.type())
                 : Expr();
    }));
    if (given.buffer == form_.result.buffer && work.stores_part) {
      store.buffer = part_;
      store.index = {cell};
    } else if (panel) {
      const Expr warp =
          binary(BinaryOp::Mod, scalar::var(launch_.thread_vars[2]), int_lit(kWarpsOfGroup));
      const Expr line =
          warp * int_lit(16) + half * int_lit(8) + scalar::var(launch_.thread_vars[1]);
      const Expr first = binary(BinaryOp::Mod, group, int_lit(panel->width / kColumnsOfGroup));
      store.buffer = *panels_;
      store.index = {panel->number, scalar::simplify(line),
                     scalar::simplify(fragment_column(launch_, {half, first, at.place}))};
    } else
      for (Expr& e : store.index)
        e = place(e);
    stores.emplace_back(std::move(store));
  }
  const Expr inside = is_even ? Expr() : all_below(column, bounds);
  pair.body = only_if(inside, std::move(stores));
  const Expr even =
      is_even ? all_below(substitute_var(column, pair.var, int_lit(0)), bounds) : Expr();
  const Expr above = is_own ? Expr() : all_below(row, short_bounds(nest.rows, rows_));
  return only_if(above, only_if(even, block_of(std::move(pair))));
}

} // namespace kawara::kernel
