// Operators that graph/optimise/channels_last makes for processors: images are [n, y, x, c],
// windows move over a padded copy of them, and weights are as the model has them, since kernels
// pack them anyway.

#include "program/operators/registry.h"
#include "program/operators/window.h"

#include "support/text.h"

namespace kawara::program::operators {
namespace {
namespace of_padded_channels_last {

/// An image under a window: its dimensions in order, without the number of images where that is
/// one.
struct Image {
  int64_t images = 1, channels = 1;
  std::vector<int64_t> spatial;
  bool has_channels_first = false; ///< as the inputs of nets have them: [n, c, y, x]
};

std::optional<Image> image_of(Definition& d) {
  if (!d.need(0))
    return std::nullopt;
  const Shape& shape = d.shape(0);
  if (shape.size() != 4) {
    d.refuse("an image has four dimensions, this is " + graph::text_of(shape));
    return std::nullopt;
  }
  if (d.integer("channels_first", 0) != 0)
    return Image{shape[0], shape[1], {shape[2], shape[3]}, true};
  return Image{shape[0], shape[3], {shape[1], shape[2]}, false};
}

/// [n, y, x, c] or [n, c, y, x], of indices or of extents.
template <class T>
std::vector<T> in_order(const Image& image, const T& n, const T& y, const T& x, const T& c) {
  std::vector<T> all = image.has_channels_first ? std::vector<T>{c, y, x} : std::vector<T>{y, x, c};
  if (image.images != 1)
    all.insert(all.begin(), n);
  return all;
}

/// Declares the image, pads it where the window needs that, and says what the window's taps are
/// read from: "P", "X0".
std::string add_image(Definition& d, const Image& image, const Window& w, const std::string& fill) {
  d.declare_operand(0, in_order<int64_t>(image, image.images, image.spatial[0], image.spatial[1],
                                         image.channels));
  std::vector<int64_t> extents;
  std::vector<std::string> inside, from;
  for (size_t k = 0; k < 2; ++k) {
    const std::string i = "i" + std::to_string(k);
    extents.push_back(padded_extent(w, k, image.spatial[k]));
    if (w.begin[k] > 0)
      inside.push_back(fmt::format("{} >= {}", i, w.begin[k]));
    if (extents[k] > w.begin[k] + image.spatial[k])
      inside.push_back(fmt::format("{} < {}", i, w.begin[k] + image.spatial[k]));
    from.push_back(w.begin[k] > 0 ? fmt::format("{} - {}", i, w.begin[k]) : i);
  }
  if (inside.empty())
    return "X0";
  const auto shape = in_order<int64_t>(image, image.images, extents[0], extents[1], image.channels);
  const auto names = in_order<std::string>(image, "a", "i0", "i1", "c");
  Nest nest;
  for (size_t k = 0; k < names.size(); ++k)
    nest.loop(names[k], shape[k]);
  d.temp("P", name_in_program(d.type(0)), shape);
  const std::string to = at("P", nest.index());
  const std::string element =
      at("X0", join(in_order<std::string>(image, "a", from[0], from[1], "c"), ", "));
  d.add_line(nest.around({"if " + join(inside, " and ") + ":", "  " + to + " = " + element,
                          "else:", "  " + to + " = " + fill}));
  return "P";
}

/// The result's loops: n, y, x, and one more of that name.
Nest result_nest(const Image& image, const Window& w, const std::string& last, int64_t extent) {
  Nest nest;
  if (image.images != 1)
    nest.loop("a", image.images);
  nest.loop("o0", w.out[0]);
  nest.loop("o1", w.out[1]);
  nest.loop(last, extent);
  return nest;
}

/// "k0 in range(3)" for the dimensions in which the window has several elements, and the names
/// alone.
struct Taps {
  std::vector<std::string> loops, names;
  Shape extents;
};

Taps taps_of(const Window& w) {
  Taps taps;
  for (size_t k = 0; k < 2; ++k)
    if (w.kernel[k] > 1) {
      taps.names.push_back("k" + std::to_string(k));
      taps.loops.push_back(fmt::format("k{} in range({})", k, w.kernel[k]));
      taps.extents.push_back(w.kernel[k]);
    }
  return taps;
}

std::string tap_in(const std::string& source, const Image& image, const Window& w) {
  return at(source, join(in_order<std::string>(image, "a", tap(w, 0), tap(w, 1), "c"), ", "));
}

/// Less than any element.
std::string lowest(const Definition& d) {
  return d.type(0) == DataType::I8 ? "-128" : d.type(0) == DataType::U8 ? "0" : "(-inf)";
}

std::string sum_type(const Definition& d) { return d.type(0) == DataType::F64 ? "f64" : "f32"; }

bool is_single_element(const Window& w) {
  return w.kernel == std::vector<int64_t>{1, 1} && w.stride == std::vector<int64_t>{1, 1} &&
         !is_padded(w);
}

/// Weights [m, c, r, s], perhaps a bias [m].
void conv(Definition& d) {
  const auto image = image_of(d);
  if (!image || !d.need(1))
    return;
  const Shape weights = d.shape(1);
  if (weights.size() != 4 || weights[1] != image->channels)
    return d.refuse(fmt::format("an image {} and weights {} do not fit together",
                                graph::text_of(d.shape(0)), graph::text_of(weights)));
  const Window w = window_of(d, image->spatial, {weights[2], weights[3]});
  if (d.is_settled())
    return;
  const char* bias = d.has(2) ? " + X2[m]" : "";
  d.output(d.type(0), {image->images, w.out[0], w.out[1], weights[0]});
  if (is_single_element(w) && !image->has_channels_first) {
    const int64_t elements = image->images * w.out[0] * w.out[1];
    d.declare_operand(0, {elements, image->channels});
    d.declare_operand(1, {weights[0], weights[1]});
    d.declare_output(0, {elements, weights[0]});
    d.temp("T", sum_type(d), {elements, weights[0]});
    d.line("T[q, m] = sum(c in range({}), X0[q, c] * X1[m, c])", image->channels);
    return d.line("Y0[q, m] = T[q, m]{}", bias);
  }
  const std::string source = add_image(d, *image, w, "0");
  Taps taps = taps_of(w);
  Shape filter{weights[0], weights[1]};
  filter.insert(filter.end(), taps.extents.begin(), taps.extents.end());
  d.declare_operand(1, filter);
  const Nest nest = result_nest(*image, w, "m", weights[0]);
  d.declare_output(0, nest.shape());
  d.temp("T", sum_type(d), nest.shape());
  std::vector<std::string> element{"m", "c"};
  element.insert(element.end(), taps.names.begin(), taps.names.end());
  taps.loops.push_back(fmt::format("c in range({})", image->channels));
  d.line("{} = sum(({}), {} * {})", at("T", nest.index()), join(taps.loops, ", "),
         tap_in(source, *image, w), at("X1", join(element, ", ")));
  d.line("{} = {}{}", at("Y0", nest.index()), at("T", nest.index()), bias);
}

/// Weights [r, s, c], perhaps a bias [c].
void depthwise(Definition& d) {
  const auto image = image_of(d);
  if (!image || !d.need(1))
    return;
  const Shape weights = d.shape(1);
  if (weights.size() != 3 || weights[2] != image->channels)
    return d.refuse(fmt::format("an image {} and weights {} do not fit together",
                                graph::text_of(d.shape(0)), graph::text_of(weights)));
  const Window w = window_of(d, image->spatial, {weights[0], weights[1]});
  if (d.is_settled())
    return;
  d.output(d.type(0), {image->images, w.out[0], w.out[1], image->channels});
  const std::string source = add_image(d, *image, w, "0");
  const Taps taps = taps_of(w);
  Shape filter = taps.extents;
  filter.push_back(image->channels);
  d.declare_operand(1, filter);
  const Nest nest = result_nest(*image, w, "c", image->channels);
  d.declare_output(0, nest.shape());
  d.temp("T", sum_type(d), nest.shape());
  std::vector<std::string> element = taps.names;
  element.emplace_back("c");
  const std::string product =
      fmt::format("{} * {}", tap_in(source, *image, w), at("X1", join(element, ", ")));
  d.line("{} = {}", at("T", nest.index()),
         taps.loops.empty() ? product
                            : fmt::format("sum(({}), {})", join(taps.loops, ", "), product));
  d.line("{} = {}{}", at("Y0", nest.index()), at("T", nest.index()), d.has(2) ? " + X2[c]" : "");
}

/// The largest element of the window that lies in the image; rows first where windows overlap much.
void max_pool(Definition& d) {
  d.needs_no("storage_order");
  const auto image = image_of(d);
  if (!image)
    return;
  const Window w = window_of(d, image->spatial, {});
  if (d.is_settled())
    return;
  d.output(d.type(0), {image->images, w.out[0], w.out[1], image->channels});
  const std::string source = add_image(d, *image, w, lowest(d));
  const Nest nest = result_nest(*image, w, "c", image->channels);
  d.declare_output(0, nest.shape());
  const Taps taps = taps_of(w);
  if (taps.loops.empty())
    return d.line("{} = {}", at("Y0", nest.index()), tap_in(source, *image, w));
  const int64_t rows = padded_extent(w, 0, image->spatial[0]),
                taps_each = w.kernel[0] * w.kernel[1];
  const bool is_separable =
      taps.loops.size() == 2 &&
      2 * (rows * w.kernel[1] + w.out[0] * w.kernel[0]) <= w.out[0] * taps_each;
  if (!is_separable)
    return d.line("{} = max(({}), {})", at("Y0", nest.index()), join(taps.loops, ", "),
                  tap_in(source, *image, w));
  Nest across;
  if (image->images != 1)
    across.loop("a", image->images);
  across.loop("i0", rows);
  across.loop("o1", w.out[1]);
  across.loop("c", image->channels);
  d.temp("R", name_in_program(d.type(0)), across.shape());
  d.line("{} = max({}, {})", at("R", across.index()), taps.loops[1],
         at(source, join(in_order<std::string>(*image, "a", "i0", tap(w, 1), "c"), ", ")));
  d.line("{} = max({}, {})", at("Y0", nest.index()), taps.loops[0],
         at("R", join(in_order<std::string>(*image, "a", tap(w, 0), "o1", "c"), ", ")));
}

constexpr Operator kAll[] = {{"ChannelsLastPaddedConv", conv},
                             {"ChannelsLastPaddedDepthwise", depthwise},
                             {"ChannelsLastPaddedMaxPool", max_pool}};

} // namespace of_padded_channels_last
} // namespace

std::span<const Operator> padded_channels_last_operators() { return of_padded_channels_last::kAll; }

} // namespace kawara::program::operators
