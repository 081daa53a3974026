#include "schedule/extent.h"

#include "poly/isl/coalesced.h"
#include "poly/isl/dimensions.h"
#include "schedule/rewrite.h"
#include "support/check.h"

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::Scop;
using poly::StmtId;

namespace {

/// "[a0, a1, x2] " with `letter` x at the dimensions from `from` to before `to`.
std::string tuple(size_t size, size_t from, size_t to, char letter) {
  std::string text = "[";
  for (size_t d = 0; d < size; ++d)
    text += (d == 0 ? "" : ", ") + std::string(1, d >= from && d < to ? letter : 'a') +
            std::to_string(d);
  return text + "]";
}

/// Points that agree with one of `set` in every dimension but those from `from` to before `to`.
isl::set freed(const isl::set& set, size_t size, size_t from, size_t to) {
  const isl::map forget(set.ctx(), "{ " + tuple(size, from, to, 'x') + " -> " +
                                       tuple(size, from, to, 'y') + " }");
  return set.apply(forget);
}

std::optional<int64_t> finite(const isl::val& value) {
  if (!value.is_int())
    return std::nullopt;
  return value.num_si();
}

bool mentions(const scalar::Expr& row, uint32_t iter) {
  bool found = false;
  scalar::visit(row, [&](const scalar::Expr& e) {
    const auto* it = scalar::as<scalar::Iter>(e);
    found = found || (it && it->index == iter);
  });
  return found;
}

/// The values of a loop that runs over one iterator of each statement below it, where these are boxes of
/// fixed sizes, the same for all: most loops of most programs, at a fraction of what sets cost.
std::optional<ConstantRange> range_in_boxes(const Scop& scop, const Order& order, LoopId loop) {
  const size_t depth = *poly::depth_of(order, loop);
  std::optional<ConstantRange> range;
  for (const StmtId statement : poly::statements_below(order, loop)) {
    const std::vector<scalar::Expr>& rows = order.rows[statement.value];
    const auto* it = scalar::as<scalar::Iter>(rows[depth]);
    const isl::set& domain = scop[statement].domain;
    if (!it || !poly::is_box(domain))
      return std::nullopt;
    for (size_t k = 0; k < depth; ++k)
      if (mentions(rows[k], it->index))
        return std::nullopt;
    const auto low = finite(domain.dim_min_val(static_cast<int>(it->index)));
    const auto high = finite(domain.dim_max_val(static_cast<int>(it->index)));
    if (!low || !high || (range && (range->low != *low || range->high != *high)))
      return std::nullopt;
    range = ConstantRange{*low, *high};
  }
  return range;
}

} // namespace

isl::set loop_values(const Scop& scop, const Order& order, LoopId loop) {
  const std::optional<size_t> depth = poly::depth_of(order, loop);
  KAWARA_CHECK(depth, "the loop is in the tree");
  isl::set values;
  for (const StmtId statement : poly::statements_below(order, loop)) {
    const std::vector<scalar::Expr>& rows = order.rows[statement.value];
    const std::vector<scalar::Expr> prefix(rows.begin(),
                                           rows.begin() + static_cast<std::ptrdiff_t>(*depth) + 1);
    const isl::set domain = scop[statement].domain.intersect_params(scop.context);
    const isl::set image = domain.apply(map_of(prefix, domain, scop.params));
    values = values.is_null() ? image : values.unite(image);
  }
  return poly::coalesced(values);
}

bool is_rectangular_block(const Scop& scop, const Order& order, LoopId outer, LoopId inner) {
  const isl::set values = loop_values(scop, order, inner);
  const size_t first = *poly::depth_of(order, outer), last = *poly::depth_of(order, inner);
  const isl::set rectangle =
      freed(values, last + 1, last, last + 1).intersect(freed(values, last + 1, first, last));
  return rectangle.is_equal(values);
}

std::optional<ConstantRange> constant_range(const Scop& scop, const Order& order, LoopId loop) {
  const isl::set values = loop_values(scop, order, loop);
  const int at = static_cast<int>(*poly::depth_of(order, loop));
  if (values.is_empty())
    return std::nullopt;
  const auto low = finite(values.dim_min_val(at)), high = finite(values.dim_max_val(at));
  if (!low || !high)
    return std::nullopt;
  return ConstantRange{*low, *high};
}

std::optional<int64_t> longest_run(const Scop& scop, const Order& order, LoopId loop) {
  if (const auto range = range_in_boxes(scop, order, loop))
    return range->high - range->low + 1;
  const isl::set values = loop_values(scop, order, loop);
  const size_t size = *poly::depth_of(order, loop) + 1;
  const isl::map pairs(values.ctx(), "{ " + tuple(size, size - 1, size, 'x') + " -> " +
                                         tuple(size, size - 1, size, 'y') + " }");
  const isl::set steps = pairs.intersect_domain(values).intersect_range(values).deltas();
  if (steps.is_empty())
    return 0;
  const auto most = finite(steps.dim_max_val(static_cast<int>(size) - 1));
  if (!most)
    return std::nullopt;
  return *most + 1;
}

} // namespace kawara::schedule
