#include "random_graph.h"

#include "support/check.h"

#include <algorithm>
#include <cmath>

namespace kawara::random_graphs {
namespace {

/// Elements that are multiples of a quarter (whole numbers for integers).
Tensor quarters(std::mt19937_64& random, DataType type, const Shape& shape, double low,
                double high) {
  Tensor tensor(type, shape);
  const auto steps = static_cast<uint64_t>((high - low) * 4) + 1;
  for (int64_t k = 0; k < tensor.elements(); ++k) {
    const double element = low + static_cast<double>(random() % steps) / 4;
    tensor.set_double(k, graph::is_float(type) ? element : std::floor(element));
  }
  return tensor;
}

std::vector<Family> all_families() {
  std::vector<Family> all;
  for (const auto& some : {elementwise_families(), layout_families(), narrow_families(),
                           pattern_families(), product_families(), reduction_families()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

} // namespace

int64_t elements_of_shape(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t extent : shape)
    elements *= extent;
  return elements;
}

Shape Generator::random_shape(int64_t least_rank, int64_t most_rank) {
  constexpr int64_t extents[] = {1, 2, 3, 4, 5, 8};
  Shape shape;
  for (int64_t rank = between(least_rank, most_rank); rank > 0; --rank)
    shape.push_back(extents[pick(6)]);
  while (elements_of_shape(shape) > 512)
    shape[static_cast<size_t>(pick(static_cast<int64_t>(shape.size())))] = 2;
  return shape;
}

std::string Generator::next_name(const std::string& prefix) {
  return prefix + std::to_string(names_++);
}

Made Generator::input(DataType type, const Shape& shape, double low, double high) {
  const ValueId id = builder_.input(next_name("input"), type, graph::dims_of(shape));
  inputs_.push_back({quarters(random_, type, shape, low, high), false, {}});
  return {id, type, shape, low, high, 0};
}

Made Generator::constant(DataType type, const Shape& shape, double low, double high) {
  const ValueId id = builder_.constant(next_name("c"), quarters(random_, type, shape, low, high));
  return {id, type, shape, low, high, 0};
}

ValueId Generator::integers(const std::vector<int64_t>& values) {
  return builder_.integers(next_name("i"), values);
}

const Made* Generator::choose_float(int64_t least_rank, int64_t most_rank, double most) {
  return choose([&](const Made& made) {
    return made.type == DataType::F32 && made.rank() >= least_rank && made.rank() <= most_rank &&
           made.most() <= most;
  });
}

Made Generator::float_of_shape(const Shape& shape, double most) {
  const Made* found = choose([&](const Made& made) {
    return made.type == DataType::F32 && made.shape == shape && made.most() <= most;
  });
  return found && chance(60) ? *found : constant(DataType::F32, shape, -2, 2);
}

Made Generator::input_of_shape(const Shape& shape, DataType type, double low, double high) {
  values_.push_back(input(type, shape, low, high));
  return values_.back();
}

Made Generator::added(const std::string& op, const std::vector<ValueId>& inputs,
                      graph::Attributes attributes, Made result) {
  const size_t before = values_.size();
  add(op, inputs, std::move(attributes), std::move(result));
  KAWARA_CHECK(values_.size() == before + 1, "a pattern whose elements grow too large");
  return values_.back();
}

void Generator::add(const std::string& op, const std::vector<ValueId>& inputs,
                    graph::Attributes attributes, Made result) {
  add_many(op, inputs, std::move(attributes), {std::move(result)});
}

void Generator::add_many(const std::string& op, const std::vector<ValueId>& inputs,
                         graph::Attributes attributes, std::vector<Made> results) {
  constexpr double largest_error = 1e-2, largest_element = 1e5;
  constexpr int64_t most_elements = 2048;
  for (const Made& made : results)
    if (made.error > largest_error || made.most() > largest_element ||
        elements_of_shape(made.shape) > most_elements || elements_of_shape(made.shape) == 0)
      return;
  const auto ids =
      builder_.add_many(op, next_name(op + "_"), inputs, results.size(), std::move(attributes));
  for (size_t k = 0; k < ids.size(); ++k) {
    results[k].id = ids[k];
    values_.push_back(std::move(results[k]));
  }
}

/// What nobody reads becomes a result, and some of the rest.
void Generator::finish(Sample& sample) {
  std::vector<bool> is_read(builder_.graph().values.size(), false);
  for (const graph::Node& node : builder_.graph().nodes)
    for (const ValueId id : node.inputs)
      if (id != graph::kAbsent)
        is_read[id] = true;
  const size_t given = inputs_.size();
  for (size_t k = given; k < values_.size(); ++k) {
    const Made& made = values_[k];
    if (is_read[made.id] && !chance(15))
      continue;
    builder_.output(made.id, made.type, graph::dims_of(made.shape));
    sample.tolerances.push_back(made.error);
    sample.shapes.push_back(made.shape);
  }
}

Sample Generator::make() {
  static const std::vector<Family> families = all_families();
  const int64_t inputs = between(1, 3), nodes = between(3, 14);
  input_of_shape(random_shape(2, 4));
  for (int64_t k = 1; k < inputs; ++k) {
    const DataType type = chance(80) ? DataType::F32 : chance(50) ? DataType::I64 : DataType::I32;
    input_of_shape(random_shape(0, 4), type);
  }
  for (int64_t tries = 0; tries < 200; ++tries) {
    if (static_cast<int64_t>(builder_.graph().nodes.size()) >= nodes)
      break;
    families[static_cast<size_t>(pick(static_cast<int64_t>(families.size())))](*this);
  }
  if (builder_.graph().nodes.empty())
    add("Relu", {values_[0].id}, {}, values_[0]);
  Sample sample;
  finish(sample);
  sample.graph = builder_.take();
  sample.inputs = std::move(inputs_);
  return sample;
}

} // namespace kawara::random_graphs
