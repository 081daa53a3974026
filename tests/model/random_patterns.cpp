#include "random_graph.h"

#include <algorithm>

namespace kawara::random_graphs {
namespace {

using Order = std::vector<int64_t>;

/// Mostly an input: what is constant is computed before it can be recognised.
Made operand_of(Generator& g, const Shape& shape) {
  return g.chance(85) ? g.input_of_shape(shape) : g.constant(DataType::F32, shape, -2, 2);
}

Made transposed(Generator& g, const Made& x, const Order& order) {
  Made y = x;
  for (size_t k = 0; k < order.size(); ++k)
    y.shape[k] = x.shape[static_cast<size_t>(order[k])];
  return g.added("Transpose", {x.id}, {{"perm", order}}, y);
}

Made reshaped(Generator& g, const Made& x, const Shape& shape) {
  Made y = x;
  y.shape = shape;
  return g.added("Reshape", {x.id, g.integers(shape)}, {}, y);
}

Made multiplied(Generator& g, const Made& a, const Made& b) {
  const double terms = static_cast<double>(a.shape.back());
  Made y = a;
  y.shape.back() = b.shape.back();
  y.high = terms * a.most() * b.most();
  y.low = -y.high;
  y.error = terms * (a.most() * b.error + b.most() * a.error) + rounding(a, y.high, terms);
  return g.added("MatMul", {a.id, b.id}, {}, y);
}

Made scaled(Generator& g, const Made& x) {
  const bool is_quotient = g.chance(50);
  const Made number = g.constant(DataType::F32, {}, is_quotient ? 4 : 0.25, is_quotient ? 4 : 0.25);
  Made y = x;
  y.low /= 4;
  y.high /= 4;
  y.error = x.error / 4 + rounding(x, y.most());
  return g.added(is_quotient ? "Div" : "Mul", {x.id, number.id}, {}, y);
}

Made masked(Generator& g, const Made& scores) {
  Shape shape(scores.shape.end() - 2, scores.shape.end());
  if (g.chance(50))
    shape = {scores.shape[0], 1, 1, scores.shape.back()};
  const Made mask = g.constant(DataType::F32, shape, -2, 0);
  Made y = scores;
  y.low -= 2;
  y.error = scores.error + rounding(scores, y.most());
  const bool is_first = g.chance(30);
  return g.added("Add", {is_first ? mask.id : scores.id, is_first ? scores.id : mask.id}, {}, y);
}

/// Attention in the operators that exporters write, with heads side by side in rows or apart.
void add_attention(Generator& g) {
  const int64_t batch = g.between(1, 2), heads = g.between(1, 3), rows = g.between(1, 6),
                keys = g.chance(60) ? rows : g.between(1, 6), elements = g.between(1, 5);
  const bool is_flat = g.chance(60), is_transposed_at_once = g.chance(50);
  const auto operand = [&](int64_t count, bool is_key) {
    if (!is_flat) {
      const Made x = operand_of(g, {batch, heads, count, elements});
      return is_key ? transposed(g, x, {0, 1, 3, 2}) : x;
    }
    const Made x = operand_of(g, {batch, count, heads * elements});
    const Made apart = reshaped(g, x, {batch, count, heads, elements});
    if (is_key && is_transposed_at_once)
      return transposed(g, apart, {0, 2, 3, 1});
    const Made swapped = transposed(g, apart, {0, 2, 1, 3});
    return is_key ? transposed(g, swapped, {0, 1, 3, 2}) : swapped;
  };
  Made query = operand(rows, false);
  if (g.chance(30))
    query = scaled(g, query);
  const Made key = operand(keys, true), value = operand(keys, false);
  Made scores = multiplied(g, query, key);
  if (g.chance(60))
    scores = scaled(g, scores);
  if (g.chance(50))
    scores = masked(g, scores);
  Made weights = scores;
  weights.low = 0;
  weights.high = 1;
  weights.error = 2 * scores.error + 2e-6;
  weights = g.added("Softmax", {scores.id}, {{"axis", int64_t{-1}}}, weights);
  const Made mixed = multiplied(g, weights, value);
  if (is_flat || g.chance(30))
    reshaped(g, transposed(g, mixed, {0, 2, 1, 3}), {batch, rows, heads * elements});
}

/// Convolutions of images with channels last, as other frameworks write them: transposed before and
/// back after.
void add_channels_last(Generator& g) {
  const int64_t batch = g.between(1, 2), height = g.between(2, 6), width = g.between(2, 6);
  Made x = g.input_of_shape({batch, height, width, g.between(1, 4)});
  for (int64_t layers = g.between(1, 3); layers > 0 && x.most() <= 16; --layers) {
    const Made channels_first = transposed(g, x, {0, 3, 1, 2});
    const int64_t channels = g.between(1, 4), window = g.chance(50) ? 1 : 3, pad = window / 2;
    const Made weights =
        g.constant(DataType::F32, {channels, channels_first.shape[1], window, window}, -1, 1);
    const double terms = static_cast<double>(channels_first.shape[1] * window * window);
    Made y = channels_first;
    y.shape[1] = channels;
    y.high = terms * channels_first.most();
    y.low = -y.high;
    y.error = terms * channels_first.error + rounding(channels_first, y.high, terms);
    y = g.added("Conv", {channels_first.id, weights.id},
                {{"kernel_shape", Order{window, window}}, {"pads", Order(4, pad)}}, y);
    x = transposed(g, y, {0, 2, 3, 1});
    if (g.chance(60)) {
      Made bounded = x;
      bounded.low = 0;
      bounded.high = std::max(x.high, 0.0);
      x = g.added("Relu", {x.id}, {}, bounded);
    }
    if (g.chance(40)) {
      const Made shift = g.constant(DataType::F32, {channels}, -1, 1);
      Made moved = x;
      moved.low -= 1;
      moved.high += 1;
      moved.error = x.error + rounding(x, moved.most());
      x = g.added("Add", {x.id, shift.id}, {}, moved);
    }
  }
}

} // namespace

std::vector<Family> pattern_families() { return {add_attention, add_channels_last}; }

} // namespace kawara::random_graphs
