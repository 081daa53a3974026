#include "program/operators/registry.h"

#include "support/text.h"

#include <cmath>

namespace kawara::program::operators {
namespace {
namespace of_generator {

/// Element type with ONNX's number; the attribute `name` or `otherwise`.
std::optional<DataType> type_attribute(Definition& d, const char* name, DataType otherwise) {
  using enum DataType;
  static constexpr std::optional<DataType> kTypes[] = {
      std::nullopt, F32, U8,  I8,  U16, I16,          I32,          I64, std::nullopt,
      Bool,         F16, F64, U32, U64, std::nullopt, std::nullopt, BF16};
  if (!d.has_attribute(name))
    return otherwise;
  const int64_t number = d.integer(name, 0);
  const auto type = number >= 0 && number < static_cast<int64_t>(std::size(kTypes)) ? kTypes[number]
                                                                                    : std::nullopt;
  if (!type)
    d.refuse(fmt::format("there is no element type with ONNX's number {}", number));
  return type;
}

void constant_of_shape(Definition& d) {
  const std::vector<int64_t> shape = d.values(0);
  if (d.is_settled())
    return;
  if (!graph::cells_of(shape))
    return d.refuse("its shape is " + graph::text_of(shape));
  Tensor value(DataType::F32, {1});
  const auto given = d.node().attributes.find("value");
  if (given != d.node().attributes.end())
    if (const auto* tensor = std::get_if<Tensor>(&given->second))
      value = *tensor;
  if (value.cells() != 1)
    return d.refuse("its value must be one number");
  Tensor out(value.type(), shape);
  for (int64_t k = 0; k < out.cells(); ++k)
    graph::is_float(out.type()) ? out.set_double(k, value.get_double(0))
                                : out.set_int(k, value.get_int(0));
  d.constant(std::move(out));
}

void range(Definition& d) {
  const Tensor *start = d.value(0), *limit = d.value(1), *delta = d.value(2);
  if (d.is_settled())
    return;
  if (start->cells() != 1 || limit->cells() != 1 || delta->cells() != 1 ||
      delta->get_double(0) == 0)
    return d.refuse("it needs a start, a limit and a step that is not 0");
  const double steps =
      std::ceil((limit->get_double(0) - start->get_double(0)) / delta->get_double(0));
  const int64_t count = steps > 0 && steps < 1e12 ? static_cast<int64_t>(steps) : 0;
  Tensor out(start->type(), {count});
  for (int64_t k = 0; k < count; ++k)
    graph::is_float(out.type())
        ? out.set_double(k, start->get_double(0) + static_cast<double>(k) * delta->get_double(0))
        : out.set_int(k, start->get_int(0) + k * delta->get_int(0));
  d.constant(std::move(out));
}

void eye_like(Definition& d) {
  if (!d.need(0))
    return;
  const auto type = type_attribute(d, "dtype", d.type(0));
  if (d.is_settled())
    return;
  if (d.rank(0) != 2)
    return d.refuse("it needs a matrix, this is " + graph::text_of(d.shape(0)));
  d.output(*type, d.shape(0));
  d.line("Y0[i, j] = select(j - i == {}, 1, 0)", d.integer("k", 0));
}

void one_hot(Definition& d) {
  if (!d.need(0) || !d.need(2))
    return;
  const Tensor* depth = d.value(1);
  if (d.is_settled())
    return;
  const int64_t n = depth->cells() == 1 ? depth->get_int(0) : -1;
  if (n < 0 || product(d.shape(2)) != 2)
    return d.refuse("it needs a depth, and the two values `off` and `on`");
  const auto cut = static_cast<size_t>(d.axis_of(d.integer("axis", -1), d.rank(0) + 1));
  if (d.is_settled())
    return;
  Shape shape = d.shape(0);
  shape.insert(shape.begin() + static_cast<int64_t>(cut), n);
  d.output(d.type(2), shape);
  const int64_t outer = product(d.shape(0), 0, cut),
                inner = product(d.shape(0), cut, d.shape(0).size());
  d.declare_operand(0, {outer, inner});
  d.declare_operand(2, {2});
  d.declare_output(0, {outer, n, inner});
  const std::string index = graph::is_float(d.type(0)) ? "i64(X0[a, c])" : d.cell(0, "a, c");
  d.line("Y0[a, k, c] = select({0} == k or {0} == k - {1}, X2[1], X2[0])", index, n);
}

/// Hann, Hamming and Blackman: sums of cosines over the window.
void window(Definition& d) {
  const std::vector<int64_t> size = d.values(0);
  const auto type = type_attribute(d, "output_datatype", DataType::F32);
  if (d.is_settled())
    return;
  if (size.size() != 1 || size[0] < 0 || size[0] > (int64_t{1} << 40))
    return d.refuse("it needs one size");
  const double n = static_cast<double>(d.integer("periodic", 1) != 0 ? size[0] : size[0] - 1);
  const std::string& op = d.node().op;
  const double a0 = op == "HannWindow" ? 0.5 : op == "HammingWindow" ? 25.0 / 46.0 : 0.42;
  const double a1 = op == "BlackmanWindow" ? 0.5 : 1 - a0, a2 = op == "BlackmanWindow" ? 0.08 : 0;
  d.output(*type, size);
  d.line("Y0[i] = {} - {} * cos({} * f64(i)) + {} * cos({} * f64(i))", literal(a0), literal(a1),
         literal(2 * M_PI / n), literal(a2), literal(4 * M_PI / n));
}

/// Padding by a value, by the border, or by mirroring; negative amounts cut.
void pad(Definition& d) {
  if (!d.need(0))
    return;
  const bool by_attribute = d.opset() < 11;
  std::vector<int64_t> amounts = by_attribute
                                     ? d.integers(d.has_attribute("paddings") ? "paddings" : "pads")
                                           .value_or(std::vector<int64_t>{})
                                     : d.values(1);
  std::vector<int64_t> axes;
  for (int64_t k = 0; k < d.rank(0); ++k)
    axes.push_back(k);
  if (!by_attribute && d.has(3))
    axes = d.values(3);
  if (d.is_settled())
    return;
  if (amounts.size() != 2 * axes.size())
    return d.refuse(fmt::format("{} amounts for {} dimensions", amounts.size(), axes.size()));
  std::vector<int64_t> begin(d.shape(0).size(), 0), end = begin;
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<size_t>(d.axis_of(axes[k], d.rank(0)));
    if (std::abs(amounts[k]) > (int64_t{1} << 40) ||
        std::abs(amounts[k + axes.size()]) > (int64_t{1} << 40))
      d.refuse("an amount is too large");
    if (d.is_settled())
      return;
    begin[axis] = amounts[k];
    end[axis] = amounts[k + axes.size()];
  }
  const std::string mode = d.word("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect")
    return d.refuse("attribute `mode` is `" + mode + "`; known are constant, edge, reflect");
  std::string fill = literal(by_attribute ? d.real("value", 0) : 0);
  if (!graph::is_float(d.type(0)))
    fill = "0";
  if (!by_attribute && d.has(2)) {
    if (product(d.shape(2)) != 1)
      return d.refuse("the value must be one number");
    d.declare_operand(2, {});
    fill = "X2";
  }
  Shape shape;
  std::vector<std::string> source, inside;
  std::string text, indent;
  for (size_t k = 0; k < begin.size(); ++k) {
    const int64_t n = d.shape(0)[k];
    shape.push_back(n + begin[k] + end[k]);
    const std::string i = "i" + std::to_string(k);
    text += fmt::format("{}for {} in range({}):\n", indent, i, shape[k]);
    indent += "  ";
    const std::string moved = begin[k] == 0 ? i : fmt::format("{} - {}", i, begin[k]);
    if (mode == "constant") {
      source.push_back(moved);
      if (begin[k] > 0)
        inside.push_back(fmt::format("{} >= {}", i, begin[k]));
      if (end[k] > 0)
        inside.push_back(fmt::format("{} < {}", i, begin[k] + n));
    } else if (mode == "edge") {
      source.push_back(fmt::format("min(max({}, 0), {})", moved, n - 1));
    } else {
      if (begin[k] >= n || end[k] >= n)
        return d.refuse(fmt::format("dimension {} of {} cells cannot be mirrored over {} cells", k,
                                    n, std::max(begin[k], end[k])));
      const std::string folded = fmt::format("max({0}, 0 - ({0}))", moved);
      source.push_back(fmt::format("min({0}, {1} - {0})", folded, 2 * (n - 1)));
    }
  }
  d.output(d.type(0), shape);
  const std::string target = at("Y0", indices("i", shape.size())),
                    load = at("X0", join(source, ", "));
  if (inside.empty())
    return d.add_line(text + indent + target + " = " + load + "\n");
  d.add_line(text + fmt::format("{0}if {1}:\n{0}  {2} = {3}\n{0}else:\n{0}  {2} = {4}\n", indent,
                                join(inside, " and "), target, load, fill));
}

constexpr Operator kAll[] = {{"BlackmanWindow", window},
                             {"ConstantOfShape", constant_of_shape},
                             {"EyeLike", eye_like},
                             {"HammingWindow", window},
                             {"HannWindow", window},
                             {"OneHot", one_hot},
                             {"Pad", pad},
                             {"Range", range}};

} // namespace of_generator
} // namespace

std::span<const Operator> generator_operators() { return of_generator::kAll; }

} // namespace kawara::program::operators
