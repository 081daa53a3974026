#include "kernel/gpu/warpgroup/tile_elements.h"

#include "kernel/gpu/warpgroup/tile_place.h"
#include "kernel/walk.h"

#include <algorithm>
#include <set>
#include <utility>

namespace kawara::kernel {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

const TilePart* TileElements::part_of(uint32_t buffer) const {
  const auto found = parts_.find(buffer);
  return found == parts_.end() ? nullptr : &found->second;
}

Expr TileElements::leader() const {
  const Expr warp =
      binary(BinaryOp::Mod, scalar::var(launch_.thread_vars[2]), int_lit(kWarpsOfGroup));
  return both(is_first_lane(launch_), is_equal(warp, 0));
}

Block TileElements::at_end() const {
  return panels_ && !is_copied_ ? block_of(If{leader(), block_of(AsyncOp{AwaitBulkStores{0}}), {}})
                                : Block{};
}

Block TileElements::run(const Work& work) {
  if (const auto to = bulk_target(work)) {
    const Buffer& target = kernel_.buffers[to->buffer];
    const int64_t width = kPanelBytes / scalar::bytes_of(target.elem);
    add_panels(target.name, target.elem, width, work);
    return through_panels(work, *to, width);
  }
  const auto part = copied_part(work);
  return part ? through_copied_panels(work, *part)
              : elements(work, {0, work.columns}, std::nullopt);
}

void TileElements::add_panels(const std::string& name, scalar::Elem elem, int64_t width,
                              const Work& work) {
  if (!panels_)
    panels_ = add_group_buffer(
        kernel_, name + "_tiles", elem,
        {buffers_of(work, width) * rows_ / kRowsOfGroup, kRowsOfGroup, width}, Scope::Shared);
}

/// The tensor, when TMA can write the nest's elements and writes no others.
std::optional<TileAccess> TileElements::bulk_target(const Work& work) const {
  constexpr int64_t kAlignment = 16;
  const auto to = is_copied_ ? std::nullopt : panel_target(work);
  if (!to)
    return std::nullopt;
  const Buffer& target = kernel_.buffers[to->buffer];
  const int64_t row = *scalar::constant_of(target.shape.back()) * scalar::bytes_of(target.elem);
  const bool is_other = panels_ && kernel_.buffers[*panels_].elem != target.elem;
  return row % kAlignment == 0 && !is_other ? to : std::nullopt;
}

/// The tensor, when the nest writes all its elements in the tile, once and along its rows.
std::optional<TileAccess> TileElements::panel_target(const Work& work) const {
  const TileNest& nest = work.nest;
  const Store& store = nest.stores.front();
  const bool has_part = parts_.contains(store.buffer);
  if (nest.stores.size() != 1 || store.op != ReduceOp::None || (has_part && work.stores_parts))
    return std::nullopt;
  const Buffer& target = kernel_.buffers[store.buffer];
  const auto to = tile_access(store.buffer, store.index, nest.rows.var, nest.columns.var,
                              {nest.rows.var, nest.columns.var});
  const int64_t bytes = scalar::bytes_of(target.elem);
  if (!to || to->other + 1 != target.shape.size() || target.shape.size() > 5 || bytes > 4 ||
      work.columns < kPanelBytes / bytes)
    return std::nullopt;
  for (const Expr& extent : target.shape)
    if (!scalar::constant_of(extent))
      return std::nullopt;
  bool is_loaded = false;
  visit_loads(launch_.body, [&](const scalar::Load& load) {
    is_loaded = is_loaded || load.tensor == store.buffer;
  });
  const bool is_whole = ends_with_buffer(kernel_, nest.rows, rows_, *to, to->line) &&
                        ends_with_buffer(kernel_, nest.columns, work.columns, *to, to->other);
  return is_whole && (!is_loaded || has_part) ? to : std::nullopt;
}

std::vector<int64_t> TileElements::panels_of(const Work& work) const {
  const Buffer& target = kernel_.buffers[work.nest.stores.front().buffer];
  return panels_of(work, kPanelBytes / scalar::bytes_of(target.elem));
}

std::vector<int64_t> TileElements::panels_of(const Work& work, int64_t width) {
  std::vector<int64_t> first;
  // The last one may begin within the one before it: elements of both are stored twice, the same.
  for (int64_t begin = 0; begin < work.columns; begin += width)
    first.push_back(std::min(begin, work.columns - width));
  return first;
}

int64_t TileElements::buffers_of(const Work& work, int64_t width) {
  return panels_of(work, width).size() == 1 ? 1 : 2;
}

bool TileElements::has_sources(const Work& work) const {
  return sources_ && sources_->result == work.nest.stores.front().buffer;
}

Block TileElements::through_panels(const Work& work, const TileAccess& to, int64_t width) {
  const Expr group =
      binary(BinaryOp::FloorDiv, scalar::var(launch_.thread_vars[2]), int_lit(kWarpsOfGroup));
  const std::vector<int64_t> first = panels_of(work);
  const auto count = static_cast<int64_t>(first.size());
  Block out;
  for (int64_t n = 0; n < count; ++n) {
    const int64_t begin = first[static_cast<size_t>(n)];
    const int64_t buffers = buffers_of(work, width);
    const Panel panel{scalar::simplify(group * int_lit(buffers) + int_lit(n % buffers)), begin,
                      width};
    // The buffer was read before the last store, unless an odd number of panels ended the last tile
    // with it.
    const int64_t pending = count == 1 || (n == 0 && count % 2 == 1) ? 0 : 1;
    out.emplace_back(If{leader(), block_of(AsyncOp{AwaitBulkStores{pending}}), {}});
    out.emplace_back(AsyncOp{GroupBarrier{}});
    if (has_sources(work))
      out.emplace_back(AsyncOp{AwaitPhase{{sources_->full, scalar::var(sources_->ring.slot)},
                                          scalar::var(sources_->ring.parity)}});
    for (Stmt& stmt : elements(work, {begin, width}, panel))
      out.push_back(std::move(stmt));
    out.emplace_back(AsyncOp{GroupBarrier{}});
    BulkStore store;
    store.from = {*panels_, {panel.number, int_lit(0), int_lit(0)}};
    store.to = {to.buffer, to.base};
    Expr& line = store.to.index[to.line];
    line = scalar::simplify(line + group * int_lit(kRowsOfGroup));
    Expr& column = store.to.index[to.other];
    column = scalar::simplify(column + int_lit(begin));
    store.box.assign(to.base.size(), 1);
    store.box[to.line] = kRowsOfGroup;
    store.box[to.other] = width;
    Block leave = block_of(AsyncOp{std::move(store)});
    if (has_sources(work))
      leave.emplace_back(AsyncOp{Arrive{{sources_->empty, scalar::var(sources_->ring.slot)}, 0}});
    out.emplace_back(If{leader(), std::move(leave), {}});
    if (has_sources(work))
      advance(std::as_const(sources_->ring), out);
  }
  return out;
}

std::optional<TileAccess> TileElements::source_of(const Work& work, const scalar::Load& load,
                                                  int64_t bytes) const {
  constexpr int64_t kAlignment = 16;
  const TileNest& nest = work.nest;
  const Buffer& tensor = kernel_.buffers[load.tensor];
  const size_t rank = tensor.shape.size();
  const bool is_global = tensor.scope == Scope::Argument || tensor.scope == Scope::Workspace;
  if (parts_.contains(load.tensor) || !is_global || tensor.window || rank < 2 || rank > 5 ||
      load.index.size() != rank || scalar::bytes_of(tensor.elem) != bytes ||
      buffers_stored_in(launch_.body).contains(load.tensor))
    return std::nullopt;
  auto access = tile_access(load.tensor, load.index, nest.rows.var, nest.columns.var,
                            {nest.rows.var, nest.columns.var});
  if (!access || access->other + 1 != rank)
    return std::nullopt;
  for (const Expr& extent : tensor.shape)
    if (!scalar::constant_of(extent))
      return std::nullopt;
  const bool is_whole = ends_with_buffer(kernel_, nest.rows, rows_, *access, access->line) &&
                        ends_with_buffer(kernel_, nest.columns, work.columns, *access, rank - 1);
  const bool is_aligned = *scalar::constant_of(tensor.shape.back()) * bytes % kAlignment == 0;
  return is_whole && is_aligned ? access : std::nullopt;
}

std::vector<TileAccess> TileElements::sources_of(const Work& work) const {
  const auto to = bulk_target(work);
  if (!to)
    return {};
  std::map<uint32_t, std::vector<const scalar::Load*>> loads;
  scalar::visit(work.nest.stores.front().value, [&](const Expr& e) {
    if (const auto* load = scalar::as<scalar::Load>(e))
      loads[load->tensor].push_back(load);
  });
  std::vector<TileAccess> found;
  for (const auto& [tensor, all] : loads) {
    const bool is_one = std::all_of(all.begin(), all.end(), [&](const scalar::Load* load) {
      return std::equal(load->index.begin(), load->index.end(), all.front()->index.begin(),
                        all.front()->index.end(), scalar::equal);
    });
    const int64_t bytes = scalar::bytes_of(kernel_.buffers[to->buffer].elem);
    if (const auto access = is_one ? source_of(work, *all.front(), bytes) : std::nullopt)
      found.push_back(*access);
  }
  return found;
}

Block TileElements::ask_ahead(const Work& work) const {
  const uint32_t rows = work.nest.rows.var, columns = work.nest.columns.var;
  const Expr lane = scalar::var(launch_.thread_vars[1]) * int_lit(kFragmentX) +
                    scalar::var(launch_.thread_vars[0]);
  Block out;
  std::set<uint32_t> asked;
  const auto ask = [&](const scalar::Load& load) {
    const Buffer& buffer = kernel_.buffers[load.tensor];
    const bool is_global = buffer.scope == Scope::Argument || buffer.scope == Scope::Workspace;
    if (!is_global || load.index.empty() || load.index.size() != buffer.shape.size() ||
        !base_of(load.index.back(), columns, {rows, columns}) ||
        std::any_of(load.index.begin(), load.index.end() - 1,
                    [&](const Expr& e) { return mentions(e, rows) || mentions(e, columns); }) ||
        std::any_of(load.index.begin(), load.index.end(), has_load) ||
        !asked.insert(load.tensor).second)
      return;
    const int64_t elements = kPanelBytes / scalar::bytes_of(buffer.elem); // a cache line
    const int64_t lines = std::min((work.columns + elements - 1) / elements, kThreadsOfWarp);
    std::vector<Expr> index = load.index;
    const Expr place = substitute_var(index.back(), columns, lane * int_lit(elements));
    index.back() =
        scalar::simplify(binary(BinaryOp::Min, place, buffer.shape[index.size() - 1] - int_lit(1)));
    const Expr is_first = is_equal(scalar::var(launch_.thread_vars[2]), 0);
    out.emplace_back(If{both(is_first, binary(BinaryOp::Lt, lane, int_lit(lines))),
                        block_of(Prefetch{load.tensor, std::move(index)}),
                        {}});
  };
  for (const Store& store : work.nest.stores)
    scalar::visit(store.value, [&](const Expr& e) {
      const auto* load = scalar::as<scalar::Load>(e);
      if (load != nullptr && !parts_.contains(load->tensor))
        ask(*load);
    });
  return out;
}

/// Touches nothing but the thread's own parts.
bool TileElements::is_private(const Work& work) const {
  bool is_own = work.stores_parts;
  for (const Store& store : work.nest.stores) {
    is_own = is_own && parts_.contains(store.buffer);
    scalar::visit(store.value, [&](const Expr& e) {
      const auto* load = scalar::as<scalar::Load>(e);
      is_own = is_own && (load == nullptr || (work.loads_parts && parts_.contains(load->tensor)));
    });
  }
  return is_own;
}

/// All elements of a thread in these columns.
Block TileElements::elements(const Work& work, const Columns& columns,
                             const std::optional<Panel>& panel) {
  if (panel && has_sources(work)) {
    Block out;
    for (int64_t first = 0; first < columns.count; first += kColumnsAhead)
      for (Stmt& stmt : elements_from_sources(work, {columns.first + first, kColumnsAhead}, *panel))
        out.push_back(std::move(stmt));
    return out;
  }
  const uint32_t group = add_variable(kernel_, "group", scalar::kIndex);
  const uint32_t half = add_variable(kernel_, "half", scalar::kIndex);
  const Expr number = scalar::var(group) + int_lit(columns.first / kColumnsOfGroup);
  Block body = pair_of_elements(work, number, scalar::var(half), panel);
  body = block_of(unrolled(half, 2, std::move(body)));
  return block_of(unrolled(group, columns.count / kColumnsOfGroup, std::move(body)));
}

/// The source whose element this is, in the type that is computed with.
std::optional<uint32_t> TileElements::source_element(const Expr& e) const {
  const auto* cast = scalar::as<scalar::Cast>(e);
  const Expr& inner = cast == nullptr ? e : cast->arg;
  const auto* load = scalar::as<scalar::Load>(inner);
  const bool is_source = load != nullptr && sources_->panels.contains(load->tensor) &&
                         e.type().elem == scalar::compute_type(inner.type().elem);
  return is_source ? std::optional(load->tensor) : std::nullopt;
}

/// Where an element's sources wait.
Expr TileElements::ahead_element(const Place& place) const {
  constexpr int64_t kGroupsAhead = kColumnsAhead / kColumnsOfGroup;
  const Expr group = binary(BinaryOp::Mod, place.at.group, int_lit(kGroupsAhead));
  return scalar::simplify((group * int_lit(2) + place.at.half) * int_lit(kPair) + place.at.place);
}

/// The elements of the columns, all sources first.
Block TileElements::elements_from_sources(const Work& work, const Columns& columns,
                                          const Panel& panel) {
  Block out;
  for (const auto& [tensor, panels] : sources_->panels) {
    const uint32_t group = add_variable(kernel_, "group", scalar::kIndex);
    const uint32_t half = add_variable(kernel_, "half", scalar::kIndex);
    For pair = unrolled(add_variable(kernel_, "pair", scalar::kIndex), kPair, {});
    pair.marks.unroll = 0;
    pair.marks.vector_width = kPair;
    const Expr number = scalar::var(group) + int_lit(columns.first / kColumnsOfGroup);
    Place place{{scalar::var(half), number, scalar::var(pair.var)}, {}, {}};
    place.row = scalar::simplify(fragment_row(launch_, place.at));
    const scalar::Elem elem = kernel_.buffers[panels].elem;
    const Expr element = scalar::load(
        panels, {scalar::var(sources_->ring.slot), place.row, column_in(panel, place)}, {elem, 1});
    pair.body = block_of(Store{sources_->ahead.at(tensor),
                               {ahead_element(place)},
                               ReduceOp::None,
                               scalar::cast(element, {scalar::compute_type(elem), 1})});
    Block body = block_of(unrolled(half, 2, block_of(std::move(pair))));
    out.emplace_back(unrolled(group, columns.count / kColumnsOfGroup, std::move(body)));
  }
  const uint32_t group = add_variable(kernel_, "group", scalar::kIndex);
  const uint32_t half = add_variable(kernel_, "half", scalar::kIndex);
  const Expr number = scalar::var(group) + int_lit(columns.first / kColumnsOfGroup);
  Block body = pair_of_elements(work, number, scalar::var(half), panel);
  body = block_of(unrolled(half, 2, std::move(body)));
  out.emplace_back(unrolled(group, columns.count / kColumnsOfGroup, std::move(body)));
  for (const auto& [tensor, ahead] : sources_->ahead)
    out = block_of(Allocate{ahead, std::move(out)});
  return out;
}

Expr TileElements::line_in(const Place& place) const {
  const Expr warp =
      binary(BinaryOp::Mod, scalar::var(launch_.thread_vars[2]), int_lit(kWarpsOfGroup));
  return scalar::simplify(warp * int_lit(kRowsOfWarp) + place.at.half * int_lit(8) +
                          scalar::var(launch_.thread_vars[1]));
}

Expr TileElements::column_in(const Panel& panel, const Place& place) const {
  const Expr group = scalar::simplify(place.at.group - int_lit(panel.first / kColumnsOfGroup));
  return scalar::simplify(fragment_column(launch_, {place.at.half, group, place.at.place}));
}

Store TileElements::placed(const Store& given, const Work& work, const Place& place,
                           const std::optional<Panel>& panel) const {
  Store store = given;
  const auto in_part = [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    const TilePart* part = load != nullptr && work.loads_parts ? part_of(load->tensor) : nullptr;
    if (panel && has_sources(work) && part == nullptr)
      if (const auto tensor = source_element(e))
        return scalar::load(sources_->ahead.at(*tensor), {ahead_element(place)}, e.type());
    return part != nullptr ? scalar::load(part->buffer, {place.in_part(part->form)}, e.type())
                           : Expr();
  };
  store.value = place.of(scalar::rewrite(given.value, in_part), work.nest);
  const TilePart* part = work.stores_parts ? part_of(given.buffer) : nullptr;
  if (part != nullptr) {
    store.buffer = part->buffer;
    store.index = {place.in_part(part->form)};
  } else if (panel) {
    store.buffer = *panels_;
    store.index = {panel->number, line_in(place), column_in(*panel, place)};
  } else
    for (Expr& e : store.index)
      e = place.of(e, work.nest);
  return store;
}

Block TileElements::pair_of_elements(const Work& work, const Expr& group, const Expr& half,
                                     const std::optional<Panel>& panel) {
  const TileNest& nest = work.nest;
  // What stays with the thread needs no bounds, and products may add to all of it.
  const bool is_own = is_private(work);
  for (const Store& store : nest.stores)
    if (!is_own && work.stores_parts && parts_.contains(store.buffer))
      partial_.insert(store.buffer);
  For pair = unrolled(add_variable(kernel_, "pair", scalar::kIndex), kPair, {});
  Place place{{half, group, scalar::var(pair.var)}, {}, {}};
  place.row = scalar::simplify(fragment_row(launch_, place.at));
  place.column = scalar::simplify(fragment_column(launch_, place.at));
  std::vector<Expr> bounds;
  if (!is_own)
    for (const Expr& bound : short_bounds(nest.columns, work.columns))
      bounds.push_back(place.of(bound, nest));
  const bool is_even = are_even(bounds);
  if (is_even) {
    pair.marks.unroll = 0;
    pair.marks.vector_width = kPair;
  }
  Block stores;
  for (const Store& given : nest.stores)
    stores.emplace_back(placed(given, work, place, panel));
  const Expr inside = is_even ? Expr() : all_below(place.column, bounds);
  pair.body = only_if(inside, std::move(stores));
  const Expr even =
      is_even ? all_below(substitute_var(place.column, pair.var, int_lit(0)), bounds) : Expr();
  const Expr above = is_own ? Expr() : all_below(place.row, short_bounds(nest.rows, rows_));
  return only_if(above, only_if(even, block_of(std::move(pair))));
}

Block TileElements::run_rows(const TileNest& nest) {
  const Work work{nest, 0};
  const bool is_own = is_private(work);
  Block out;
  for (int64_t half = 0; half < 2; ++half) {
    Place place{{int_lit(half), int_lit(0), int_lit(0)}, {}, int_lit(0)};
    place.row = scalar::simplify(fragment_row(launch_, place.at));
    Block stores;
    for (const Store& given : nest.stores)
      stores.emplace_back(placed(given, work, place, std::nullopt));
    const Expr above = is_own ? Expr() : all_below(place.row, short_bounds(nest.rows, rows_));
    // All threads of a row would write the same to a tensor; one does.
    const bool is_stored = !parts_.contains(nest.stores.front().buffer);
    const Expr one = is_stored ? is_equal(scalar::var(launch_.thread_vars[0]), 0) : Expr();
    for (Stmt& stmt : only_if(one, only_if(above, std::move(stores))))
      out.push_back(std::move(stmt));
  }
  return out;
}

Expr TileElements::is_inside(const TileNest& nest, int64_t columns) const {
  return all_below(scalar::var(nest.columns.var), short_bounds(nest.columns, columns));
}

Expr TileElements::is_partial(const TileNest& nest, int64_t columns) const {
  Expr cond;
  for (const Expr& bound : short_bounds(nest.columns, columns)) {
    const scalar::AffineSum sum = scalar::affine_sum(bound);
    int64_t growth = 0;
    for (const auto& [term, factor] : sum.terms)
      if (const auto* v = scalar::as<scalar::Var>(term); v != nullptr && v->id == nest.rows.var)
        growth = factor;
    const Expr first = scalar::var(launch_.thread_vars[2]) * int_lit(kRowsOfWarp);
    const Expr shortest = growth >= 0 ? first : first + int_lit(kRowsOfWarp - 1);
    const Expr one = scalar::simplify(
        binary(BinaryOp::Lt, substitute_var(bound, nest.rows.var, shortest), int_lit(columns)));
    cond = cond ? binary(BinaryOp::Or, cond, one) : one;
  }
  return cond;
}

Block TileElements::fill_outside(const TileNest& nest, int64_t columns, uint32_t buffer,
                                 const Expr& value) {
  const Expr partial = is_partial(nest, columns);
  if (!partial)
    return {};
  const TilePart& part = *part_of(buffer);
  const scalar::Elem elem = kernel_.buffers[part.buffer].elem;
  For pair = unrolled(add_variable(kernel_, "pair", scalar::kIndex), kPair, {});
  const uint32_t group = add_variable(kernel_, "group", scalar::kIndex);
  const uint32_t half = add_variable(kernel_, "half", scalar::kIndex);
  Place place{{scalar::var(half), scalar::var(group), scalar::var(pair.var)}, {}, {}};
  place.row = scalar::simplify(fragment_row(launch_, place.at));
  place.column = scalar::simplify(fragment_column(launch_, place.at));
  const Expr element = place.in_part(part.form);
  const Expr old = scalar::cast(scalar::load(part.buffer, {element}, {elem, 1}), value.type());
  const Expr inside = place.of(is_inside(nest, columns), nest);
  pair.body =
      block_of(Store{part.buffer, {element}, ReduceOp::None, scalar::select(inside, old, value)});
  Block body = block_of(unrolled(half, 2, block_of(std::move(pair))));
  body = block_of(unrolled(group, columns / kColumnsOfGroup, std::move(body)));
  return block_of(If{partial, std::move(body), {}});
}

} // namespace kawara::kernel
