#pragma once

#include "graph/tensor.h"
#include "support/diagnostic.h"

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace kawara::graph {

/// Extent of a declared shape: a number, a name that stands for one (`batch`), or unknown.
struct Dim {
  std::optional<int64_t> size;
  std::string symbol; ///< empty for "unknown"
};

/// What a value is declared to be. Sequences hold tensors; what is not declared is empty.
struct ValueType {
  enum class Kind : uint8_t { Tensor, Sequence, Optional };
  Kind kind = Kind::Tensor;
  std::optional<DataType> elem;
  std::optional<std::vector<Dim>> shape;
};

/// Number of a value in its graph.
using ValueId = uint32_t;
inline constexpr ValueId kAbsent = ~ValueId{0}; ///< an optional input or output that is left out

struct Value {
  std::string name; ///< unique within the graph
  ValueType type;
};

struct Graph;
using GraphPtr = std::shared_ptr<const Graph>;
using Attribute = std::variant<int64_t, double, std::string, Tensor, GraphPtr, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string>, std::vector<Tensor>>;
using Attributes = std::map<std::string, Attribute>;
std::string_view kind_of(const Attribute&);      ///< "an integer", "a list of numbers"
std::string text_of_attribute(const Attribute&); ///< its value: "3", "[1, 2]"

/// One operator applied to values. Every value has at most one node that makes it.
struct Node {
  std::string
      name;       ///< for messages; made from the operator and its position when the file has none
  std::string op; ///< "Conv"
  std::string domain; ///< empty for the standard's own operators
  std::vector<ValueId> inputs, outputs;
  Attributes attributes;
};

/// A value of the enclosing graph that nodes of a subgraph read.
struct Capture {
  ValueId outer, inner;
};

/// Named tensors and operators, in an order in which every value is made before it is read.
struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs; ///< to be given by the caller, without initializers
  std::vector<ValueId> outputs;
  std::map<ValueId, Tensor> initializers;
  std::vector<Capture> captures;         ///< subgraphs only
  std::map<std::string, int64_t> opsets; ///< version of each operator domain; "" is the standard's
};

/// Text for people: inputs, initializers, one line per node, outputs.
std::string print(const Graph&);

/// Invariants of the artefact; returns what is broken, empty when well formed.
std::vector<std::string> spec(const Graph&);

std::string text_of(const ValueType&); ///< "f32[batch, 3, ?]"

} // namespace kawara::graph
