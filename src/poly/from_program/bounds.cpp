#include "poly/from_program/bounds.h"
#include "poly/accesses.h"

#include "poly/affine.h"
#include "poly/isl/dimensions.h"
#include "poly/legality/legality.h"
#include "poly/legality/witness.h"
#include "poly/syntactic/prover.h"
#include "support/text.h"

#include <algorithm>

namespace kawara::poly {
namespace {

std::vector<std::string> parameter_names(const Scop& scop) {
  std::vector<std::string> names;
  for (const program::Param& p : scop.params)
    names.push_back(p.name);
  return names;
}

struct Point {
  std::vector<int64_t> params, coordinates;
};

/// Smallest parameters, then the first point.
Point first_case(const Scop& scop, const isl::set& set) {
  const auto names = parameter_names(scop);
  Point point;
  point.params = first_point(parameters_as_set(set.params(), names));
  isl::set fixed = set;
  for (size_t k = 0; k < names.size(); ++k)
    fixed = fix_parameter(fixed, names[k], point.params[k]);
  point.coordinates = first_point(fixed.project_out_all_params());
  return point;
}

std::string list_text(const std::vector<int64_t>& values) {
  std::string text;
  for (size_t k = 0; k < values.size(); ++k)
    text += (k ? ", " : "") + std::to_string(values[k]);
  return text;
}

std::string bindings_text(const std::vector<std::string>& names,
                          const std::vector<int64_t>& values) {
  std::string text;
  for (size_t k = 0; k < names.size(); ++k)
    text += (k ? ", " : "") + names[k] + "=" + std::to_string(values[k]);
  return text;
}

/// "S0 at (i=3, j=0)" or "S0" for a statement outside all loops.
std::string instance_text(const program::Statement& text, const std::vector<int64_t>& at) {
  return text.iters.empty() ? text.name : text.name + " at (" + bindings_text(text.iters, at) + ")";
}

/// " with N=4, M=2", only the parameters; empty without any.
std::string sizes_text(const Scop& scop, const std::vector<int64_t>& params) {
  return params.empty() ? "" : " with " + bindings_text(parameter_names(scop), params);
}

/// Says for which sizes; nothing when the sizes are given.
void add_condition(Diagnostic& d, const isl::set& set, const isl::set& context) {
  const std::string condition = condition_text(set.params(), context);
  if (!condition.empty())
    d.body.push_back("this happens whenever " + condition);
  else if (!context.is_singleton())
    d.body.push_back("this happens for all sizes");
}

/// "A[1, 2]", or "s" for the only element of a scalar.
std::string element_text(const program::Tensor& tensor, const std::vector<int64_t>& element) {
  return element.empty() ? tensor.name : tensor.name + "[" + list_text(element) + "]";
}

std::string element_text(const Scop& scop, const Access& access, const Point& at) {
  std::string text;
  for (const Expr& e : access.index)
    text += (text.empty() ? "" : ", ") +
            (is_known_index(e, scop[access.statement].text)
                 ? std::to_string(value_at(e, at.params, at.coordinates))
                 : scalar::index_text(e, names_of(scop, access.statement)));
  const std::string& name = scop.tensors[access.tensor].name;
  return text.empty() ? name : name + "[" + text + "]";
}

std::string shape_text(const Scop& scop, const program::Tensor& tensor,
                       const std::vector<int64_t>& params) {
  std::vector<int64_t> extents;
  for (const Expr& e : tensor.shape)
    extents.push_back(value_at(e, params, {}));
  (void)scop;
  return list_text(extents);
}

/// Iterations in which dimension k of the access lies outside the tensor.
isl::set outside(const Scop& scop, const Access& access, size_t k) {
  const isl::set& domain = scop[access.statement].domain;
  const isl::pw_aff value = pw_aff_from_expr(access.index[k], domain, scop.params);
  const isl::pw_aff extent =
      pw_aff_from_expr(scop.tensors[access.tensor].shape[k], domain, scop.params);
  return value.lt_set(value.scale(0)).unite(value.ge_set(extent));
}

Diagnostic out_of_bounds_error(const Scop& scop, const Access& access, const isl::set& bad) {
  const program::Statement& text = scop[access.statement].text;
  const program::Tensor& tensor = scop.tensors[access.tensor];
  const Point at = first_case(scop, bad);
  Diagnostic d;
  d.code = "K0170";
  d.headline = text.name + std::string(access.is_write ? " writes" : " reads") +
               " outside tensor `" + tensor.name + "`";
  d.source = scop.source;
  d.where = text.where;
  d.label = "reaches " + element_text(scop, access, at);
  d.body.push_back(instance_text(text, at.coordinates) + sizes_text(scop, at.params) +
                   (access.is_write ? " writes " : " reads ") + element_text(scop, access, at) +
                   ", but `" + tensor.name + "` has shape [" + shape_text(scop, tensor, at.params) +
                   "].");
  add_condition(d, bad, scop.context);
  for (size_t k = 0; k < access.index.size(); ++k)
    if (const auto constant = scalar::constant_of(access.index[k]); constant && *constant < 0)
      d.help.push_back({"indices count from 0; the last one is",
                        scalar::index_text(scalar::simplify(tensor.shape[k] - scalar::int_lit(1)),
                                           names_of(scop, access.statement)),
                        false});
  d.help.push_back({"narrow the loop's range, guard the statement with `if`, enlarge the tensor, "
                    "or state what holds",
                    "assume ...", false});
  return d;
}

/// The same of a read that may be of any element: iterations in which nothing surely wrote one of
/// them before.
isl::set unwritten_somewhere(const Scop& scop, const Access& read, const std::vector<Access>& all) {
  isl::map missing = read.relation;
  for (const Access& write : all)
    if (write.is_write && write.is_sure && write.tensor == read.tensor)
      missing = missing.subtract(before(scop, scop.source_order, write.statement, read.statement)
                                     .intersect_domain(scop[write.statement].domain)
                                     .reverse()
                                     .apply_range(write.relation));
  return missing.domain();
}

/// Iterations of the reading statement for which nothing wrote the element before. A write of which
/// data say the element counts for none.
isl::set unwritten(const Scop& scop, const Access& read, const std::vector<Access>& all) {
  if (!read.is_sure)
    return unwritten_somewhere(scop, read, all);
  const SyntacticProver prover(scop);
  isl::set missing = scop[read.statement].domain;
  for (const Access& write : all) {
    if (!write.is_write || !write.is_sure || write.tensor != read.tensor ||
        prover.are_disjoint(write, read) == Answer::Yes)
      continue;
    if (missing.is_empty())
      break;
    const isl::map same_element = write.relation.apply_range(read.relation.reverse());
    const isl::map earlier =
        same_element.intersect(before(scop, scop.source_order, write.statement, read.statement));
    missing = missing.subtract(earlier.range());
  }
  return missing;
}

/// A statement that sets all elements: "h[i, j] = 0".
std::string setting(const program::Tensor& tensor) {
  const std::vector<std::string> few = {"i", "j", "k"};
  std::vector<std::string> indices;
  for (size_t d = 0; d < tensor.shape.size(); ++d)
    indices.push_back(tensor.shape.size() <= few.size() ? few[d] : "i" + std::to_string(d));
  return tensor.name + (indices.empty() ? "" : "[" + join(indices, ", ") + "]") + " = 0";
}

Diagnostic unwritten_read(const Scop& scop, const Access& read, const isl::set& bad, bool is_temp) {
  const program::Statement& text = scop[read.statement].text;
  const Point at = first_case(scop, bad);
  const std::string element = element_text(scop, read, at);
  Diagnostic d;
  d.code = is_temp ? "K0171" : "K0173";
  d.severity = is_temp ? Severity::Error : Severity::Warning;
  d.headline = text.name + " reads " + (is_temp ? "temp" : "output") + " `" +
               scop.tensors[read.tensor].name + "` before it is written";
  d.source = scop.source;
  d.where = text.where;
  d.label = is_temp ? "needs a value" : "starts from zero here";
  d.body.push_back(instance_text(text, at.coordinates) + sizes_text(scop, at.params) + " reads " +
                   element + ", and no statement writes that element earlier.");
  add_condition(d, bad, scop.context);
  d.help.push_back({"set it first", setting(scop.tensors[read.tensor]), false});
  d.help.push_back({is_temp ? "or take it from the caller" : "or, if the caller's values are meant",
                    "inout " + scop.tensors[read.tensor].name, false});
  return d;
}

/// Elements of a tensor, all of them.
isl::set elements_of(const Scop& scop, const program::Tensor& tensor) {
  const isl::set all =
      statement_universe(scop.context_owner->get(), scop.params, tensor.name, tensor.shape.size());
  isl::set elements = all.intersect_params(scop.context);
  for (uint32_t k = 0; k < tensor.shape.size(); ++k) {
    const isl::pw_aff value = dimension_function(all, k);
    elements = elements.intersect(value.ge_set(value.scale(0)))
                   .intersect(value.lt_set(pw_aff_from_expr(tensor.shape[k], all, scop.params)));
  }
  return elements;
}

Diagnostic unwritten_element(const Scop& scop, uint32_t tensor, const isl::set& bad) {
  const Point at = first_case(scop, bad);
  const std::string element = element_text(scop.tensors[tensor], at.coordinates);
  Diagnostic d;
  d.code = "K0172";
  d.severity = Severity::Warning;
  d.headline = "output `" + scop.tensors[tensor].name + "` has elements that no statement writes";
  d.source = scop.source;
  d.where = scop.tensors[tensor].where;
  d.label = element + " stays zero";
  d.body.push_back(element + sizes_text(scop, at.params) + " is never written; it will be zero.");
  add_condition(d, bad, scop.context);
  return d;
}

void check_output_elements(Scop& scop, const std::vector<Access>& all) {
  for (uint32_t t = 0; t < scop.tensors.size(); ++t) {
    if (scop.tensors[t].role != program::Role::Output)
      continue;
    isl::set missing = elements_of(scop, scop.tensors[t]);
    for (const Access& access : all)
      if (access.is_write && access.is_sure && access.tensor == t)
        missing = missing.subtract(access.relation.range());
    if (missing.is_empty())
      continue;
    const bool may_be_written = std::any_of(all.begin(), all.end(), [&](const Access& access) {
      return access.is_write && !access.is_sure && access.tensor == t;
    });
    if (!may_be_written)
      scop.warnings.push_back(unwritten_element(scop, t, missing));
    scop.zeroed_outputs.push_back(t);
  }
}

} // namespace

Diagnostics out_of_bounds(const Scop& scop) {
  Diagnostics errors;
  for (const Access& access : accesses(scop)) {
    if (access.is_update && !access.is_write)
      continue;
    isl::set bad = scop[access.statement].domain;
    bad = bad.subtract(bad);
    for (size_t k = 0; k < access.index.size(); ++k)
      if (is_known_index(access.index[k], scop[access.statement].text))
        bad = bad.unite(outside(scop, access, k));
    bad = bad.intersect_params(scop.context);
    if (!bad.is_empty())
      errors.push_back(out_of_bounds_error(scop, access, bad));
  }
  return errors;
}

Diagnostics check_initialised(Scop& scop) {
  Diagnostics errors;
  scop.zeroed_outputs.clear();
  const std::vector<Access> all = accesses(scop);
  check_output_elements(scop, all);
  for (const Access& read : all) {
    const program::Role role = scop.tensors[read.tensor].role;
    if (read.is_write || role == program::Role::Input || role == program::Role::Inout)
      continue;
    const isl::set bad = unwritten(scop, read, all);
    if (bad.is_empty())
      continue;
    if (role == program::Role::Temp) {
      errors.push_back(unwritten_read(scop, read, bad, true));
    } else {
      scop.warnings.push_back(unwritten_read(scop, read, bad, false));
      if (std::find(scop.zeroed_outputs.begin(), scop.zeroed_outputs.end(), read.tensor) ==
          scop.zeroed_outputs.end())
        scop.zeroed_outputs.push_back(read.tensor);
    }
  }
  return errors;
}

Diagnostic undecided_analysis(const Scop& scop) {
  Diagnostic d;
  d.code = "K0174";
  d.headline = "could not prove that every access stays inside its tensor";
  d.source = scop.source;
  d.body.push_back(
      "The proof needs more operations on integer sets than are allowed for one program.");
  d.help.push_back({"fix sizes to make it simpler", "-p N=1024", false});
  return d;
}

} // namespace kawara::poly
