#include "peers/maker.h"

#include <algorithm>
#include <numeric>

namespace kawara::peers {
namespace {

void add_transpose(Maker& m) {
  const Val a = m.anything(0, 5);
  Ints order(static_cast<size_t>(a.rank()));
  std::iota(order.begin(), order.end(), 0);
  for (size_t k = order.size(); k > 1; --k)
    std::swap(order[k - 1], order[static_cast<size_t>(m.pick(static_cast<int64_t>(k)))]);
  m.chance(10) ? m.add("Transpose", {a}) : m.add("Transpose", {a}, {{"perm", order}});
}

void add_reshape(Maker& m) {
  const Val a = m.anything(0, 4);
  if (m.chance(25)) {
    m.add("Flatten", {a}, {{"axis", m.between(0, a.rank())}});
    return;
  }
  Ints shape;
  int64_t left = a.tensor.elements();
  while (left > 1 && shape.size() < 3 && m.chance(80)) {
    Ints divisors;
    for (int64_t d = 1; d <= left; ++d)
      if (left % d == 0)
        divisors.push_back(d);
    shape.push_back(m.one_of(divisors));
    left /= shape.back();
  }
  shape.push_back(left);
  if (left > 0 && m.chance(40))
    shape[static_cast<size_t>(m.pick(static_cast<int64_t>(shape.size())))] = -1;
  if (a.rank() > 0 && !shape.empty() && shape[0] == a.extent(0) && m.chance(50))
    shape[0] = 0;
  Attributes attributes;
  if (m.opset() >= 14 && m.chance(15))
    attributes["allowzero"] = int64_t{1};
  m.add("Reshape", {a, m.ints(shape)}, attributes);
}

void add_squeeze(Maker& m) {
  const Val a = m.anything(0, 4);
  if (m.chance(50)) {
    Ints axes;
    for (int64_t k = 0; k < a.rank(); ++k)
      if (a.extent(k) == 1 && m.chance(60))
        axes.push_back(m.chance(30) && m.opset() >= 11 ? k - a.rank() : k);
    if (axes.empty()) {
      m.add("Squeeze", {a});
      return;
    }
    m.opset() < 13 ? m.add("Squeeze", {a}, {{"axes", axes}}) : m.add("Squeeze", {a, m.ints(axes)});
    return;
  }
  Ints axes;
  const int64_t count = m.between(1, 2);
  for (int64_t k = 0; k < a.rank() + count && static_cast<int64_t>(axes.size()) < count; ++k)
    if (m.chance(50))
      axes.push_back(m.chance(30) && m.opset() >= 11 ? k - a.rank() - count : k);
  if (static_cast<int64_t>(axes.size()) != count)
    return;
  m.opset() < 13 ? m.add("Unsqueeze", {a}, {{"axes", axes}})
                 : m.add("Unsqueeze", {a, m.ints(axes)});
}

void add_expand(Maker& m) {
  const Val a = m.anything(0, 4);
  if (m.chance(50)) {
    m.add("Expand", {a, m.ints(m.partner_shape(a.shape()))});
    return;
  }
  Ints times;
  for (int64_t k = 0; k < a.rank(); ++k)
    times.push_back(m.chance(5) ? 0 : m.between(1, 3));
  m.add("Tile", {a, m.ints(times)});
}

void add_concat(Maker& m) {
  const Val a = m.anything(1, 4);
  const int64_t axis = m.axis_of(a);
  std::vector<Val> all{a};
  for (int64_t more = m.between(0, 3); more > 0; --more) {
    Shape shape = a.shape();
    if (m.chance(60))
      shape[static_cast<size_t>(axis < 0 ? axis + a.rank() : axis)] =
          m.chance(10) ? 0 : m.between(1, 4);
    all.push_back(m.of(a.type(), shape));
  }
  m.add("Concat", all, {{"axis", axis}});
}

void add_split(Maker& m) {
  const Val a = m.anything(1, 4);
  const int64_t axis = m.axis_of(a), extent = a.extent(axis < 0 ? axis + a.rank() : axis);
  const int64_t parts = m.between(1, 3);
  Attributes attributes{{"axis", axis}};
  if (m.chance(50)) {
    if (m.opset() >= 18)
      attributes["num_outputs"] = parts;
    else if (extent % parts != 0)
      return;
    m.add("Split", {a}, attributes, static_cast<size_t>(parts));
    return;
  }
  Ints sizes;
  int64_t left = extent;
  for (int64_t k = 1; k < parts; ++k) {
    sizes.push_back(m.between(0, left));
    left -= sizes.back();
  }
  sizes.push_back(left);
  if (m.opset() >= 13) {
    m.add("Split", {a, m.ints(sizes)}, attributes, static_cast<size_t>(parts));
    return;
  }
  attributes["split"] = sizes;
  m.add("Split", {a}, attributes, static_cast<size_t>(parts));
}

void add_slice(Maker& m) {
  const Val a = m.anything(1, 4);
  Ints starts, ends, axes, steps;
  for (int64_t k = 0; k < a.rank(); ++k) {
    if (m.chance(40))
      continue;
    const int64_t extent = a.extent(k);
    axes.push_back(m.chance(30) && m.opset() >= 11 ? k - a.rank() : k);
    starts.push_back(m.chance(10) ? (m.chance(50) ? -(int64_t{1} << 40) : int64_t{1} << 40)
                                  : m.between(-extent - 2, extent + 2));
    ends.push_back(m.chance(15) ? (m.chance(50) ? -(int64_t{1} << 40) : INT64_MAX)
                                : m.between(-extent - 2, extent + 2));
    static const Ints kSteps = {1, 1, 1, 2, 3, -1, -1, -2, -3};
    steps.push_back(m.one_of(kSteps));
  }
  if (axes.empty())
    return;
  if (m.opset() < 10) {
    m.add("Slice", {a}, {{"starts", starts}, {"ends", ends}, {"axes", axes}});
    return;
  }
  const bool may_be_given = m.chance(30);
  std::vector<Val> all{a, m.ints(starts, may_be_given), m.ints(ends, may_be_given)};
  const bool is_all = static_cast<int64_t>(axes.size()) == a.rank() && axes[0] == 0 &&
                      std::is_sorted(axes.begin(), axes.end()) && axes.back() >= 0;
  all.push_back(is_all && m.chance(30) ? Val{} : m.ints(axes, may_be_given));
  if (m.chance(80))
    all.push_back(m.ints(steps, may_be_given));
  m.add("Slice", all);
}

void add_pad(Maker& m) {
  const Val a = m.anything(1, 4);
  const std::string mode = m.word({"constant", "constant", "reflect", "edge", "wrap"});
  Ints pads;
  for (int64_t k = 0; k < 2 * a.rank(); ++k) {
    const int64_t extent = a.extent(k % a.rank());
    const int64_t most = mode == "reflect" ? std::min<int64_t>(extent - 1, 3) : 3;
    pads.push_back(m.chance(50) || most <= 0 ? 0
                   : m.chance(20)            ? -m.pick(extent)
                                             : m.between(0, most));
  }
  // ONNX Runtime reads memory that is not the tensor's where it goes around more than once or
  // elements are cut off.
  if (mode == "wrap")
    for (size_t k = 0; k < pads.size(); ++k)
      pads[k] = std::clamp<int64_t>(pads[k], 0, a.shape()[k % a.shape().size()]);
  Attributes attributes;
  if (mode != "constant" || m.chance(50))
    attributes["mode"] = mode;
  if (m.opset() < 11) {
    attributes["pads"] = pads;
    if (m.chance(50))
      attributes["value"] = m.real(-2, 2);
    m.add("Pad", {a}, attributes);
    return;
  }
  std::vector<Val> all{a, m.ints(pads)};
  if (m.chance(60))
    all.push_back(m.fresh(a.type(), {}));
  if (m.opset() >= 18 && all.size() == 3 && m.chance(40)) {
    const int64_t axis = m.axis_of(a), place = axis < 0 ? axis + a.rank() : axis;
    all[1] =
        m.ints({pads[static_cast<size_t>(place)], pads[static_cast<size_t>(place + a.rank())]});
    all.push_back(m.ints({axis}));
  }
  m.add("Pad", all, attributes);
}

void add_blocks(Maker& m) {
  const int64_t block = m.between(1, 3);
  const DataType type = m.chance(80) ? DataType::F32 : m.any_type();
  if (m.chance(50)) {
    Attributes attributes{{"blocksize", block}};
    if (m.opset() >= 11 && m.chance(60))
      attributes["mode"] = m.word({"DCR", "CRD"});
    m.add("DepthToSpace",
          {m.of(type, {m.between(1, 2), block * block * m.between(1, 3), m.between(1, 4),
                       m.between(1, 4)})},
          attributes);
    return;
  }
  m.add("SpaceToDepth",
        {m.of(type, {m.between(1, 2), m.between(1, 3), block * m.between(1, 3),
                     block * m.between(1, 3)})},
        {{"blocksize", block}});
}

void add_shape(Maker& m) {
  const Val a = m.anything(0, 4);
  if (m.chance(30)) {
    m.add("Size", {a});
    return;
  }
  Attributes attributes;
  if (m.opset() >= 15 && m.chance(50))
    attributes["start"] = m.between(-3, 3);
  if (m.opset() >= 15 && m.chance(50))
    attributes["end"] = m.between(-3, 4);
  m.add("Shape", {a}, attributes);
}

void add_filled(Maker& m) {
  const int64_t kind = m.pick(3);
  if (kind == 0) {
    Tensor element(m.any_type(), {1});
    element.set_double(0, m.chance(30) && graph::is_float(element.type()) ? -1.0 / 0.0 : 3);
    Attributes attributes;
    if (m.chance(80))
      attributes["value"] = element;
    m.add("ConstantOfShape", {m.ints(m.shape(0, 3))}, attributes);
    return;
  }
  if (kind == 1) {
    const Val a = m.anything(2, 2);
    static const Ints kTypes = {1, 6, 7, 9, 10, 11};
    Attributes attributes;
    if (m.chance(60))
      attributes["k"] = m.between(-3, 3);
    if (m.chance(60))
      attributes["dtype"] = m.one_of(kTypes);
    m.add("EyeLike", {a}, attributes);
    return;
  }
  static const std::vector<DataType> kTypes = {DataType::F32, DataType::F64, DataType::I64,
                                               DataType::I32, DataType::I16};
  const DataType type = m.one_of(kTypes);
  const double step =
      graph::is_float(type) ? m.real(0.25, 2) : static_cast<double>(m.between(1, 4));
  const double start = static_cast<double>(m.between(-5, 5));
  const double sign = m.chance(50) ? 1 : -1;
  m.add("Range", {m.scalar(type, start),
                  m.scalar(type, start + sign * static_cast<double>(m.between(-2, 20))),
                  m.scalar(type, sign * step)});
}

void add_trilu(Maker& m) {
  const Val a = m.anything(2, 4);
  Attributes attributes;
  if (m.chance(60))
    attributes["upper"] = m.pick(2);
  std::vector<Val> all{a};
  if (m.chance(60)) {
    Tensor k(DataType::I64, {});
    k.set_int(0, m.chance(10) ? (m.chance(50) ? 1 : -1) * (int64_t{1} << 40) : m.between(-4, 4));
    all.push_back(m.chance(30) ? m.given(k) : m.constant(k));
  }
  m.add("Trilu", all, attributes);
}

} // namespace

std::vector<Family> layout_families() {
  return {{"transpose", add_transpose, 2}, {"reshape", add_reshape, 2}, {"squeeze", add_squeeze, 2},
          {"expand", add_expand, 2},       {"concat", add_concat, 2},   {"split", add_split, 2},
          {"slice", add_slice, 3},         {"pad", add_pad, 2},         {"blocks", add_blocks, 1},
          {"shape", add_shape, 1},         {"filled", add_filled, 1},   {"trilu", add_trilu, 1}};
}

} // namespace kawara::peers
