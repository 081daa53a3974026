#pragma once

#include "graph/graph.h"
#include "run/functions/function.h"

#include <map>
#include <string>

namespace kawara::driver {

/// Sizes for what the shapes of a model's inputs leave open.
struct InputSizes {
  std::map<std::string, int64_t> symbols;     ///< by their names
  std::map<std::string, graph::Shape> shapes; ///< of whole inputs: the way for sizes without a name
};

/// Shapes of the inputs that are not given, by name. A symbol has one size throughout: that of
/// `sizes`, or what a shape or a given input has in its place. Refuses symbols that no input has or
/// that are negative (K0569), shapes for what is no input (K0520), that do not fit the declaration,
/// or that give a symbol a second size (K0571), and extents that nobody gives a size (K0570).
Result<std::map<std::string, graph::Shape>, Diagnostic>
shapes_of_inputs(const graph::Graph&, const std::map<std::string, run::Datum>& given,
                 const InputSizes& sizes);

} // namespace kawara::driver
