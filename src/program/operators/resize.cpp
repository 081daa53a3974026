#include "program/operators/registry.h"

#include "support/text.h"

#include <algorithm>
#include <cmath>

namespace kawara::program::operators {
namespace {
namespace of_resize {

/// How places of the result become places of the operand, and what is between its elements.
struct Way {
  std::string mode, coordinates, nearest, policy;
  double cubic = -0.75;
  bool excludes_outside = false, blurs = false;
};

/// One dimension: its extents, and the scale of which the result's extent is rounded.
struct Stretch {
  int64_t in = 1, out = 1;
  double scale = 1;
};

/// Before version 11, as Upsample, it has a mode alone. Nothing for ways that the function knows
/// how to refuse, or how to cut out.
std::optional<Way> way_of(Definition& d) {
  Way w;
  w.mode = d.word("mode", "nearest");
  if (w.mode == "bilinear")
    w.mode = "linear";
  w.coordinates = "asymmetric";
  w.nearest = "simple";
  w.policy = "stretch";
  const auto is_one_of = [](const std::string& word, const std::vector<std::string>& known) {
    return std::find(known.begin(), known.end(), word) != known.end();
  };
  if (!is_one_of(w.mode, {"nearest", "linear", "cubic"}))
    return std::nullopt;
  if (d.node().op == "Upsample" || d.opset() < 11)
    return w;
  w.coordinates = d.word("coordinate_transformation_mode", "half_pixel");
  w.nearest = d.word("nearest_mode", "round_prefer_floor");
  w.policy = d.word("keep_aspect_ratio_policy", "stretch");
  w.cubic = d.real("cubic_coeff_a", -0.75);
  w.excludes_outside = d.integer("exclude_outside", 0) != 0;
  w.blurs = d.integer("antialias", 0) != 0;
  d.needs_no("extrapolation_value"); // of what is cut out
  const bool is_known =
      is_one_of(w.coordinates, {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                "align_corners", "asymmetric", "tf_half_pixel_for_nn"}) &&
      is_one_of(w.nearest, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) &&
      is_one_of(w.policy, {"stretch", "not_larger", "not_smaller"});
  return is_known ? std::optional(w) : std::nullopt;
}

/// Dimensions that scales and sizes are listed for; nothing when they are no list of them.
std::optional<std::vector<size_t>> listed_axes(Definition& d) {
  std::vector<size_t> axes;
  const auto given = d.node().op == "Upsample" ? std::nullopt : d.integers("axes");
  for (int64_t k = 0; !given && k < d.rank(0); ++k)
    axes.push_back(static_cast<size_t>(k));
  for (const int64_t axis : given.value_or(std::vector<int64_t>{})) {
    const auto at = static_cast<size_t>(axis < 0 ? axis + d.rank(0) : axis);
    if (axis < -d.rank(0) || axis >= d.rank(0) ||
        std::find(axes.begin(), axes.end(), at) != axes.end())
      return std::nullopt;
    axes.push_back(at);
  }
  return axes;
}

/// The elements of an operand of so many, where they are known.
std::vector<double> known_numbers(const Definition& d, size_t operand, size_t count) {
  std::vector<double> numbers;
  const Tensor* value = d.has(operand) ? d.operand(operand).value : nullptr;
  for (int64_t k = 0;
       value && value->elements() == static_cast<int64_t>(count) && k < value->elements(); ++k)
    numbers.push_back(graph::is_float(value->type()) ? value->get_double(k)
                                                     : static_cast<double>(value->get_int(k)));
  return numbers;
}

std::vector<double> known_scales(Definition& d, size_t count) {
  if (d.node().op == "Upsample" &&
      (d.has_attribute("height_scale") || d.has_attribute("width_scale")))
    return {1, 1, d.real("height_scale", 1), d.real("width_scale", 1)};
  if (d.node().op == "Upsample" && d.has_attribute("scales"))
    return d.reals("scales");
  return known_numbers(d, d.node().op == "Upsample" || d.opset() < 11 ? 1 : 2, count);
}

/// Sizes are met as they are, or all dimensions are scaled alike so that none is larger, or none
/// smaller.
void fit_sizes(const Way& w, const std::vector<size_t>& axes, const std::vector<double>& sizes,
               std::vector<Stretch>& dims) {
  std::vector<double> scales;
  for (size_t k = 0; k < axes.size(); ++k)
    scales.push_back(sizes[k] / static_cast<double>(dims[axes[k]].in));
  const double common = w.policy == "not_larger" ? *std::min_element(scales.begin(), scales.end())
                                                 : *std::max_element(scales.begin(), scales.end());
  for (size_t k = 0; k < axes.size(); ++k) {
    Stretch& s = dims[axes[k]];
    s.scale = w.policy == "stretch" ? scales[k] : common;
    s.out = w.policy == "stretch"
                ? static_cast<int64_t>(sizes[k])
                : static_cast<int64_t>(std::floor(common * static_cast<double>(s.in) + 0.5));
  }
}

/// The dimensions, when their scales or sizes are known and make sense.
std::optional<std::vector<Stretch>> stretches_of(Definition& d, const Way& w) {
  const auto axes = listed_axes(d);
  if (!axes || axes->empty() || product(d.shape(0)) == 0)
    return std::nullopt;
  std::vector<Stretch> dims;
  for (const int64_t extent : d.shape(0))
    dims.push_back({extent, extent, 1});
  const bool has_sizes =
      d.node().op != "Upsample" && d.opset() >= 11 && d.has(3) && product(d.shape(3)) > 0;
  const std::vector<double> sizes =
      has_sizes ? known_numbers(d, 3, axes->size()) : std::vector<double>{};
  const std::vector<double> scales =
      has_sizes ? std::vector<double>{} : known_scales(d, axes->size());
  if (sizes.size() == axes->size())
    fit_sizes(w, *axes, sizes, dims);
  else if (scales.size() == axes->size())
    for (size_t k = 0; k < axes->size(); ++k) {
      Stretch& s = dims[(*axes)[k]];
      s.scale = scales[k];
      // Of 32 bits, as the standard infers shapes: 10 elements times 0.7 are 7.
      s.out = static_cast<int64_t>(
          std::floor(static_cast<float>(s.in) * static_cast<float>(scales[k])));
    }
  else
    return std::nullopt;
  constexpr int64_t most = int64_t{1} << 30; // what places of 32 bits can name
  for (const Stretch& s : dims)
    if (!(s.scale > 0) || s.out < 1 || s.out > most || s.in > most)
      return std::nullopt;
  return dims;
}

/// The place in the operand of place `o` of the result, as text. T is the type that it is computed
/// in; which element is nearest is decided by numbers of 32 bits, as other runtimes do.
template <class T> std::string source_of(const Way& w, const Stretch& s) {
  const T n = static_cast<T>(s.in), m = static_cast<T>(s.out), scale = static_cast<T>(s.scale);
  const std::string at = sizeof(T) == 4 ? "f32(o)" : "f64(o)";
  const auto number = [](T value) { return literal(static_cast<double>(value)); };
  if (w.coordinates == "asymmetric")
    return fmt::format("{} / {}", at, number(scale));
  if (w.coordinates == "align_corners") // the size before it is rounded
    return s.out == 1 ? at + " * 0"
                      : fmt::format("{} * {} / {}", at, number(n - 1), number(n * scale - 1));
  const std::string middle = fmt::format("({} + 0.5) / {}", at, number(scale));
  if (w.coordinates == "tf_half_pixel_for_nn")
    return middle;
  if (w.coordinates == "pytorch_half_pixel" && s.out == 1)
    return at + " * 0";
  const T offset = w.coordinates == "half_pixel_symmetric" ? n / 2 * (1 - m / (n * scale)) : T(0);
  return offset == 0 ? middle + " - 0.5" : fmt::format("{} + {} - 0.5", number(offset), middle);
}

/// The same place as a number, step by step as the text has it.
template <class T> T source_at(const Way& w, const Stretch& s, int64_t o) {
  const T n = static_cast<T>(s.in), m = static_cast<T>(s.out), at = static_cast<T>(o),
          scale = static_cast<T>(s.scale);
  if (w.coordinates == "asymmetric")
    return at / scale;
  if (w.coordinates == "align_corners")
    return s.out == 1 ? T(0) : at * (n - 1) / (n * scale - 1);
  if (w.coordinates == "pytorch_half_pixel" && s.out == 1)
    return T(0);
  const T middle = (at + T(0.5)) / scale;
  if (w.coordinates == "tf_half_pixel_for_nn")
    return middle;
  const T offset = w.coordinates == "half_pixel_symmetric" ? n / 2 * (1 - m / (n * scale)) : T(0);
  return offset == 0 ? middle - T(0.5) : offset + middle - T(0.5);
}

std::string nearest_of(const Way& w, double scale, const std::string& x) {
  if (w.nearest == "floor" || (w.nearest == "simple" && scale >= 1))
    return "floor(" + x + ")";
  if (w.nearest == "ceil" || w.nearest == "simple")
    return "ceil(" + x + ")";
  return w.nearest == "round_prefer_ceil" ? "floor(" + x + " + 0.5)" : "ceil(" + x + " - 0.5)";
}

/// The nearest element of place `o`, by numbers of 32 bits as in the text.
int64_t nearest_at(const Way& w, const Stretch& s, int64_t o) {
  const float x = source_at<float>(w, s, o);
  const bool is_down = w.nearest == "floor" || (w.nearest == "simple" && s.scale >= 1);
  const bool is_up = w.nearest == "ceil" || w.nearest == "simple";
  const float whole = is_down                            ? std::floor(x)
                      : is_up                            ? std::ceil(x)
                      : w.nearest == "round_prefer_ceil" ? std::floor(x + 0.5F)
                                                         : std::ceil(x - 0.5F);
  return std::clamp(static_cast<int64_t>(whole), int64_t{0}, s.in - 1);
}

/// Nearest elements in even steps: each `times` times, or every `step`-th from `first` on.
struct Steps {
  int64_t times = 1, step = 1, first = 0;
};

std::optional<Steps> steps_of(const Way& w, const Stretch& s) {
  constexpr int64_t kMostAsked = int64_t{1} << 20;
  if (s.scale == 1 && s.in == s.out)
    return Steps{};
  if (w.mode != "nearest" || s.out > kMostAsked)
    return std::nullopt;
  Steps steps;
  steps.times = s.out % s.in == 0 ? s.out / s.in : 1;
  steps.first = steps.times == 1 ? nearest_at(w, s, 0) : 0;
  if (steps.times == 1 && s.out > 1)
    steps.step = nearest_at(w, s, 1) - steps.first;
  for (int64_t o = 0; o < s.out; ++o)
    if (nearest_at(w, s, o) != o / steps.times * steps.step + steps.first)
      return std::nullopt;
  return steps;
}

/// Of the elements that a place reaches: how many there may be, and how far they are from it at
/// most.
struct Reach {
  double squeeze = 1, distance = 1;
  int64_t taps = 2;
};

Reach reach_of(const Way& w, const Stretch& s) {
  Reach r;
  r.squeeze = w.blurs ? std::min(s.scale, 1.0) : 1;
  r.distance = (w.mode == "linear" ? 1 : 2) / r.squeeze;
  r.taps = static_cast<int64_t>(std::ceil(2 * r.distance));
  return r;
}

/// May an element that a place reaches have no weight? Those at whole distances have none, and
/// those outside where they are left out; filters that blur end anywhere.
bool may_lack_weight(const Way& w, const Stretch& s) {
  if (w.excludes_outside || reach_of(w, s).squeeze != 1)
    return true;
  for (int64_t o = 0; o < s.out; ++o) {
    // The text may round otherwise.
    const double x = source_at<double>(w, s, o), whole = std::round(x);
    if (std::abs(x - whole) < 1e-9 * (1 + std::abs(x)))
      return true;
  }
  return false;
}

/// The filter's value at distance `x`, which is not negative.
std::string filter(const Way& w, const std::string& x) {
  if (w.mode == "linear")
    return fmt::format("max(1 - {}, 0)", x);
  const double a = w.cubic;
  const auto cubic = [&](double three, double two, double one, double none) {
    return fmt::format("((({1}) * {0} + ({2})) * {0} + ({3})) * {0} + ({4})", x, literal(three),
                       literal(two), literal(one), literal(none));
  };
  return fmt::format("select({0} <= 1, {1}, select({0} < 2, {2}, 0))", x,
                     cubic(a + 2, -(a + 3), 0, 1), cubic(a, -5 * a, 8 * a, -4 * a));
}

/// Lines that fill temp I<k>[o] with the first element that a place reaches, before it is kept
/// inside, and W<k>[o, u] with the weight of each. Elements outside are those at the border, or
/// count for nothing, and the others for more.
void add_weights(Definition& d, const Way& w, const Stretch& s, size_t k, const char* type) {
  const Reach r = reach_of(w, s);
  d.temp(fmt::format("I{}", k), "i32", {s.out});
  d.temp(fmt::format("V{}", k), "f64", {s.out, r.taps});
  d.temp(fmt::format("W{}", k), type, {s.out, r.taps});
  const std::string x = source_of<double>(w, s);
  d.line("for o in range({}):\n  I{}[o] = i32(floor({} - {})) + 1", s.out, k, x,
         literal(r.distance));
  const std::string distance =
      fmt::format("abs((f64(I{0}[o] + u) - ({1})) * {2})", k, x, literal(r.squeeze));
  std::string weight = filter(w, distance);
  if (w.excludes_outside)
    weight = fmt::format("select(I{0}[o] + u >= 0 and I{0}[o] + u < {1}, {2}, 0)", k, s.in, weight);
  const std::string loops =
      fmt::format("for o in range({}):\n  for u in range({}):\n", s.out, r.taps);
  d.add_line(fmt::format("{}    V{}[o, u] = {}\n", loops, k, weight));
  if (!w.blurs && !w.excludes_outside)
    return d.add_line(fmt::format("{0}    W{1}[o, u] = V{1}[o, u]\n", loops, k));
  d.temp(fmt::format("U{}", k), "f64", {s.out});
  d.line("U{0}[o] = sum(u, V{0}[o, u])", k);
  d.add_line(
      fmt::format("{0}    W{1}[o, u] = V{1}[o, u] / select(U{1}[o] == 0, 1, U{1}[o])\n", loops, k));
}

/// A pass over one dimension: the index of what it writes, with `o` in the dimension's place, and
/// of what it reads.
struct Pass {
  std::string target, source; ///< tensors
  std::vector<std::string> index;
  size_t axis = 0;
};

std::string read(const Pass& p, const std::string& place) {
  std::vector<std::string> index = p.index;
  index[p.axis] = place;
  return at(p.source, join(index, ", "));
}

/// Dimensions in the order in which they are worked on: first those with smaller results, then from
/// the last, along which elements are looked up one by one: so there are few of them.
std::vector<size_t> order_of(const std::vector<Stretch>& dims) {
  std::vector<size_t> order;
  for (size_t k = 0; k < dims.size(); ++k)
    if (dims[k].out < dims[k].in)
      order.push_back(k);
  for (size_t k = dims.size(); k-- > 0;)
    if (dims[k].out >= dims[k].in && (dims[k].scale != 1 || dims[k].in != dims[k].out))
      order.push_back(k);
  return order;
}

/// The same with neighbours that stay as they are as one.
std::vector<Stretch> merged(const std::vector<Stretch>& dims) {
  std::vector<Stretch> found;
  bool is_open = false;
  for (const Stretch& s : dims) {
    const bool stays = s.scale == 1 && s.in == s.out;
    if (stays && is_open) {
      found.back().in *= s.in;
      found.back().out *= s.out;
    } else {
      found.push_back(s);
    }
    is_open = stays;
  }
  return found;
}

/// What the elements are computed in, and the text of an element of that for a store; nothing where
/// 64-bit integers would lose digits.
std::optional<const char*> computed_in(DataType type) {
  if (type == DataType::F64)
    return "f64";
  return graph::is_float(type) || graph::bytes_of(type) <= 2 ? std::optional("f32") : std::nullopt;
}

std::string stored_number(DataType type, const std::string& value) {
  if (graph::is_float(type))
    return value;
  const bool is_signed = type == DataType::I8 || type == DataType::I16;
  const int64_t bits = graph::bytes_of(type) * 8 - (is_signed ? 1 : 0),
                high = (int64_t{1} << bits) - 1;
  return Definition::stored(
      type, fmt::format("i32(min(max({}, {}), {}))", value, is_signed ? -high - 1 : 0, high));
}

void add_pass(Definition& d, const Way& w, const Stretch& s, const Pass& p, bool is_last,
              const char* type) {
  const size_t k = p.axis;
  const std::string target = at(p.target, join(p.index, ", "));
  const auto inside = [&](const std::string& place) {
    return fmt::format("max(min({}, {}), 0)", place, s.in - 1);
  };
  if (w.mode == "nearest") {
    d.temp(fmt::format("I{}", k), "i32", {s.out});
    d.line("for o in range({}):\n  I{}[o] = {}", s.out, k,
           inside("i32(" + nearest_of(w, s.scale, source_of<float>(w, s)) + ")"));
    return d.line("{} = {}", target, read(p, inside(fmt::format("I{}[o{}]", k, k))));
  }
  add_weights(d, w, s, k, type);
  const int64_t taps = reach_of(w, s).taps;
  constexpr int64_t kMostWritten = 4;
  const bool may_lack = may_lack_weight(w, s);
  const auto term = [&](const std::string& u, bool is_first) {
    const std::string place =
        is_first ? fmt::format("I{0}[o{0}]", k) : fmt::format("I{0}[o{0}] + {1}", k, u);
    // What has no weight is not read: an infinity there does not come through. Lanes that look up
    // elements do without the question.
    const char* format = may_lack ? "select(W{0}[o{0}, {1}] == 0, 0, {2} * W{0}[o{0}, {1}])"
                                  : "{2} * W{0}[o{0}, {1}]";
    return fmt::format(fmt::runtime(format), k, u, read(p, inside(place)));
  };
  if (taps > kMostWritten)
    return d.line("{} = sum((u in range({})), {})", target, taps, term("u", false));
  std::vector<std::string> terms;
  for (int64_t u = 0; u < taps; ++u)
    terms.push_back(term(std::to_string(u), u == 0));
  const std::string value = join(terms, " + ");
  d.line("{} = {}", target, is_last ? stored_number(d.type(0), value) : value);
}

/// Pass by pass, each along one dimension: places and weights in tables, which depend on the sizes
/// alone.
void add_passes(Definition& d, const Way& w, const std::vector<Stretch>& dims, const char* type) {
  const std::vector<size_t> order = order_of(dims);
  Pass p;
  Shape shape, result;
  for (size_t k = 0; k < dims.size(); ++k) {
    p.index.push_back("o" + std::to_string(k));
    shape.push_back(dims[k].in);
    result.push_back(dims[k].out);
  }
  d.declare_operand(0, shape);
  d.declare_output(0, result);
  p.source = "X0";
  for (size_t n = 0; n < order.size(); ++n) {
    const Stretch& s = dims[order[n]];
    p.axis = order[n];
    shape[p.axis] = s.out;
    const int64_t taps = w.mode == "nearest" ? 1 : reach_of(w, s).taps;
    // A sum is added up in its own tensor, and a type of few digits would show.
    const bool is_last =
        n + 1 == order.size() && (taps <= 4 || name_in_program(d.type(0)) == std::string(type));
    p.target = is_last ? "Y0" : fmt::format("T{}", n);
    if (!is_last)
      d.temp(p.target, w.mode == "nearest" ? name_in_program(d.type(0)) : type, shape);
    add_pass(d, w, s, p, is_last, type);
    p.source = p.target;
  }
  if (p.source != "Y0")
    d.line("{} = {}", at("Y0", join(p.index, ", ")),
           stored_number(d.type(0), at(p.source, join(p.index, ", "))));
}

/// Nearest elements in even steps along all dimensions are one movement: no place is looked up. An
/// element that comes several times has a dimension of its own for these.
bool add_steps(Definition& d, const Way& w, const std::vector<Stretch>& dims) {
  Shape shape, result;
  std::vector<std::string> source, target;
  for (size_t k = 0; k < dims.size(); ++k) {
    const auto steps = steps_of(w, dims[k]);
    if (!steps)
      return false;
    const std::string o = "o" + std::to_string(k);
    shape.push_back(dims[k].in);
    result.push_back(dims[k].out / steps->times);
    source.push_back(steps->step == 1 && steps->first == 0
                         ? o
                         : fmt::format("{} * {} + {}", o, steps->step, steps->first));
    target.push_back(o);
    if (steps->times > 1) {
      result.push_back(steps->times);
      target.push_back("r" + std::to_string(k));
    }
  }
  d.declare_operand(0, shape);
  d.declare_output(0, result);
  d.line("{} = {}", at("Y0", join(target, ", ")), at("X0", join(source, ", ")));
  return true;
}

/// What is cut out, sizes that only a run knows and wide integers between two places are left to a
/// function.
void resize(Definition& d) {
  if (!d.need(0))
    return;
  const auto way = way_of(d);
  const auto dims = way ? stretches_of(d, *way) : std::nullopt;
  const auto type = way && way->mode == "nearest" ? std::optional("") : computed_in(d.type(0));
  if (!dims || !type)
    return d.decline();
  Shape result;
  for (const Stretch& s : *dims)
    result.push_back(s.out);
  if (!graph::elements_of(result))
    return d.decline();
  d.output(d.type(0), result);
  if (order_of(*dims).empty())
    return d.view(0);
  if (!add_steps(d, *way, merged(*dims)))
    add_passes(d, *way, merged(*dims), *type);
}

constexpr Operator kAll[] = {{"Resize", resize}, {"Upsample", resize}};

} // namespace of_resize
} // namespace

std::span<const Operator> resize_operators() { return of_resize::kAll; }

} // namespace kawara::program::operators
