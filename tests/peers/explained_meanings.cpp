#include "peers/explained.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace kawara::peers {
namespace {

/// Is the number without its fraction one of the type's?
bool is_in_range(double value, DataType type) {
  const double whole = std::trunc(value);
  switch (type) {
  case DataType::I8:
    return whole >= -128 && whole <= 127;
  case DataType::U8:
    return whole >= 0 && whole <= 255;
  case DataType::I16:
    return whole >= -32768 && whole <= 32767;
  case DataType::U16:
    return whole >= 0 && whole <= 65535;
  case DataType::I32:
    return whole >= -0x1p31 && whole < 0x1p31;
  case DataType::U32:
    return whole >= 0 && whole < 0x1p32;
  case DataType::I64:
    return whole >= -0x1p63 && whole < 0x1p63;
  case DataType::U64:
    return whole >= 0 && whole < 0x1p64;
  default:
    return true;
  }
}

bool is_cast_out_of_range(const NodeCase& c) {
  // The logarithm of a negative sum is NaN, as an integer 0 in Kawara and the lowest there.
  if (!c.is_form() && c.is({"ReduceLogSum"}) && !graph::is_float(c.theirs().type()))
    return c.our_element() == 0 && (c.their_element() == -0x1p63 || c.their_element() == -0x1p31);
  return !c.is_form() && c.is({"Cast", "CastLike"}) && graph::is_float(c.operands[0].type()) &&
         !is_in_range(c.operands[0].get_double(c.element), c.theirs().type());
}

double largest_of(DataType type) {
  return type == DataType::F64    ? std::numeric_limits<double>::max()
         : type == DataType::F16  ? 65504
         : type == DataType::BF16 ? 0x1.fep127
                                  : std::numeric_limits<float>::max();
}

bool is_default_bound(const NodeCase& c) {
  return !c.is_form() && c.is({"Clip"}) && !(c.has(1) && c.has(2)) && std::isinf(c.our_element()) &&
         std::abs(c.their_element()) == largest_of(c.theirs().type());
}

/// One line of elements of a tensor along an axis.
struct Line {
  std::vector<double> elements;
  int64_t place = 0; ///< of the element in question, in a result of another extent
};

Line line_of(const Tensor& x, const Tensor& result, int64_t axis, int64_t element) {
  int64_t inner = 1;
  for (size_t k = static_cast<size_t>(axis) + 1; k < x.shape().size(); ++k)
    inner *= x.shape()[k];
  const int64_t extent = x.shape()[static_cast<size_t>(axis)],
                results = result.rank() < x.rank() ? 1 : result.shape()[static_cast<size_t>(axis)];
  const int64_t rest = element % inner, outer = element / (inner * results);
  Line line;
  line.place = element / inner % results;
  for (int64_t k = 0; k < extent; ++k)
    line.elements.push_back(x.get_double((outer * extent + k) * inner + rest));
  return line;
}

/// Numbers among the elements, each once.
std::set<double> numbers_in(const Tensor& tensor) {
  std::set<double> numbers;
  for (int64_t k = 0; k < tensor.elements(); ++k)
    if (!std::isnan(tensor.get_double(k)))
      numbers.insert(tensor.get_double(k));
  return numbers;
}

/// Is the element that Kawara names the largest or smallest of the numbers, or the first one and
/// NaN?
bool is_extreme_number(const NodeCase& c) {
  const int64_t axis = c.integer("axis", 0);
  const Line line =
      line_of(c.operands[0], c.theirs(), axis < 0 ? axis + c.operands[0].rank() : axis, c.element);
  const auto place = static_cast<size_t>(c.our_element());
  if (place >= line.elements.size())
    return false;
  const double chosen = line.elements[place];
  if (std::isnan(line.elements[0]))
    return place == 0;
  return std::none_of(line.elements.begin(), line.elements.end(), [&](double element) {
    return c.is({"ArgMax"}) ? element > chosen : element < chosen;
  });
}

/// Kawara's order is that of numbers with NaN above them all, the first of equals first.
bool is_order_of_nan(const NodeCase& c) {
  if (c.is({"Unique"})) // however often NaN occurs, numbers occur once
    return has_nan(c.operands[0]) && (c.node.attributes.count("axis") > 0 ||
                                      numbers_in(c.got[0].tensor) == numbers_in(c.operands[0]));
  if (c.is({"ArgMax", "ArgMin"}) && !c.is_form())
    return has_nan(c.operands[0]) && is_extreme_number(c);
  if (c.is({"Hardmax"}))
    return has_nan(c.operands[0]) && (c.our_element() == 0 || c.our_element() == 1);
  if (c.is({"NonMaxSuppression"}))
    return has_nan(c.operands[1]);
  if (c.is_form() || !c.is({"TopK"}) || !has_nan(c.operands[0]))
    return false;
  const Tensor& x = c.operands[0];
  const int64_t axis = c.integer("axis", -1);
  const Line line = line_of(x, c.theirs(), axis < 0 ? axis + x.rank() : axis, c.element);
  const bool is_largest = c.integer("largest", 1) != 0;
  std::vector<size_t> order(line.elements.size());
  for (size_t k = 0; k < order.size(); ++k)
    order[k] = k;
  const auto less = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return is_largest ? less(line.elements[b], line.elements[a])
                      : less(line.elements[a], line.elements[b]);
  });
  const size_t at = order[static_cast<size_t>(line.place)];
  const double ours = c.our_element();
  return c.output == 1
             ? ours == static_cast<double>(at)
             : ours == line.elements[at] || (std::isnan(ours) && std::isnan(line.elements[at]));
}

/// INT64_MAX ends a slice in front of the first element there, where steps are negative.
bool is_backward_end(const NodeCase& c) {
  if (!c.is({"Slice"}) || !c.has(2) || !c.has(4))
    return false;
  for (int64_t k = 0; k < c.operands[2].elements(); ++k)
    if (c.operands[4].get_int(k) < 0 &&
        (c.operands[2].get_int(k) == INT64_MAX || c.operands[2].get_int(k) == INT32_MAX))
      return true;
  return false;
}

/// The axes of a reduction, all where none are named.
std::set<int64_t> axes_of(const NodeCase& c) {
  std::set<int64_t> axes;
  const auto found = c.node.attributes.find("axes");
  Ints list;
  if (found != c.node.attributes.end())
    list = std::get<Ints>(found->second);
  else if (c.has(1))
    for (int64_t k = 0; k < c.operands[1].elements(); ++k)
      list.push_back(c.operands[1].get_int(k));
  const int64_t rank = c.operands[0].rank();
  for (const int64_t axis : list)
    axes.insert(axis < 0 ? axis + rank : axis);
  if (list.empty() && c.integer("noop_with_empty_axes", 0) == 0)
    for (int64_t k = 0; k < rank; ++k)
      axes.insert(k);
  return axes;
}

/// Reductions of nothing: ONNX Runtime keeps shapes or sums over other axes. Kawara's shape is the
/// standard's.
bool is_empty_reduction(const NodeCase& c) {
  const bool is_arg = c.is({"ArgMax", "ArgMin"});
  if (!c.is_form() || !(is_arg || c.node.op.rfind("Reduce", 0) == 0) ||
      c.operands[0].elements() != 0)
    return false;
  const int64_t axis = c.integer("axis", 0);
  const std::set<int64_t> axes =
      is_arg ? std::set<int64_t>{axis < 0 ? axis + c.operands[0].rank() : axis} : axes_of(c);
  Shape shape;
  for (int64_t k = 0; k < c.operands[0].rank(); ++k)
    if (axes.count(k) == 0)
      shape.push_back(c.operands[0].shape()[static_cast<size_t>(k)]);
    else if (c.integer("keepdims", 1) != 0)
      shape.push_back(1);
  return c.ours() && c.ours().shape() == shape;
}

/// Scales whose products with extents are no integers: the standard's own implementation takes the
/// product as the length, ONNX Runtime the whole part.
bool is_fraction_of_a_length(const NodeCase& c) {
  if (c.is_form() || !c.is({"Resize"}) || !c.has(2) || c.opset < 11)
    return false;
  const std::string mode = c.word("coordinate_transformation_mode", "half_pixel");
  if (mode != "align_corners" && mode != "half_pixel_symmetric" && mode != "pytorch_half_pixel")
    return false;
  for (int64_t k = 0; k < c.operands[2].elements(); ++k) {
    const double length = c.operands[2].get_double(k) *
                          static_cast<double>(c.operands[0].shape()[static_cast<size_t>(k)]);
    if (length != std::floor(length))
      return true;
  }
  return false;
}

/// A key that the mask leaves out is not read.
bool is_masked(const NodeCase& c) {
  if (c.is_form() || !c.is({"Attention"}))
    return false;
  const bool is_causal = c.integer("is_causal", 0) != 0, has_mask = c.has(3);
  if (!is_causal && !has_mask)
    return false;
  // A row without any key is NaN by the standard's formula, 0 in ONNX Runtime.
  if (has_mask && std::isnan(c.our_element()) && c.their_element() == 0)
    return true;
  bool has_special = false;
  for (size_t k = 0; k < 3; ++k)
    has_special = has_special || has_nan(c.operands[k]) || has_infinity(c.operands[k]);
  return has_special && std::isnan(c.their_element()) != std::isnan(c.our_element());
}

bool is_old_mask(const NodeCase& c) { return c.is({"Dropout"}) && c.opset < 12 && c.output == 1; }

/// The standard counts a window with its gaps.
bool is_dilated_border(const NodeCase& c) {
  const auto found = c.node.attributes.find("dilations");
  if (!c.is({"MaxPool", "AveragePool", "LpPool"}) || found == c.node.attributes.end() ||
      c.word("auto_pad", "NOTSET").rfind("SAME", 0) != 0)
    return false;
  const auto& dilations = std::get<Ints>(found->second);
  return std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d > 1; });
}

/// Windows of the same size as before, with steps so wide that no border is needed: ONNX Runtime
/// cuts elements off at both ends, which the formula of the standard leaves open; Kawara, as
/// TensorFlow, from which the mode is, takes the image as it is.
bool is_negative_border(const NodeCase& c) {
  if (!c.is({"MaxPool", "AveragePool", "LpPool", "Conv", "ConvInteger", "QLinearConv"}) ||
      c.word("auto_pad", "NOTSET").rfind("SAME", 0) != 0 ||
      c.node.attributes.count("strides") == 0 || c.node.attributes.count("kernel_shape") == 0)
    return false;
  const auto& strides = std::get<Ints>(c.node.attributes.at("strides"));
  const auto& window = std::get<Ints>(c.node.attributes.at("kernel_shape"));
  for (size_t k = 0; k < strides.size(); ++k) {
    const int64_t extent = c.operands[0].shape()[k + 2];
    const int64_t steps = (extent + strides[k] - 1) / strides[k];
    if ((steps - 1) * strides[k] + window[k] - extent < 0)
      return true;
  }
  return false;
}

/// A product over nothing is 0, plus beta times the third operand.
bool is_empty_product(const NodeCase& c) {
  return !c.is_form() && c.is({"Gemm"}) && c.operands[0].elements() == 0 && c.has(2) &&
         c.node.attributes.count("beta") > 0;
}

} // namespace

std::vector<Explanation> explained_meanings() {
  return {
      {"cast out of range", "the standard leaves it open what such a float becomes",
       is_cast_out_of_range},
      {"clip without bounds",
       "the standard's text names the largest number as default, its own implementation none",
       is_default_bound},
      {"order of NaN", "the standard does not say where NaN comes in an order", is_order_of_nan},
      {"backward end", "ONNX Runtime takes INT64_MAX for the front where steps are negative",
       is_backward_end},
      {"empty reduction", "ONNX Runtime gives reductions of nothing other shapes than the standard",
       is_empty_reduction},
      {"fraction of a length",
       "the standard's implementation takes scale * extent as the length, ONNX Runtime its whole "
       "part",
       is_fraction_of_a_length},
      {"masked", "Kawara does not read keys that are masked; rows without keys are NaN", is_masked},
      {"old mask", "before version 12 the standard does not say what the mask of a test run is",
       is_old_mask},
      {"empty product", "ONNX Runtime's Gemm forgets beta where there is nothing to add up",
       is_empty_product},
      {"negative border", "ONNX Runtime cuts elements off where SAME needs no border",
       is_negative_border},
      {"dilated border", "ONNX Runtime forgets dilations where it pads to the same size",
       is_dilated_border},
  };
}

} // namespace kawara::peers
