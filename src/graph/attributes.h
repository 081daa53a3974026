#pragma once

#include "graph/graph.h"

#include <optional>
#include <set>
#include <string>

namespace kawara::graph {

/// What is wrong with an attribute of a node of the standard's operators (K0512): this version of
/// the operator has none of that name, its value is of another kind, or Kawara knows only the value
/// that counts when it is left out. Nothing for operators that are not in the table
/// (graph/attribute_table.h); whether they are known at all is asked elsewhere.
std::optional<Diagnostic> refused_attribute(const Node&, int64_t opset);

/// The error (K0512) for an attribute of the node that would decide about its result and that
/// nobody has looked at: it is not among `reads`, does not have its standard value, and is none of
/// those that have no influence. In debug builds `reads` are also checked against the table.
std::optional<Diagnostic> unread_attribute(const Node&, int64_t opset,
                                           const std::set<std::string>& reads);

/// Names that no version of the operator has an attribute of; empty for operators that are not in
/// the table.
std::set<std::string> unlisted_attributes(const std::string& op,
                                          const std::set<std::string>& names);

} // namespace kawara::graph
