#include "program/operators/registry.h"
#include "program/operators/window.h"

#include "support/text.h"

#include <cmath>

namespace kawara::program::operators {
namespace {
namespace of_pooling {

/// A pooled image as [images * channels, spatial...].
struct Pool {
  Window window;
  Shape outer;
  std::vector<int64_t> spatial;
  Nest nest;                     ///< of the result: a0, o0, o1, ...
  std::vector<std::string> taps; ///< "k0 in range(3)"
  std::string index;             ///< of the tap in the padded image
};

std::optional<Pool> pool_of(Definition& d) {
  if (!d.need(0))
    return std::nullopt;
  if (d.rank(0) < 3) {
    d.refuse("an image needs images, channels and a spatial dimension, this is " +
             graph::text_of(d.shape(0)));
    return std::nullopt;
  }
  Pool p;
  p.spatial.assign(d.shape(0).begin() + 2, d.shape(0).end());
  p.outer = {d.shape(0)[0] * d.shape(0)[1]};
  p.window = window_of(d, p.spatial, {});
  if (d.is_settled())
    return std::nullopt;
  p.nest.loop("a0", p.outer[0]);
  p.index = "a0";
  for (size_t k = 0; k < p.spatial.size(); ++k) {
    p.nest.loop("o" + std::to_string(k), p.window.out[k]);
    if (p.window.kernel[k] > 1)
      p.taps.push_back(fmt::format("k{} in range({})", k, p.window.kernel[k]));
    p.index += ", " + tap(p.window, k);
  }
  Shape flat = p.outer;
  flat.insert(flat.end(), p.spatial.begin(), p.spatial.end());
  d.declare_operand(0, flat);
  return p;
}

Shape pooled_shape(Definition& d, const Pool& p) {
  Shape shape{d.shape(0)[0], d.shape(0)[1]};
  shape.insert(shape.end(), p.window.out.begin(), p.window.out.end());
  return shape;
}

/// Does the last window reach past the padded image (ceil_mode)?
bool overhangs(const Pool& p) {
  for (size_t k = 0; k < p.spatial.size(); ++k)
    if ((p.window.out[k] - 1) * p.window.stride[k] +
            (p.window.kernel[k] - 1) * p.window.dilation[k] + 1 >
        p.window.begin[k] + p.spatial[k] + p.window.end[k])
      return true;
  return false;
}

std::string lowest(DataType type) {
  switch (type) {
  case DataType::I8:
    return "-128";
  case DataType::U8:
    return "0";
  default:
    return "(-inf)";
  }
}

std::string reduced(const Pool& p, const char* how, const std::string& value) {
  return p.taps.empty() ? value : fmt::format("{}(({}), {})", how, join(p.taps, ", "), value);
}

/// Along one dimension the borders are cheaper to test than to copy.
void add_guarded_maximum(Definition& d, const Pool& p) {
  const Window& w = p.window;
  const std::string target = at("Y0", p.nest.index());
  d.add_line(p.nest.around({
      target + " = " + lowest(d.type(0)),
      fmt::format("for k0 in range({}):", w.kernel[0]),
      fmt::format("  if {0} >= {1} and {0} < {2}:", tap(w, 0), w.begin[0],
                  w.begin[0] + p.spatial[0]),
      fmt::format("    {} max= X0[a0, {} - {}]", target, tap(w, 0), w.begin[0]),
  }));
}

/// Are rows first and columns then, of what that leaves, much less work than all taps of each
/// window?
bool is_separable(const Pool& p) {
  const Window& w = p.window;
  if (p.spatial.size() != 2 || w.kernel[0] < 2 || w.kernel[1] < 2)
    return false;
  const int64_t rows = padded_extent(w, 0, p.spatial[0]);
  return 2 * (rows * w.kernel[1] + w.out[0] * w.kernel[0]) <= w.out[0] * w.kernel[0] * w.kernel[1];
}

/// The largest of each row of the windows, then of these.
void add_separate_maxima(Definition& d, const Pool& p, const std::string& source) {
  const Window& w = p.window;
  const int64_t rows = padded_extent(w, 0, p.spatial[0]);
  d.temp("R", name_in_program(d.type(0)), {p.outer[0], rows, w.out[1]});
  Nest nest;
  nest.loop("a0", p.outer[0]);
  nest.loop("i0", rows);
  nest.loop("o1", w.out[1]);
  d.add_line(nest.around({fmt::format("R[a0, i0, o1] = max(k1 in range({}), {}[a0, i0, {}])",
                                      w.kernel[1], source, tap(w, 1))}));
  d.line("{} = max(k0 in range({}), R[a0, {}, o1])", at("Y0", p.nest.index()), w.kernel[0],
         tap(w, 0));
}

/// Distance of neighbours along each dimension of an image, by rows or by columns.
std::vector<int64_t> steps_of(const Shape& spatial, bool by_column) {
  std::vector<int64_t> steps(spatial.size(), 1);
  int64_t step = 1;
  for (size_t t = 0; t < spatial.size(); ++t) {
    const size_t k = by_column ? t : spatial.size() - 1 - t;
    steps[k] = step;
    step *= spatial[k];
  }
  return steps;
}

void max_pool(Definition& d) {
  auto p = pool_of(d);
  if (!p)
    return;
  if (!graph::is_float(d.type(0)) && d.type(0) != DataType::I8 && d.type(0) != DataType::U8)
    return d.refuse("known element types are floats, i8 and u8");
  const bool by_column = d.integer("storage_order", 0) != 0; // counts for positions alone
  d.output(d.type(0), pooled_shape(d, *p));
  d.declare_output(0, p->nest.shape());
  std::string source = "X0";
  if (is_padded(p->window) || overhangs(*p)) {
    if (p->spatial.size() == 1 && p->window.kernel[0] > 1 && !d.wants(1))
      return add_guarded_maximum(d, *p);
    add_padding(d, "P", p->outer, p->spatial, p->window, lowest(d.type(0)));
    source = "P";
  }
  if (!d.wants(1) && is_separable(*p))
    return add_separate_maxima(d, *p, source);
  const std::string target = at("Y0", p->nest.index());
  d.line("{} = {}", target, reduced(*p, "max", at(source, p->index)));
  if (!d.wants(1))
    return;
  // The position of the first largest element, or the first NaN, counted in the whole input; none
  // in the padding.
  d.output(DataType::I64, pooled_shape(d, *p));
  d.declare_output(1, p->nest.shape());
  const std::vector<int64_t> strides = steps_of(p->spatial, false);
  const int64_t stride = product(p->spatial);
  std::string position = fmt::format("a0 * {}", stride);
  for (size_t k = 0; k < p->spatial.size(); ++k)
    position += fmt::format(" + ({} - {}) * {}", tap(p->window, k), p->window.begin[k], strides[k]);
  const std::string best = at("Y1", p->nest.index());
  constexpr const char* none = "9223372036854775807";
  Nest whole = p->nest;
  d.add_line(whole.around({best + " = " + none}));
  for (size_t k = 0; k < p->spatial.size(); ++k)
    whole.loop("k" + std::to_string(k), p->window.kernel[k]);
  const std::string element = at(source, p->index);
  std::string is_first = fmt::format("{} == {}", element, target);
  if (graph::is_float(d.type(0)))
    is_first = fmt::format("({0} or ({1} != {1} and {2} != {2}))", is_first, element, target);
  if (source != "X0")
    for (size_t k = 0; k < p->spatial.size(); ++k)
      is_first += fmt::format(" and {0} >= {1} and {0} < {2}", tap(p->window, k),
                              p->window.begin[k], p->window.begin[k] + p->spatial[k]);
  d.add_line(
      whole.around({fmt::format("{} min= select({}, {}, {})", best, is_first, position, none)}));
  if (!by_column)
    return;
  // The first is the first by rows, however it is counted.
  const std::vector<int64_t> steps = steps_of(p->spatial, true);
  std::string transposed = fmt::format("{} // {} * {}", best, stride, stride);
  for (size_t k = 0; k < p->spatial.size(); ++k)
    transposed += fmt::format(" + {} // {} % {} * {}", best, strides[k], p->spatial[k], steps[k]);
  d.add_line(
      p->nest.around({fmt::format("{0} = select({0} == {1}, {1}, {2})", best, none, transposed)}));
}

void average_pool(Definition& d) {
  auto p = pool_of(d);
  if (!p)
    return;
  d.output(d.type(0), pooled_shape(d, *p));
  d.declare_output(0, p->nest.shape());
  std::string source = "X0";
  if (is_padded(p->window) || overhangs(*p)) {
    add_padding(d, "P", p->outer, p->spatial, p->window, "0");
    source = "P";
  }
  // Elements of the window inside the image (or its padding), one factor per dimension.
  const bool counts_padding = d.integer("count_include_pad", 0) != 0;
  std::vector<std::string> factors;
  double constant = 1;
  for (size_t k = 0; k < p->spatial.size(); ++k) {
    const Window& w = p->window;
    const int64_t low = counts_padding ? 0 : w.begin[k];
    const int64_t high =
        counts_padding ? w.begin[k] + p->spatial[k] + w.end[k] : w.begin[k] + p->spatial[k];
    const int64_t last = (w.out[k] - 1) * w.stride[k] + (w.kernel[k] - 1) * w.dilation[k];
    if (low == 0 && last < high) {
      constant *= static_cast<double>(w.kernel[k]);
      continue;
    }
    const std::string name = "C" + std::to_string(k);
    d.temp(name, "f32", {w.out[k]});
    d.line("{0}[o{1}] = 0", name, k);
    Nest nest;
    nest.loop("o" + std::to_string(k), w.out[k]);
    nest.loop("k" + std::to_string(k), w.kernel[k]);
    d.add_line(nest.around({fmt::format("if {0} >= {1} and {0} < {2}:", tap(w, k), low, high),
                            fmt::format("  {}[o{}] += 1", name, k)}));
    factors.push_back(fmt::format("{}[o{}]", name, k));
  }
  factors.push_back(literal(constant));
  d.temp("T", d.type(0) == DataType::F64 ? "f64" : "f32", p->nest.shape());
  d.line("{} = {}", at("T", p->nest.index()), reduced(*p, "sum", at(source, p->index)));
  d.line("{} = {} / ({})", at("Y0", p->nest.index()), at("T", p->nest.index()),
         join(factors, " * "));
}

/// The order of a norm: an integer, in version 1 a number. Nothing when it is none.
std::optional<int64_t> norm_order(Definition& d) {
  const bool is_real = d.opset() < 2;
  const double given = is_real ? d.real("p", 2) : static_cast<double>(d.integer("p", 2));
  constexpr double most = 1000;
  if (given >= 1 && given <= most && given == std::floor(given))
    return static_cast<int64_t>(given);
  d.refuse(fmt::format("attribute `p` is {}; norms have a whole order from 1 to 1000", given));
  return std::nullopt;
}

/// An element's part of the sum, and what the sum becomes.
std::string norm_part(int64_t order, const std::string& element) {
  if (order == 1)
    return "abs(" + element + ")";
  return order == 2 ? element + " * " + element
                    : fmt::format("pow(abs({}), {})", element, literal(static_cast<double>(order)));
}
std::string norm_of_sum(int64_t order, const std::string& sum) {
  if (order == 1)
    return sum;
  return order == 2 ? "sqrt(" + sum + ")"
                    : fmt::format("pow({}, {})", sum, literal(1 / static_cast<double>(order)));
}

void lp_pool(Definition& d) {
  auto p = pool_of(d);
  if (!p)
    return;
  const auto order = norm_order(d);
  if (!order)
    return;
  d.output(d.type(0), pooled_shape(d, *p));
  d.declare_output(0, p->nest.shape());
  std::string source = "X0";
  if (is_padded(p->window) || overhangs(*p)) {
    add_padding(d, "P", p->outer, p->spatial, p->window, "0");
    source = "P";
  }
  d.temp("T", "f32", p->nest.shape());
  const std::string element = at(source, p->index);
  d.line("{} = {}", at("T", p->nest.index()), reduced(*p, "sum", norm_part(*order, element)));
  d.line("{} = {}", at("Y0", p->nest.index()), norm_of_sum(*order, at("T", p->nest.index())));
}

void global_pool(Definition& d) {
  if (!d.need(0))
    return;
  if (d.rank(0) < 2)
    return d.refuse("an image needs images and channels, this is " + graph::text_of(d.shape(0)));
  Shape shape(d.shape(0).size(), 1);
  shape[0] = d.shape(0)[0];
  shape[1] = d.shape(0)[1];
  const int64_t outer = shape[0] * shape[1], inner = product(d.shape(0), 2, d.shape(0).size());
  d.output(d.type(0), shape);
  d.declare_operand(0, {outer, inner});
  d.declare_output(0, {outer});
  if (d.node().op == "GlobalMaxPool")
    return d.line("Y0[a] = max(k, X0[a, k])");
  d.temp("T", d.type(0) == DataType::F64 ? "f64" : "f32", {outer});
  if (d.node().op == "GlobalAveragePool") {
    d.line("T[a] = sum(k, X0[a, k])");
    return d.line("Y0[a] = T[a] / {}", literal(static_cast<double>(inner)));
  }
  const auto order = norm_order(d);
  if (!order)
    return;
  d.line("T[a] = sum(k, {})", norm_part(*order, "X0[a, k]"));
  d.line("Y0[a] = {}", norm_of_sum(*order, "T[a]"));
}

constexpr Operator kAll[] = {{"AveragePool", average_pool}, {"GlobalAveragePool", global_pool},
                             {"GlobalLpPool", global_pool}, {"GlobalMaxPool", global_pool},
                             {"LpPool", lp_pool},           {"MaxPool", max_pool}};

} // namespace of_pooling
} // namespace

std::span<const Operator> pooling_operators() { return of_pooling::kAll; }

} // namespace kawara::program::operators
