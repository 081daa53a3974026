#pragma once

#include "graph/rewrite/egraph.h"

#include <functional>
#include <string_view>
#include <vector>

namespace kawara::rewrite {

/// One operator applied to operands of known types, for whoever says what it costs.
struct Application {
  std::string_view op; ///< of terms, or of the model's node where rules do not look into it
  const Attrs& attributes;
  std::vector<const Type*> operands; ///< null where nothing is known
  std::vector<bool> constant;        ///< which operands do not depend on the model's inputs
  const Type* result;                ///< null where it is not known
};

/// What it costs to run one node, at least 0; what depends on constants alone is free, it is
/// computed once, and not asked for.
using Cost = std::function<double(const Application&)>;

/// A way to compute each class that is needed, by its position among the class's nodes.
struct Choice {
  std::vector<size_t> node; ///< by class
  double cost = 0;          ///< of all nodes that the roots need, each once
  bool is_proved_best = false;
};

/// The cheapest graph for the roots. Starts from the cheapest tree for each class and from `given`
/// (a choice that is known to be without cycles), then changes choices, one at a time and all
/// readers of one value together, as long as the whole gets cheaper. Small problems are searched to
/// the end.
Choice extract(const EGraph&, const std::vector<ClassId>& roots, const std::vector<size_t>& given,
               const Cost&);

/// Cost of a choice: of all nodes that the roots need, each once; infinite when there is a cycle.
double cost_of_choice(const EGraph&, const std::vector<ClassId>& roots,
                      const std::vector<size_t>& choice, const Cost&);

} // namespace kawara::rewrite
