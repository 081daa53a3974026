// Results that TMA cannot write, because rows of their tensor are no multiple of 16 bytes. A thread
// has pairs of elements in eight rows (fragment.h), and would write 4 bytes of each at a time. By
// way of shared memory a warp writes whole parts of rows.

#include "kernel/gpu/warpgroup/tile_place.h"

#include <set>

namespace kawara::kernel {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

/// The buffer whose elements, and no other part's, make the nest's: where TMA cannot write these,
/// they go through panels of it.
std::optional<uint32_t> TileElements::copied_part(const Work& work) const {
  if (!can_copy_ || (panels_ && !is_copied_) || !work.loads_parts || !panel_target(work))
    return std::nullopt;
  std::set<uint32_t> read;
  scalar::visit(work.nest.stores.front().value, [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    if (load != nullptr && parts_.contains(load->tensor))
      read.insert(load->tensor);
  });
  if (read.size() != 1 || partial_.contains(*read.begin()) ||
      (has_pairs(work) && !gains_by_panels(work)))
    return std::nullopt;
  const TilePart& part = parts_.at(*read.begin());
  const bool is_wide =
      scalar::bytes_of(kernel_.buffers[part.buffer].elem) * kThreadsOfWarp == kPanelBytes;
  return part.form == TilePart::Form::Elements && is_wide && work.columns >= kThreadsOfWarp
             ? std::optional(*read.begin())
             : std::nullopt;
}

/// Pairs of elements leave well enough without panels where there are few, or where others are read
/// beside them.
bool TileElements::gains_by_panels(const Work& work) const {
  const auto to = panel_target(work);
  const Buffer& target = kernel_.buffers[to->buffer];
  const auto rows = scalar::constant_of(target.shape[to->line]);
  const auto columns = scalar::constant_of(target.shape[to->other]);
  bool reads_elements = false;
  scalar::visit(work.nest.stores.front().value, [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    if (load == nullptr || parts_.contains(load->tensor))
      return;
    for (const Expr& index : load->index)
      reads_elements = reads_elements || mentions(index, work.nest.rows.var);
  });
  return !reads_elements && rows && *rows >= kRowsOfGroup && columns && *columns >= kRowsOfGroup;
}

/// Where TMA cannot write: sums go through panels as they are, and each warp makes whole rows of
/// results of them, its lanes neighbouring elements.
Block TileElements::through_copied_panels(const Work& work, uint32_t source) {
  is_copied_ = true;
  const TilePart& part = parts_.at(source);
  const scalar::Elem elem = kernel_.buffers[part.buffer].elem;
  add_panels(kernel_.buffers[source].name, elem, kThreadsOfWarp, work);
  const std::vector<int64_t> first = panels_of(work, kThreadsOfWarp);
  const auto count = static_cast<int64_t>(first.size());
  const int64_t buffers = buffers_of(work, kThreadsOfWarp);
  const Expr group =
      binary(BinaryOp::FloorDiv, scalar::var(launch_.thread_vars[2]), int_lit(kWarpsOfGroup));
  Block out;
  for (int64_t n = 0; n < count; ++n) {
    const Panel panel{scalar::simplify(group * int_lit(buffers) + int_lit(n % buffers)),
                      first[static_cast<size_t>(n)], kThreadsOfWarp};
    // Of two buffers in turns, all have read one when they meet over the other. An odd number of
    // panels ends with the first one.
    if (n == 0 && count % 2 == 1)
      out.emplace_back(AsyncOp{GroupBarrier{}});
    out.emplace_back(sums_to_panel(part, panel));
    out.emplace_back(AsyncOp{GroupBarrier{}});
    out.emplace_back(rows_from_panel(work, source, panel));
  }
  return out;
}

For TileElements::sums_to_panel(const TilePart& part, const Panel& panel) {
  const uint32_t group = add_variable(kernel_, "group", scalar::kIndex);
  const uint32_t half = add_variable(kernel_, "half", scalar::kIndex);
  For pair = unrolled(add_variable(kernel_, "pair", scalar::kIndex), kPair, {});
  pair.marks.unroll = 0;
  pair.marks.vector_width = kPair;
  const Expr number = scalar::var(group) + int_lit(panel.first / kColumnsOfGroup);
  const Place place{{scalar::var(half), number, scalar::var(pair.var)}, {}, {}};
  const scalar::Elem elem = kernel_.buffers[part.buffer].elem;
  pair.body = block_of(Store{*panels_,
                             {panel.number, line_in(place), column_in(panel, place)},
                             ReduceOp::None,
                             scalar::load(part.buffer, {place.in_part(part.form)}, {elem, 1})});
  Block body = block_of(unrolled(half, 2, block_of(std::move(pair))));
  return unrolled(group, panel.width / kColumnsOfGroup, std::move(body));
}

/// Whether rows of the tensor and all bounds let two neighbouring elements of a row be written as
/// one.
bool TileElements::has_pairs(const Work& work) const {
  const auto to = panel_target(work);
  const auto extent = scalar::constant_of(kernel_.buffers[to->buffer].shape.back());
  return extent && *extent % kPair == 0 && are_even({to->base[to->other]}) &&
         are_even(short_bounds(work.nest.columns, work.columns));
}

Allocate TileElements::rows_from_panel(const Work& work, uint32_t source, const Panel& panel) {
  const TileNest& nest = work.nest;
  const scalar::Type type{kernel_.buffers[*panels_].elem, 1};
  const int64_t each = has_pairs(work) ? kPair : 1;
  const Expr z = scalar::var(launch_.thread_vars[2]);
  const Expr x = scalar::var(launch_.thread_vars[0]), y = scalar::var(launch_.thread_vars[1]);
  const int64_t of_row = kFragmentY / each; // of y
  const Expr in_row =
      (each == 1 ? y : binary(BinaryOp::Mod, y, int_lit(of_row))) * int_lit(kFragmentX) + x;
  const Expr row_of_lane = each == 1 ? int_lit(0) : binary(BinaryOp::FloorDiv, y, int_lit(of_row));
  const uint32_t sums = add_group_buffer(kernel_, kernel_.buffers[source].name + "_line", type.elem,
                                         {kRowsOfWarp}, Scope::Private);
  // All sums of the lane first, then what is made of them: the one does not wait for the other.
  struct Walk {
    For lines, pair;
    Expr line, column, sum; ///< of the warp's rows, of the panel, of the lane's
  };
  const auto walk = [&] {
    Walk one{unrolled(add_variable(kernel_, "line", scalar::kIndex), kRowsOfWarp / each, {}),
             unrolled(add_variable(kernel_, "pair", scalar::kIndex), each, {}),
             {},
             {},
             {}};
    if (each > 1) {
      one.pair.marks.unroll = 0;
      one.pair.marks.vector_width = each;
    }
    const Expr line = scalar::var(one.lines.var) * int_lit(each), pair = scalar::var(one.pair.var);
    one.line = scalar::simplify(line + row_of_lane);
    one.column = scalar::simplify(in_row * int_lit(each) + pair);
    one.sum = scalar::simplify(line + pair);
    return one;
  };
  Walk in = walk();
  const Expr warp = binary(BinaryOp::Mod, z, int_lit(kWarpsOfGroup));
  const Expr in_panel = scalar::simplify(warp * int_lit(kRowsOfWarp) + in.line);
  in.pair.body = block_of(Store{sums,
                                {in.sum},
                                ReduceOp::None,
                                scalar::load(*panels_, {panel.number, in_panel, in.column}, type)});
  in.lines.body = block_of(std::move(in.pair));
  Block out = block_of(std::move(in.lines));
  Walk to = walk();
  Place place;
  place.row = scalar::simplify(z * int_lit(kRowsOfWarp) + to.line);
  place.column = scalar::simplify(to.column + int_lit(panel.first));
  const auto from_panel = [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    return load != nullptr && load->tensor == source ? scalar::load(sums, {to.sum}, e.type())
                                                     : Expr();
  };
  Store store = nest.stores.front();
  store.value = place.of(scalar::rewrite(store.value, from_panel), nest);
  for (Expr& e : store.index)
    e = place.of(e, nest);
  to.pair.body = block_of(std::move(store));
  // The first of two says it for both. A bound of the columns may depend on the row.
  const Expr first = substitute_var(place.column, to.pair.var, int_lit(0));
  std::vector<Expr> fixed, moving;
  for (const Expr& bound : short_bounds(nest.columns, work.columns))
    (mentions(bound, nest.rows.var) ? moving : fixed).push_back(place.of(bound, nest));
  Block one = only_if(all_below(first, moving), block_of(std::move(to.pair)));
  to.lines.body = only_if(all_below(place.row, short_bounds(nest.rows, rows_)), std::move(one));
  for (Stmt& stmt : only_if(all_below(first, fixed), block_of(std::move(to.lines))))
    out.push_back(std::move(stmt));
  return Allocate{sums, std::move(out)};
}

} // namespace kawara::kernel
