#pragma once

#include "graph/graph.h"

#include <optional>
#include <string>
#include <vector>

namespace kawara::graph::zoo {

/// What can be chosen about a net. Those that a net does not have are refused.
struct Choices {
  std::optional<int64_t> batch;    ///< images or sequences at once; 1 when empty
  std::optional<int64_t> sequence; ///< tokens of bert-base and gpt2; 128 when empty
  std::optional<int64_t> past;     ///< tokens in the cache of gpt2-decode; a symbol when empty
  bool has_elements = true;        ///< false: weights are empty; a graph to look at, not to run
};

/// A net of the zoo, as a list shows it.
struct Entry {
  std::string name, what;
  int64_t parameters = 0;
  double flops = 0; ///< of one run, products only; a cache of symbolic length counts as 128
};

/// All nets with the sizes of their default choices, in the order of the documentation.
std::vector<Entry> entries();

/// A net whose weights are pseudo-random, the same on every machine. Refuses a name that no net has
/// (K0561) and sizes that the net does not have or that are not positive (K0562).
Result<Graph, Diagnostic> make(const std::string& name, const Choices& = {});

} // namespace kawara::graph::zoo
