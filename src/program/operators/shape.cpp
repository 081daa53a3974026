#include "program/operators/registry.h"

#include <algorithm>
#include <set>

namespace kawara::program::operators {
namespace {
namespace of_shape {

void same_elements(Definition& d, Shape shape) {
  d.output(d.type(0), std::move(shape));
  d.view(0);
}

void identity(Definition& d) {
  if (d.need(0))
    same_elements(d, d.shape(0));
}

/// `axes` counted from the front, each once.
std::set<int64_t> axes_of(Definition& d, const std::vector<int64_t>& axes, int64_t rank) {
  std::set<int64_t> out;
  for (const int64_t axis : axes)
    if (!out.insert(d.axis_of(axis, rank)).second)
      d.refuse(fmt::format("axis {} is named twice", axis));
  return out;
}

/// Axes by attribute before version 13, by input 1 since then.
std::optional<std::vector<int64_t>> axes_argument(Definition& d) {
  if (d.has(1))
    return d.values(1);
  return d.integers("axes");
}

void reshape(Definition& d) {
  if (!d.need(0))
    return;
  const auto by_attribute = d.integers("shape");
  const std::vector<int64_t> wanted = by_attribute ? *by_attribute : d.values(1);
  if (d.is_settled())
    return;
  const bool keeps_zero = d.integer("allowzero", 0) != 0;
  Shape shape;
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t k = 0; k < wanted.size(); ++k) {
    int64_t extent = wanted[k];
    if (extent == 0 && !keeps_zero)
      extent = k < d.shape(0).size() ? d.shape(0)[k] : -2;
    if (extent == -1 && !open)
      open = k;
    else if (extent < 0)
      return d.refuse("its target shape is " + graph::text_of(wanted));
    else
      known *= extent;
    shape.push_back(extent);
  }
  const int64_t elements = product(d.shape(0));
  if (open)
    shape[*open] = known == 0 ? 0 : elements / known;
  const auto result = graph::elements_of(shape);
  if (!result || *result != elements)
    return d.refuse(fmt::format("{} elements of shape {} do not fill the shape {}", elements,
                                graph::text_of(d.shape(0)), graph::text_of(wanted)));
  same_elements(d, shape);
}

void flatten(Definition& d) {
  if (!d.need(0))
    return;
  int64_t axis = d.integer("axis", 1);
  if (axis < -d.rank(0) || axis > d.rank(0))
    return d.refuse(fmt::format("axis {} is outside {}", axis, graph::text_of(d.shape(0))));
  const auto cut = static_cast<size_t>(axis < 0 ? axis + d.rank(0) : axis);
  same_elements(d, {product(d.shape(0), 0, cut), product(d.shape(0), cut, d.shape(0).size())});
}

void squeeze(Definition& d) {
  if (!d.need(0))
    return;
  const auto given = axes_argument(d);
  if (d.is_settled())
    return;
  const std::set<int64_t> axes = axes_of(d, given.value_or(std::vector<int64_t>{}), d.rank(0));
  Shape shape;
  for (int64_t k = 0; k < d.rank(0); ++k) {
    const int64_t extent = d.shape(0)[static_cast<size_t>(k)];
    const bool drops = given ? axes.count(k) > 0 : extent == 1;
    if (drops && extent != 1)
      return d.refuse(fmt::format("dimension {} of {} is not 1", k, graph::text_of(d.shape(0))));
    if (!drops)
      shape.push_back(extent);
  }
  same_elements(d, shape);
}

void unsqueeze(Definition& d) {
  if (!d.need(0))
    return;
  const auto given = axes_argument(d);
  if (d.is_settled())
    return;
  if (!given)
    return d.refuse("it names no axes");
  const int64_t rank = d.rank(0) + static_cast<int64_t>(given->size());
  const std::set<int64_t> axes = axes_of(d, *given, rank);
  if (d.is_settled())
    return;
  Shape shape;
  size_t next = 0;
  for (int64_t k = 0; k < rank; ++k)
    shape.push_back(axes.count(k) ? 1 : d.shape(0)[next++]);
  same_elements(d, shape);
}

void shape(Definition& d) {
  if (!d.need(0))
    return;
  const int64_t rank = d.rank(0);
  const auto bounded = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t begin = bounded(d.integer("start", 0));
  const int64_t end = std::max(begin, bounded(d.integer("end", rank)));
  Tensor value(DataType::I64, {end - begin});
  for (int64_t k = begin; k < end; ++k)
    value.set_int(k - begin, d.shape(0)[static_cast<size_t>(k)]);
  d.constant(std::move(value));
}

void size(Definition& d) {
  if (!d.need(0))
    return;
  Tensor value(DataType::I64, {});
  value.set_int(0, product(d.shape(0)));
  d.constant(std::move(value));
}

/// Does the node drop elements? By an operand since version 12, by an attribute before 7, and never
/// in between.
bool may_drop(Definition& d) {
  if (d.opset() < 7)
    return d.integer("is_test", 0) == 0 && d.real("ratio", 0.5) != 0;
  if (d.opset() < 12 || !d.has(2))
    return false;
  const Tensor* mode = d.value(2);
  const Tensor* ratio = d.has(1) ? d.value(1) : nullptr;
  if (d.is_settled())
    return false;
  return mode->get_int(0) != 0 && (!ratio || ratio->get_double(0) != 0.0);
}

/// When nothing is trained, nothing is dropped; otherwise a function drops.
void dropout(Definition& d) {
  if (!d.need(0))
    return;
  const bool drops = may_drop(d);
  for (const char* name : {"ratio", "seed"})
    d.needs_no(name);
  if (d.is_settled())
    return;
  if (drops)
    return d.decline();
  same_elements(d, d.shape(0));
  if (!d.wants(1))
    return;
  const DataType mask = d.opset() >= 10 ? DataType::Bool : d.type(0);
  d.output(mask, d.shape(0));
  Tensor ones(mask, d.shape(0));
  for (int64_t k = 0; k < ones.elements(); ++k)
    ones.set_int(k, 1);
  d.constant(Tensor());
  d.constant(std::move(ones));
}

void constant(Definition& d) {
  const auto& attributes = d.node().attributes;
  const auto scalar_of = [](DataType type, double value) {
    Tensor tensor(type, {});
    tensor.set_double(0, value);
    return tensor;
  };
  if (attributes.size() != 1)
    return d.refuse("it needs one attribute with its value");
  const graph::Attribute& value = *d.attribute(attributes.begin()->first);
  if (const auto* tensor = std::get_if<Tensor>(&value))
    return d.constant(*tensor);
  if (const auto* number = std::get_if<double>(&value))
    return d.constant(scalar_of(DataType::F32, *number));
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    Tensor tensor(DataType::I64, {});
    tensor.set_int(0, *integer);
    return d.constant(std::move(tensor));
  }
  const auto* numbers = std::get_if<std::vector<double>>(&value);
  const auto* integers = std::get_if<std::vector<int64_t>>(&value);
  if (!numbers && !integers)
    return d.refuse("its value is " + std::string(graph::kind_of(value)));
  const auto count = static_cast<int64_t>(numbers ? numbers->size() : integers->size());
  Tensor list(numbers ? DataType::F32 : DataType::I64, {count});
  for (int64_t k = 0; k < count; ++k)
    numbers ? list.set_double(k, (*numbers)[static_cast<size_t>(k)])
            : list.set_int(k, (*integers)[static_cast<size_t>(k)]);
  d.constant(std::move(list));
}

constexpr Operator kAll[] = {
    {"Constant", constant}, {"Dropout", dropout}, {"Flatten", flatten},
    {"Identity", identity}, {"Reshape", reshape}, {"Shape", shape},
    {"Size", size},         {"Squeeze", squeeze}, {"Unsqueeze", unsqueeze}};

} // namespace of_shape
} // namespace

std::span<const Operator> shape_operators() { return of_shape::kAll; }

} // namespace kawara::program::operators
