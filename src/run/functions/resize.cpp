#include "run/functions/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

namespace kawara::run {
namespace {
namespace of_resize {

struct ResizeOptions {
  std::string mode, coordinates, nearest, policy;
  double cubic = -0.75, extrapolation = 0;
  bool excludes_outside = false, blurs = false;
};

/// One dimension: its extents, the scale (of which the result's extent is rounded), and the part of
/// it that is seen.
struct Stretch {
  int64_t in = 1, out = 1;
  double scale = 1, from = 0, to = 1;
};

/// Where the elements of one result coordinate come from, in one dimension.
struct Taps {
  std::vector<std::pair<int64_t, double>> elements; ///< place and weight
  bool is_outside = false;                          ///< takes the extrapolation value
};

/// Before version 11, as Upsample, it has a mode alone.
Result<ResizeOptions, std::string> options_of(const FunctionCall& call) {
  ResizeOptions o;
  o.mode = call.word("mode", "nearest");
  if (const auto problem = call.unknown_word("mode", {"nearest", "linear", "bilinear", "cubic"}))
    return fail(*problem);
  if (o.mode == "bilinear")
    o.mode = "linear";
  o.coordinates = "asymmetric";
  o.nearest = "simple";
  o.policy = "stretch";
  if (call.node.op == "Upsample" || call.opset < 11)
    return o;
  o.coordinates = call.word("coordinate_transformation_mode", "half_pixel");
  o.nearest = call.word("nearest_mode", "round_prefer_floor");
  o.policy = call.word("keep_aspect_ratio_policy", "stretch");
  o.cubic = call.real("cubic_coeff_a", -0.75);
  o.extrapolation = call.real("extrapolation_value", 0);
  o.excludes_outside = call.integer("exclude_outside", 0) != 0;
  o.blurs = call.integer("antialias", 0) != 0;
  for (const auto& problem :
       {call.unknown_word("coordinate_transformation_mode",
                          {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                           "align_corners", "asymmetric", "tf_crop_and_resize",
                           "tf_half_pixel_for_nn"}),
        call.unknown_word("nearest_mode",
                          {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}),
        call.unknown_word("keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"})})
    if (problem)
      return fail(*problem);
  return o;
}

/// Coordinate in the operand of coordinate x of the result. Which element is nearest is decided by
/// numbers of 32 bits, as other runtimes do.
template <class T> T source_of(const ResizeOptions& o, const Stretch& s, int64_t x) {
  const T at = static_cast<T>(x), n = static_cast<T>(s.in), m = static_cast<T>(s.out),
          scale = static_cast<T>(s.scale), from = static_cast<T>(s.from), to = static_cast<T>(s.to);
  const T half = T(0.5);
  if (o.coordinates == "asymmetric")
    return at / scale;
  if (o.coordinates == "align_corners")
    return s.out == 1 ? 0 : at * (n - 1) / (n * scale - 1); // the size before it is rounded
  if (o.coordinates == "pytorch_half_pixel")
    return s.out > 1 ? (at + half) / scale - half : 0;
  if (o.coordinates == "tf_half_pixel_for_nn")
    return (at + half) / scale;
  if (o.coordinates == "tf_crop_and_resize")
    return s.out > 1 ? from * (n - 1) + at * (to - from) * (n - 1) / (m - 1)
                     : half * (from + to) * (n - 1);
  const T offset = o.coordinates == "half_pixel_symmetric" ? n / 2 * (1 - m / (n * scale)) : T(0);
  return offset + (at + half) / scale - half;
}

double cubic_weight(double a, double distance) {
  const double x = std::abs(distance);
  if (x <= 1)
    return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

int64_t nearest_of(const ResizeOptions& o, double scale, float x) {
  if (o.nearest == "floor" || (o.nearest == "simple" && scale >= 1))
    return static_cast<int64_t>(std::floor(x));
  if (o.nearest == "ceil" || o.nearest == "simple")
    return static_cast<int64_t>(std::ceil(x));
  if (o.nearest == "round_prefer_ceil")
    return static_cast<int64_t>(std::floor(x + 0.5F));
  return static_cast<int64_t>(std::ceil(x - 0.5F));
}

/// Weights of the elements around x: of two or four, or, where a smaller result is to be blurred,
/// of all that the widened filter reaches.
Taps weighted(const ResizeOptions& o, const Stretch& s, double x) {
  const bool is_linear = o.mode == "linear";
  const double squeeze = o.blurs ? std::min(s.scale, 1.0) : 1;
  const double reach = (is_linear ? 1 : 2) / squeeze;
  std::vector<std::pair<int64_t, double>> found;
  double sum = 0, inside = 0;
  for (auto at = static_cast<int64_t>(std::floor(x - reach)) + 1;
       static_cast<double>(at) < x + reach; ++at) {
    const double distance = (static_cast<double>(at) - x) * squeeze;
    const double weight = is_linear ? 1 - std::abs(distance) : cubic_weight(o.cubic, distance);
    found.emplace_back(at, weight);
    sum += weight;
    inside += at >= 0 && at < s.in ? weight : 0;
  }
  Taps taps;
  const double whole = o.excludes_outside ? inside : sum;
  const bool is_scaled = (o.blurs || o.excludes_outside) && whole != 0;
  for (const auto& [at, weight] : found)
    if (!o.excludes_outside || (at >= 0 && at < s.in))
      taps.elements.emplace_back(std::clamp<int64_t>(at, 0, s.in - 1),
                                 is_scaled ? weight / whole : weight);
  return taps;
}

Taps taps_of(const ResizeOptions& o, const Stretch& s, int64_t at) {
  const auto x = source_of<double>(o, s, at);
  Taps taps;
  if (o.coordinates == "tf_crop_and_resize" && (x < 0 || x > static_cast<double>(s.in - 1))) {
    taps.is_outside = true;
    return taps;
  }
  if (o.mode != "nearest")
    return weighted(o, s, x);
  const int64_t element = nearest_of(o, s.scale, source_of<float>(o, s, at));
  taps.elements = {{std::clamp<int64_t>(element, 0, s.in - 1), 1.0}};
  return taps;
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> out;
  for (int64_t k = 0; k < tensor.elements(); ++k)
    out.push_back(tensor.get_double(k));
  return out;
}

/// The dimensions that scales, sizes and edges are listed for.
Result<std::vector<size_t>, std::string> axes_of_call(const FunctionCall& call) {
  const int64_t rank = call.tensor(0).rank();
  std::vector<size_t> axes;
  if (call.node.op == "Upsample" || !call.attribute("axes")) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), size_t{0});
    return axes;
  }
  for (const int64_t given : call.integers("axes")) {
    const int64_t axis = axis_of(given, rank);
    const bool is_new =
        axis >= 0 && std::find(axes.begin(), axes.end(), static_cast<size_t>(axis)) == axes.end();
    if (!is_new)
      return fail(fmt::format("axis {} is named twice, or outside {} dimensions", given, rank));
    axes.push_back(static_cast<size_t>(axis));
  }
  return axes;
}

std::vector<double> scales_of(const FunctionCall& call) {
  const bool is_old = call.node.op == "Upsample" || call.opset < 11;
  const size_t scales_at = is_old ? 1 : 2;
  const bool has_attributes = call.node.op == "Upsample";
  if (has_attributes && (call.attribute("height_scale") || call.attribute("width_scale")))
    return {1, 1, call.real("height_scale", 1), call.real("width_scale", 1)};
  std::vector<double> scales = has_attributes ? call.reals("scales") : std::vector<double>{};
  if (scales.empty() && call.has(scales_at))
    scales = numbers(call.tensor(scales_at));
  return scales;
}

/// Sizes are met as they are, or all dimensions are scaled alike so that none is larger, or none
/// smaller.
void fit_sizes(const ResizeOptions& o, const std::vector<size_t>& axes,
               const std::vector<double>& sizes, std::vector<Stretch>& dims) {
  double common = o.policy == "not_larger" ? std::numeric_limits<double>::infinity() : 0;
  for (size_t k = 0; k < axes.size(); ++k) {
    Stretch& s = dims[axes[k]];
    s.out = static_cast<int64_t>(sizes[k]);
    s.scale = sizes[k] / static_cast<double>(s.in);
    common = o.policy == "not_larger" ? std::min(common, s.scale) : std::max(common, s.scale);
  }
  if (o.policy == "stretch")
    return;
  for (const size_t axis : axes) {
    dims[axis].scale = common;
    dims[axis].out =
        static_cast<int64_t>(std::floor(common * static_cast<double>(dims[axis].in) + 0.5));
  }
}

Result<std::vector<Stretch>, std::string> stretches_of(const FunctionCall& call,
                                                       const ResizeOptions& o) {
  std::vector<Stretch> dims;
  for (const int64_t extent : call.tensor(0).shape())
    dims.push_back({extent, extent, 1, 0, 1});
  KAWARA_TRY(const std::vector<size_t> axes, axes_of_call(call));
  const std::vector<double> scales = scales_of(call);
  const bool has_sizes = call.opset >= 11 && call.has(3) && call.tensor(3).elements() > 0;
  const std::vector<double> sizes = has_sizes ? numbers(call.tensor(3)) : std::vector<double>{};
  if (scales.size() == axes.size() && !has_sizes) {
    for (size_t k = 0; k < axes.size(); ++k) {
      Stretch& s = dims[axes[k]];
      s.scale = scales[k];
      // Of 32 bits, as the standard infers shapes: 10 elements times 0.7 are 7.
      s.out = static_cast<int64_t>(
          std::floor(static_cast<float>(s.in) * static_cast<float>(scales[k])));
    }
  } else if (scales.empty() && sizes.size() == axes.size()) {
    fit_sizes(o, axes, sizes, dims);
  } else {
    return fail(std::string("it needs one scale or size per dimension"));
  }
  const bool crops = o.coordinates == "tf_crop_and_resize";
  if (crops && (!call.has(1) || call.tensor(1).elements() != 2 * static_cast<int64_t>(axes.size())))
    return fail(std::string("it needs the first and the last place of what is cut out"));
  for (size_t k = 0; crops && k < axes.size(); ++k) {
    dims[axes[k]].from = call.tensor(1).get_double(static_cast<int64_t>(k));
    dims[axes[k]].to = call.tensor(1).get_double(static_cast<int64_t>(k + axes.size()));
  }
  return dims;
}

/// [outer, extent, inner] around a dimension.
struct Around {
  int64_t outer = 1, inner = 1;
};

Around around(const Shape& shape, size_t axis) {
  Around a;
  for (size_t k = 0; k < shape.size(); ++k)
    (k < axis ? a.outer : a.inner) *= k == axis ? 1 : shape[k];
  return a;
}

/// One pass along `axis` over elements of type T.
template <class T>
Tensor resized(const Tensor& x, size_t axis, const std::vector<Taps>& taps, double extrapolation) {
  Shape shape = x.shape();
  const int64_t in = shape[axis], out = static_cast<int64_t>(taps.size());
  const Around a = around(shape, axis);
  shape[axis] = out;
  Tensor result(x.type(), shape);
  const T* from = x.as<T>();
  T* to = result.as<T>();
  for (int64_t o = 0; o < a.outer; ++o)
    for (int64_t k = 0; k < out; ++k) {
      const Taps& t = taps[static_cast<size_t>(k)];
      T* row = to + (o * out + k) * a.inner;
      if (t.is_outside)
        std::fill(row, row + a.inner, static_cast<T>(extrapolation));
      for (const auto& [place, weight] : t.elements) {
        const T* source = from + (o * in + place) * a.inner;
        for (int64_t c = 0; c < a.inner; ++c)
          row[c] += static_cast<T>(weight) * source[c];
      }
    }
  return result;
}

/// The same for nearest elements, which are copied.
Tensor picked(const Tensor& x, size_t axis, const std::vector<Taps>& taps, double extrapolation) {
  Shape shape = x.shape();
  const int64_t in = shape[axis], out = static_cast<int64_t>(taps.size());
  const Around a = around(shape, axis);
  shape[axis] = out;
  Tensor result(x.type(), shape);
  const int64_t bytes = a.inner * graph::bytes_of(x.type());
  for (int64_t o = 0; o < a.outer; ++o)
    for (int64_t k = 0; k < out; ++k) {
      const Taps& t = taps[static_cast<size_t>(k)];
      const int64_t row = o * out + k;
      if (!t.is_outside)
        std::memcpy(result.data() + row * bytes, x.data() + (o * in + t.elements[0].first) * bytes,
                    static_cast<size_t>(bytes));
      for (int64_t c = 0; t.is_outside && c < a.inner; ++c)
        result.set_double(row * a.inner + c, extrapolation);
    }
  return result;
}

/// Integers lose their fraction; what is outside their type becomes its nearest value.
int64_t whole_number(double value, DataType type) {
  const bool is_signed = type == DataType::I8 || type == DataType::I16 || type == DataType::I32 ||
                         type == DataType::I64;
  const int64_t bits = graph::bytes_of(type) * 8 - (is_signed ? 1 : 0);
  const double high = std::exp2(static_cast<double>(bits)), low = is_signed ? -high : 0;
  if (value != value)
    return 0;
  if (value >= high)
    return static_cast<int64_t>(bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
  const double bounded = std::max(value, low);
  return bits == 64 ? static_cast<int64_t>(static_cast<uint64_t>(bounded))
                    : static_cast<int64_t>(bounded);
}

Tensor converted(const Tensor& x, DataType type) {
  if (x.type() == type)
    return x;
  Tensor out(type, x.shape());
  for (int64_t k = 0; k < x.elements(); ++k)
    if (graph::is_float(type))
      out.set_double(k, x.get_double(k));
    else
      out.set_int(k, whole_number(x.get_double(k), type));
  return out;
}

/// Is the type computed with 64 bits? Others have no more than 24 that count.
bool is_wide(DataType type) {
  return type == DataType::F64 || (!graph::is_float(type) && graph::bytes_of(type) > 2);
}

Outputs resize(const FunctionCall& call) {
  const Tensor& x = call.tensor(0);
  KAWARA_TRY(const ResizeOptions o, options_of(call));
  KAWARA_TRY(const std::vector<Stretch> dims, stretches_of(call, o));
  Shape shape;
  for (const Stretch& s : dims)
    shape.push_back(s.out);
  if (!graph::elements_of(shape) || x.elements() == 0)
    return fail("the result would have the shape " + graph::text_of(shape));
  const bool is_nearest = o.mode == "nearest", crops = o.coordinates == "tf_crop_and_resize";
  const DataType computed = is_wide(x.type()) ? DataType::F64 : DataType::F32;
  Tensor current = is_nearest ? x : converted(x, computed);
  for (size_t k = 0; k < dims.size(); ++k) {
    const Stretch& s = dims[k];
    if (s.out == s.in && s.scale == 1 && !(crops && (s.from != 0 || s.to != 1)))
      continue;
    std::vector<Taps> taps;
    for (int64_t i = 0; i < s.out; ++i)
      taps.push_back(taps_of(o, s, i));
    current = is_nearest                  ? picked(current, k, taps, o.extrapolation)
              : computed == DataType::F64 ? resized<double>(current, k, taps, o.extrapolation)
                                          : resized<float>(current, k, taps, o.extrapolation);
  }
  if (current.type() == x.type() && current.data() == x.data())
    current = copy_of(current);
  return one(converted(current, x.type()));
}

constexpr Function kAll[] = {{"Resize", 1, resize}, {"Upsample", 1, resize}};

} // namespace of_resize
} // namespace

std::span<const Function> resize_functions() { return of_resize::kAll; }

} // namespace kawara::run
