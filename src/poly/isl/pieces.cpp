#include "poly/isl/pieces.h"

#include "poly/isl/context.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/mat.h>
#include <isl/set.h>
#include <isl/val.h>
#include <memory>

namespace kawara::poly {
namespace {

isl::set defined(const isl::set& set) { return isl::manage(isl_set_compute_divs(set.copy())); }

using Matrix = std::unique_ptr<isl_mat, isl_mat* (*)(isl_mat*)>;

/// A number of the matrix; nothing when it is a large one.
std::optional<int64_t> small_number(isl_mat* matrix, int row, int column) {
  constexpr long kLarge = kLargestPlain;
  const isl::val value = isl::manage(isl_mat_get_element_val(matrix, row, column));
  if (isl_val_is_zero(value.get()) == isl_bool_true)
    return 0;
  if (isl_val_cmp_si(value.get(), kLarge) > 0 || isl_val_cmp_si(value.get(), -kLarge) < 0)
    return std::nullopt;
  return isl_val_get_num_si(value.get());
}

/// Columns: dimensions, parameters, divisions, the constant.
void add_rows(isl_mat* matrix, size_t dimensions, bool is_equality,
              std::vector<PlainConstraint>& to) {
  const int columns = isl_mat_cols(matrix), count = static_cast<int>(dimensions);
  for (int row = 0; row < isl_mat_rows(matrix); ++row) {
    PlainConstraint constraint{std::vector<int64_t>(dimensions, 0), 0, is_equality, false};
    for (int column = 0; column < columns; ++column) {
      const auto number = small_number(matrix, row, column);
      const bool is_other = column >= count && column + 1 < columns;
      constraint.has_more = constraint.has_more || !number || (is_other && *number != 0);
      if (column < count)
        constraint.factors[static_cast<size_t>(column)] = number.value_or(0);
      else if (!is_other)
        constraint.constant = number.value_or(0);
    }
    to.push_back(std::move(constraint));
  }
}

} // namespace

std::optional<std::vector<PlainConstraint>> plain_constraints(const isl::set& set) {
  if (isl_set_n_basic_set(set.get()) != 1)
    return std::nullopt;
  std::vector<PlainConstraint> list;
  const auto dimensions = static_cast<size_t>(isl_set_dim(set.get(), isl_dim_set));
  set.foreach_basic_set([&](const isl::basic_set& piece) {
    const Matrix equal(isl_basic_set_equalities_matrix(piece.get(), isl_dim_set, isl_dim_param,
                                                       isl_dim_div, isl_dim_cst),
                       isl_mat_free);
    const Matrix rest(isl_basic_set_inequalities_matrix(piece.get(), isl_dim_set, isl_dim_param,
                                                        isl_dim_div, isl_dim_cst),
                      isl_mat_free);
    // The quota ran out: fewer constraints would be another set.
    if (equal == nullptr || rest == nullptr)
      isl::exception::throw_last_error(set.ctx());
    add_rows(equal.get(), dimensions, true, list);
    add_rows(rest.get(), dimensions, false, list);
  });
  return list;
}

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

isl::set without_known(const isl::set& set, const isl::set& known) {
  const auto dimensions = static_cast<unsigned>(isl_set_dim(set.get(), isl_dim_set));
  isl::set all = isl::set::empty(set.space());
  for (const std::vector<Constraint>& constraints : constraints_of(set)) {
    isl::set piece = isl::set::universe(set.space());
    for (const Constraint& constraint : constraints) {
      const isl::aff& function = constraint.function;
      const isl::aff zero = function.scale(isl::val::zero(set.ctx()));
      const isl::set holds = constraint.is_equality ? function.eq_set(zero) : function.ge_set(zero);
      const bool is_about_parameters =
          isl_aff_involves_dims(function.get(), isl_dim_in, 0, dimensions) == isl_bool_false;
      if (!is_about_parameters || !known.is_subset(holds.params()))
        piece = piece.intersect(holds);
    }
    all = all.unite(piece);
  }
  return all;
}

isl::pw_aff least_value(const isl::set& set, unsigned position) {
  return isl::manage(isl_set_dim_min(set.copy(), static_cast<int>(position)));
}

isl::pw_aff largest_value(const isl::set& set, unsigned position) {
  return isl::manage(isl_set_dim_max(set.copy(), static_cast<int>(position)));
}

} // namespace kawara::poly
