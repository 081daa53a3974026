#include "program/operators/convolution.h"
#include "program/operators/registry.h"

#include "support/text.h"

#include <algorithm>
#include <numeric>

namespace kawara::program::operators {
namespace {
namespace of_transposed_convolution {

/// Along one dimension, results o with (o + begin) % stride from `first` to `first + count` - 1
/// take the same elements of the image: with q = (o + begin) // stride those at q - shift - step *
/// t, t from 0 to `taps` - 1, times the weights at `tap` + i + spacing * t for the i-th residue.
struct Residues {
  int64_t first = 0, count = 1, tap = 0, taps = 0, shift = 0;
};

/// One dimension: its classes of residues, whose results need no others' taps; distances between
/// taps in the image and among the weights; and the quotients q of all results.
struct Axis {
  std::vector<Residues> classes;
  int64_t step = 1, spacing = 1, stride = 1, begin = 0;
  int64_t first_quotient = 0, quotients = 1;
  int64_t first_place = 0, places = 1; ///< of the image, some of them outside
};

/// Tap k reaches o + begin = stride * i + dilation * k: those with the same k % spacing the same
/// residue.
Axis axis_of(const Window& w, size_t k, int64_t extent) {
  Axis a;
  a.stride = w.stride[k];
  a.begin = w.begin[k];
  const int64_t common = std::gcd(w.stride[k], w.dilation[k]);
  a.spacing = w.stride[k] / common;
  a.step = w.dilation[k] / common;
  std::vector<Residues> found;
  for (int64_t tap = 0; tap < std::min(a.spacing, w.kernel[k]); ++tap) {
    const int64_t at = w.dilation[k] * tap;
    found.push_back(
        {at % a.stride, 1, tap, (w.kernel[k] - tap + a.spacing - 1) / a.spacing, at / a.stride});
  }
  std::sort(found.begin(), found.end(),
            [](const Residues& x, const Residues& y) { return x.first < y.first; });
  for (const Residues& r : found) {
    const int64_t next = a.classes.empty() ? 0 : a.classes.back().first + a.classes.back().count;
    if (next < r.first)
      a.classes.push_back({next, r.first - next, 0, 0, 0});
    Residues* last = a.classes.empty() ? nullptr : &a.classes.back();
    if (last && last->taps == r.taps && last->shift == r.shift && last->tap + last->count == r.tap)
      ++last->count;
    else
      a.classes.push_back(r);
  }
  const int64_t end = a.classes.back().first + a.classes.back().count;
  if (end < a.stride)
    a.classes.push_back({end, a.stride - end, 0, 0, 0});
  a.first_quotient = a.begin / a.stride;
  const int64_t last_quotient = (a.begin + w.out[k] - 1) / a.stride;
  a.quotients = last_quotient - a.first_quotient + 1;
  int64_t reach = 0;
  for (const Residues& r : found)
    reach = std::max(reach, r.shift + a.step * (r.taps - 1));
  a.first_place = std::min<int64_t>(a.first_quotient - reach, 0);
  a.places = std::max(extent - 1, last_quotient) - a.first_place + 1;
  return a;
}

/// What all parts of the text need.
struct Parts {
  const Sizes& sizes;
  std::vector<Axis> axes;
  std::string image;  ///< the tensor with what is outside the image
  std::string number; ///< type of sums
};

/// Names and extents of images and groups, those of extent 1 left out.
Nest outer_of(const Sizes& s) {
  Nest nest;
  if (s.images != 1)
    nest.loop("n", s.images);
  if (s.groups != 1)
    nest.loop("g", s.groups);
  return nest;
}

std::string joined(const std::vector<std::string>& parts) {
  std::vector<std::string> full;
  for (const std::string& part : parts)
    if (!part.empty())
      full.push_back(part);
  return join(full, ", ");
}

/// The image with zeros around it, as P; or as it is.
void add_image(Definition& d, Parts& p) {
  const Sizes& s = p.sizes;
  Nest nest = outer_of(s);
  if (s.channels != 1)
    nest.loop("c", s.channels);
  Shape given = nest.shape();
  given.insert(given.end(), s.spatial.begin(), s.spatial.end());
  d.declare_operand(0, given);
  std::vector<std::string> source{nest.index()}, inside;
  bool is_whole = true;
  for (size_t k = 0; k < p.axes.size(); ++k) {
    const Axis& a = p.axes[k];
    const std::string i = "i" + std::to_string(k);
    nest.loop(i, a.places);
    source.push_back(fmt::format("{} + {}", i, a.first_place));
    if (a.first_place < 0)
      inside.push_back(fmt::format("{} >= {}", i, -a.first_place));
    if (a.places + a.first_place > s.spatial[k])
      inside.push_back(fmt::format("{} < {}", i, s.spatial[k] - a.first_place));
    is_whole = is_whole && a.first_place == 0 && a.places == s.spatial[k];
  }
  p.image = is_whole ? "X0" : "P";
  if (is_whole)
    return;
  d.temp("P", name_in_program(d.type(0)), nest.shape());
  const std::string target = at("P", nest.index());
  d.add_line(nest.around({"if " + join(inside, " and ") + ":",
                          "  " + target + " = " + at("X0", joined(source)),
                          "else:", "  " + target + " = 0"}));
}

/// The classes of all dimensions that belong together, and of dimensions before `merged` one
/// residue each: those of the others are filters beside those of the operator, as many as
/// `filters`, in S from `first` on.
struct Block {
  std::vector<Residues> classes;
  size_t merged = 0;
  int64_t filters = 1, first = 0;
};

/// V<id>: the weights of a block as those of a convolution, its taps in the order of the image.
void add_weights(Definition& d, const Parts& p, const Block& b, const std::string& name) {
  const Sizes& s = p.sizes;
  Nest nest;
  std::vector<std::string> source, target;
  if (s.groups != 1) {
    nest.loop("g", s.groups);
    source.push_back("g");
    target.push_back("g");
  }
  std::string filter;
  std::vector<std::string> taps, places;
  for (size_t k = b.merged; k < p.axes.size(); ++k) {
    const std::string r = "r" + std::to_string(k);
    nest.loop(r, b.classes[k].count);
    filter = filter.empty() ? r : fmt::format("({}) * {} + {}", filter, b.classes[k].count, r);
  }
  nest.loop("m", s.filters);
  target.push_back(filter.empty() ? "m" : fmt::format("({}) * {} + m", filter, s.filters));
  if (s.channels != 1) {
    nest.loop("c", s.channels);
    source.push_back("c");
    target.push_back("c");
  }
  source.push_back("m");
  Shape shape = s.groups != 1 ? Shape{s.groups} : Shape{};
  shape.push_back(b.filters);
  if (s.channels != 1)
    shape.push_back(s.channels);
  for (size_t k = 0; k < p.axes.size(); ++k) {
    const Residues& r = b.classes[k];
    std::string tap = std::to_string(r.tap);
    if (k >= b.merged)
      tap += " + r" + std::to_string(k);
    if (r.taps > 1) {
      const std::string u = "u" + std::to_string(k);
      nest.loop(u, r.taps);
      target.push_back(u);
      shape.push_back(r.taps);
      tap += fmt::format(" + {} * ({} - {})", p.axes[k].spacing, r.taps - 1, u);
    }
    source.push_back(tap);
  }
  d.temp(name, name_in_program(d.type(1)), shape);
  d.add_line(nest.around({at(name, joined(target)) + " = " + at("X1", joined(source))}));
}

/// The sums of a block, a convolution with stride 1, in their part of S.
void add_sums(Definition& d, const Parts& p, const Block& b, const std::string& weights) {
  const Sizes& s = p.sizes;
  Nest nest = outer_of(s);
  const std::string outer = nest.index(), group = s.groups != 1 ? "g" : "",
                    channel = s.channels != 1 ? "c" : "";
  nest.loop("f", b.filters);
  std::vector<std::string> sums{outer, fmt::format("f + {}", b.first)}, image{outer, channel},
      factor{group, "f", channel}, taps;
  if (s.channels != 1)
    taps.push_back(fmt::format("c in range({})", s.channels));
  bool has_taps = true;
  for (size_t k = 0; k < p.axes.size(); ++k) {
    const Axis& a = p.axes[k];
    const Residues& r = b.classes[k];
    const std::string q = "q" + std::to_string(k), u = "u" + std::to_string(k);
    nest.loop(q, a.quotients);
    sums.push_back(q);
    std::string place = fmt::format(
        "{} + {}", q, a.first_quotient - r.shift - a.step * (r.taps - 1) - a.first_place);
    if (r.taps > 1) {
      place += fmt::format(" + {} * {}", a.step, u);
      factor.push_back(u);
      taps.push_back(fmt::format("{} in range({})", u, r.taps));
    }
    image.push_back(place);
    has_taps = has_taps && r.taps > 0;
  }
  const std::string product =
      fmt::format("{} * {}", at(p.image, joined(image)), at(weights, joined(factor)));
  d.add_line(nest.around(
      {fmt::format("{} = {}", at("S", joined(sums)),
                   !has_taps      ? "0"
                   : taps.empty() ? product
                                  : fmt::format("sum(({}), {})", join(taps, ", "), product))}));
}

/// Blocks, and what belongs to them, for every way to take a class of each dimension.
void add_blocks(Definition& d, const Parts& p, std::vector<Residues>& taken, size_t& count) {
  const size_t k = taken.size();
  if (k < p.axes.size()) {
    for (const Residues& r : p.axes[k].classes) {
      taken.push_back(r);
      add_blocks(d, p, taken, count);
      taken.pop_back();
    }
    return;
  }
  Block b{taken, p.axes.size(), p.sizes.filters, 0};
  // All residues of the last dimensions, and those of a class before them, are neighbours in S.
  while (b.merged > 0) {
    --b.merged;
    b.filters *= taken[b.merged].count;
    if (taken[b.merged].count != p.axes[b.merged].stride)
      break;
  }
  std::vector<int64_t> at(b.merged, 0);
  for (bool is_done = false; !is_done;) {
    int64_t first = 0;
    for (size_t j = 0; j < p.axes.size(); ++j) {
      b.classes[j] = taken[j];
      if (j < b.merged) {
        b.classes[j].tap += at[j];
        b.classes[j].count = 1;
      }
      first = first * p.axes[j].stride + taken[j].first + (j < b.merged ? at[j] : 0);
    }
    b.first = first * p.sizes.filters;
    const std::string weights = "V" + std::to_string(count++);
    const bool has_taps =
        std::all_of(taken.begin(), taken.end(), [](const Residues& r) { return r.taps > 0; });
    if (has_taps)
      add_weights(d, p, b, weights);
    add_sums(d, p, b, weights);
    is_done = true;
    for (size_t j = b.merged; is_done && j-- > 0;) {
      at[j] = at[j] + 1 < taken[j].count ? at[j] + 1 : 0;
      is_done = at[j] == 0;
    }
  }
}

/// Each result from the sums of its residues.
void add_results(Definition& d, const Parts& p, const Window& w) {
  const Sizes& s = p.sizes;
  Nest nest = outer_of(s);
  std::vector<std::string> source{nest.index()}, quotients;
  if (s.filters != 1)
    nest.loop("m", s.filters);
  std::string residue;
  for (size_t k = 0; k < p.axes.size(); ++k) {
    const Axis& a = p.axes[k];
    const std::string o = "o" + std::to_string(k);
    nest.loop(o, w.out[k]);
    const std::string own = fmt::format("({} + {}) % {}", o, a.begin, a.stride);
    residue = residue.empty() ? own : fmt::format("({}) * {} + {}", residue, a.stride, own);
    quotients.push_back(
        fmt::format("({} + {}) // {} - {}", o, a.begin, a.stride, a.first_quotient));
  }
  source.push_back(s.filters != 1 ? fmt::format("({}) * {} + m", residue, s.filters) : residue);
  source.insert(source.end(), quotients.begin(), quotients.end());
  d.declare_output(0, nest.shape());
  std::string value = at("S", joined(source));
  if (d.has(2)) {
    const std::string filter = joined({s.groups != 1 ? "g" : "", s.filters != 1 ? "m" : ""});
    Shape shape = s.groups != 1 ? Shape{s.groups} : Shape{};
    if (s.filters != 1)
      shape.push_back(s.filters);
    d.declare_operand(2, shape);
    value += " + " + at("X2", filter);
  }
  d.add_line(nest.around({at("Y0", nest.index()) + " = " + value}));
}

/// Results whose places have the same rest modulo the stride take the same taps: they are a
/// convolution with stride 1 of the image by these taps, and the residues are filters of it. What
/// is left is to put the results in order.
void conv_transpose(Definition& d) {
  const auto s = sizes_of(d, 0, 1, true);
  if (!s)
    return;
  const Window w = transposed_window_of(d, s->spatial, s->kernel);
  check_bias(d, 2, *s);
  if (d.is_settled())
    return;
  Shape result{s->images, s->groups * s->filters};
  result.insert(result.end(), w.out.begin(), w.out.end());
  d.output(d.type(0), result);
  Parts p{*s, {}, "", d.type(0) == DataType::F64 ? "f64" : "f32"};
  Shape weights = s->groups != 1 ? Shape{s->groups} : Shape{};
  if (s->channels != 1)
    weights.push_back(s->channels);
  weights.push_back(s->filters);
  Shape sums = outer_of(*s).shape();
  sums.push_back(s->filters);
  for (size_t k = 0; k < s->spatial.size(); ++k) {
    p.axes.push_back(axis_of(w, k, s->spatial[k]));
    weights.push_back(w.kernel[k]);
    sums.push_back(p.axes.back().quotients);
    sums[outer_of(*s).shape().size()] *= w.stride[k];
  }
  d.declare_operand(1, weights);
  add_image(d, p);
  d.temp("S", p.number, sums);
  std::vector<Residues> taken;
  size_t count = 0;
  add_blocks(d, p, taken, count);
  add_results(d, p, w);
}

constexpr Operator kAll[] = {{"ConvTranspose", conv_transpose}};

} // namespace of_transposed_convolution
} // namespace

std::span<const Operator> transposed_convolution_operators() {
  return of_transposed_convolution::kAll;
}

} // namespace kawara::program::operators
