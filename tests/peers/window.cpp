#include "peers/maker.h"

#include <algorithm>

namespace kawara::peers {
namespace {

void add_pool(Maker& m) {
  const std::string op = m.word({"MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"});
  const int64_t dimensions = m.chance(70) ? 2 : m.chance(60) ? 1 : 3;
  Shape image{m.between(1, 3), m.between(1, 4)};
  Ints window, strides, dilations, pads;
  const bool may_dilate = m.opset() >= (op == "MaxPool" ? 10 : op == "AveragePool" ? 19 : 18);
  for (int64_t k = 0; k < dimensions; ++k) {
    window.push_back(m.between(1, 3));
    strides.push_back(m.between(1, 3));
    dilations.push_back(may_dilate && m.chance(30) ? 2 : 1);
    image.push_back(std::max(dilations.back() * (window.back() - 1) + 1, m.between(1, 9)));
  }
  Attributes attributes{{"kernel_shape", window}};
  if (m.chance(60))
    attributes["strides"] = strides;
  if (may_dilate && m.chance(40))
    attributes["dilations"] = dilations;
  if (m.chance(20)) {
    attributes["auto_pad"] = m.word({"SAME_UPPER", "SAME_LOWER", "VALID"});
  } else if (m.chance(60)) {
    for (int64_t k = 0; k < 2 * dimensions; ++k)
      pads.push_back(m.pick(window[static_cast<size_t>(k % dimensions)]));
    attributes["pads"] = pads;
  }
  if (m.opset() >= (op == "LpPool" ? 18 : 10) && m.chance(40))
    attributes["ceil_mode"] = m.pick(2);
  if (op == "AveragePool" && m.chance(50))
    attributes["count_include_pad"] = m.pick(2);
  if (op == "LpPool" && m.chance(50))
    attributes["p"] = m.between(1, 3);
  if (op == "MaxPool" && m.opset() >= 8 && m.chance(20))
    attributes["storage_order"] = m.pick(2);
  DataType type = m.chance(85) ? DataType::F32 : m.float_type();
  if (op == "MaxPool" && m.chance(15))
    type = m.chance(50) ? DataType::I8 : DataType::U8;
  m.add(op, {m.of(type, image)}, attributes,
        op == "MaxPool" && m.opset() >= 8 && m.chance(40) ? 2 : 1);
}

/// A resized tensor whose extents are a few times as large or small.
void add_resize(Maker& m) {
  const Val a = m.operand(
      [](const Val& v) { return v.rank() >= 1 && v.rank() <= 4 && v.tensor.elements() > 0; },
      m.chance(80) ? DataType::F32 : m.any_type(), m.shape(1, 4, false));
  static const std::vector<double> kScales = {1, 1, 2, 0.5, 1.5, 0.75, 3};
  const auto rank = static_cast<size_t>(a.rank());
  Tensor scales(DataType::F32, {a.rank()});
  Ints sizes;
  for (size_t k = 0; k < rank; ++k) {
    double scale = k + 2 < rank ? 1 : m.one_of(kScales);
    if (static_cast<double>(a.shape()[k]) * scale < 1)
      scale = 1;
    scales.set_double(static_cast<int64_t>(k), scale);
    sizes.push_back(k + 2 < rank ? a.shape()[k]
                                 : std::max<int64_t>(1, m.between(1, 2 * a.shape()[k])));
  }
  const std::string mode = m.word({"nearest", "linear", "linear", "cubic"});
  if (m.opset() < 10) {
    Attributes attributes{{"mode", mode == "cubic" ? "nearest" : mode}};
    if (m.opset() < 9) {
      std::vector<double> list;
      for (size_t k = 0; k < rank; ++k)
        list.push_back(std::max(1.0, scales.get_double(static_cast<int64_t>(k))));
      attributes["scales"] = list;
      m.add("Upsample", {a}, attributes);
      return;
    }
    for (size_t k = 0; k < rank; ++k)
      scales.set_double(static_cast<int64_t>(k),
                        std::max(1.0, scales.get_double(static_cast<int64_t>(k))));
    m.add("Upsample", {a, m.constant(scales)}, attributes);
    return;
  }
  if (m.opset() == 10) {
    m.add("Resize", {a, m.constant(scales)}, {{"mode", mode == "cubic" ? "nearest" : mode}});
    return;
  }
  Attributes attributes{{"mode", mode}};
  if (m.chance(70))
    attributes["coordinate_transformation_mode"] =
        m.word({"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"});
  if (m.opset() >= 19 && m.chance(10))
    attributes["coordinate_transformation_mode"] = std::string("half_pixel_symmetric");
  if (mode == "nearest" && m.chance(60))
    attributes["nearest_mode"] =
        m.word({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  if (mode == "cubic" && m.chance(40))
    attributes["cubic_coeff_a"] = -0.5;
  if (mode == "cubic" && m.chance(40))
    attributes["exclude_outside"] = m.pick(2);
  if (m.opset() >= 18 && mode != "nearest" && m.chance(25))
    attributes["antialias"] = int64_t{1};
  const Val none;
  const Val roi = m.opset() >= 13 ? none : m.constant(Tensor(DataType::F32, {0}));
  if (m.chance(50)) {
    m.add("Resize", {a, roi, m.constant(scales)}, attributes);
    return;
  }
  m.add("Resize",
        {a, roi, m.opset() >= 13 ? none : m.constant(Tensor(DataType::F32, {0})),
         m.ints(sizes, false)},
        attributes);
}

/// The places of a pool, put back.
void add_unpool(Maker& m) {
  const Shape pooled{1, m.between(1, 2), m.between(1, 3), m.between(1, 3)};
  const int64_t plane = 4 * pooled[2] * pooled[3];
  Tensor places(DataType::I64, pooled);
  for (int64_t k = 0; k < places.elements(); ++k)
    places.set_int(k, k / (pooled[2] * pooled[3]) * plane + 4 * (k % (pooled[2] * pooled[3])) +
                          m.pick(4));
  m.add("MaxUnpool",
        {m.of(DataType::F32, pooled), m.chance(50) ? m.given(places) : m.constant(places)},
        {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
}

void add_grid_sample(Maker& m) {
  const Shape image{m.between(1, 2), m.between(1, 3), m.between(1, 5), m.between(1, 5)};
  const Shape grid{image[0], m.between(1, 4), m.between(1, 4), 2};
  Attributes attributes;
  if (m.chance(50))
    attributes["align_corners"] = m.pick(2);
  if (m.chance(70))
    attributes["mode"] = m.opset() >= 20 ? m.word({"linear", "nearest", "cubic"})
                                         : m.word({"bilinear", "nearest", "bicubic"});
  if (m.chance(70))
    attributes["padding_mode"] = m.word({"zeros", "border", "reflection"});
  m.add("GridSample",
        {m.of(DataType::F32, image),
         m.fresh(DataType::F32, grid, {Elements::Kind::Plain, m.chance(70) ? 1.2 : 4})},
        attributes);
}

void add_roi_align(Maker& m) {
  const Shape image{m.between(1, 2), m.between(1, 3), m.between(2, 8), m.between(2, 8)};
  const int64_t rois = m.between(1, 3);
  Tensor boxes(DataType::F32, {rois, 4}), batches(DataType::I64, {rois});
  for (int64_t k = 0; k < rois; ++k) {
    batches.set_int(k, m.pick(image[0]));
    const double x = m.real(-1, 4), y = m.real(-1, 4);
    boxes.set_double(4 * k, x);
    boxes.set_double(4 * k + 1, y);
    boxes.set_double(4 * k + 2, x + m.real(0, 6));
    boxes.set_double(4 * k + 3, y + m.real(0, 6));
  }
  Attributes attributes{{"output_height", m.between(1, 3)}, {"output_width", m.between(1, 3)}};
  if (m.chance(50))
    attributes["sampling_ratio"] = m.between(0, 3);
  if (m.chance(50))
    attributes["spatial_scale"] = m.real(0.25, 1.5);
  if (m.chance(40))
    attributes["mode"] = m.word({"avg", "max"});
  if (m.opset() >= 16 && m.chance(50))
    attributes["coordinate_transformation_mode"] = m.word({"half_pixel", "output_half_pixel"});
  m.add("RoiAlign",
        {m.of(DataType::F32, image), m.chance(50) ? m.given(boxes) : m.constant(boxes),
         m.constant(batches)},
        attributes);
}

} // namespace

std::vector<Family> window_families() {
  return {{"pool", add_pool, 4},
          {"resize", add_resize, 3},
          {"grid_sample", add_grid_sample, 1},
          {"unpool", add_unpool, 1},
          {"roi_align", add_roi_align, 1}};
}

} // namespace kawara::peers
