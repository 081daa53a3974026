#include "kernel/gpu/warpgroup/tile_results.h"

namespace kawara::kernel {

TileNest TileResults::copy_of_result() const {
  const TileAccess& result = form_.result;
  std::vector<Expr> index = result.base;
  index[result.line] = scalar::simplify(index[result.line] + scalar::var(form_.rows.var));
  index[result.other] = scalar::simplify(index[result.other] + scalar::var(form_.columns.var));
  const scalar::Type type{kernel_.buffers[result.buffer].elem, 1};
  Store store{result.buffer, index, ReduceOp::None, scalar::load(result.buffer, index, type)};
  return {form_.rows, form_.columns, {std::move(store)}};
}

const TileNest* TileResults::nest_with_sources() const {
  for (const TileNest& nest : form_.after)
    if (!elements_.sources_of({nest, columns_}).empty())
      return &nest;
  return nullptr;
}

EpilogueOperands TileResults::sources() const {
  const TileNest* nest = nest_with_sources();
  if (nest == nullptr)
    return {kernel_, {}, {}, rows_};
  const TileElements::Work work{*nest, columns_};
  return {kernel_, elements_.sources_of(work), elements_.panels_of(work), rows_};
}

void TileResults::set_sources(PanelSources sources) {
  sources.result = nest_with_sources()->stores.front().buffer;
  elements_.set_sources(std::move(sources));
}

Block TileResults::before() {
  Block out;
  bool has_values = false;
  for (const TileNest& nest : form_.before) {
    for (const Store& store : nest.stores)
      has_values = has_values || store.buffer == form_.result.buffer;
    for (Stmt& stmt : elements_.run({nest, columns_}))
      out.push_back(std::move(stmt));
  }
  if (has_values)
    return out;
  for (Stmt& stmt : elements_.run({copy_of_result(), columns_, false, true}))
    out.push_back(std::move(stmt));
  return out;
}

Block TileResults::ask_ahead() const {
  Block out;
  for (const TileNest& nest : form_.after)
    for (Stmt& stmt : elements_.ask_ahead({nest, columns_}))
      out.push_back(std::move(stmt));
  return out;
}

Block TileResults::after(bool keeps_result) {
  Block out;
  for (const TileNest& nest : form_.after)
    for (Stmt& stmt : elements_.run({nest, columns_}))
      out.push_back(std::move(stmt));
  if (keeps_result)
    for (Stmt& stmt : elements_.run({copy_of_result(), columns_, true, false}))
      out.push_back(std::move(stmt));
  return out;
}

} // namespace kawara::kernel
