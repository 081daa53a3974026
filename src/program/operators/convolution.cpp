#include "program/operators/convolution.h"
#include "program/operators/registry.h"
#include "program/operators/window.h"

#include "support/text.h"

#include <algorithm>

namespace kawara::program::operators {
namespace {
namespace of_convolution {

std::string with_comma(const std::vector<std::string>& parts) { return join(parts, ", "); }

/// A window of one element that visits every element is a product of matrices: one spatial
/// dimension will do.
bool merge_spatial(Sizes& s, Window& w) {
  for (size_t k = 0; k < w.kernel.size(); ++k)
    if (w.kernel[k] != 1 || w.stride[k] != 1 || w.begin[k] != 0 || w.end[k] != 0)
      return false;
  const int64_t elements = product(s.spatial);
  s.spatial = s.kernel = w.out = {elements};
  s.kernel = w.kernel = w.stride = w.dilation = {1};
  w.begin = w.end = {0};
  return true;
}

/// What differs between the kinds of convolution.
struct Kind {
  size_t image = 0, weight = 1;
  std::string sum_type;                ///< of the sum: "f32", "i32"
  std::string image_zero, weight_zero; ///< subtracted before multiplying; may be empty
};

/// A sum of products as text: loops, factors, and the part of them that belongs to one filter.
struct SumText {
  std::string taps, image, weight;
  std::string weight_index;
  Shape weights;
  std::string filter;
  Shape filters;
  int64_t count = 0; ///< of products
};

/// Sums of (x - a) * (w - b), as those of x * w less what the zero points make of the sums of x and
/// of w: i32 wraps, so this is the same, and products of bytes alone are what instructions compute.
/// Those of w stay from call to call.
void add_sums_around_zeros(Definition& d, const Kind& kind, const Nest& nest, const SumText& sum) {
  const std::string &a = kind.image_zero, &b = kind.weight_zero;
  const std::string element = nest.index();
  std::string factor = sum.weight;
  if (!a.empty() && d.operand(kind.weight).is_weight) {
    // A copy, made once: what only the product reads is packed for it.
    d.temp("W", name_in_program(d.type(kind.weight)), sum.weights);
    d.line("{} = {}", at("W", sum.weight_index),
           at(fmt::format("X{}", kind.weight), sum.weight_index));
    factor = at("W", sum.weight_index);
  }
  // Before the products, so that their tiles are moved while they are in registers.
  std::string moved;
  if (!a.empty()) {
    d.temp("V", "i32", sum.filters);
    d.line("{} = sum(({}), i32({}))", at("V", sum.filter), sum.taps, sum.weight);
    moved += fmt::format(" - {} * {}", a, at("V", sum.filter));
  }
  if (!b.empty()) {
    std::vector<std::string> of_image;
    Shape shape;
    for (size_t k = 0; k < nest.shape().size(); ++k)
      if (nest.name(k) != "m") {
        of_image.push_back(nest.name(k));
        shape.push_back(nest.shape()[k]);
      }
    d.temp("U", "i32", shape);
    d.line("{} = sum(({}), i32({}))", at("U", with_comma(of_image)), sum.taps, sum.image);
    moved += fmt::format(" - {} * {}", b, at("U", with_comma(of_image)));
  }
  d.temp("S", "i32", nest.shape());
  d.line("{} = sum(({}), i32({}) * i32({}))", at("S", element), sum.taps, sum.image, factor);
  std::string value = at("S", element) + moved;
  if (!a.empty() && !b.empty())
    value += fmt::format(" + {} * {} * {}", sum.count, a, b);
  d.line("{} = {}", at("T", element), value);
}

/// Loops over the results, and the sum that belongs to one.
struct Sums {
  Nest nest;
  std::string value;
};

/// Lines that leave the sums in temp T[n, g, m, o...]; none for one channel and one tap, whose
/// product is the sum.
Sums add_sums(Definition& d, const Kind& kind, const Sizes& s, const Window& w) {
  const std::string image = "X" + std::to_string(kind.image),
                    weight = "X" + std::to_string(kind.weight);
  Nest nest;
  std::vector<std::string> x, f;
  if (s.images != 1) {
    nest.loop("n", s.images);
    x.push_back("n");
  }
  if (s.groups != 1) {
    nest.loop("g", s.groups);
    x.push_back("g");
    f.push_back("g");
  }
  const bool is_depthwise = s.groups != 1 && s.filters == 1;
  if (!is_depthwise) {
    nest.loop("m", s.filters);
    f.push_back("m");
  }
  std::vector<std::string> taps;
  Shape x_shape, w_shape;
  if (s.channels != 1 || s.groups == 1) {
    taps.push_back(fmt::format("c in range({})", s.channels));
    x.push_back("c");
    f.push_back("c");
  }
  std::vector<std::string> outer = x;
  for (size_t k = 0; k < s.spatial.size(); ++k) {
    nest.loop("o" + std::to_string(k), w.out[k]);
    x.push_back(tap(w, k));
    if (w.kernel[k] > 1) {
      taps.push_back(fmt::format("k{0} in range({1})", k, w.kernel[k]));
      f.push_back("k" + std::to_string(k));
    }
  }
  Shape outer_shape;
  for (const std::string& name : outer)
    outer_shape.push_back(name == "n" ? s.images : name == "g" ? s.groups : s.channels);
  for (const std::string& name : f)
    w_shape.push_back(name == "g"   ? s.groups
                      : name == "m" ? s.filters
                      : name == "c" ? s.channels
                                    : w.kernel[static_cast<size_t>(name[1] - '0')]);
  x_shape = outer_shape;
  x_shape.insert(x_shape.end(), s.spatial.begin(), s.spatial.end());
  d.declare_operand(kind.image, x_shape);
  d.declare_operand(kind.weight, w_shape);
  std::string source = image;
  if (is_padded(w)) {
    add_padding(d, "P", outer_shape, s.spatial, w, kind.image_zero.empty() ? "0" : kind.image_zero);
    source = "P";
  }
  const auto shifted = [&](const std::string& load, const std::string& zero) {
    return zero.empty() ? load : fmt::format("(i32({}) - {})", load, zero);
  };
  const std::string product_of_one =
      fmt::format("{} * {}", shifted(at(source, with_comma(x)), kind.image_zero),
                  shifted(at(weight, with_comma(f)), kind.weight_zero));
  const bool has_zeros = !kind.image_zero.empty() || !kind.weight_zero.empty();
  // Of narrow types T has the product in its own type.
  const DataType type = d.type(kind.image);
  if (taps.empty() && (type == DataType::F32 || type == DataType::F64))
    return {nest, product_of_one};
  if (has_zeros && !taps.empty() && !is_depthwise)
    add_sums_around_zeros(d, kind, nest,
                          {with_comma(taps), at(source, with_comma(x)), at(weight, with_comma(f)),
                           with_comma(f), w_shape, filter_index(s), filter_shape(s),
                           product(w_shape) / product(filter_shape(s))});
  else if (taps.empty())
    d.line("{} = {}", at("T", nest.index()), product_of_one);
  else
    d.line("{} = sum(({}), {})", at("T", nest.index()), with_comma(taps), product_of_one);
  d.temp("T", kind.sum_type, nest.shape());
  return {nest, at("T", nest.index())};
}

Shape result_shape(const Sizes& s, const Window& w) {
  Shape shape{s.images, s.groups * s.filters};
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  return shape;
}

void conv(Definition& d) {
  auto s = sizes_of(d, 0, 1, false);
  if (!s)
    return;
  Window w = window_of(d, s->spatial, s->kernel);
  check_bias(d, 2, *s);
  if (d.is_settled())
    return;
  if (w.kernel != s->kernel)
    return d.refuse(fmt::format("attribute kernel_shape {} is not that of the weights {}",
                                graph::text_of(w.kernel), graph::text_of(d.shape(1))));
  d.output(d.type(0), result_shape(*s, w));
  merge_spatial(*s, w);
  const Kind kind{0, 1, d.type(0) == DataType::F64 ? "f64" : "f32", "", ""};
  auto [nest, value] = add_sums(d, kind, *s, w);
  d.declare_output(0, nest.shape());
  if (d.has(2)) {
    d.declare_operand(2, filter_shape(*s));
    value += " + " + at("X2", filter_index(*s));
  }
  d.line("{} = {}", at("Y0", nest.index()), value);
}

/// "i32(X2)" for a zero point that is one number, or empty. One that is added to results may not be
/// left out.
std::string zero_point(Definition& d, size_t k, bool may_be_left_out = true) {
  if (!d.has(k))
    return "";
  if (product(d.shape(k)) == 1 && may_be_left_out && is_known_zero(d, k))
    return "";
  if (product(d.shape(k)) != 1)
    d.refuse(fmt::format("input {} must be one number, not {}", k, graph::text_of(d.shape(k))));
  d.declare_operand(k, {});
  return "i32(X" + std::to_string(k) + ")";
}

/// The same for weights, of which each filter may have its own.
std::string weight_zero_point(Definition& d, size_t k, const Sizes& s) {
  if (!d.has(k) || product(d.shape(k)) == 1)
    return zero_point(d, k);
  if (is_known_zero(d, k))
    return "";
  if (d.shape(k) != Shape{s.groups * s.filters})
    d.refuse(fmt::format("input {} must be one number or one per filter, not {}", k,
                         graph::text_of(d.shape(k))));
  d.declare_operand(k, filter_shape(s));
  return "i32(" + at("X" + std::to_string(k), filter_index(s)) + ")";
}

void conv_integer(Definition& d) {
  auto s = sizes_of(d, 0, 1, false);
  if (!s)
    return;
  Window w = window_of(d, s->spatial, s->kernel);
  const Kind kind{0, 1, "i32", zero_point(d, 2), weight_zero_point(d, 3, *s)};
  if (d.is_settled())
    return;
  d.output(DataType::I32, result_shape(*s, w));
  merge_spatial(*s, w);
  const auto [nest, value] = add_sums(d, kind, *s, w);
  d.declare_output(0, nest.shape());
  d.line("{} = {}", at("Y0", nest.index()), value);
}

/// x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias.
void qlinear_conv(Definition& d) {
  for (size_t k = 0; k < 8; ++k)
    if (!d.need(k))
      return;
  auto s = sizes_of(d, 0, 3, false);
  if (!s)
    return;
  Window w = window_of(d, s->spatial, s->kernel);
  const Kind kind{0, 3, "i32", zero_point(d, 2), weight_zero_point(d, 5, *s)};
  check_bias(d, 8, *s);
  for (const size_t k : {size_t{1}, size_t{6}})
    zero_point(d, k, false);
  const std::string out_zero = zero_point(d, 7, false);
  const bool is_per_filter = product(d.shape(4)) != 1;
  if (is_per_filter && product(d.shape(4)) != s->groups * s->filters)
    d.refuse("there must be one weight scale, or one per filter");
  if (d.is_settled())
    return;
  const DataType type = d.type(7);
  d.output(type, result_shape(*s, w));
  merge_spatial(*s, w);
  auto [nest, sum] = add_sums(d, kind, *s, w);
  d.declare_output(0, nest.shape());
  d.declare_operand(4, is_per_filter ? filter_shape(*s) : Shape{});
  if (d.has(8)) {
    d.declare_operand(8, filter_shape(*s));
    sum = "(" + sum + " + " + at("X8", filter_index(*s)) + ")";
  }
  d.line("{} = {}", at("Y0", nest.index()),
         Definition::saturated(type, fmt::format("round(f32({}) * (X1 * {} / X6)) + f32({})", sum,
                                                 at("X4", is_per_filter ? filter_index(*s) : ""),
                                                 out_zero)));
}

constexpr Operator kAll[] = {
    {"Conv", conv}, {"ConvInteger", conv_integer}, {"QLinearConv", qlinear_conv}};

} // namespace of_convolution
} // namespace

std::span<const Operator> convolution_operators() { return of_convolution::kAll; }

} // namespace kawara::program::operators
