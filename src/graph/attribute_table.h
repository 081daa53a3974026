#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace kawara::graph {

/// The attributes that the standard gives an operator from a version on, until the next row of the
/// same operator.
///
/// `attributes` are words `name:kind` or `name:kind=standard`, where `standard` is the value that
/// counts when the attribute is left out. Kinds are i (integer), f (number), s (text), I, F, S
/// (lists of these), t (tensor), g (graph), x and p (sparse tensors and types, of which Kawara has
/// none). A mark before the name says how it is read:
///
///   (none)   the operator's rule reads it
///   -        it has no influence on what the operator computes for types that Kawara has
///   !        only the standard value is known; without one the attribute must be left out
struct AttributeRow {
  std::string_view op;
  int64_t since;
  std::string_view attributes;
};

/// All rows, those of an operator next to each other in ascending order of version. Every operator
/// that Kawara knows has one, also when it has no attributes.
std::span<const AttributeRow> attribute_rows();

} // namespace kawara::graph
