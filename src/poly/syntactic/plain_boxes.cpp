#include "poly/syntactic/plain_boxes.h"

#include "scalar/iterators.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace kawara::poly {
namespace {

using scalar::BinaryOp;
using scalar::Expr;

/// `i % period // size`: where in the period, in blocks. Without division the size is 1, without
/// remainder there is no period.
struct InPeriod {
  uint32_t iterator = 0;
  std::optional<int64_t> period;
  int64_t size = 1;
};

/// The operand of a division or remainder by a positive constant.
std::optional<std::pair<Expr, int64_t>> divided_by_constant(const Expr& e, BinaryOp op) {
  const auto* b = scalar::as<scalar::Binary>(e);
  const auto by = b != nullptr && b->op == op ? scalar::constant_of(b->rhs) : std::nullopt;
  return by && *by > 0 ? std::optional(std::pair(b->lhs, *by)) : std::nullopt;
}

std::optional<InPeriod> in_period(Expr e) {
  InPeriod place;
  if (const auto blocks = divided_by_constant(e, BinaryOp::FloorDiv))
    std::tie(e, place.size) = *blocks;
  if (const auto rest = divided_by_constant(e, BinaryOp::Mod)) {
    e = rest->first;
    place.period = rest->second;
  }
  const auto* it = scalar::as<scalar::Iter>(e);
  if (it == nullptr)
    return std::nullopt;
  place.iterator = it->index;
  return place;
}

/// Whether an outer row has one value in each whole period of the place, so that all of the period
/// is in one box.
bool keeps_periods(const Expr& outer, const InPeriod& place) {
  if (!scalar::mentions_iterator(outer, place.iterator))
    return true;
  const auto own = place.period ? in_period(outer) : std::nullopt;
  return own && own->size % *place.period == 0 &&
         (!own->period || *own->period % *place.period == 0);
}

} // namespace

std::optional<Boxes> plain_boxes(const std::vector<Expr>& outer, const std::vector<Expr>& inner,
                                 const DomainFacts& domain) {
  const std::vector<Expr>& definitions = domain.definitions();
  const auto words = [&](const Expr& row) { return canonical(row, definitions); };
  Boxes boxes;
  for (const Expr& row : inner) {
    const auto place = in_period(words(row));
    const auto range = place ? domain.free_range(place->iterator) : std::nullopt;
    if (!range || range->first != 0 || !std::all_of(outer.begin(), outer.end(), [&](const Expr& o) {
          return keeps_periods(words(o), *place);
        }))
      return std::nullopt;
    const int64_t last =
        std::min(range->second, place->period.value_or(std::numeric_limits<int64_t>::max()) - 1);
    boxes.first.push_back(scalar::int_lit(0));
    boxes.extent.push_back(scalar::int_lit(last / place->size + 1));
  }
  return boxes;
}

} // namespace kawara::poly
