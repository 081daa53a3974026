// Operators that graph/optimise/channels_last makes: images are [n, y, x, c].

#include "program/operators/registry.h"
#include "program/operators/window.h"

#include "support/text.h"

namespace kawara::program::operators {
namespace {
namespace of_channels_last {

/// Conditions that a tap of the window lies in the image, and where.
struct Taps {
  std::vector<std::string> inside;
  std::vector<std::string> element; ///< y, x
};

std::string place_of_tap(const Window& w, size_t d) {
  const std::string text =
      w.kernel[d] > 1 ? fmt::format("{} * o{} + {} * k{}", w.stride[d], d, w.dilation[d], d)
                      : fmt::format("{} * o{}", w.stride[d], d);
  return w.begin[d] == 0 ? text : fmt::format("{} - {}", text, w.begin[d]);
}

Taps taps_of(const Window& w, const std::vector<int64_t>& spatial) {
  Taps taps;
  for (size_t d = 0; d < 2; ++d) {
    taps.element.push_back(place_of_tap(w, d));
    const int64_t last = (w.out[d] - 1) * w.stride[d] + (w.kernel[d] - 1) * w.dilation[d];
    if (w.begin[d] > 0)
      taps.inside.push_back(taps.element.back() + " >= 0");
    if (last - w.begin[d] >= spatial[d])
      taps.inside.push_back(fmt::format("{} < {}", taps.element.back(), spatial[d]));
  }
  return taps;
}

/// An image with its channels last.
bool need_image(Definition& d) {
  if (!d.need(0))
    return false;
  if (d.rank(0) == 4)
    return true;
  d.refuse("an image has four dimensions, this is " + graph::text_of(d.shape(0)));
  return false;
}

std::vector<int64_t> spatial_of(const Definition& d) { return {d.shape(0)[1], d.shape(0)[2]}; }

/// Loops over the window's elements that there are several of: "k0", "k1".
std::vector<std::string> tap_names(const Window& w) {
  std::vector<std::string> names;
  for (size_t d = 0; d < 2; ++d)
    if (w.kernel[d] > 1)
      names.push_back("k" + std::to_string(d));
  return names;
}

/// Their extents between others.
Shape with_taps(const Window& w, int64_t first, std::vector<int64_t> last) {
  Shape shape;
  if (first > 0)
    shape.push_back(first);
  for (const int64_t extent : w.kernel)
    if (extent > 1)
      shape.push_back(extent);
  shape.insert(shape.end(), last.begin(), last.end());
  return shape;
}

/// The elements under the window at every place, side by side: W[n y x, r, s, c], or W[.., g, c]
/// with channels in several groups. Those of one may run on into the elements to the right.
void add_windows(Definition& d, const Window& w, int64_t groups, int64_t channels) {
  const Shape& image = d.shape(0);
  const int64_t places = image[0] * w.out[0] * w.out[1];
  Shape last = {channels};
  if (groups > 1)
    last.insert(last.begin(), groups);
  d.temp("W", name_in_program(d.type(0)), with_taps(w, places, last));
  Nest nest;
  if (image[0] != 1)
    nest.loop("n", image[0]);
  for (size_t k = 0; k < 2; ++k)
    nest.loop("o" + std::to_string(k), w.out[k]);
  for (size_t k = 0; k < 2; ++k)
    if (w.kernel[k] > 1)
      nest.loop("k" + std::to_string(k), w.kernel[k]);
  if (groups > 1)
    nest.loop("g", groups);
  nest.loop("c", channels);
  const Taps taps = taps_of(w, spatial_of(d));
  const std::string n = image[0] != 1 ? "n" : "0";
  std::vector<std::string> to = tap_names(w);
  to.insert(to.begin(), image[0] != 1 ? fmt::format("(n * {} + o0) * {} + o1", w.out[0], w.out[1])
                                      : fmt::format("o0 * {} + o1", w.out[1]));
  to.emplace_back(groups > 1 ? "g, c" : "c");
  const std::string element = at("W", join(to, ", "));
  const std::string channel = groups > 1 ? fmt::format("{} * g + c", channels) : "c";
  const std::string from =
      channels * groups == image[3]
          ? fmt::format("X0[{}, {}, {}, {}]", n, taps.element[0], taps.element[1], channel)
          : fmt::format("X0[{0}, {1}, {2} + c // {3}, c % {3}]", n, taps.element[0],
                        taps.element[1], image[3]);
  if (taps.inside.empty())
    d.add_line(nest.around({element + " = " + from}));
  else
    d.add_line(nest.around({"if " + join(taps.inside, " and ") + ":", "  " + element + " = " + from,
                            "else:", "  " + element + " = 0"}));
}

/// X[n, y, x, g c], weights [r, s, g, m, c], perhaps a bias [g m]: every group has filters of its
/// own, and channels that only these read.
void grouped_conv(Definition& d) {
  const Shape image = d.shape(0), weights = d.shape(1);
  const int64_t groups = weights[2], filters = weights[3], channels = weights[4];
  if (groups < 2 || image[3] != groups * channels)
    return d.refuse(fmt::format("an image {} and weights {} do not fit together",
                                graph::text_of(image), graph::text_of(weights)));
  const Window w = window_of(d, spatial_of(d), {weights[0], weights[1]});
  if (d.is_settled())
    return;
  const int64_t places = image[0] * w.out[0] * w.out[1];
  d.output(d.type(0), {image[0], w.out[0], w.out[1], groups * filters});
  d.declare_output(0, {places, groups, filters});
  d.temp("T", d.type(0) == DataType::F64 ? "f64" : "f32", {places, groups, filters});
  add_windows(d, w, groups, channels);
  d.declare_operand(1, with_taps(w, 0, {groups, filters, channels}));
  std::vector<std::string> loops, taps = tap_names(w);
  for (const std::string& name : taps)
    loops.push_back(fmt::format("{} in range({})", name, w.kernel[name == "k0" ? 0 : 1]));
  loops.push_back(fmt::format("c in range({})", channels));
  const std::string inside = taps.empty() ? "" : join(taps, ", ") + ", ";
  d.line("T[q, g, m] = sum(({}), W[q, {}g, c] * X1[{}g, m, c])", join(loops, ", "), inside, inside);
  if (d.has(2))
    d.declare_operand(2, {groups, filters});
  d.line("Y0[q, g, m] = T[q, g, m]{}", d.has(2) ? " + X2[g, m]" : "");
}

/// X[n, y, x, c], weights [r, s, m, c], perhaps a bias [m]. Weights of one column and several times
/// as many channels as the image reach over that many elements of a row.
void conv(Definition& d) {
  if (!need_image(d) || !d.need(1))
    return;
  const Shape image = d.shape(0), weights = d.shape(1);
  if (weights.size() == 5)
    return grouped_conv(d);
  const bool fits = weights.size() == 4 && image[3] > 0 && weights[3] % image[3] == 0 &&
                    (weights[3] == image[3] || weights[1] == 1);
  if (!fits)
    return d.refuse(fmt::format("an image {} and weights {} do not fit together",
                                graph::text_of(image), graph::text_of(weights)));
  const int64_t beside = weights[3] / image[3] - 1;
  std::vector<int64_t> spatial = spatial_of(d);
  spatial[1] -= beside;
  const Window w = window_of(d, spatial, {weights[0], weights[1]});
  if (d.is_settled())
    return;
  const int64_t places = image[0] * w.out[0] * w.out[1];
  d.output(d.type(0), {image[0], w.out[0], w.out[1], weights[2]});
  d.declare_output(0, {places, weights[2]});
  d.temp("T", d.type(0) == DataType::F64 ? "f64" : "f32", {places, weights[2]});
  const bool is_product = w.kernel == std::vector<int64_t>{1, 1} && beside == 0 &&
                          w.stride == std::vector<int64_t>{1, 1} && !is_padded(w);
  if (is_product) {
    d.declare_operand(0, {places, image[3]});
    d.declare_operand(1, {weights[2], weights[3]});
    d.line("T[q, m] = sum(c in range({}), X0[q, c] * X1[m, c])", weights[3]);
  } else {
    add_windows(d, w, 1, weights[3]);
    d.declare_operand(1, with_taps(w, 0, {weights[2], weights[3]}));
    std::vector<std::string> loops, taps = tap_names(w);
    for (const std::string& name : taps)
      loops.push_back(fmt::format("{} in range({})", name, w.kernel[name == "k0" ? 0 : 1]));
    loops.push_back(fmt::format("c in range({})", weights[3]));
    const std::string inside = taps.empty() ? "" : join(taps, ", ") + ", ";
    d.line("T[q, m] = sum(({}), W[q, {}c] * X1[{}m, c])", join(loops, ", "), inside, inside);
  }
  d.line("Y0[q, m] = T[q, m]{}", d.has(2) ? " + X2[m]" : "");
}

/// `element` where `inside` holds, else `otherwise`.
std::string chosen(const std::vector<std::string>& inside, const std::string& element,
                   const std::string& otherwise) {
  return inside.empty()
             ? element
             : fmt::format("select({}, {}, {})", join(inside, " and "), element, otherwise);
}

/// A place that is inside `extent` whatever it is, and itself where it was inside before: reads of
/// elements that are not used need a place, too.
std::string wrapped(const std::string& place, int64_t before, int64_t extent) {
  return before == 0
             ? fmt::format("({}) % {}", place, extent)
             : fmt::format("({} + {}) % {}", place, (extent - before % extent) % extent, extent);
}

/// Blocks of stride x stride elements of an image [n, c, y, x], with its padding, as the elements
/// of another [n, y, x, block]; a block is filled up with zeros to whole groups of 8 channels.
void blocks(Definition& d) {
  if (!need_image(d))
    return;
  constexpr int64_t kGroup = 8;
  const Shape image = d.shape(0);
  const std::vector<int64_t> spatial = {image[2], image[3]};
  const Window w = window_of(d, spatial, {});
  if (d.is_settled())
    return;
  const int64_t used = w.stride[0] * w.stride[1] * image[1];
  const int64_t elements = (used + kGroup - 1) / kGroup * kGroup;
  Shape out = {image[0]};
  for (size_t k = 0; k < 2; ++k)
    out.push_back(w.out[k] - 1 + (w.kernel[k] + w.stride[k] - 1) / w.stride[k]);
  out.push_back(elements);
  const std::string type = d.word("type", "");
  d.output(type == "bf16" ? DataType::BF16 : type == "f16" ? DataType::F16 : d.type(0), out);
  d.declare_output(0, {out[0] * out[1], out[2], elements});
  const std::string places[] = {
      fmt::format("{} * (h % {}) + e // {}", w.stride[0], out[1], w.stride[1] * image[1]),
      fmt::format("{} * x + e // {} % {}", w.stride[1], image[1], w.stride[1])};
  std::vector<std::string> inside, element;
  if (used < elements)
    inside.push_back(fmt::format("e < {}", used));
  for (size_t k = 0; k < 2; ++k) {
    inside.push_back(fmt::format("{} >= {}", places[k], w.begin[k]));
    inside.push_back(fmt::format("{} < {}", places[k], w.begin[k] + spatial[k]));
    element.push_back(wrapped(places[k], w.begin[k], spatial[k]));
  }
  d.line("Y0[h, x, e] = {}",
         chosen(inside,
                fmt::format("X0[h // {}, e % {}, {}]", out[1], image[1], join(element, ", ")),
                "0"));
}

/// Taps of a window, written out: at [h, x, c] with h = n * rows + y.
struct WrittenTap {
  std::vector<std::string> inside;
  std::string element; ///< "X0[...]", a place that exists in any case
};

std::vector<WrittenTap> written_taps(const Definition& d, const Window& w) {
  const Shape& image = d.shape(0);
  const std::string steps[] = {fmt::format("{} * (h % {})", w.stride[0], w.out[0]),
                               fmt::format("{} * x", w.stride[1])};
  std::vector<WrittenTap> taps;
  for (int64_t r = 0; r < w.kernel[0]; ++r)
    for (int64_t s = 0; s < w.kernel[1]; ++s) {
      WrittenTap tap;
      std::vector<std::string> element;
      for (size_t k = 0; k < 2; ++k) {
        const int64_t shift = (k == 0 ? r : s) * w.dilation[k] - w.begin[k], extent = image[k + 1],
                      last = (w.out[k] - 1) * w.stride[k] + shift;
        const std::string place = shift == 0 ? steps[k] : fmt::format("{} + {}", steps[k], shift);
        if (shift < 0)
          tap.inside.push_back(fmt::format("{} >= {}", steps[k], -shift));
        if (last >= extent)
          tap.inside.push_back(fmt::format("{} < {}", steps[k], extent - shift));
        element.push_back(shift < 0        ? wrapped(steps[k], -shift, extent)
                          : last >= extent ? wrapped(place, 0, extent)
                                           : place);
      }
      tap.element = fmt::format("X0[h // {}, {}, c]", w.out[0], join(element, ", "));
      taps.push_back(std::move(tap));
    }
  return taps;
}

constexpr int64_t kMostTaps = 64; ///< that are written out

/// Result [h, x, c] of a window that is written out; nothing where it is too large.
std::optional<Window> small_window(Definition& d, const std::vector<int64_t>& kernel) {
  const Window w = window_of(d, spatial_of(d), kernel);
  if (!d.is_settled() && w.kernel[0] * w.kernel[1] > kMostTaps)
    d.refuse(fmt::format("a window of {} is too large", graph::text_of(w.kernel)));
  if (d.is_settled())
    return std::nullopt;
  const Shape image = d.shape(0);
  d.output(d.type(0), {image[0], w.out[0], w.out[1], image[3]});
  d.declare_output(0, {image[0] * w.out[0], w.out[1], image[3]});
  return w;
}

/// The largest element of the window that lies in the image.
void max_pool(Definition& d) {
  d.needs_no("storage_order");
  if (!need_image(d))
    return;
  const auto w = small_window(d, {});
  if (!w)
    return;
  std::string value;
  for (const WrittenTap& tap : written_taps(d, *w)) {
    const std::string element = chosen(tap.inside, tap.element, "(-inf)");
    value = value.empty() ? element : fmt::format("max({}, {})", value, element);
  }
  d.line("Y0[h, x, c] = {}", value);
}

/// X[n, y, x, c], weights [r, s, c], perhaps a bias [c].
void depthwise(Definition& d) {
  if (!need_image(d) || !d.need(1))
    return;
  const Shape weights = d.shape(1);
  if (weights.size() != 3 || weights[2] != d.shape(0)[3])
    return d.refuse(fmt::format("an image {} and weights {} do not fit together",
                                graph::text_of(d.shape(0)), graph::text_of(weights)));
  const auto w = small_window(d, {weights[0], weights[1]});
  if (!w)
    return;
  std::string value;
  const std::vector<WrittenTap> taps = written_taps(d, *w);
  for (size_t t = 0; t < taps.size(); ++t)
    value += fmt::format(
        "{}{} * X1[{}, {}, c]", t == 0 ? "" : " + ", chosen(taps[t].inside, taps[t].element, "0"),
        static_cast<int64_t>(t) / w->kernel[1], static_cast<int64_t>(t) % w->kernel[1]);
  d.line("Y0[h, x, c] = {}{}", value, d.has(2) ? " + X2[c]" : "");
}

/// The mean of all elements, as [n, c, 1, 1].
void global_average_pool(Definition& d) {
  if (!need_image(d))
    return;
  const Shape image = d.shape(0);
  const int64_t elements = image[1] * image[2];
  d.output(d.type(0), {image[0], image[3], 1, 1});
  d.declare_operand(0, {image[0], elements, image[3]});
  d.declare_output(0, {image[0], image[3]});
  if (elements <= kMostTaps) {
    std::vector<std::string> terms;
    for (int64_t q = 0; q < elements; ++q)
      terms.push_back(fmt::format("X0[n, {}, c]", q));
    return d.line("Y0[n, c] = ({}) / {}", join(terms, " + "), elements);
  }
  d.temp("T", d.type(0) == DataType::F64 ? "f64" : "f32", {image[0], image[3]});
  d.line("T[n, c] = sum(q in range({}), X0[n, q, c])", elements);
  d.line("Y0[n, c] = T[n, c] / {}", elements);
}

constexpr Operator kAll[] = {{"ChannelsLastBlocks", blocks},
                             {"ChannelsLastConv", conv},
                             {"ChannelsLastDepthwise", depthwise},
                             {"ChannelsLastGlobalAveragePool", global_average_pool},
                             {"ChannelsLastMaxPool", max_pool}};

} // namespace of_channels_last
} // namespace

std::span<const Operator> channels_last_operators() { return of_channels_last::kAll; }

} // namespace kawara::program::operators
