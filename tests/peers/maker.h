#pragma once

#include "graph/builder.h"
#include "peers/peer.h"

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace kawara::peers {

using graph::Attributes;
using graph::DataType;
using graph::kAbsent;
using graph::Shape;
using graph::Tensor;
using graph::ValueId;
using Ints = std::vector<int64_t>;

/// A value of the graph that is being made, with the elements that ONNX Runtime computes for it.
struct Val {
  ValueId id = kAbsent;
  Tensor tensor;
  bool is_exact = true; ///< no rounding so far: what jumps may be applied to it
  DataType type() const { return tensor.type(); }
  const Shape& shape() const { return tensor.shape(); }
  int64_t rank() const { return tensor.rank(); }
  int64_t extent(int64_t axis) const { return tensor.shape()[static_cast<size_t>(axis)]; }
};

/// What is among the elements of an input.
struct Elements {
  enum class Kind : uint8_t { Any, Plain, Positive } kind = Kind::Any;
  double scale = 0; ///< of plain numbers; 0: any
};

struct Sample {
  Graph graph;
  std::vector<Datum> inputs;
  std::map<std::string, int> refused; ///< operators and types that ONNX Runtime did not take
};

/// Makes graphs node by node. Each node is run by ONNX Runtime as soon as it is added: what it
/// refuses is left out, and what follows knows the shape and the elements of its result.
class Maker {
public:
  Maker(uint64_t seed, const Peer& peer);
  Sample make(const std::string& only_family);

  bool chance(int percent) { return pick(100) < percent; }
  int64_t pick(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(below));
  }
  int64_t between(int64_t low, int64_t high) { return low + pick(high - low + 1); }
  template <class T> T one_of(const std::vector<T>& some) {
    return some[static_cast<size_t>(pick(static_cast<int64_t>(some.size())))];
  }
  std::string word(const std::vector<std::string>& some) { return one_of(some); }
  double real(double low, double high); ///< a multiple of 1/8
  int64_t opset() const { return opset_; }

  Shape shape(int64_t least_rank, int64_t most_rank, bool may_be_empty = true);
  /// One that stretches with this one, in either direction.
  Shape partner_shape(const Shape&);
  DataType float_type(); ///< mostly f32
  DataType int_type();
  DataType any_type();
  int64_t axis_of(const Val&); ///< counted from the front or the back

  /// A new input, or a constant.
  Val fresh(DataType, const Shape&, Elements = {});
  Val constant(Tensor);
  Val given(Tensor); ///< a new input with these elements
  /// Integers that an operator takes as an operand: mostly a constant.
  Val ints(const Ints&, bool may_be_given = true);
  Val scalar(DataType, double value, const Shape& = {});
  /// A value that is there already, or a new one.
  template <class F> Val operand(F accepts, DataType type, const Shape& shape) {
    if (chance(65))
      if (auto found = existing(accepts))
        return *found;
    return fresh(type, shape);
  }
  template <class F> std::optional<Val> existing(F accepts) {
    std::vector<const Val*> fit;
    for (const Val& val : values_)
      if (accepts(val))
        fit.push_back(&val);
    if (fit.empty())
      return std::nullopt;
    const auto from = static_cast<int64_t>(fit.size() > 3 && chance(60) ? fit.size() - 3 : 0);
    return *fit[static_cast<size_t>(between(from, static_cast<int64_t>(fit.size()) - 1))];
  }
  Val floats(int64_t least_rank, int64_t most_rank); ///< any float type
  Val anything(int64_t least_rank, int64_t most_rank);
  Val of(DataType, const Shape&); ///< of this type and shape

  /// Adds a node with so many results; false where this version of the standard has no such
  /// operator, or ONNX Runtime refuses it.
  bool add(const std::string& op, const std::vector<Val>& inputs, Attributes = {},
           size_t results = 1);

private:
  Tensor elements(DataType, const Shape&, Elements);
  double special(bool is_positive);
  std::string next_name(const std::string& prefix);
  Val input(Tensor);
  void finish(Sample&);

  std::mt19937_64 random_;
  const Peer& peer_;
  int64_t opset_;
  graph::Builder builder_;
  std::vector<Val> values_;
  std::map<ValueId, Tensor> given_;
  std::map<std::string, int> refused_;
  int64_t names_ = 0;
  int special_percent_ = 0;
  unsigned specials_ = 0; ///< which kinds of special numbers
};

/// Tries to add an operator of a family; does nothing where that cannot be.
struct Family {
  std::string_view name;
  void (*add)(Maker&);
  int weight = 1;
};
std::vector<Family> elementwise_families();
std::vector<Family> layout_families();
std::vector<Family> index_families(); ///< gathers, scatters, searches
std::vector<Family> reduction_families();
std::vector<Family> product_families();
std::vector<Family> window_families();
std::vector<Family> quantised_families();
std::vector<Family> recurrent_families();
std::vector<Family> signal_families();

/// Is a result of this operator as exact as its operands? It takes elements as they are.
bool keeps_digits(const std::string& op);
/// The least version of the standard that has the operator; nothing for one that Kawara does not
/// import.
std::optional<int64_t> first_version(const std::string& op);
/// A node alone, with its operands as inputs (constants where `constants` has them).
Graph graph_of_node(const graph::Node&, const std::vector<Tensor>& operands,
                    const std::set<size_t>& constants, int64_t opset);

} // namespace kawara::peers
