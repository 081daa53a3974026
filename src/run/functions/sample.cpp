#include "run/functions/function.h"
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

namespace kawara::run {
namespace {
namespace of_sample {

double cubic_weight(double a, double distance) {
  const double x = std::abs(distance);
  if (x <= 1)
    return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

/// A coordinate mirrored into low..high.
double reflected(double x, double low, double high) {
  const double span = high - low;
  if (span <= 0)
    return low;
  const double at = std::fmod(std::abs(x - low), 2 * span);
  return low + (at > span ? 2 * span - at : at);
}

enum class Mode : uint8_t { Nearest, Linear, Cubic };
enum class Padding : uint8_t { Zeros, Border, Reflection };

struct Grid {
  Mode mode = Mode::Linear;
  Padding padding = Padding::Zeros;
  bool aligns = false;
  int64_t height = 0, width = 0;

  double place(double x, int64_t n) const {
    const auto extent = static_cast<double>(n);
    return aligns ? (x + 1) / 2 * (extent - 1) : ((x + 1) * extent - 1) / 2;
  }
  double bounded(double x, int64_t n) const {
    const auto extent = static_cast<double>(n);
    if (padding == Padding::Border)
      return std::clamp(x, 0.0, extent - 1);
    if (padding == Padding::Reflection)
      return std::clamp(aligns ? reflected(x, 0, extent - 1) : reflected(x, -0.5, extent - 0.5),
                        0.0, extent - 1);
    return x;
  }
  /// Of an element of a plane; nothing where there is none.
  std::optional<int64_t> offset(double y, double column) const {
    const double row = bounded(y, height), at = bounded(column, width);
    const bool is_inside = row >= 0 && at >= 0 && row <= static_cast<double>(height - 1) &&
                           at <= static_cast<double>(width - 1);
    return is_inside ? std::optional(static_cast<int64_t>(row) * width + static_cast<int64_t>(at))
                     : std::nullopt;
  }
};

/// The elements of a plane that a point reads, and their weights.
template <size_t Most> struct Taps {
  std::array<std::pair<int64_t, double>, Most> elements;
  size_t count = 0;

  void add(std::optional<int64_t> offset, double weight) {
    if (offset && weight != 0)
      elements[count++] = {*offset, weight};
  }
};

void add_cubic(const Grid& g, double y, double column, Taps<16>& taps) {
  const double row = std::floor(y), at = std::floor(column);
  for (int64_t i = -1; i <= 2; ++i)
    for (int64_t j = -1; j <= 2; ++j)
      taps.add(g.offset(row + static_cast<double>(i), at + static_cast<double>(j)),
               cubic_weight(-0.75, y - row - static_cast<double>(i)) *
                   cubic_weight(-0.75, column - at - static_cast<double>(j)));
}

/// The four elements around the point, which is within an element of the plane: others read
/// nothing.
void add_linear(const Grid& g, double y, double column, Taps<4>& taps) {
  y = g.bounded(y, g.height);
  column = g.bounded(column, g.width);
  if (!(y > -1 && column > -1 && y < static_cast<double>(g.height) &&
        column < static_cast<double>(g.width)))
    return;
  const int64_t row = static_cast<int64_t>(y + 1) - 1, at = static_cast<int64_t>(column + 1) - 1;
  const double below = y - static_cast<double>(row), right = column - static_cast<double>(at);
  const std::array<double, 2> of_rows{1 - below, below}, of_columns{1 - right, right};
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 2; ++j) {
      const double weight = of_rows[static_cast<size_t>(i)] * of_columns[static_cast<size_t>(j)];
      if (row + i >= 0 && at + j >= 0 && row + i < g.height && at + j < g.width && weight != 0)
        taps.elements[taps.count++] = {(row + i) * g.width + at + j, weight};
    }
}

/// What a point reads is the same in each channel.
template <size_t Most> void set_taps(const Grid& g, double y, double column, Taps<Most>& taps) {
  taps.count = 0;
  if constexpr (Most == 16)
    add_cubic(g, y, column, taps);
  else if constexpr (Most == 4)
    add_linear(g, y, column, taps);
  else
    taps.add(g.offset(std::nearbyint(g.bounded(y, g.height)),
                      std::nearbyint(g.bounded(column, g.width))),
             1);
}

/// Most points of a linear mode have all four elements, which are loaded side by side.
template <size_t Most, class T> double sum_of(const Taps<Most>& taps, const T* plane) {
  const auto term = [&](size_t k) {
    return taps.elements[k].second * static_cast<double>(plane[taps.elements[k].first]);
  };
  if constexpr (Most == 4)
    if (taps.count == 4)
      return (term(0) + term(1)) + (term(2) + term(3));
  double sum = 0;
  for (size_t k = 0; k < taps.count; ++k)
    sum += term(k);
  return sum;
}

/// The points of one image in all its channels, in groups whose taps stay in the cache; false where
/// the grid holds what is no number.
template <size_t Most, class T, class At>
bool sample_image(const Grid& g, const T* image, int64_t channels, int64_t points, const At& grid,
                  T* out) {
  constexpr int64_t kGroup = 256;
  std::array<Taps<Most>, kGroup> taps;
  for (int64_t first = 0; first < points; first += kGroup) {
    const int64_t count = std::min(kGroup, points - first);
    for (int64_t p = 0; p < count; ++p) {
      const double column = g.place(grid((first + p) * 2), g.width);
      const double row = g.place(grid((first + p) * 2 + 1), g.height);
      if (!std::isfinite(row) || !std::isfinite(column))
        return false;
      set_taps<Most>(g, row, column, taps[static_cast<size_t>(p)]);
    }
    for (int64_t c = 0; c < channels; ++c) {
      const T* plane = image + c * g.height * g.width;
      T* to = out + c * points + first;
      for (int64_t p = 0; p < count; ++p)
        to[p] = static_cast<T>(sum_of(taps[static_cast<size_t>(p)], plane));
    }
  }
  return true;
}

template <class T>
bool sample_images(const Grid& g, const Tensor& x, const Tensor& grid, Tensor& out) {
  const int64_t channels = x.shape()[1], points = grid.shape()[1] * grid.shape()[2];
  const auto* plain = grid.type() == DataType::F32 ? grid.as<float>() : nullptr;
  for (int64_t n = 0; n < x.shape()[0]; ++n) {
    const auto at = [&](int64_t k) {
      const int64_t element = n * points * 2 + k;
      return plain != nullptr ? static_cast<double>(plain[element]) : grid.get_double(element);
    };
    const T* image = x.as<T>() + n * channels * g.height * g.width;
    T* to = out.as<T>() + n * channels * points;
    const bool is_right =
        g.mode == Mode::Nearest  ? sample_image<1>(g, image, channels, points, at, to)
        : g.mode == Mode::Linear ? sample_image<4>(g, image, channels, points, at, to)
                                 : sample_image<16>(g, image, channels, points, at, to);
    if (!is_right)
      return false;
  }
  return true;
}

/// Elements of other types than f32 are taken from their numbers in f64, and rounded once.
Tensor in_f64(const Tensor& x) {
  Tensor out(DataType::F64, x.shape());
  for (int64_t k = 0; k < x.elements(); ++k)
    out.as<double>()[k] = x.get_double(k);
  return out;
}

Outputs grid_sample(const FunctionCall& call) {
  const Tensor &x = call.tensor(0), &grid = call.tensor(1);
  if (x.rank() != 4 || grid.rank() != 4 || grid.shape()[3] != 2 ||
      grid.shape()[0] != x.shape()[0] || x.elements() == 0)
    return fail(std::string("an image [n, c, h, w] and a grid [n, h, w, 2] are needed"));
  for (const auto& problem :
       {call.unknown_word("mode", {"bilinear", "linear", "nearest", "bicubic", "cubic"}),
        call.unknown_word("padding_mode", {"zeros", "border", "reflection"})})
    if (problem)
      return fail(*problem);
  Grid g;
  const std::string mode = call.word("mode", "bilinear"), // other names since version 20
      padding = call.word("padding_mode", "zeros");
  g.mode = mode == "nearest"                      ? Mode::Nearest
           : mode == "bicubic" || mode == "cubic" ? Mode::Cubic
                                                  : Mode::Linear;
  g.padding = padding == "border"       ? Padding::Border
              : padding == "reflection" ? Padding::Reflection
                                        : Padding::Zeros;
  g.aligns = call.integer("align_corners", 0) != 0;
  g.height = x.shape()[2];
  g.width = x.shape()[3];
  const bool is_f32 = x.type() == DataType::F32;
  const Tensor given = is_f32 ? x : in_f64(x);
  Tensor out =
      call.result(0, given.type(), {x.shape()[0], x.shape()[1], grid.shape()[1], grid.shape()[2]});
  if (!(is_f32 ? sample_images<float>(g, given, grid, out)
               : sample_images<double>(g, given, grid, out)))
    return fail(std::string("the grid holds what is no number"));
  if (is_f32 || x.type() == DataType::F64)
    return one(std::move(out));
  Tensor rounded(x.type(), out.shape());
  for (int64_t k = 0; k < out.elements(); ++k)
    rounded.set_double(k, out.as<double>()[k]);
  return one(std::move(rounded));
}

/// The four elements around a point of a plane, each times its weight; zeros when the point is more
/// than an element outside.
std::array<double, 4> weighted_elements(const float* plane, int64_t height, int64_t width, double y,
                                        double x) {
  if (y < -1 || y > static_cast<double>(height) || x < -1 || x > static_cast<double>(width))
    return {0, 0, 0, 0};
  y = std::clamp(y, 0.0, static_cast<double>(height - 1));
  x = std::clamp(x, 0.0, static_cast<double>(width - 1));
  const auto y0 = static_cast<int64_t>(y), x0 = static_cast<int64_t>(x);
  const int64_t y1 = std::min(y0 + 1, height - 1), x1 = std::min(x0 + 1, width - 1);
  const double dy = y - static_cast<double>(y0), dx = x - static_cast<double>(x0);
  const auto element = [&](int64_t i, int64_t j) {
    return static_cast<double>(plane[i * width + j]);
  };
  return {(1 - dy) * (1 - dx) * element(y0, x0), (1 - dy) * dx * element(y0, x1),
          dy * (1 - dx) * element(y1, x0), dy * dx * element(y1, x1)};
}

Outputs roi_align(const FunctionCall& call) {
  const Tensor &x = call.tensor(0), &rois = call.tensor(1), &batches = call.tensor(2);
  if (x.rank() != 4 || rois.rank() != 2 || rois.shape()[1] != 4 ||
      batches.elements() != rois.shape()[0] || x.type() != DataType::F32 || x.elements() == 0)
    return fail(
        std::string("an f32 image [n, c, h, w], boxes [k, 4] and their images [k] are needed"));
  const int64_t h = call.integer("output_height", 1), w = call.integer("output_width", 1);
  const int64_t ratio = call.integer("sampling_ratio", 0), count = rois.shape()[0];
  if (h < 1 || w < 1 || h > 4096 || w > 4096 || ratio < 0 || ratio > 4096)
    return fail(std::string("the result's size or the sampling ratio is out of bounds"));
  const double scale = call.real("spatial_scale", 1);
  const std::string mode = call.word("mode", "avg");
  for (const auto& problem :
       {call.unknown_word("mode", {"avg", "max"}),
        call.unknown_word("coordinate_transformation_mode", {"half_pixel", "output_half_pixel"})})
    if (problem)
      return fail(*problem);
  const bool is_half =
      call.word("coordinate_transformation_mode",
                call.opset >= 16 ? "half_pixel" : "output_half_pixel") == "half_pixel";
  const int64_t channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3];
  Tensor out(DataType::F32, {count, channels, h, w});
  for (int64_t k = 0; k < count; ++k) {
    const int64_t n = batches.get_int(k);
    if (n < 0 || n >= x.shape()[0])
      return fail(fmt::format("box {} is in image {} of {}", k, n, x.shape()[0]));
    const double shift = is_half ? 0.5 : 0;
    double edge[4];
    for (int64_t t = 0; t < 4; ++t)
      edge[t] = rois.get_double(k * 4 + t) * scale - shift;
    double roi_w = edge[2] - edge[0], roi_h = edge[3] - edge[1];
    if (!is_half) {
      roi_w = std::max(roi_w, 1.0);
      roi_h = std::max(roi_h, 1.0);
    }
    const double bin_h = roi_h / static_cast<double>(h), bin_w = roi_w / static_cast<double>(w);
    if (!(std::abs(bin_h) < 4096) || !(std::abs(bin_w) < 4096))
      return fail(fmt::format("box {} is too large", k));
    const int64_t sy = ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(bin_h));
    const int64_t sx = ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(bin_w));
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < h; ++i)
        for (int64_t j = 0; j < w; ++j) {
          const float* plane = x.as<float>() + (n * channels + c) * height * width;
          double sum = 0, best = -INFINITY;
          for (int64_t p = 0; p < sy; ++p)
            for (int64_t q = 0; q < sx; ++q) {
              const double y = edge[1] + static_cast<double>(i) * bin_h +
                               (static_cast<double>(p) + 0.5) * bin_h / static_cast<double>(sy);
              const double z = edge[0] + static_cast<double>(j) * bin_w +
                               (static_cast<double>(q) + 0.5) * bin_w / static_cast<double>(sx);
              // The standard's maxima are of elements with their weights, not of their sums.
              for (const double value : weighted_elements(plane, height, width, y, z)) {
                sum += value;
                best = value > best || value != value ? value : best; // NaN stays
              }
            }
          const double elements = static_cast<double>(std::max<int64_t>(sy * sx, 1));
          out.set_double(((k * channels + c) * h + i) * w + j,
                         mode == "max" ? best : sum / elements);
        }
  }
  return one(std::move(out));
}

/// Puts pooled values back to where they came from; a given output size only widens the frame.
Outputs max_unpool(const FunctionCall& call) {
  const Tensor &x = call.tensor(0), &places = call.tensor(1);
  const std::vector<int64_t> kernel = call.integers("kernel_shape");
  std::vector<int64_t> strides = call.integers("strides"), pads = call.integers("pads");
  const size_t dims = kernel.size();
  strides.resize(dims, 1);
  pads.resize(2 * dims, 0);
  if (x.shape().size() != dims + 2 || places.shape() != x.shape())
    return fail(std::string("values and places of an image are needed"));
  Shape natural{x.shape()[0], x.shape()[1]};
  for (size_t k = 0; k < dims; ++k)
    natural.push_back((x.shape()[k + 2] - 1) * strides[k] - pads[k] - pads[k + dims] + kernel[k]);
  Shape shape = natural;
  if (call.has(2) && call.tensor(2).elements() == x.rank())
    for (size_t k = 0; k < shape.size(); ++k)
      shape[k] = call.tensor(2).get_int(static_cast<int64_t>(k));
  const auto elements = graph::elements_of(shape);
  const auto natural_elements = graph::elements_of(natural);
  if (!elements || !natural_elements || (*natural_elements == 0 && x.elements() > 0))
    return fail("the result would have the shape " +
                graph::text_of(natural_elements ? natural : shape));
  Tensor out = call.result(0, x.type(), shape);
  std::memset(out.data(), 0, static_cast<size_t>(out.bytes()));
  if (shape == natural && x.type() == DataType::F32 && places.type() == DataType::I64) {
    bool is_inside = true;
    for (int64_t k = 0; k < x.elements(); ++k) {
      const auto at = static_cast<uint64_t>(places.as<int64_t>()[k]);
      const bool fits = at < static_cast<uint64_t>(*elements);
      is_inside &= fits;
      if (fits)
        out.as<float>()[at] = x.as<float>()[k];
    }
    if (is_inside)
      return one(std::move(out)); // else it is found out below which is not
  }
  for (int64_t k = 0; k < x.elements(); ++k) {
    // Places count the elements of the natural size.
    int64_t at = places.get_int(k), element = 0, step = 1;
    if (at < 0)
      return fail(std::string("a place is negative"));
    for (size_t t = shape.size(); t-- > 0;) {
      const int64_t coordinate = t == 0 ? at : at % natural[t];
      at /= natural[t];
      if (coordinate >= shape[t])
        return fail(fmt::format("place {} is outside the result", places.get_int(k)));
      element += coordinate * step;
      step *= shape[t];
    }
    out.set_double(element, x.get_double(k));
  }
  return one(std::move(out));
}

constexpr Function kAll[] = {
    {"GridSample", 2, grid_sample}, {"MaxUnpool", 2, max_unpool}, {"RoiAlign", 3, roi_align}};

} // namespace of_sample
} // namespace

std::span<const Function> sample_functions() { return of_sample::kAll; }

} // namespace kawara::run
