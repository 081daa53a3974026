#include "program/operators/convolution.h"

#include "support/text.h"

namespace kawara::program::operators {
namespace {

std::vector<int64_t> tail(const Shape& shape) {
  return shape.size() < 2 ? Shape{} : Shape(shape.begin() + 2, shape.end());
}

} // namespace

std::optional<Sizes> sizes_of(Definition& d, size_t image, size_t weight, bool is_transposed) {
  if (!d.need(image) || !d.need(weight))
    return std::nullopt;
  const Shape &x = d.shape(image), &w = d.shape(weight);
  Sizes s;
  s.groups = d.integer("group", 1);
  const bool fits = x.size() >= 3 && x.size() == w.size() && s.groups > 0 && x[1] % s.groups == 0 &&
                    w[0] % s.groups == 0 &&
                    (is_transposed ? w[0] == x[1] : w[1] * s.groups == x[1]) && product(w) > 0;
  if (!fits) {
    d.refuse(fmt::format("an image {} and weights {} in {} groups do not fit together",
                         graph::text_of(x), graph::text_of(w), s.groups));
    return std::nullopt;
  }
  s.images = x[0];
  s.channels = x[1] / s.groups;
  s.filters = is_transposed ? w[1] : w[0] / s.groups;
  s.spatial = tail(x);
  s.kernel = tail(w);
  return s;
}

void check_bias(Definition& d, size_t k, const Sizes& s) {
  if (d.has(k) && d.shape(k) != Shape{s.groups * s.filters})
    d.refuse(fmt::format("the bias has the shape {} for {} filters", graph::text_of(d.shape(k)),
                         s.groups * s.filters));
}

std::string filter_index(const Sizes& s) {
  std::vector<std::string> parts;
  if (s.groups != 1)
    parts.push_back("g");
  if (!(s.groups != 1 && s.filters == 1))
    parts.push_back("m");
  return join(parts, ", ");
}

Shape filter_shape(const Sizes& s) {
  Shape shape;
  if (s.groups != 1)
    shape.push_back(s.groups);
  if (!(s.groups != 1 && s.filters == 1))
    shape.push_back(s.filters);
  return shape;
}

} // namespace kawara::program::operators
