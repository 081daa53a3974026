#include "random_graph.h"

#include <algorithm>
#include <numeric>

namespace kawara::random_graphs {
namespace {

/// An end that lies before the front of every tensor.
constexpr int64_t kFarBefore = -(int64_t{1} << 40);

const Made* any_value(Generator& g, int64_t least_rank = 0) {
  return g.choose([&](const Made& made) { return made.rank() >= least_rank; });
}

void add_transpose(Generator& g) {
  const Made* x = any_value(g, 2);
  if (!x)
    return;
  const auto rank = static_cast<size_t>(x->rank());
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  for (size_t k = rank; k > 1; --k)
    std::swap(order[k - 1], order[static_cast<size_t>(g.pick(static_cast<int64_t>(k)))]);
  Made y = *x;
  for (size_t k = 0; k < rank; ++k)
    y.shape[k] = x->shape[static_cast<size_t>(order[k])];
  g.add("Transpose", {x->id}, {{"perm", order}}, y);
}

/// Another shape of as many elements.
Shape regrouped(Generator& g, int64_t elements) {
  Shape shape;
  while (elements > 1 && shape.size() < 3) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= elements; ++d)
      if (elements % d == 0)
        divisors.push_back(d);
    shape.push_back(divisors[static_cast<size_t>(g.pick(static_cast<int64_t>(divisors.size())))]);
    elements /= shape.back();
  }
  shape.push_back(elements);
  return shape;
}

void add_reshape(Generator& g) {
  const Made* x = any_value(g);
  if (!x)
    return;
  const Made a = *x;
  Made y = a;
  if (g.chance(25) && a.rank() > 0) {
    const int64_t axis = g.between(0, a.rank());
    int64_t front = 1;
    for (int64_t k = 0; k < axis; ++k)
      front *= a.shape[static_cast<size_t>(k)];
    y.shape = {front, elements_of_shape(a.shape) / front};
    return g.add("Flatten", {a.id}, {{"axis", axis}}, y);
  }
  y.shape = regrouped(g, elements_of_shape(a.shape));
  std::vector<int64_t> asked = y.shape;
  if (g.chance(40))
    asked[static_cast<size_t>(g.pick(static_cast<int64_t>(asked.size())))] = -1;
  g.add("Reshape", {a.id, g.integers(asked)}, {}, y);
}

void add_squeeze(Generator& g) {
  const Made* x = g.choose([](const Made& made) {
    return std::find(made.shape.begin(), made.shape.end(), 1) != made.shape.end();
  });
  if (!x || g.chance(50)) {
    x = any_value(g);
    if (!x || x->rank() > 3)
      return;
    const Made a = *x;
    const int64_t at = g.between(0, a.rank());
    Made y = a;
    y.shape.insert(y.shape.begin() + at, 1);
    return g.add("Unsqueeze", {a.id, g.integers({g.chance(50) ? at : at - a.rank() - 1})}, {}, y);
  }
  const Made a = *x;
  const auto at = std::find(a.shape.begin(), a.shape.end(), 1) - a.shape.begin();
  Made y = a;
  y.shape.erase(y.shape.begin() + at);
  g.add("Squeeze", {a.id, g.integers({at})}, {}, y);
}

void add_concat(Generator& g) {
  const Made* x = any_value(g, 1);
  if (!x)
    return;
  const Made a = *x;
  const int64_t axis = g.pick(a.rank());
  const auto at = static_cast<size_t>(axis);
  const Made* other = g.choose([&](const Made& made) {
    if (made.type != a.type || made.rank() != a.rank())
      return false;
    for (size_t k = 0; k < a.shape.size(); ++k)
      if (k != at && made.shape[k] != a.shape[k])
        return false;
    return true;
  });
  const Made b = *other;
  Made y = a;
  y.low = std::min(a.low, b.low);
  y.high = std::max(a.high, b.high);
  y.error = std::max(a.error, b.error);
  y.direction = std::max(a.direction, b.direction);
  y.shape[at] += b.shape[at];
  if (y.shape[at] > 16)
    return;
  g.add("Concat", {a.id, b.id}, {{"axis", g.chance(50) ? axis : axis - a.rank()}}, y);
}

void add_split(Generator& g) {
  const Made* x = g.choose([](const Made& made) {
    return std::any_of(made.shape.begin(), made.shape.end(), [](int64_t e) { return e > 1; });
  });
  if (!x)
    return;
  const Made a = *x;
  int64_t axis = g.pick(a.rank());
  while (a.shape[static_cast<size_t>(axis)] < 2)
    axis = (axis + 1) % a.rank();
  const auto at = static_cast<size_t>(axis);
  Made first = a, second = a;
  first.shape[at] = g.between(1, a.shape[at] - 1);
  second.shape[at] = a.shape[at] - first.shape[at];
  g.add_many("Split", {a.id, g.integers({first.shape[at], second.shape[at]})}, {{"axis", axis}},
             {first, second});
}

void add_slice(Generator& g) {
  const Made* x = any_value(g, 1);
  if (!x)
    return;
  const Made a = *x;
  const int64_t axis = g.pick(a.rank());
  const auto at = static_cast<size_t>(axis);
  const int64_t extent = a.shape[at], step = g.between(1, 2);
  Made y = a;
  if (g.chance(25)) { // backwards, to the front
    const int64_t start = g.pick(extent);
    y.shape[at] = start / step + 1;
    return g.add("Slice",
                 {a.id, g.integers({start}), g.integers({kFarBefore}), g.integers({axis}),
                  g.integers({-step})},
                 {}, y);
  }
  const int64_t start = g.pick(extent), end = g.between(start + 1, extent);
  y.shape[at] = (end - start + step - 1) / step;
  g.add("Slice",
        {a.id, g.integers({g.chance(50) ? start : start - extent}),
         g.integers({end == extent && g.chance(50) ? -kFarBefore : end}), g.integers({axis}),
         g.integers({step})},
        {}, y);
}

void add_pad(Generator& g) {
  const Made* x = g.choose_float(1, 4);
  if (!x)
    return;
  const Made a = *x;
  constexpr const char* modes[] = {"constant", "reflect", "edge"};
  const std::string mode = modes[g.pick(3)];
  Made y = a;
  std::vector<int64_t> pads(a.shape.size() * 2, 0);
  for (size_t k = 0; k < a.shape.size(); ++k) {
    const int64_t most = mode == "reflect" ? std::min<int64_t>(2, a.shape[k] - 1) : 2;
    pads[k] = g.between(0, most);
    pads[k + a.shape.size()] = g.between(0, most);
    y.shape[k] += pads[k] + pads[k + a.shape.size()];
  }
  y.low = std::min(a.low, 0.0);
  y.high = std::max(a.high, 0.0);
  std::vector<ValueId> inputs{a.id, g.integers(pads)};
  if (mode == "constant" && g.chance(50)) {
    inputs.push_back(g.constant(DataType::F32, {}, 0, 1).id);
    y.high = std::max(y.high, 1.0);
  }
  g.add("Pad", inputs, {{"mode", mode}}, y);
}

void add_repeat(Generator& g) {
  const Made* x = any_value(g, 1);
  if (!x || elements_of_shape(x->shape) > 128)
    return;
  const Made a = *x;
  Made y = a;
  if (g.chance(50)) {
    std::vector<int64_t> repeats;
    for (int64_t& extent : y.shape) {
      repeats.push_back(g.between(1, 2));
      extent *= repeats.back();
    }
    return g.add("Tile", {a.id, g.integers(repeats)}, {}, y);
  }
  for (int64_t& extent : y.shape)
    extent = extent == 1 ? g.between(1, 4) : extent;
  if (g.chance(30))
    y.shape.insert(y.shape.begin(), 2);
  if (y.rank() > 4)
    return;
  g.add("Expand", {a.id, g.integers(y.shape)}, {}, y);
}

void add_gather(Generator& g) {
  const Made* x = any_value(g, 1);
  if (!x)
    return;
  const Made a = *x;
  const int64_t axis = g.pick(a.rank());
  const auto at = static_cast<size_t>(axis);
  std::vector<int64_t> indices;
  for (int64_t k = g.between(1, 4); k > 0; --k)
    indices.push_back(g.between(-a.shape[at], a.shape[at] - 1));
  Made y = a;
  y.shape[at] = static_cast<int64_t>(indices.size());
  g.add("Gather", {a.id, g.integers(indices)}, {{"axis", axis}}, y);
}

void add_blocks(Generator& g) {
  const Made* x = g.choose_float(4, 4);
  if (!x)
    return;
  const Made a = *x;
  Made y = a;
  if (a.shape[1] % 4 == 0) {
    y.shape = {a.shape[0], a.shape[1] / 4, a.shape[2] * 2, a.shape[3] * 2};
    constexpr const char* modes[] = {"DCR", "CRD"};
    return g.add("DepthToSpace", {a.id},
                 {{"blocksize", int64_t{2}}, {"mode", std::string(modes[g.pick(2)])}}, y);
  }
  if (a.shape[2] % 2 == 0 && a.shape[3] % 2 == 0) {
    y.shape = {a.shape[0], a.shape[1] * 4, a.shape[2] / 2, a.shape[3] / 2};
    g.add("SpaceToDepth", {a.id}, {{"blocksize", int64_t{2}}}, y);
  }
}

void add_triangle(Generator& g) {
  const Made* x = g.choose_float(2, 4);
  if (!x)
    return;
  const Made a = *x;
  Made y = a;
  y.low = std::min(0.0, a.low);
  y.high = std::max(0.0, a.high);
  g.add("Trilu", {a.id}, {{"upper", g.pick(2)}}, y);
}

void add_shape_of(Generator& g) {
  const Made* x = any_value(g, 1);
  if (!x)
    return;
  if (g.chance(30))
    return g.add("Size", {x->id}, {}, {0, DataType::I64, {}, 0, 4096, 0});
  g.add("Shape", {x->id}, {}, {0, DataType::I64, {x->rank()}, 0, 64, 0});
}

} // namespace

std::vector<Family> layout_families() {
  return {add_transpose, add_transpose, add_reshape, add_reshape,  add_squeeze,
          add_concat,    add_split,     add_slice,   add_slice,    add_pad,
          add_repeat,    add_gather,    add_blocks,  add_triangle, add_shape_of};
}

} // namespace kawara::random_graphs
