#include "kernel/gpu/chain/chain_nests.h"

#include "kernel/gpu/warpgroup/group_parts.h"
#include "kernel/vars.h"

#include <algorithm>
#include <cmath>

namespace kawara::kernel {
namespace {

using scalar::int_lit;

void add_all(Block& out, Block more) {
  for (Stmt& stmt : more)
    out.push_back(std::move(stmt));
}

/// The one buffer that a value is loaded from.
uint32_t source_of(const Expr& value) {
  uint32_t source = UINT32_MAX;
  size_t count = 0;
  scalar::visit(value, [&](const Expr& e) {
    if (const auto* load = scalar::as<scalar::Load>(e); load != nullptr && count++ == 0)
      source = load->tensor;
  });
  return count == 1 ? source : UINT32_MAX;
}

} // namespace

uint32_t ChainNests::add_private(const std::string& name, scalar::Elem elem, int64_t elements) {
  registers_.buffers.push_back(add_group_buffer(kernel_, name, elem, {elements}, Scope::Private));
  return registers_.buffers.back();
}

Block ChainNests::prepare(const ChainProduct& product) {
  const uint32_t a = product.a.buffer;
  if (!form_.buffers.contains(a) || (mask_ && mask_->zeros.contains(a)))
    return {};
  const scalar::Type computed{scalar::compute_type(kernel_.buffers[a].elem), 1};
  return elements_.fill_outside({product.rows, product.depth, {}}, widths_.at(a), a,
                                scalar::float_lit(0.0, computed));
}

Block ChainNests::run(const ChainNest& given) {
  const Store store = with_known_scalars(given.store);
  if (!given.columns)
    return elements_.run_rows({given.rows, {}, {store}});
  const int64_t width = width_of(widths_, given).value_or((given.columns->most + 7) / 8 * 8);
  const TileNest nest{given.rows, *given.columns, {store}};
  const auto own = form_.buffers.find(store.buffer);
  const bool combines = own != form_.buffers.end() && !own->second.column;
  if (combines)
    return combine(nest, width);
  Block out = own != form_.buffers.end() ? zeros_outside(nest, width) : Block{};
  add_all(out, elements_.run({nest, width}));
  return out;
}

/// A nest that reads a tensor stores nothing outside its bounds, and what follows reads all
/// elements that a thread has: they are something at least.
Block ChainNests::zeros_outside(const TileNest& nest, int64_t width) {
  TileNest zeros = nest;
  Store& store = zeros.stores.front();
  const bool is_complete =
      short_bounds(nest.rows, rows_).empty() && short_bounds(nest.columns, width).empty();
  if (is_complete || store.op != ReduceOp::None || elements_.is_private({nest, width}))
    return {};
  store.value = scalar::zero_of(store.value.type());
  return elements_.run({zeros, width});
}

/// Elements of a row: first those of each thread, then threads.
Block ChainNests::combine(const TileNest& given, int64_t width) {
  TileNest nest = given;
  Store& store = nest.stores.front();
  const uint32_t rows = elements_.part_of(store.buffer)->buffer;
  const ReduceOp op = store.op;
  const scalar::Type type{scalar::compute_type(kernel_.buffers[rows].elem), 1};
  const Expr neutral = scalar::identity_of(op, type);
  const std::string name = kernel_.buffers[store.buffer].name;
  const uint32_t lanes = add_private(name + "_lanes", type.elem, 4);
  elements_.set_part(lanes, {lanes, TilePart::Form::Lanes});
  Block out;
  for (int64_t n = 0; n < 4; ++n)
    out.emplace_back(Store{lanes, {int_lit(n)}, ReduceOp::None, neutral});
  const uint32_t read = mask_ ? source_of(store.value) : 0;
  const bool is_masked = mask_ && op == ReduceOp::Max && read == mask_->scores;
  const bool is_done = is_masked || (mask_ && op == ReduceOp::Sum && mask_->zeros.contains(read));
  if (is_masked)
    add_all(out, elements_.fill_outside(given, width, read, scalar::float_lit(-INFINITY, type)));
  store.buffer = lanes;
  store.index = {int_lit(0)};
  const Block plain = elements_.run({nest, width});
  if (const Expr partial = is_done ? Expr() : elements_.is_partial(nest, width)) {
    store.value = scalar::select(elements_.is_inside(nest, width), store.value,
                                 scalar::identity_of(op, store.value.type()));
    out.emplace_back(If{partial, elements_.run({nest, width}), plain});
  } else
    add_all(out, plain);
  for (int64_t half = 0; half < 2; ++half) {
    const auto lane = [&](int64_t place) {
      return scalar::load(lanes, {int_lit(2 * half + place)}, type);
    };
    const uint32_t total = add_variable(kernel_, name + "_all", type);
    out.emplace_back(Combine{total, op, scalar::combine(op, lane(0), lane(1))});
    out.emplace_back(Store{rows, {int_lit(half)}, op, scalar::var(total, type)});
  }
  return out;
}

/// Loads that are the same for all threads and steps are done once.
Store ChainNests::with_known_scalars(Store store) {
  store.value = scalar::rewrite(store.value, [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    const bool is_scalar = load != nullptr && !form_.buffers.contains(load->tensor) &&
                           std::all_of(load->index.begin(), load->index.end(), [](const Expr& i) {
                             return scalar::constant_of(i).has_value();
                           });
    if (!is_scalar)
      return Expr();
    for (const auto& [known, var] : scalars_)
      if (scalar::equal(known, e))
        return scalar::var(var, e.type());
    const uint32_t var =
        add_variable(kernel_, kernel_.buffers[load->tensor].name + "_value", e.type());
    registers_.counters.emplace_back(Define{var, e});
    scalars_.emplace_back(e, var);
    return scalar::var(var, e.type());
  });
  return store;
}

} // namespace kawara::kernel
