#include "operator_model.h"

#include <algorithm>
#include <numeric>

namespace kawara::operator_models {
namespace {

Shape small_shape(Maker& m, int64_t least_rank = 1) {
  for (;;) {
    Shape shape;
    int64_t elements = 1;
    for (int64_t rank = m.between(least_rank, 4); rank > 0; --rank) {
      shape.push_back(m.chance(30) ? m.between(1, 130) : m.between(1, 12));
      elements *= shape.back();
    }
    if (elements <= 8000)
      return shape;
  }
}

/// A shape that repeats to this one.
Shape repeated_by(Maker& m, const Shape& whole) {
  Shape part = whole;
  for (int64_t& extent : part)
    if (m.chance(35))
      extent = 1;
  while (part.size() > 1 && m.chance(20))
    part.erase(part.begin());
  return part;
}

void binary(Maker& m) {
  const Shape shape = small_shape(m);
  Made y = m.input(shape);
  for (int64_t n = m.between(1, 4); n > 0; --n) {
    const Shape other = repeated_by(m, shape);
    const Made b = m.chance(50) ? m.input(other) : m.constant(other);
    const auto op = m.one_of(std::vector<std::string>{"Add", "Sub", "Mul", "Div", "Max", "Min"});
    const bool is_swapped = op != "Div" && m.chance(30); // what was computed may be 0
    y = m.add(op, is_swapped ? std::vector{b.id, y.id} : std::vector{y.id, b.id}, {}, shape);
  }
  m.output(y);
}

void unary(Maker& m) {
  const Shape shape = small_shape(m);
  m.output(m.followed(m.input(shape), shape.size() - 1));
}

void where(Maker& m) {
  const Shape shape = small_shape(m);
  const Made a = m.input(shape), b = m.input(repeated_by(m, shape));
  const Made is_less =
      m.add(m.chance(50) ? "Less" : "Greater", {a.id, b.id}, {}, shape, DataType::Bool);
  m.output(m.add("Where", {is_less.id, m.input(repeated_by(m, shape)).id, a.id}, {}, shape));
}

void transpose(Maker& m) {
  const Shape shape = small_shape(m, 2);
  std::vector<int64_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t d = order.size(); d > 1; --d)
    std::swap(order[d - 1], order[static_cast<size_t>(m.pick(static_cast<int64_t>(d)))]);
  Shape result;
  for (const int64_t d : order)
    result.push_back(shape[static_cast<size_t>(d)]);
  Made x = m.input(shape);
  if (m.chance(30))
    x = m.add("Relu", {x.id}, {}, shape);
  Made y = m.add("Transpose", {x.id}, {{"perm", order}}, result);
  if (m.chance(50))
    y = m.add("Add", {y.id, m.constant(repeated_by(m, result)).id}, {}, result);
  m.output(y);
}

void concat(Maker& m) {
  const Shape shape = small_shape(m, 2);
  const auto axis = static_cast<size_t>(m.pick(static_cast<int64_t>(shape.size())));
  Shape result = shape;
  result[axis] = 0;
  std::vector<ValueId> parts;
  for (int64_t n = m.between(2, 4); n > 0; --n) {
    Shape part = shape;
    part[axis] = m.between(1, 13);
    result[axis] += part[axis];
    Made x = m.input(part);
    if (m.chance(60))
      x = m.add(m.chance(50) ? "Relu" : "Tanh", {x.id}, {}, part);
    parts.push_back(x.id);
  }
  Made y = m.add("Concat", parts, {{"axis", static_cast<int64_t>(axis)}}, result);
  if (m.chance(40))
    y = m.add("Mul", {y.id, m.constant(repeated_by(m, result)).id}, {}, result);
  m.output(y);
}

void slice(Maker& m) {
  const Shape shape = small_shape(m, 2);
  std::vector<int64_t> starts, ends, axes, steps;
  Shape result = shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (m.chance(40))
      continue;
    const int64_t step = m.chance(30) ? 2 : 1, start = m.pick(shape[d]);
    const int64_t end = m.between(start + 1, shape[d]);
    starts.push_back(start);
    ends.push_back(end);
    axes.push_back(static_cast<int64_t>(d));
    steps.push_back(step);
    result[d] = (end - start + step - 1) / step;
  }
  Made x = m.input(shape);
  if (m.chance(50))
    x = m.add("Relu", {x.id}, {}, shape);
  if (!starts.empty())
    x = m.add("Slice",
              {x.id, m.integers(starts), m.integers(ends), m.integers(axes), m.integers(steps)}, {},
              result);
  m.output(m.add("Tanh", {x.id}, {}, result));
}

void pad(Maker& m) {
  const Shape shape = small_shape(m, 2);
  std::vector<int64_t> pads(2 * shape.size());
  Shape result = shape;
  const auto mode = m.one_of(std::vector<std::string>{"constant", "constant", "edge", "reflect"});
  for (size_t d = 0; d < shape.size(); ++d)
    for (const size_t at : {d, d + shape.size()}) {
      pads[at] = m.pick(mode == "reflect" ? std::min<int64_t>(shape[d], 4) : 4);
      result[d] += pads[at];
    }
  const Made x = m.input(shape);
  m.output(m.add("Pad", {x.id, m.integers(pads)}, {{"mode", mode}}, result));
}

void resize(Maker& m) {
  const Shape shape{m.between(1, 3), m.between(1, 9), m.between(1, 12), m.between(1, 12)};
  Shape result = shape;
  result[2] = m.between(1, 24);
  result[3] = m.between(1, 24);
  const auto mode = m.one_of(std::vector<std::string>{"nearest", "linear"});
  Attributes attributes{{"mode", mode}};
  attributes["coordinate_transformation_mode"] =
      m.one_of(std::vector<std::string>{"half_pixel", "asymmetric", "align_corners"});
  if (mode == "nearest")
    attributes["nearest_mode"] = std::string("floor");
  const Made x = m.input(shape);
  m.output(m.add("Resize", {x.id, graph::kAbsent, graph::kAbsent, m.integers(result)}, attributes,
                 result));
}

void depth_to_space(Maker& m) {
  const int64_t side = m.between(2, 3), channels = m.between(1, 6);
  const int64_t rows = m.between(1, 8), columns = m.between(1, 8), batch = m.batch();
  if (m.chance(50)) {
    const Made x = m.input({batch, channels * side * side, rows, columns});
    m.output(m.add("DepthToSpace", {x.id},
                   {{"blocksize", side}, {"mode", std::string(m.chance(50) ? "DCR" : "CRD")}},
                   {batch, channels, rows * side, columns * side}));
    return;
  }
  const Made x = m.input({batch, channels, rows * side, columns * side});
  m.output(m.add("SpaceToDepth", {x.id}, {{"blocksize", side}},
                 {batch, channels * side * side, rows, columns}));
}

void tile(Maker& m) {
  const Shape shape = small_shape(m, 2);
  std::vector<int64_t> times;
  Shape result = shape;
  for (int64_t& extent : result) {
    times.push_back(m.chance(60) ? 1 : m.between(2, 3));
    extent *= times.back();
  }
  const Made x = m.input(shape);
  m.output(m.add("Tile", {x.id, m.integers(times)}, {}, result));
}

} // namespace

std::vector<Family> map_families() {
  return {{"binary", binary},
          {"unary", unary},
          {"where", where},
          {"transpose", transpose},
          {"concat", concat},
          {"slice", slice},
          {"pad", pad},
          {"resize", resize},
          {"depth_to_space", depth_to_space},
          {"tile", tile}};
}

} // namespace kawara::operator_models
