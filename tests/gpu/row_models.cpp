#include "operator_model.h"

#include <algorithm>

namespace kawara::operator_models {
namespace {

int64_t elements_in(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t extent : shape)
    elements *= extent;
  return elements;
}

/// Of 2 to 4 dimensions, any of them long.
Shape some_shape(Maker& m, int64_t least_rank = 2) {
  constexpr int64_t kMostElements = 6000;
  for (;;) {
    Shape shape;
    for (int64_t rank = m.between(least_rank, 4); rank > 0; --rank)
      shape.push_back(m.chance(30) ? m.between(1, 300) : m.between(1, 9));
    if (elements_in(shape) <= kMostElements)
      return shape;
  }
}

void softmax(Maker& m) {
  const Shape shape = some_shape(m);
  const int64_t axis = m.pick(static_cast<int64_t>(shape.size()));
  const Made x = m.input(shape);
  Made y = m.add(m.chance(75) ? "Softmax" : "LogSoftmax", {x.id}, {{"axis", axis}}, shape);
  if (m.chance(30))
    y = m.add("Mul", {y.id, m.input(shape).id}, {}, shape);
  m.output(y);
}

void layer_norm(Maker& m) {
  const Shape shape = some_shape(m);
  const int64_t axis = m.between(1, static_cast<int64_t>(shape.size()) - 1);
  const Shape inner(shape.begin() + axis, shape.end());
  const Made x = m.input(shape);
  std::vector<ValueId> inputs{x.id, m.constant(inner).id};
  if (m.chance(70))
    inputs.push_back(m.constant(inner).id);
  Made y = m.add("LayerNormalization", inputs, {{"axis", axis}, {"epsilon", 1e-3}}, shape);
  if (m.chance(40))
    y = m.add("Add", {y.id, x.id}, {}, shape);
  m.output(y);
}

void channel_norm(Maker& m) {
  const int64_t channels = 2 * m.between(1, 20);
  const Shape shape{m.batch(), channels, m.between(1, 9), m.between(1, 9)};
  const Made x = m.input(shape);
  if (m.chance(50)) {
    m.output(m.followed(m.add("InstanceNormalization",
                              {x.id, m.constant({channels}).id, m.constant({channels}).id},
                              {{"epsilon", 1e-2}}, shape),
                        1));
    return;
  }
  const Made mean = m.constant({channels}), variance = m.filled({channels}, 0.75);
  m.output(m.followed(
      m.add("BatchNormalization",
            {x.id, m.constant({channels}).id, m.constant({channels}).id, mean.id, variance.id},
            {{"epsilon", 1e-3}}, shape),
      1));
}

void reduce(Maker& m) {
  static const std::vector<std::string> ops = {"ReduceSum",       "ReduceMean",     "ReduceMax",
                                               "ReduceMin",       "ReduceL2",       "ReduceL1",
                                               "ReduceSumSquare", "ReduceLogSumExp"};
  const Shape shape = some_shape(m);
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<int64_t> axes;
  for (int64_t d = 0; d < rank; ++d)
    if (m.chance(45))
      axes.push_back(d);
  if (axes.empty())
    axes.push_back(m.pick(rank));
  const bool keeps = m.chance(50);
  Shape result;
  for (int64_t d = 0; d < rank; ++d)
    if (std::count(axes.begin(), axes.end(), d) == 0)
      result.push_back(shape[static_cast<size_t>(d)]);
    else if (keeps)
      result.push_back(1);
  const Made x = m.input(shape);
  const std::string op = m.one_of(ops);
  Attributes attributes{{"keepdims", int64_t{keeps}}};
  std::vector<ValueId> inputs{x.id};
  if (op == "ReduceSum")
    inputs.push_back(m.integers(axes));
  else
    attributes["axes"] = axes;
  Made y = m.add(op, inputs, attributes, result);
  if (keeps && m.chance(50))
    y = m.add(m.chance(50) ? "Sub" : "Mul", {x.id, y.id}, {}, shape);
  m.output(y);
}

void arg(Maker& m) {
  const Shape shape = some_shape(m);
  const int64_t axis = m.pick(static_cast<int64_t>(shape.size()));
  Shape result = shape;
  result[static_cast<size_t>(axis)] = 1;
  const Made x = m.input(shape);
  m.output(
      m.add(m.chance(50) ? "ArgMax" : "ArgMin", {x.id}, {{"axis", axis}}, result, DataType::I64));
}

void global_pool(Maker& m) {
  const Shape shape{m.batch(), m.channels(), m.between(1, 9), m.between(1, 9)};
  const Made x = m.input(shape);
  const Made y = m.add(m.chance(60) ? "GlobalAveragePool" : "GlobalMaxPool", {x.id}, {},
                       {shape[0], shape[1], 1, 1});
  m.output(m.followed(y, 1));
}

void running_sum(Maker& m) {
  const Shape shape = some_shape(m);
  const int64_t axis = m.pick(static_cast<int64_t>(shape.size()));
  if (shape[static_cast<size_t>(axis)] > 40)
    return running_sum(m);
  const Made x = m.input(shape);
  m.output(m.add("CumSum", {x.id, m.integers({axis})}, {{"reverse", m.pick(2)}}, shape));
}

} // namespace

std::vector<Family> row_families() {
  return {{"softmax", softmax},
          {"layer_norm", layer_norm},
          {"channel_norm", channel_norm},
          {"reduce", reduce},
          {"arg", arg},
          {"global_pool", global_pool},
          {"running_sum", running_sum}};
}

} // namespace kawara::operator_models
