#include "poly/isl/compare.h"

#include <isl/aff.h>
#include <isl/set.h>
#include <isl/space.h>

namespace kawara::poly {

isl::map less_map(const isl::pw_aff& a, const isl::pw_aff& b) {
  return isl::manage(isl_pw_aff_lt_map(a.copy(), b.copy()));
}

isl::map greater_map(const isl::pw_aff& a, const isl::pw_aff& b) {
  return isl::manage(isl_pw_aff_gt_map(a.copy(), b.copy()));
}

isl::map equal_map(const isl::pw_aff& a, const isl::pw_aff& b) {
  return isl::manage(isl_pw_aff_eq_map(a.copy(), b.copy()));
}

isl::space points_of_pairs(const isl::space& relation) {
  return isl::manage(isl_space_wrap(relation.copy()));
}

isl::map less_map(const isl::aff& a, const isl::aff& b) {
  return isl::manage(isl_set_unwrap(isl_aff_lt_set(a.copy(), b.copy())));
}

isl::map greater_map(const isl::aff& a, const isl::aff& b) {
  return isl::manage(isl_set_unwrap(isl_aff_gt_set(a.copy(), b.copy())));
}

isl::map equal_map(const isl::aff& a, const isl::aff& b) {
  return isl::manage(isl_set_unwrap(isl_aff_eq_set(a.copy(), b.copy())));
}

} // namespace kawara::poly
