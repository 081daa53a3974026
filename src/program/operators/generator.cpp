#include "program/operators/registry.h"

#include "support/text.h"

#include <cmath>

namespace kawara::program::operators {
namespace {
namespace of_generator {

/// Elements that are worked out before the model runs.
constexpr int64_t kMostElements = int64_t{1} << 28;

void constant_of_shape(Definition& d) {
  const std::vector<int64_t> shape = d.values(0);
  if (d.is_settled())
    return;
  if (!graph::elements_of(shape))
    return d.refuse("its shape is " + graph::text_of(shape));
  Tensor value(DataType::F32, {1});
  if (const graph::Attribute* given = d.attribute("value"))
    if (const auto* tensor = std::get_if<Tensor>(given))
      value = *tensor;
  if (value.elements() != 1)
    return d.refuse("its value must be one number");
  if (*graph::elements_of(shape) > kMostElements)
    return d.refuse(fmt::format("its shape {} has more than {} elements", graph::text_of(shape),
                                kMostElements));
  Tensor out(value.type(), shape);
  for (int64_t k = 0; k < out.elements(); ++k)
    graph::is_float(out.type()) ? out.set_double(k, value.get_double(0))
                                : out.set_int(k, value.get_int(0));
  d.constant(std::move(out));
}

/// How many numbers a Range has; nothing where that is no number, or too many for memory.
std::optional<int64_t> range_count(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  if (graph::is_float(start.type())) {
    const double steps =
        std::ceil((limit.get_double(0) - start.get_double(0)) / delta.get_double(0));
    if (!(steps <= static_cast<double>(kMostElements)))
      return std::nullopt;
    return steps > 0 ? static_cast<int64_t>(steps) : 0;
  }
  // Differences of i64 need one bit more: that of the sign, which is known.
  const int64_t from = start.get_int(0), to = limit.get_int(0), step = delta.get_int(0);
  if (step > 0 ? from >= to : from <= to)
    return 0;
  const auto size =
      static_cast<uint64_t>(step > 0 ? to : from) - static_cast<uint64_t>(step > 0 ? from : to);
  const uint64_t by = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t count = size / by + (size % by != 0 ? 1 : 0);
  return count <= static_cast<uint64_t>(kMostElements) ? std::optional(static_cast<int64_t>(count))
                                                       : std::nullopt;
}

void range(Definition& d) {
  const Tensor *start = d.value(0), *limit = d.value(1), *delta = d.value(2);
  if (d.is_settled())
    return;
  if (start->elements() != 1 || limit->elements() != 1 || delta->elements() != 1 ||
      delta->get_double(0) == 0)
    return d.refuse("it needs a start, a limit and a step that is not 0");
  const auto count = range_count(*start, *limit, *delta);
  if (!count)
    return d.refuse(fmt::format("from {} to {} by {} it has no count, or more than {} numbers",
                                start->get_double(0), limit->get_double(0), delta->get_double(0),
                                kMostElements));
  Tensor out(start->type(), {*count});
  for (int64_t k = 0; k < *count; ++k)
    graph::is_float(out.type())
        ? out.set_double(k, start->get_double(0) + static_cast<double>(k) * delta->get_double(0))
        : out.set_int(k, start->get_int(0) + k * delta->get_int(0));
  d.constant(std::move(out));
}

void eye_like(Definition& d) {
  if (!d.need(0))
    return;
  const auto type = d.data_type("dtype", d.type(0));
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
  const int64_t n = depth->elements() == 1 ? depth->get_int(0) : -1;
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
  const std::string index = graph::is_float(d.type(0)) ? "i64(X0[a, c])" : d.element(0, "a, c");
  d.line("Y0[a, k, c] = select({0} == k or {0} == k - {1}, X2[1], X2[0])", index, n);
}

/// Hann, Hamming and Blackman: sums of cosines over the window.
void window(Definition& d) {
  const std::vector<int64_t> size = d.values(0);
  const auto type = d.data_type("output_datatype", DataType::F32);
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

constexpr Operator kAll[] = {{"BlackmanWindow", window},
                             {"ConstantOfShape", constant_of_shape},
                             {"EyeLike", eye_like},
                             {"HammingWindow", window},
                             {"HannWindow", window},
                             {"OneHot", one_hot},
                             {"Range", range}};

} // namespace of_generator
} // namespace

std::span<const Operator> generator_operators() { return of_generator::kAll; }

} // namespace kawara::program::operators
