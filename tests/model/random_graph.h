#pragma once

#include "graph/builder.h"
#include "run/functions/function.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace kawara::random_graphs {

using graph::DataType;
using graph::Shape;
using graph::Tensor;
using graph::ValueId;

/// A value of a graph that is being made, and what can be said of its elements without running it.
struct Made {
  ValueId id = 0;
  DataType type = DataType::F32;
  Shape shape;
  double low = 0, high = 0; ///< elements lie between these
  double error = 0;         ///< elements may differ by this much between orders of evaluation
  int direction = 2;        ///< exact elements are multiples of 2^-grain
  double most() const { return std::max(std::abs(low), std::abs(high)); }
  bool is_exact() const { return error == 0; }
  bool is_float() const { return graph::is_float(type); }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
};

/// A graph with inputs to run it on, and the error that each output may have.
struct Sample {
  graph::Graph graph;
  std::vector<run::Datum> inputs;
  std::vector<double> tolerances; ///< by output
  std::vector<Shape> shapes;      ///< of the outputs, by the generator's own reckoning
};

/// Makes graphs node by node. Every operator is applied where the standard allows it and where
/// small errors stay small: elements and errors are bounded as they go, and what jumps (Floor,
/// Less, ArgMax) is applied to exact elements only.
class Generator {
public:
  explicit Generator(uint64_t seed) : random_(seed), builder_("random") {}

  Sample make();

  // For the families of operators.
  bool chance(int percent) { return pick(100) < percent; }
  int64_t pick(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(below));
  }
  int64_t between(int64_t low, int64_t high) { return low + pick(high - low + 1); }
  Shape random_shape(int64_t least_rank, int64_t most_rank);
  /// One of the values that a question accepts; none: no such value.
  template <class F> const Made* choose(F accepts) {
    std::vector<size_t> fit;
    for (size_t k = 0; k < values_.size(); ++k)
      if (accepts(values_[k]))
        fit.push_back(k);
    if (fit.empty())
      return nullptr;
    // The latest ones more often, so that graphs grow long.
    const size_t from = chance(60) && fit.size() > 3 ? fit.size() - 3 : 0;
    return &values_[fit[from + static_cast<size_t>(pick(static_cast<int64_t>(fit.size() - from)))]];
  }
  const Made* choose_float(int64_t least_rank = 0, int64_t most_rank = 4, double most = 16);
  /// A new constant of quarters between the bounds.
  Made constant(DataType type, const Shape& shape, double low, double high);
  ValueId integers(const std::vector<int64_t>& values);
  /// A value or a constant of this shape.
  Made float_of_shape(const Shape& shape, double most = 4);
  /// A new input of the graph.
  Made input_of_shape(const Shape& shape, DataType type = DataType::F32, double low = -2,
                      double high = 2);
  /// The same as `add`, for bounds that are small enough; the result.
  Made added(const std::string& op, const std::vector<ValueId>& inputs,
             graph::Attributes attributes, Made result);
  /// Adds a node whose result has these bounds.
  void add(const std::string& op, const std::vector<ValueId>& inputs, graph::Attributes attributes,
           Made result);
  void add_many(const std::string& op, const std::vector<ValueId>& inputs,
                graph::Attributes attributes, std::vector<Made> results);

private:
  Made input(DataType type, const Shape& shape, double low, double high);
  std::string next_name(const std::string& prefix);
  void finish(Sample& sample);

  std::mt19937_64 random_;
  graph::Builder builder_;
  std::vector<Made> values_;
  std::vector<run::Datum> inputs_;
  int64_t names_ = 0;
};

/// Tries to add one operator; does nothing when no value fits.
using Family = void (*)(Generator&);
std::vector<Family> elementwise_families();
std::vector<Family> layout_families();
std::vector<Family> narrow_families();  ///< bytes and half floats
std::vector<Family> pattern_families(); ///< several operators at once
std::vector<Family> product_families();
std::vector<Family> reduction_families();

/// Error of rounding a sum of `terms` numbers up to `most`.
inline double rounding(const Made& like, double most, double terms = 1) {
  constexpr double f32 = 1.2e-7;
  return like.is_float() ? f32 * most * (terms + 1) : 0;
}
int64_t elements_of_shape(const Shape&);
/// Sums and products of exact elements are exact as long as a float has the bits for them.
inline bool stays_exact(double most, int direction) { return most * std::exp2(direction) < 4e6; }

} // namespace kawara::random_graphs
