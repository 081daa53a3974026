#pragma once

#include "driver/model/model.h"
#include "graph/builder.h"

#include <random>

/// Models of one operator and what nets put behind it, at random shapes: odd channels, several
/// images, windows of any kind.
namespace kawara::operator_models {

using graph::Attributes;
using graph::DataType;
using graph::Shape;
using graph::Tensor;
using graph::ValueId;

struct OperatorModel {
  std::string text; ///< operators and shapes, for people: "Conv 2x104x1x1, HardSigmoid"
  graph::Graph graph;
  std::map<std::string, run::Datum> inputs;
};

struct Made {
  ValueId id = 0;
  Shape shape;
  DataType type = DataType::F32;
};

/// Elements are multiples of a quarter, none of them 0: sums of products are exact in f32 in any
/// order, and a term that is left out or taken twice shows.
class Maker {
public:
  Maker(const std::string& name, uint64_t seed, int64_t most_work)
      : random_(seed), builder_(name), most_work_(most_work) {}

  int64_t pick(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(below));
  }
  int64_t between(int64_t low, int64_t high) { return low + pick(high - low + 1); }
  bool chance(int percent) { return pick(100) < percent; }
  template <class T> T one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(pick(static_cast<int64_t>(list.size())))];
  }
  int64_t batch() { return between(1, 5); }
  /// Of an image or a row: small and large, many of them odd or no multiple of 4.
  int64_t channels();
  /// Whether this many operations are few enough to be interpreted.
  bool is_small(double operations) const { return operations <= static_cast<double>(most_work_); }

  Made input(const Shape&, DataType = DataType::F32);
  /// Integers from the whole of their type, its ends and zero among them.
  Made whole_input(const Shape&, DataType, bool has_zeros = true);
  Made constant(const Shape&, DataType = DataType::F32);
  /// All elements the same.
  Made filled(const Shape&, double value, DataType = DataType::F32);
  ValueId integers(const std::vector<int64_t>& values);
  Made add(const std::string& op, const std::vector<ValueId>& inputs, Attributes attributes,
           const Shape& result, DataType = DataType::F32);
  /// A few of the operators that nets have behind others: activations, sums with another input,
  /// products per channel.
  Made followed(Made x, size_t channel_axis);

  void output(const Made& result);
  OperatorModel take();

private:
  Tensor elements(DataType, const Shape&);
  Tensor whole_elements(DataType, const Shape&, bool has_zeros);
  Made given(const Shape&, DataType, Tensor elements);
  Made activated(const Made& x, size_t channel_axis);

  std::mt19937_64 random_;
  graph::Builder builder_;
  int64_t most_work_;
  OperatorModel made_;
  int64_t names_ = 0;
};

/// Adds inputs, operators and outputs of one family.
struct Family {
  std::string name;
  void (*make)(Maker&);
};
std::vector<Family> convolution_families();
std::vector<Family> product_families();
std::vector<Family> row_families();
std::vector<Family> map_families();
std::vector<Family> quantised_families();
std::vector<Family> integer_families();
std::vector<Family> all_families();

} // namespace kawara::operator_models
