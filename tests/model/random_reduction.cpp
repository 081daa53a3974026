#include "random_graph.h"

#include <algorithm>
#include <cmath>

namespace kawara::random_graphs {
namespace {

/// `a` with the dimensions of `axes` reduced to one element or left out.
Shape reduced(const Made& a, const std::vector<int64_t>& axes, bool keeps) {
  Shape shape;
  for (int64_t k = 0; k < a.rank(); ++k)
    if (std::find(axes.begin(), axes.end(), k) == axes.end())
      shape.push_back(a.shape[static_cast<size_t>(k)]);
    else if (keeps)
      shape.push_back(1);
  return shape;
}

void add_reduction(Generator& g) {
  constexpr const char* ops[] = {"ReduceSum", "ReduceMean",      "ReduceMax",      "ReduceMin",
                                 "ReduceL1",  "ReduceSumSquare", "ReduceLogSumExp"};
  const Made* x = g.choose_float(1, 4, 8);
  if (!x)
    return;
  const Made a = *x;
  std::vector<int64_t> axes;
  for (int64_t k = 0; k < a.rank(); ++k)
    if (g.chance(50))
      axes.push_back(k);
  if (axes.empty())
    axes.push_back(g.pick(a.rank()));
  const bool keeps = g.chance(50);
  const std::string op = ops[g.pick(std::size(ops))];
  double elements = 1;
  for (const int64_t k : axes)
    elements *= static_cast<double>(a.shape[static_cast<size_t>(k)]);
  Made y = a;
  y.shape = reduced(a, axes, keeps);
  const double most =
      op == "ReduceSumSquare" ? elements * a.most() * a.most() : elements * a.most();
  if (op == "ReduceSum" || op == "ReduceL1" || op == "ReduceSumSquare") {
    y.high = most;
    y.low = op == "ReduceSum" ? -most : 0;
    y.error = elements * a.error * (op == "ReduceSumSquare" ? 2 * a.most() : 1) +
              rounding(a, most, elements);
  } else if (op == "ReduceMean") {
    y.error = a.error + rounding(a, a.most(), elements);
  } else if (op == "ReduceLogSumExp") {
    y.high = a.high + std::log(elements) + 1;
    y.error = a.error + 1e-5 * (y.most() + 1);
  }
  graph::Attributes attributes{{"keepdims", int64_t{keeps}}};
  std::vector<ValueId> inputs{a.id};
  if (op == "ReduceSum")
    inputs.push_back(g.integers(axes));
  else
    attributes["axes"] = axes;
  g.add(op, inputs, attributes, y);
}

void add_position(Generator& g) {
  const Made* x = g.choose([](const Made& made) {
    return made.is_exact() && made.type == DataType::F32 && made.rank() >= 1;
  });
  if (!x)
    return;
  const Made a = *x;
  const int64_t axis = g.pick(a.rank());
  const bool keeps = g.chance(50);
  const auto extent = static_cast<double>(a.shape[static_cast<size_t>(axis)]);
  g.add(g.chance(50) ? "ArgMax" : "ArgMin", {a.id},
        {{"axis", axis}, {"keepdims", int64_t{keeps}}, {"select_last_index", g.pick(2)}},
        {0, DataType::I64, reduced(a, {axis}, keeps), 0, extent, 0});
}

void add_running_sum(Generator& g) {
  const Made* x = g.choose_float(1, 4, 8);
  if (!x)
    return;
  const Made a = *x;
  const int64_t axis = g.pick(a.rank());
  const auto extent = static_cast<double>(a.shape[static_cast<size_t>(axis)]);
  Made y = a;
  y.high = extent * a.most();
  y.low = -y.high;
  y.error = extent * a.error + rounding(a, y.high, extent);
  const auto at = static_cast<double>(axis);
  g.add("CumSum", {a.id, g.constant(DataType::I64, {}, at, at).id},
        {{"exclusive", g.pick(2)}, {"reverse", g.pick(2)}}, y);
}

void add_softmax(Generator& g) {
  const Made* x = g.choose_float(1, 4, 8);
  if (!x)
    return;
  const Made a = *x;
  const int64_t axis = g.chance(60) ? -1 : g.pick(a.rank());
  Made y = a;
  if (g.chance(70)) {
    y.low = 0;
    y.high = 1;
    y.error = 2 * a.error + 2e-6;
    return g.add("Softmax", {a.id}, {{"axis", axis}}, y);
  }
  y.low = -2 * a.most() - 8;
  y.high = 1e-3;
  y.error = 3 * a.error + 1e-5;
  g.add("LogSoftmax", {a.id}, {{"axis", axis}}, y);
}

/// Normalised by its own spread; an epsilon of 1 keeps errors small.
void add_normalization(Generator& g) {
  const Made* x = g.choose_float(3, 4, 8);
  if (!x)
    return;
  const Made a = *x;
  const auto elements = static_cast<double>(elements_of_shape(a.shape));
  Made y = a;
  y.high = 2 * (2 * a.most() + 1);
  y.low = -y.high;
  y.error = 8 * (1 + a.most()) * (a.error + rounding(a, a.most() * a.most() + 1, elements));
  if (g.chance(50)) {
    const Made scale = g.constant(DataType::F32, {a.shape[1]}, -2, 2);
    const Made bias = g.constant(DataType::F32, {a.shape[1]}, -2, 2);
    return g.add("InstanceNormalization", {a.id, scale.id, bias.id}, {{"epsilon", 1.0}}, y);
  }
  const Made scale = g.constant(DataType::F32, {a.shape.back()}, -2, 2);
  const Made bias = g.constant(DataType::F32, {a.shape.back()}, -2, 2);
  g.add("LayerNormalization", {a.id, scale.id, bias.id}, {{"axis", int64_t{-1}}, {"epsilon", 1.0}},
        y);
}

void add_batch_normalization(Generator& g) {
  const Made* x = g.choose_float(2, 4, 8);
  if (!x)
    return;
  const Made a = *x;
  const Shape each{a.shape[1]};
  const Made scale = g.constant(DataType::F32, each, -2, 2);
  const Made bias = g.constant(DataType::F32, each, -2, 2);
  const Made mean = g.constant(DataType::F32, each, -1, 1);
  const Made variance = g.constant(DataType::F32, each, 1, 3);
  Made y = a;
  y.high = 2 * (a.most() + 1) + 2;
  y.low = -y.high;
  y.error = 2 * a.error + rounding(a, y.high, 8);
  g.add("BatchNormalization", {a.id, scale.id, bias.id, mean.id, variance.id}, {}, y);
}

void add_local_response(Generator& g) {
  const Made* x = g.choose_float(4, 4, 8);
  if (!x)
    return;
  const Made a = *x;
  Made y = a;
  y.low = -a.most();
  y.high = a.most();
  y.error = 2 * a.error + 1e-5 * (a.most() + 1);
  g.add("LRN", {a.id}, {{"size", int64_t{3}}, {"alpha", 0.01}, {"beta", 0.75}, {"bias", 1.0}}, y);
}

} // namespace

std::vector<Family> reduction_families() {
  return {add_reduction,           add_reduction,     add_position,
          add_running_sum,         add_softmax,       add_normalization,
          add_batch_normalization, add_local_response};
}

} // namespace kawara::random_graphs
