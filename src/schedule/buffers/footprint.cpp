#include "schedule/buffers/footprint.h"

#include "poly/affine.h"
#include "poly/isl/coalesced.h"
#include "poly/isl/dimensions.h"
#include "poly/isl/pieces.h"
#include "schedule/tree/rewrite.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

using poly::Access;
using scalar::BinaryOp;
using scalar::Expr;

/// { [o] -> [c] : some access in iteration o touches element c }
isl::map touched(const poly::Scop& scop, const poly::Order& order,
                 const std::vector<Access>& accesses, size_t depth) {
  isl::map all;
  for (const Access& access : accesses) {
    const std::vector<Expr>& rows = order.rows[access.statement.value];
    const std::vector<Expr> prefix(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(depth));
    const isl::set domain = scop[access.statement].domain.intersect_params(scop.context);
    const isl::map part = map_of(prefix, domain, scop.params)
                              .reverse()
                              .apply_range(map_of(access.index, domain, scop.params));
    all = all.is_null() ? part : all.unite(part);
  }
  return poly::coalesced(all);
}

/// One piece around a relation of very many, within the tensor and in the same iterations.
isl::map in_one_piece_of(const isl::map& relation, const program::Tensor& tensor,
                         const std::vector<program::Param>& params) {
  const size_t dims = tensor.shape.size();
  isl::set elements = poly::statement_universe(relation.ctx(), params, "", dims);
  for (uint32_t d = 0; d < dims; ++d) {
    const isl::pw_aff at = poly::dimension_function(elements, d);
    elements = elements.intersect(at.ge_set(at.scale(0)))
                   .intersect(at.lt_set(poly::pw_aff_from_expr(tensor.shape[d], elements, params)));
  }
  const isl::map around = poly::in_one_piece(relation.wrap()).unwrap();
  return poly::coalesced(
      around.intersect_domain(poly::coalesced(relation.domain())).intersect_range(elements));
}

/// The functions of `o` that the cases of an end have, each once.
std::vector<Expr> cases_of(const isl::pw_multi_aff& end,
                           const std::vector<program::Param>& params) {
  std::vector<Expr> cases;
  end.foreach_piece([&](const isl::set&, const isl::multi_aff& piece) {
    const Expr value = poly::expr_from_pw_aff(isl::pw_aff(piece.at(0)), params);
    KAWARA_CHECK(value, "a piece is affine");
    if (std::none_of(cases.begin(), cases.end(),
                     [&](const Expr& known) { return scalar::equal(known, value); }))
      cases.push_back(value);
  });
  return cases;
}

Expr joined(const std::vector<Expr>& cases, BinaryOp op) {
  Expr bound = cases.front();
  for (size_t k = 1; k < cases.size(); ++k)
    bound = scalar::binary(op, bound, cases[k]);
  return scalar::simplify(bound);
}

isl::map dimension_of(const isl::map& relation, const std::vector<program::Param>& params,
                      size_t dims, size_t d) {
  const isl::set elements = poly::statement_universe(relation.ctx(), params, "", dims);
  return relation.apply_range(map_of({scalar::iter(static_cast<uint32_t>(d))}, elements, params));
}

/// isl operations for the exact end of a line whose cases are many: usually a hundredth of a
/// second. isl counts what it allocates and not what it computes: where a triangle is cut by tiles,
/// it takes a second for as few as these.
constexpr unsigned long kQuotaOfEnd = 50'000;

/// Where the line of elements of each iteration begins, and the most elements that one has.
class LineOfElements {
public:
  LineOfElements(isl::set points, size_t depth, const std::vector<program::Param>& params,
                 const isl::set& known, const poly::Context& context)
      : points_(std::move(points)), free_(poly::without_known(points_, known)), depth_(depth),
        params_(params), context_(context) {}

  /// From the cases of the smallest element. Those that no element is below bound it together, the
  /// largest of them exactly where the elements are in one piece; one alone, where boxes are no
  /// larger from there. Else no case passes the smallest of all.
  void begin(const std::vector<Expr>& cases) {
    std::vector<Expr> below;
    for (const Expr& one : cases)
      if (cases.size() > 1 && is_below(one))
        below.push_back(one);
    first = joined(below.empty() ? cases : below, below.empty() ? BinaryOp::Min : BinaryOp::Max);
    extent = extent_from(first);
    for (const Expr& one : below)
      if (below.size() > 1 && scalar::equal(extent_from(one), extent)) {
        first = one;
        return;
      }
  }

  Expr first, extent;

private:
  isl::set offsets_from(const Expr& start, const isl::set& points) const {
    return map_of({scalar::iter(static_cast<uint32_t>(depth_)) - start}, points, params_).range();
  }

  /// May miss some.
  bool is_below(const Expr& start) const {
    bool is_known = false;
    const bool finished = poly::within_quota(context_, kQuotaOfEnd, [&] {
      const auto least = poly::dimension_min(offsets_from(start, points_), 0);
      is_known = least && *least >= 0;
    });
    return finished && is_known;
  }

  Expr extent_from(const Expr& start) const {
    return scalar::simplify(largest_offset(start) + scalar::int_lit(1));
  }

  /// 3 for tiles of 4, though the only tile of a smaller tensor has fewer. A number only where it
  /// is one however large parameters are: not what an assumption about them leaves. Where finding
  /// the cases would take too long, no offset is larger.
  Expr largest_offset(const Expr& start) const {
    Expr high;
    const isl::set offsets = offsets_from(start, points_);
    const bool finished = poly::within_quota(context_, kQuotaOfEnd, [&] {
      const auto most = poly::dimension_max(offsets_from(start, free_), 0);
      high = most ? scalar::int_lit(*most) : high_of(offsets, 0, params_);
    });
    return finished ? high : high_of(poly::in_one_piece(offsets), 0, params_);
  }

  isl::set points_, free_; ///< { [o, c] }; the same without assumptions
  size_t depth_;
  const std::vector<program::Param>& params_;
  const poly::Context& context_;
};

/// Each piece of a box is a loop nest of its own, and every question about the copy asks about
/// each.
constexpr unsigned kMostPieces = 8;
/// isl operations for exact boxes: some hundredths of a second.
constexpr unsigned long kQuotaOfBoxes = 200'000;

} // namespace

std::vector<Expr> positions_in(const Boxes& box, const std::vector<Expr>& outer,
                               const std::vector<Expr>& index) {
  std::vector<Expr> list;
  for (size_t d = 0; d < index.size(); ++d)
    list.push_back(scalar::simplify(index[d] - scalar::substitute_iters(box.first[d], outer)));
  return list;
}

Footprint boxes_of(const isl::map& relation, size_t depth, size_t dims,
                   const std::vector<program::Param>& params, const isl::set& known,
                   const poly::Context& context) {
  const isl::map from_low(relation.ctx(), "{ [a] -> [b] : b >= a }");
  const isl::map to_high(relation.ctx(), "{ [a] -> [b] : b <= a }");
  Footprint result;
  if (dims == 0) { // a single element
    result.elements = result.touched = relation.domain();
    return result;
  }
  isl::map box;
  std::vector<isl::map> lines;
  std::vector<std::vector<Expr>> firsts;
  for (size_t d = 0; d < dims; ++d) {
    const isl::map one = dimension_of(relation, params, dims, d);
    const isl::pw_multi_aff low = one.lexmin_pw_multi_aff();
    firsts.push_back(cases_of(low, params));
    lines.push_back(poly::coalesced(low.as_map().apply_range(from_low).intersect(
        one.lexmax_pw_multi_aff().as_map().apply_range(to_high))));
    box = box.is_null() ? lines.back() : box.range_product(lines.back());
  }
  result.elements = poly::coalesced(poly::with_divisions(box.wrap().flatten()));
  result.touched = poly::with_divisions(relation.wrap().flatten());
  for (size_t d = 0; d < dims; ++d) {
    // Of one dimension by itself: the box has the cases of each for every case of the others.
    LineOfElements line(poly::coalesced(poly::with_divisions(lines[d].wrap().flatten())), depth,
                        params, known, context);
    line.begin(firsts[d]);
    result.first.push_back(line.first);
    result.extent.push_back(line.extent);
  }
  return result;
}

Footprint footprint_of(const poly::Scop& scop, const poly::Order& order,
                       const std::vector<Access>& accesses, size_t depth) {
  const program::Tensor& tensor = scop.tensors[accesses.front().tensor];
  const size_t dims = tensor.shape.size();
  const isl::map relation = touched(scop, order, accesses, depth);
  Footprint boxes;
  const bool finished = poly::within_quota(*scop.context_owner, kQuotaOfBoxes, [&] {
    boxes = boxes_of(relation, depth, dims, scop.params, scop.context, *scop.context_owner);
  });
  if (finished && boxes.elements.n_basic_set() <= kMostPieces)
    return boxes;
  Footprint around = boxes_of(in_one_piece_of(relation, tensor, scop.params), depth, dims,
                              scop.params, scop.context, *scop.context_owner);
  if (dims > 0)
    around.touched = poly::with_divisions(relation.wrap().flatten());
  return around;
}

} // namespace kawara::schedule
