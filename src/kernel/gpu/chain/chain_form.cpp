#include "kernel/gpu/chain/chain_form.h"

#include "kernel/analysis/ranges.h"
#include "kernel/gpu/chain/empty_steps.h"
#include "kernel/vars.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <set>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::int_lit;

/// What stands inside allocations that follow each other directly.
const Block& inside_of(const Block& block, std::set<uint32_t>& allocated) {
  const Block* at = &block;
  while (at->size() == 1 && std::get_if<Allocate>(&at->front()) != nullptr) {
    allocated.insert(std::get<Allocate>(at->front()).buffer);
    at = &std::get<Allocate>(at->front()).body;
  }
  return *at;
}

/// Loops that stand directly inside each other, all from 0, and what the innermost holds.
struct LoopNest {
  std::vector<TileAxis> axes;
  std::vector<poly::Marks> marks;
  Block body;
};

/// Most that the expression is inside these loops, all from 0; nothing where other variables are in
/// it.
std::optional<int64_t> greatest(const Expr& e, const std::vector<TileAxis>& loops) {
  const scalar::AffineSum sum = scalar::affine_sum(e);
  int64_t most = sum.constant;
  for (const auto& [term, factor] : sum.terms) {
    const auto* var = as<scalar::Var>(term);
    const auto loop = std::find_if(loops.begin(), loops.end(), [&](const TileAxis& axis) {
      return var != nullptr && axis.var == var->id;
    });
    if (loop == loops.end())
      return std::nullopt;
    most += factor > 0 ? factor * (loop->most - 1) : 0;
  }
  return most;
}

/// The loop as an axis, whose end may depend on the loops around it.
std::optional<TileAxis> axis_inside(const For& loop, const std::vector<TileAxis>& around) {
  if (auto axis = axis_of(loop); axis || loop.step != 1)
    return axis;
  std::optional<int64_t> most;
  Expr hi;
  for (const Expr& bound : operands_of(loop.hi, scalar::BinaryOp::Min)) {
    const Expr distance = scalar::simplify(bound - loop.lo);
    if (const auto n = greatest(distance, around))
      most = std::min(most.value_or(*n), *n);
    hi = hi ? scalar::binary(scalar::BinaryOp::Min, hi, distance) : distance;
  }
  return most ? std::optional(TileAxis{loop.var, hi, *most}) : std::nullopt;
}

/// Blocks of the launch along axes of which the number is known.
std::vector<TileAxis> axes_of_grid(const Launch& launch) {
  std::vector<TileAxis> axes;
  for (size_t axis = 0; axis < launch.blocks.size(); ++axis)
    if (const auto count = scalar::constant_of(launch.blocks[axis]))
      axes.push_back({launch.block_vars[axis], launch.blocks[axis], *count});
  return axes;
}

std::optional<LoopNest> loop_nest(const For& outermost, std::vector<TileAxis> around) {
  LoopNest nest;
  For loop = outermost;
  while (true) {
    const auto axis = axis_inside(loop, around);
    if (!axis)
      return std::nullopt;
    around.push_back(*axis);
    nest.axes.push_back(*axis);
    nest.marks.push_back(loop.marks);
    if (scalar::constant_of(loop.lo) != 0)
      loop.body =
          substitute_var(loop.body, loop.var, scalar::simplify(loop.lo + scalar::var(loop.var)));
    const bool is_last = loop.body.size() != 1 || std::get_if<For>(&loop.body[0]) == nullptr;
    if (is_last) {
      nest.body = std::move(loop.body);
      return nest;
    }
    For inner = std::get<For>(loop.body[0]);
    loop = std::move(inner);
  }
}

class ChainReader {
public:
  ChainReader(Kernel& kernel, const Launch& launch)
      : kernel_(kernel), launch_(launch), grid_(axes_of_grid(launch)) {}

  std::optional<ChainForm> read() {
    const Block& body = inside_of(launch_.body, allocated_);
    const auto steps =
        std::find_if(body.begin(), body.end(), [](const Stmt& stmt) { return has_products(stmt); });
    if (steps == body.end())
      return std::nullopt;
    form_.steps = std::holds_alternative<For>(*steps) ? std::get<For>(*steps) : one_step(*steps);
    const std::set<uint32_t> kept = allocated_;
    Block inside = inside_of(form_.steps.body, allocated_);
    form_.steps.body.clear();
    const auto first = begin_at_zero(inside);
    // Products say which dimension of a buffer has the rows; other nests are compared with that.
    if (!read_products(inside, form_.inside))
      return std::nullopt;
    for (auto at = body.begin(); at != body.end(); ++at)
      if (at != steps && !read_nest(*at, at < steps ? form_.before : form_.after, at > steps))
        return std::nullopt;
    std::vector<ChainItem> products = std::exchange(form_.inside, {});
    size_t next = 0;
    for (const Stmt& stmt : inside) {
      if (is_product(stmt))
        form_.inside.push_back(std::move(products[next++]));
      else if (!read_nest(stmt, form_.inside, false))
        return std::nullopt;
    }
    const bool may_begin = !first || (kernel_.numerics == program::Numerics::Fast &&
                                      keeps_rows_without_columns(form_, *first, kept));
    return next > 1 && may_begin ? std::optional(form_) : std::nullopt;
  }

private:
  /// Lets loops over rows begin at 0 that all begin at max(0, first), or at `first` where it is
  /// never negative; returns `first`, or nothing where they begin at 0 as they are.
  static std::optional<Expr> begin_at_zero(Block& inside) {
    std::optional<Expr> first;
    for (const Stmt& stmt : inside) {
      const auto* loop = std::get_if<For>(&stmt);
      if (loop == nullptr)
        return std::nullopt;
      const auto* lo = as<scalar::Binary>(loop->lo);
      const bool is_cut =
          lo != nullptr && lo->op == scalar::BinaryOp::Max && scalar::constant_of(lo->lhs) == 0;
      const Expr& own = is_cut ? lo->rhs : loop->lo;
      if (scalar::constant_of(own) || (first && !scalar::equal(*first, own)))
        return std::nullopt;
      first = own;
    }
    for (Stmt& stmt : inside)
      std::get<For>(stmt).lo = int_lit(0);
    return first;
  }

  static bool is_product(const Stmt& stmt) {
    const auto* loop = std::get_if<For>(&stmt);
    return loop != nullptr && !loop->marks.instruction.empty();
  }

  /// A loop over steps, or what stands for its only one inside an allocation.
  static bool has_products(const Stmt& stmt) {
    const auto* loop = std::get_if<For>(&stmt);
    const auto* only = std::get_if<Allocate>(&stmt);
    if ((loop == nullptr && only == nullptr) || is_product(stmt))
      return false;
    std::set<uint32_t> ignored;
    const Block& inside = inside_of(loop != nullptr ? loop->body : only->body, ignored);
    return std::any_of(inside.begin(), inside.end(), is_product);
  }

  For one_step(const Stmt& only) {
    For loop;
    loop.var = add_variable(kernel_, "step", scalar::kIndex);
    loop.lo = int_lit(0);
    loop.hi = int_lit(1);
    loop.body = block_of(only);
    return loop;
  }

  bool read_products(const Block& inside, std::vector<ChainItem>& out) {
    for (const Stmt& stmt : inside) {
      if (!is_product(stmt))
        continue;
      const auto product = product_of(std::get<For>(stmt));
      if (!product)
        return false;
      out.emplace_back(*product);
    }
    return true;
  }

  std::optional<ChainProduct> product_of(const For& loop) {
    const target::Intrinsic* data = target::find_intrinsic(loop.marks.instruction);
    const auto nest = loop_nest(loop, grid_);
    if (data == nullptr || !data->is_collective || !nest || nest->axes.size() != 3 ||
        nest->body.size() != 1)
      return std::nullopt;
    const auto* store = std::get_if<Store>(&nest->body[0]);
    std::array<std::optional<TileAxis>, 3> axes;
    for (size_t n = 0; n < 3; ++n)
      if (nest->marks[n].instruction == data->name && nest->marks[n].instruction_axis < 3)
        axes[nest->marks[n].instruction_axis] = nest->axes[n];
    if (store == nullptr || !axes[0] || !axes[1] || !axes[2])
      return std::nullopt;
    ChainProduct product{&program::instruction_of(*data), *axes[0], *axes[1], *axes[2], {}, {}, {}};
    return read_operands(product, *store) ? std::optional(product) : std::nullopt;
  }

  bool read_operands(ChainProduct& product, const Store& store) {
    const uint32_t i = product.rows.var, j = product.columns.var, k = product.depth.var;
    const VarSet vars = {i, j, k};
    const auto result = tile_access(store.buffer, store.index, i, j, vars);
    if (store.op != product.instruction->op || !result || !allocated_.contains(store.buffer) ||
        kernel_.buffers[store.buffer].elem != product.instruction->result().elem ||
        !is_of_block(store.buffer, store.index, i, j))
      return false;
    product.result = *result;
    for (const program::OperandLoads& loads :
         program::matching_loads(*product.instruction, store.value)) {
      const auto* left = as<scalar::Load>(loads[0]);
      const auto* right = as<scalar::Load>(loads[1]);
      const auto a = tile_access(left->tensor, left->index, i, k, vars);
      const auto b = tile_access(right->tensor, right->index, j, k, vars);
      const bool is_apart = left->tensor != store.buffer && right->tensor != store.buffer;
      if (!a || !b || !is_apart || allocated_.contains(right->tensor) ||
          (allocated_.contains(left->tensor) && !is_of_block(left->tensor, left->index, i, k)))
        continue;
      product.a = *a;
      product.b = *b;
      return true;
    }
    return false;
  }

  /// The access is to the tile's own row, and column if there is one, at the same dimensions as
  /// ever.
  bool is_of_block(uint32_t buffer, const std::vector<Expr>& index, uint32_t row,
                   std::optional<uint32_t> column) {
    ChainBuffer found{index.size(), std::nullopt};
    for (size_t d = 0; d < index.size(); ++d) {
      const Expr place = scalar::simplify(index[d]);
      const auto* var = as<scalar::Var>(place);
      if (var != nullptr && var->id == row && found.row == index.size())
        found.row = d;
      else if (var != nullptr && var->id == column && !found.column)
        found.column = d;
      else if (scalar::constant_of(place) != 0)
        return false;
    }
    if (found.row == index.size())
      return false;
    const auto [known, is_new] = form_.buffers.try_emplace(buffer, found);
    return is_new || (known->second.row == found.row && known->second.column == found.column);
  }

  bool read_nest(const Stmt& stmt, std::vector<ChainItem>& out, bool is_after) {
    const auto* loop = std::get_if<For>(&stmt);
    const auto nest = loop != nullptr && !is_product(stmt) ? loop_nest(*loop, grid_) : std::nullopt;
    if (!nest || nest->axes.empty() || nest->axes.size() > 2)
      return false;
    for (const bool is_transposed : {false, true}) {
      if (is_transposed && nest->axes.size() == 1)
        return false;
      const size_t rows = is_transposed ? 1 : 0;
      const std::map<uint32_t, ChainBuffer> known = form_.buffers;
      std::vector<ChainItem> items;
      if (read_stores(*nest, rows, items, is_after)) {
        out.insert(out.end(), items.begin(), items.end());
        return true;
      }
      form_.buffers = known;
    }
    return false;
  }

  /// Stores of one nest run one after the other, each over the whole tile.
  bool read_stores(const LoopNest& nest, size_t rows, std::vector<ChainItem>& out, bool is_after) {
    const TileAxis& row = nest.axes[rows];
    std::optional<TileAxis> column;
    if (nest.axes.size() == 2)
      column = nest.axes[1 - rows];
    if (mentions_any(row.hi, column ? VarSet{column->var} : VarSet{}))
      return false;
    std::set<uint32_t> combined, loaded;
    for (const Stmt& stmt : nest.body) {
      const auto* store = std::get_if<Store>(&stmt);
      if (store == nullptr || !is_fine(*store, row, column, is_after, loaded))
        return false;
      const auto own = form_.buffers.find(store->buffer);
      if (own != form_.buffers.end() && column && !own->second.column) {
        if (store->op == ReduceOp::None)
          return false;
        combined.insert(store->buffer);
      }
      out.emplace_back(ChainNest{row, column, *store});
    }
    return std::none_of(combined.begin(), combined.end(),
                        [&](uint32_t buffer) { return loaded.contains(buffer); });
  }

  bool is_fine(const Store& store, const TileAxis& row, const std::optional<TileAxis>& column,
               bool is_after, std::set<uint32_t>& loaded) {
    const auto column_var = column ? std::optional(column->var) : std::nullopt;
    const auto check = [&](uint32_t buffer, const std::vector<Expr>& index) {
      const bool is_plain = std::none_of(index.begin(), index.end(), has_load);
      return is_plain &&
             (!allocated_.contains(buffer) || is_of_block(buffer, index, row.var, column_var));
    };
    bool is_fine = check(store.buffer, store.index) &&
                   (allocated_.contains(store.buffer) || (is_after && store.op == ReduceOp::None));
    scalar::visit(store.value, [&](const Expr& e) {
      if (const auto* load = as<scalar::Load>(e)) {
        is_fine = is_fine && check(load->tensor, load->index) &&
                  (allocated_.contains(load->tensor) || !stored().contains(load->tensor));
        loaded.insert(load->tensor);
      }
    });
    return is_fine;
  }

  const std::set<uint32_t>& stored() {
    if (!stored_)
      stored_ = buffers_stored_in(launch_.body);
    return *stored_;
  }

  Kernel& kernel_;
  const Launch& launch_;
  std::vector<TileAxis> grid_;
  ChainForm form_;
  std::set<uint32_t> allocated_;
  std::optional<std::set<uint32_t>> stored_;
};

} // namespace

std::set<uint32_t> touched_by(const ChainItem& item) {
  if (const auto* product = std::get_if<ChainProduct>(&item))
    return {product->a.buffer, product->b.buffer, product->result.buffer};
  const Store& store = std::get<ChainNest>(item).store;
  std::set<uint32_t> touched = {store.buffer};
  scalar::visit(store.value, [&](const Expr& e) {
    if (const auto* load = as<scalar::Load>(e))
      touched.insert(load->tensor);
  });
  return touched;
}

std::optional<ChainForm> chain_form(Kernel& kernel, const Launch& launch) {
  if (launch.threads != std::array<int64_t, 3>{1, 1, 1})
    return std::nullopt;
  return ChainReader(kernel, launch).read();
}

} // namespace kawara::kernel
