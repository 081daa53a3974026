#pragma once

#include "graph/rewrite/rule.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kawara::rules {

struct GenerateOptions {
  std::vector<std::string> operators = {"Add", "Mul", "MatMul", "Relu", "Transpose", "Concat"};
  int most_operators = 2; ///< of one side
  int inputs = 3;         ///< tensors of two dimensions
  uint64_t seed = 1;
  size_t most_terms = 20'000;
  std::vector<rewrite::Rule> known;                 ///< what follows from these is left out
  std::function<void(const std::string&)> progress; ///< one line at a time
};

struct Generated {
  std::vector<rewrite::Rule> rules; ///< proved
  size_t terms = 0;                 ///< built and evaluated
  size_t candidates = 0;            ///< pairs of equal values, up to names
  size_t implied = 0;               ///< of these, following from known or earlier rules
  size_t rejected = 0;              ///< not proved
};

/// Finds rules as TASO does: builds all graphs of few operators, evaluates them on random integers,
/// pairs those with equal results, leaves out what known rules already make equal (in an e-graph),
/// and proves the rest. What is proved is known from then on.
Generated generate(const GenerateOptions&);

/// The rules as a file that parse_rules reads.
std::string print(const Generated&);

} // namespace kawara::rules
