#include "poly/isl/pieces.h"

#include "poly/isl/context.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/set.h>

namespace kawara::poly {
namespace {

isl::set defined(const isl::set& set) { return isl::manage(isl_set_compute_divs(set.copy())); }

} // namespace

isl::set in_one_piece(const isl::set& set) {
  if (set.is_empty())
    return set;
  const isl::basic_set convex = isl::manage(isl_set_simple_hull(isl_set_remove_divs(set.copy())));
  return isl::set(convex.intersect(isl::manage(isl_set_affine_hull(set.copy()))));
}

isl::set with_divisions(const isl::set& set) {
  const isl::set made = defined(set);
  unsigned divisions = 0;
  made.foreach_basic_set([&](const isl::basic_set& piece) {
    divisions += static_cast<unsigned>(isl_basic_set_dim(piece.get(), isl_dim_div));
  });
  if (divisions > kMostDivisions)
    give_up(made.ctx());
  return made;
}

std::vector<std::vector<Constraint>> constraints_of(const isl::set& set) {
  std::vector<std::vector<Constraint>> pieces;
  defined(set).foreach_basic_set([&](const isl::basic_set& piece) {
    pieces.emplace_back();
    const auto add = [](isl_constraint* constraint, void* list) {
      static_cast<std::vector<Constraint>*>(list)->push_back(
          {isl::manage(isl_constraint_get_aff(constraint)),
           isl_constraint_is_equality(constraint) == isl_bool_true});
      isl_constraint_free(constraint);
      return isl_stat_ok;
    };
    isl_basic_set_foreach_constraint(piece.get(), add, &pieces.back());
  });
  return pieces;
}

} // namespace kawara::poly
