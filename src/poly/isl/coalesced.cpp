#include "poly/isl/coalesced.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>

namespace kawara::poly {
namespace {

/// Joining many pieces with divisions takes isl minutes, and fewer pieces are only a convenience.
bool is_costly(const isl::map& map) {
  constexpr int kMostDivisions = 8;
  int divisions = 0;
  map.foreach_basic_map([&](const isl::basic_map& piece) {
    divisions += isl_basic_map_dim(piece.get(), isl_dim_div);
  });
  return divisions > kMostDivisions;
}

} // namespace

isl::set coalesced(const isl::set& set) {
  if (isl_set_n_basic_set(set.get()) < 2)
    return set;
  const isl::set joined = set.coalesce();
  const bool has_fewer = isl_set_n_basic_set(joined.get()) < isl_set_n_basic_set(set.get());
  return has_fewer && joined.is_subset(set) ? joined : set;
}

isl::map coalesced(const isl::map& map) {
  if (isl_map_n_basic_map(map.get()) < 2 || is_costly(map))
    return map;
  const isl::map joined = map.coalesce();
  const bool has_fewer = isl_map_n_basic_map(joined.get()) < isl_map_n_basic_map(map.get());
  return has_fewer && joined.is_subset(map) ? joined : map;
}

bool is_joined_wrongly(const isl::set& set) {
  return isl_set_n_basic_set(set.get()) > 1 && !set.coalesce().is_subset(set);
}

isl::pw_aff coalesced(const isl::pw_aff& function) {
  const isl::pw_aff joined = function.coalesce();
  return isl_pw_aff_is_equal(joined.get(), function.get()) == isl_bool_true ? joined : function;
}

} // namespace kawara::poly
