#pragma once

#include "graph/rewrite/egraph.h"
#include "graph/rewrite/rule.h"

#include <map>
#include <string>
#include <vector>

namespace kawara::rewrite {

/// What the variables of a rule stand for.
struct Binding {
  std::map<std::string, ClassId> tensors;
  std::map<std::string, Attr> attributes;
  std::map<std::string, Attrs> rests;
};

/// A place where a rule applies: the classes of its left sides, and its variables.
struct Match {
  std::vector<ClassId> roots;
  Binding binding;
};

/// The places where the left sides and the conditions of a rule hold, at most `limit` of them, in
/// ascending order of the roots. Only classes whose type is known take part; what is not floating
/// point is only moved.
std::vector<Match> matches(const EGraph&, const Rule&, size_t limit);

/// The same for one pattern and one class; conditions are not looked at.
std::vector<Binding> bindings(const EGraph&, const Pattern&, ClassId root, const Binding& given,
                              size_t limit);

/// Do all conditions hold?
bool holds(const EGraph&, const Rule&, const Binding&);

/// Adds a right side; nothing when an operator does not take its operands. Numbers become
/// constants of type `elem`.
std::optional<ClassId> add_side(EGraph&, const Pattern&, const Binding&, DataType elem);

/// Name of the opaque node of a constant without dimensions.
std::string number_name(DataType elem, double value);
/// The reverse; nothing for other names.
std::optional<std::pair<DataType, double>> number_from_name(const std::string& name);

} // namespace kawara::rewrite
