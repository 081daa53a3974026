#include "poly/isl/compare.h"

#include <isl/aff.h>

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

} // namespace kawara::poly
