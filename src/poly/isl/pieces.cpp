#include "poly/isl/pieces.h"

#include "poly/isl/context.h"

#include <algorithm>
#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/set.h>
#include <isl/val.h>

namespace kawara::poly {
namespace {

isl::set defined(const isl::set& set) { return isl::manage(isl_set_compute_divs(set.copy())); }

int64_t whole(__isl_take isl_val* value) {
  const isl::val owned = isl::manage(value);
  return owned.num_si();
}

/// Bounds that constraints put on one dimension; `is_alone` as long as none has anything else in it.
struct OwnBounds {
  unsigned position = 0;
  bool is_alone = true;
  std::optional<int64_t> low, high;

  void add(isl_constraint* constraint) {
    const auto has = [&](isl_dim_type type, unsigned from, unsigned count) {
      return count > 0 &&
             isl_constraint_involves_dims(constraint, type, from, count) != isl_bool_false;
    };
    const auto count = [&](isl_dim_type type) {
      return static_cast<unsigned>(isl_constraint_dim(constraint, type));
    };
    if (!has(isl_dim_set, position, 1))
      return;
    if (has(isl_dim_param, 0, count(isl_dim_param)) || has(isl_dim_div, 0, count(isl_dim_div)) ||
        has(isl_dim_set, 0, position) ||
        has(isl_dim_set, position + 1, count(isl_dim_set) - position - 1)) {
      is_alone = false;
      return;
    }
    // factor * x + constant >= 0, or = 0
    const int64_t factor = whole(
        isl_constraint_get_coefficient_val(constraint, isl_dim_set, static_cast<int>(position)));
    const int64_t constant = whole(isl_constraint_get_constant_val(constraint));
    if (factor != 1 && factor != -1) {
      is_alone = false;
      return;
    }
    const int64_t end = -constant * factor;
    const bool is_fixed = isl_constraint_is_equality(constraint) != isl_bool_false;
    if (is_fixed || factor == 1)
      low = std::max(low.value_or(end), end);
    if (is_fixed || factor == -1)
      high = std::min(high.value_or(end), end);
  }
};

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

std::optional<std::pair<int64_t, int64_t>> own_range(const isl::set& set, unsigned position) {
  if (isl_set_n_basic_set(set.get()) != 1)
    return std::nullopt;
  OwnBounds bounds;
  bounds.position = position;
  const auto add = [](isl_constraint* constraint, void* to) {
    static_cast<OwnBounds*>(to)->add(constraint);
    isl_constraint_free(constraint);
    return isl_stat_ok;
  };
  set.foreach_basic_set([&](const isl::basic_set& piece) {
    isl_basic_set_foreach_constraint(piece.get(), add, &bounds);
  });
  if (!bounds.is_alone || !bounds.low || !bounds.high || *bounds.low > *bounds.high ||
      set.is_empty())
    return std::nullopt;
  return std::pair(*bounds.low, *bounds.high);
}

isl::pw_aff least_value(const isl::set& set, unsigned position) {
  return isl::manage(isl_set_dim_min(set.copy(), static_cast<int>(position)));
}

isl::pw_aff largest_value(const isl::set& set, unsigned position) {
  return isl::manage(isl_set_dim_max(set.copy(), static_cast<int>(position)));
}

} // namespace kawara::poly
