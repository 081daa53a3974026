#include "poly/isl/dimensions.h"

#include "support/check.h"

#include <algorithm>
#include <isl/aff.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/mat.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>
#include <memory>

namespace kawara::poly {
namespace {

int64_t integer_of(__isl_take isl_val* value) {
  const isl::val thread_private = isl::manage(value);
  KAWARA_CHECK(isl_val_is_int(thread_private.get()) == isl_bool_true, "an integer value");
  return isl_val_get_num_si(thread_private.get());
}

std::optional<int64_t> finite(__isl_take isl_val* value) {
  const isl::val thread_private = isl::manage(value);
  if (isl_val_is_int(thread_private.get()) != isl_bool_true)
    return std::nullopt;
  return isl_val_get_num_si(thread_private.get());
}

using DimPairs = std::vector<std::pair<unsigned, unsigned>>;

/// The first and the second dimension that a row says to be the same; nothing when it says
/// something else.
std::optional<std::pair<unsigned, unsigned>> equal_in_row(isl_mat* rows, int row, int from,
                                                          int to) {
  std::vector<std::pair<int, int>> found;
  for (int column = 0; column < isl_mat_cols(rows); ++column) {
    const isl::val value = isl::manage(isl_mat_get_element_val(rows, row, column));
    if (value.is_zero())
      continue;
    if (found.size() == 2 || !(value.is_one() || value.is_negone()))
      return std::nullopt;
    found.emplace_back(column, value.is_one() ? 1 : -1);
  }
  if (found.size() != 2 || found[0].second == found[1].second || found[0].first >= from ||
      found[1].first < from || found[1].first >= from + to)
    return std::nullopt;
  return std::pair(static_cast<unsigned>(found[0].first),
                   static_cast<unsigned>(found[1].first - from));
}

/// What equalities of the piece say.
DimPairs equal_dims_in(const isl::basic_map& piece) {
  const std::unique_ptr<isl_mat, isl_mat* (*)(isl_mat*)> rows(
      isl_basic_map_equalities_matrix(piece.get(), isl_dim_in, isl_dim_out, isl_dim_param,
                                      isl_dim_div, isl_dim_cst),
      isl_mat_free);
  const int from = isl_basic_map_dim(piece.get(), isl_dim_in),
            to = isl_basic_map_dim(piece.get(), isl_dim_out);
  DimPairs pairs;
  for (int row = 0; rows != nullptr && row < isl_mat_rows(rows.get()); ++row)
    if (const auto pair = equal_in_row(rows.get(), row, from, to))
      pairs.push_back(*pair);
  return pairs;
}

} // namespace

isl::aff dimension_function(const isl::space& domain, unsigned position) {
  return isl::manage(
      isl_aff_var_on_domain(isl_local_space_from_space(domain.copy()), isl_dim_set, position));
}

isl::pw_aff dimension_function(const isl::set& domain, unsigned position) {
  return isl::pw_aff(dimension_function(domain.space(), position)).intersect_domain(domain);
}

std::optional<isl::aff> parameter_function(const isl::space& domain, const std::string& name) {
  const int at = isl_space_find_dim_by_name(domain.get(), isl_dim_param, name.c_str());
  if (at < 0)
    return std::nullopt;
  return isl::manage(isl_aff_var_on_domain(isl_local_space_from_space(domain.copy()), isl_dim_param,
                                           static_cast<unsigned>(at)));
}

unsigned dimension_count(const isl::set& set) {
  return static_cast<unsigned>(isl_set_dim(set.get(), isl_dim_set));
}

std::string tuple_name(const isl::set& set) {
  const char* name = isl_set_get_tuple_name(set.get());
  return name ? name : "";
}

std::string domain_tuple_name(const isl::map& map) {
  const char* name = isl_map_get_tuple_name(map.get(), isl_dim_in);
  return name ? name : "";
}

std::string range_tuple_name(const isl::map& map) {
  const char* name = isl_map_get_tuple_name(map.get(), isl_dim_out);
  return name ? name : "";
}

isl::set parameters_as_set(const isl::set& params, const std::vector<std::string>& names) {
  isl_set* set = isl_set_params(params.copy());
  set = isl_set_from_params(set);
  for (size_t k = 0; k < names.size(); ++k) {
    const int at = isl_set_find_dim_by_name(set, isl_dim_param, names[k].c_str());
    if (at >= 0)
      set = isl_set_move_dims(set, isl_dim_set, static_cast<unsigned>(k), isl_dim_param,
                              static_cast<unsigned>(at), 1);
    else
      set = isl_set_insert_dims(set, isl_dim_set, static_cast<unsigned>(k), 1);
  }
  return isl::manage(set);
}

isl::map fix_parameter(const isl::map& map, const std::string& name, int64_t value) {
  const int at = isl_map_find_dim_by_name(map.get(), isl_dim_param, name.c_str());
  if (at < 0)
    return map;
  return isl::manage(isl_map_fix_si(map.copy(), isl_dim_param, static_cast<unsigned>(at),
                                    static_cast<int>(value)));
}

isl::set fix_parameter(const isl::set& set, const std::string& name, int64_t value) {
  const int at = isl_set_find_dim_by_name(set.get(), isl_dim_param, name.c_str());
  if (at < 0)
    return set;
  return isl::manage(isl_set_fix_si(set.copy(), isl_dim_param, static_cast<unsigned>(at),
                                    static_cast<int>(value)));
}

isl::map pairs_of(const isl::set& domain, const isl::set& range) {
  return isl::manage(isl_map_from_domain_and_range(domain.copy(), range.copy()));
}

DimPairs plainly_equal_dims(const isl::map& pairs) {
  std::optional<DimPairs> all;
  pairs.foreach_basic_map([&](const isl::basic_map& piece) {
    const DimPairs own = equal_dims_in(piece);
    if (!all)
      all = own;
    std::erase_if(*all, [&](const auto& pair) {
      return std::find(own.begin(), own.end(), pair) == own.end();
    });
  });
  return all.value_or(DimPairs{});
}

bool has_equal_dims(const isl::map& pairs, unsigned from, unsigned to) {
  const isl::map equal = isl::manage(isl_map_equate(
      isl_map_universe(isl_map_get_space(pairs.get())), isl_dim_in, from, isl_dim_out, to));
  return pairs.is_subset(equal);
}

bool is_plainly_equal(const isl::set& a, const isl::set& b) {
  return isl_set_plain_is_equal(a.get(), b.get()) == isl_bool_true;
}

bool is_box(const isl::set& set) { return isl_set_is_box(set.get()) == isl_bool_true; }

std::optional<int64_t> dimension_min(const isl::set& set, unsigned position) {
  isl_set* free = isl_set_project_out_all_params(set.copy());
  const isl::set thread_private = isl::manage(free);
  return finite(isl_set_dim_min_val(thread_private.copy(), static_cast<int>(position)));
}

std::optional<int64_t> dimension_max(const isl::set& set, unsigned position) {
  isl_set* free = isl_set_project_out_all_params(set.copy());
  const isl::set thread_private = isl::manage(free);
  return finite(isl_set_dim_max_val(thread_private.copy(), static_cast<int>(position)));
}

std::optional<int64_t> least_of(const isl::aff& function, const isl::set& set) {
  return finite(isl_set_min_val(set.get(), function.get()));
}

std::optional<int64_t> greatest_of(const isl::aff& function, const isl::set& set) {
  return finite(isl_set_max_val(set.get(), function.get()));
}

isl::set with_tuple_name(const isl::set& set, const std::string& name) {
  return isl::manage(isl_set_set_tuple_name(set.copy(), name.c_str()));
}

std::vector<int64_t> first_point(const isl::set& set) {
  const isl::set smallest = set.lexmin();
  const isl::point point = isl::manage(isl_set_sample_point(smallest.copy()));
  const unsigned n = dimension_count(set);
  std::vector<int64_t> coordinates(n);
  for (unsigned k = 0; k < n; ++k)
    coordinates[k] =
        integer_of(isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(k)));
  return coordinates;
}

AffineParts parts_of(const isl::aff& aff) {
  AffineParts parts;
  const isl::val denominator = isl::manage(isl_aff_get_denominator_val(aff.get()));
  parts.denominator = isl_val_get_num_si(denominator.get());
  const auto scaled = [&](__isl_take isl_val* value) {
    return integer_of(isl_val_mul(value, denominator.copy()));
  };
  parts.constant = scaled(isl_aff_get_constant_val(aff.get()));
  const auto count = [&](isl_dim_type type) { return isl_aff_dim(aff.get(), type); };
  for (int k = 0; k < count(isl_dim_in); ++k)
    parts.dimensions.push_back(scaled(isl_aff_get_coefficient_val(aff.get(), isl_dim_in, k)));
  for (int k = 0; k < count(isl_dim_param); ++k) {
    const int64_t c = scaled(isl_aff_get_coefficient_val(aff.get(), isl_dim_param, k));
    if (c != 0)
      parts.parameters.emplace_back(
          isl_aff_get_dim_name(aff.get(), isl_dim_param, static_cast<unsigned>(k)), c);
  }
  for (int k = 0; k < count(isl_dim_div); ++k) {
    const int64_t c = scaled(isl_aff_get_coefficient_val(aff.get(), isl_dim_div, k));
    if (c != 0)
      parts.divisions.emplace_back(isl::manage(isl_aff_get_div(aff.get(), k)), c);
  }
  return parts;
}

} // namespace kawara::poly
