#include "poly/loop_values.h"

#include "poly/affine.h"
#include "poly/isl/coalesced.h"
#include "poly/isl/pieces.h"
#include "support/check.h"

namespace kawara::poly {
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

/// From a value of the loop to another one of the same outer iteration.
isl::set steps_of_runs(const isl::set& values, size_t last) {
  const size_t size = last + 1;
  const isl::map pairs(values.ctx(), "{ " + tuple(size, last, size, 'x') + " -> " +
                                         tuple(size, last, size, 'y') + " }");
  return pairs.intersect_domain(values).intersect_range(values).deltas();
}

std::optional<int64_t> whole_number(const isl::val& value) {
  if (!value.is_int())
    return std::nullopt;
  return value.num_si();
}

} // namespace

isl::set loop_values(const Scop& scop, const Order& order, LoopId loop) {
  const std::optional<size_t> depth = depth_of(order, loop);
  KAWARA_CHECK(depth, "the loop is in the tree");
  isl::set values;
  for (const StmtId statement : statements_below(order, loop)) {
    const std::vector<Expr>& rows = order.rows[statement.value];
    const std::vector<Expr> prefix(rows.begin(),
                                   rows.begin() + static_cast<std::ptrdiff_t>(*depth) + 1);
    const isl::set domain = scop[statement].domain.intersect_params(scop.context);
    const isl::set image = domain.apply(map_of(prefix, domain, scop.params));
    values = values.is_null() ? image : values.unite(image);
  }
  return coalesced(values);
}

bool is_rectangle(const isl::set& values, size_t first, size_t last) {
  const isl::set rectangle =
      freed(values, last + 1, last, last + 1).intersect(freed(values, last + 1, first, last));
  return rectangle.is_equal(values);
}

std::optional<ConstantRange> ends_of_values(const isl::set& values, size_t last) {
  const int at = static_cast<int>(last);
  if (values.is_empty())
    return std::nullopt;
  const auto low = whole_number(values.dim_min_val(at)),
             high = whole_number(values.dim_max_val(at));
  if (!low || !high)
    return std::nullopt;
  return ConstantRange{*low, *high};
}

std::optional<int64_t> longest_run(const isl::set& values, size_t last) {
  const isl::set steps = steps_of_runs(values, last);
  if (steps.is_empty())
    return 0;
  const auto most = whole_number(steps.dim_max_val(static_cast<int>(last)));
  if (!most)
    return std::nullopt;
  return *most + 1;
}

bool run_depends_on_params(const isl::set& values, size_t last) {
  const isl::set steps = steps_of_runs(values, last);
  bool depends = false;
  if (!steps.is_empty())
    largest_value(steps, static_cast<unsigned>(last))
        .as_pw_multi_aff()
        .foreach_piece([&](const isl::set&, const isl::multi_aff& piece) {
          depends = depends || !piece.at(0).is_cst();
        });
  return depends;
}

} // namespace kawara::poly
