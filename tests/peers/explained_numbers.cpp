#include "peers/explained.h"

#include <algorithm>
#include <cmath>

namespace kawara::peers {
namespace {

bool any_operand(const NodeCase& c, bool (*test)(const Tensor&)) {
  return std::any_of(c.operands.begin(), c.operands.end(), test);
}

/// Largest number of the type that sums of this type are kept in: ONNX Runtime normalises f64 in
/// f32.
double limit_of(const NodeCase& c) {
  switch (c.operands[0].type()) {
  case DataType::F16:
    return 65504;
  case DataType::F64:
    return c.is({"GroupNormalization", "LayerNormalization", "RMSNormalization"}) ? 3e38 : 1.7e308;
  default:
    return 3.4e38;
  }
}

const std::set<std::string>& sums() {
  static const std::set<std::string> kOps = {"MatMul",
                                             "Gemm",
                                             "Conv",
                                             "ConvTranspose",
                                             "Einsum",
                                             "Det",
                                             "ReduceSum",
                                             "ReduceMean",
                                             "ReduceProd",
                                             "ReduceL1",
                                             "ReduceL2",
                                             "ReduceSumSquare",
                                             "ReduceLogSum",
                                             "CumSum",
                                             "GlobalAveragePool",
                                             "AveragePool",
                                             "LpPool",
                                             "GlobalLpPool",
                                             "Sum",
                                             "Mean",
                                             "Attention",
                                             "ScatterElements",
                                             "ScatterND",
                                             "RNN",
                                             "GRU",
                                             "LSTM",
                                             "DFT",
                                             "GridSample",
                                             "RoiAlign",
                                             "Resize",
                                             "Upsample",
                                             "RotaryEmbedding"};
  return kOps;
}

const std::set<std::string>& norms() {
  static const std::set<std::string> kOps = {"LayerNormalization",    "GroupNormalization",
                                             "InstanceNormalization", "BatchNormalization",
                                             "RMSNormalization",      "MeanVarianceNormalization",
                                             "LpNormalization",       "LRN"};
  return kOps;
}

/// What a sum of products of these operands can come to on the way.
double largest_sum(const NodeCase& c) {
  double product = 1;
  int64_t terms = 1;
  for (const Tensor& operand : c.operands)
    if (operand && graph::is_float(operand.type())) {
      product *= std::max(largest_finite(operand), 1.0);
      terms = std::max(terms, operand.elements());
    }
  const bool has_powers =
      c.is({"ReduceL2", "ReduceSumSquare", "LpPool", "GlobalLpPool", "Det", "ReduceProd"}) ||
      c.is(norms());
  return (has_powers ? std::pow(product, std::max<int64_t>(c.integer("p", 2), 2)) : product) *
         static_cast<double>(terms);
}

/// A sum that passes the largest number of its type on the way is infinite or NaN in one order and
/// a number in another. Of norms that overflow, even a number is a matter of order: all elements
/// are divided by them.
bool overflows(const NodeCase& c) {
  if (c.is_form() || !graph::is_float(c.theirs().type()) || !(c.is(sums()) || c.is(norms())) ||
      !c.operands[0] || !graph::is_float(c.operands[0].type()))
    return false;
  const bool decides = std::isinf(c.run_in_subprocess()) || c.is(norms());
  if (c.is({"ReduceProd", "Det"}))
    return decides && largest_finite(c.operands[0]) > 1e4;
  return decides && largest_sum(c) > limit_of(c);
}

bool loses_nan(const NodeCase& c) {
  const bool is_weighted = c.is({"RoiAlign"}) && any_operand(c, has_infinity);
  if (c.is_form() || !(any_operand(c, has_nan) || is_weighted))
    return false;
  if (!c.is({"ReduceMax", "ReduceMin", "MaxPool", "GlobalMaxPool", "Max", "Min", "ReduceLogSumExp",
             "Sign", "Softmax", "LogSoftmax", "Clip"}) &&
      !(c.is({"ScatterElements", "ScatterND"}) &&
        (c.word("reduction", "") == "max" || c.word("reduction", "") == "min")) &&
      !(c.is({"RoiAlign"}) && c.word("mode", "avg") == "max"))
    return false;
  return std::isnan(c.got[0].tensor.get_double(c.element)) &&
         (c.output == 1 || !std::isnan(c.their_element()));
}

/// Something in this row of the batch, at any step, is NaN, infinite or next to it: sums are
/// limited to the largest number there, and NaN is lost.
bool is_limited_in_steps(const NodeCase& c) {
  if (c.is_form() || !c.is({"RNN", "GRU", "LSTM"}))
    return false;
  const Tensor& x = c.operands[0];
  const Shape& shape = c.theirs().shape();
  const int64_t row = c.element / shape.back() % shape[shape.size() - 2];
  const int64_t steps = x.shape()[0], batch = x.shape()[1], size = x.shape()[2];
  for (int64_t t = 0; t < steps; ++t)
    for (int64_t k = 0; k < size; ++k)
      if (!(std::abs(x.get_double((t * batch + row) * size + k)) < 1e29))
        return true;
  return false;
}

bool is_approximated(const NodeCase& c) {
  static const std::set<std::string> kOps = {"Sin",      "Cos",     "Tan", "Elu",  "Celu",  "Selu",
                                             "Tanh",     "Sigmoid", "Erf", "Gelu", "Swish", "Mish",
                                             "Softplus", "RNN",     "GRU", "LSTM"};
  static const std::set<std::string> kRows = {"Softmax", "LogSoftmax", "SoftmaxCrossEntropyLoss"};
  if (c.is_form() || !(c.is(kOps) || c.is(kRows)) || std::isinf(c.run_in_subprocess()))
    return false;
  const bool is_by_elements = !c.is({"RNN", "GRU", "LSTM"}) && !c.is(kRows);
  const double x = is_by_elements ? std::abs(c.operands[0].get_double(c.element))
                                  : std::max(largest_finite(c.theirs()),
                                             c.is(kRows) ? 1 : largest_finite(c.operands[0]));
  const bool is_erf = c.is({"Erf", "Gelu"});
  const DataType type = c.theirs().type();
  const double unit = type == DataType::F16    ? (is_erf ? 0x1p-7 : 0x1p-11)
                      : type == DataType::BF16 ? 0x1p-8
                      : type == DataType::F64  ? 1e-14
                                               : 4e-7;
  return c.run_in_subprocess() <= unit * std::max(1.0, std::isfinite(x) ? x : 1);
}

bool is_f32_window(const NodeCase& c) {
  return !c.is_form() && c.is({"HannWindow", "HammingWindow", "BlackmanWindow"}) &&
         c.run_in_subprocess() <= 4e-7;
}

bool is_f32_circle(const NodeCase& c) {
  if (c.is_form() || !c.is({"DFT", "STFT"}))
    return false;
  double sum = 0;
  for (int64_t k = 0; k < c.operands[0].elements(); ++k)
    sum += std::abs(c.operands[0].get_double(k));
  return c.run_in_subprocess() <= 1e-5 * sum;
}

/// Coordinates of f32 are off by some units in the last place of an extent, and elements by that
/// many times the steepest slope. An integer may so be cut to the next one.
bool is_f32_coordinate(const NodeCase& c) {
  if (c.is_form() || !c.is({"Resize", "Upsample", "GridSample", "RoiAlign"}) ||
      c.word("mode", "") == "nearest" || std::isinf(c.run_in_subprocess()))
    return false;
  int64_t extent = 1;
  for (const int64_t each : c.operands[0].shape())
    extent = std::max(extent, each);
  for (const int64_t each : c.theirs().shape())
    extent = std::max(extent, each);
  const double off = 0x1p-19 * static_cast<double>(extent) * largest_finite(c.operands[0]);
  return c.run_in_subprocess() <= off + (graph::is_float(c.theirs().type()) ? 0 : 1);
}

/// A neighbour of weight zero that is infinite or NaN: Kawara does not read it, 0 * inf is NaN
/// there.
bool is_zero_weight(const NodeCase& c) {
  return !c.is_form() && c.is({"Resize", "Upsample", "GridSample", "RoiAlign"}) &&
         !std::isfinite(c.their_element()) && !std::isnan(c.our_element()) &&
         (has_nan(c.operands[0]) || has_infinity(c.operands[0]));
}

/// Squares of one column of channels that ONNX Runtime adds and subtracts one after the other.
bool is_running_sum(const NodeCase& c) {
  if (c.is_form() || !c.is({"LRN"}))
    return false;
  const Tensor& x = c.operands[0];
  const int64_t channels = x.shape()[1], plane = x.shape()[2] * x.shape()[3];
  const int64_t at = c.element % plane, image = c.element / (plane * channels);
  double largest = 0;
  bool is_finite = true;
  for (int64_t k = 0; k < channels; ++k) {
    const double element = x.get_double((image * channels + k) * plane + at);
    is_finite = is_finite && std::isfinite(element * element) && std::abs(element) < 1e19;
    largest = std::max(largest, std::abs(element));
  }
  const double own = std::abs(x.get_double(c.element));
  return !is_finite || c.run_in_subprocess() <= 1e-6 * std::max(1.0, largest * largest) * own;
}

/// ONNX Runtime computes x * s + (bias - mean * s): off by units in the last place of x * s, where
/// (x - mean) * s may be nothing.
bool is_multiplied_first(const NodeCase& c) {
  if (c.is_form() || !c.is({"InstanceNormalization"}) || std::isinf(c.run_in_subprocess()))
    return false;
  const Tensor& x = c.operands[0];
  const int64_t channels = x.shape()[1];
  const int64_t plane = x.elements() / (x.shape()[0] * channels), first = c.element / plane * plane;
  double sum = 0, squares = 0, largest = 0;
  for (int64_t k = first; k < first + plane; ++k) {
    sum += x.get_double(k);
    largest = std::max(largest, std::abs(x.get_double(k)));
  }
  for (int64_t k = first; k < first + plane; ++k)
    squares += std::pow(x.get_double(k) - sum / static_cast<double>(plane), 2);
  const auto given = c.node.attributes.find("epsilon");
  const double epsilon = given == c.node.attributes.end() ? 1e-5 : std::get<double>(given->second);
  const double scale = std::abs(c.operands[1].get_double(c.element / plane % channels)) /
                       std::sqrt(squares / static_cast<double>(plane) + epsilon);
  const double unit = x.type() == DataType::F16 ? 0x1p-10 : 0x1p-22;
  return c.run_in_subprocess() <= unit * largest * scale;
}

/// A weighted mean of integers next to the largest one: f32 rounds it to a number that no integer
/// of the type is, and the conversion gives the lowest.
bool is_rounded_out_of_range(const NodeCase& c) {
  return !c.is_form() && c.is({"Resize", "Upsample"}) && c.theirs().type() == DataType::I32 &&
         std::abs(c.our_element()) >= 0x1p31 - 0x1p9 && c.their_element() == -0x1p31;
}

/// A product over no terms is 0. ONNX Runtime leaves the result of one with a vector as it finds
/// the memory.
bool is_of_no_terms(const NodeCase& c) {
  return !c.is_form() && c.is({"MatMul"}) && c.our_element() == 0 && c.operands[0] &&
         c.operands[0].elements() == 0;
}

/// The standard divides by the deviation + 1e-9, ONNX Runtime by the deviation alone: its quotients
/// are larger, infinite or NaN where the deviation is next to nothing. Elements are at most the
/// root of their number from the mean, in deviations.
bool is_without_epsilon(const NodeCase& c) {
  if (c.is_form() || !c.is({"MeanVarianceNormalization"}) || !std::isfinite(c.our_element()))
    return false;
  const double most = std::sqrt(static_cast<double>(c.operands[0].elements()));
  return std::abs(c.our_element()) <= most &&
         (!std::isfinite(c.their_element()) ||
          std::abs(c.their_element()) > std::abs(c.our_element()));
}

/// The largest number minus itself is NaN where it is infinite, and so is the sum.
bool is_infinite_row(const NodeCase& c) {
  // The mean of a row with one infinity is that infinity.
  if (!c.is_form() && c.is({"LayerNormalization"}) && c.output == 1)
    return std::isinf(c.our_element()) && has_infinity(c.operands[0]);
  return !c.is_form() && c.is({"Softmax", "LogSoftmax", "SoftmaxCrossEntropyLoss"}) &&
         std::isnan(c.our_element()) && has_infinity(c.operands[0]);
}

bool is_not_a_range(const NodeCase& c) {
  if (!c.is({"DynamicQuantizeLinear"}) || c.is_form())
    return false;
  const Tensor& x = c.operands[0];
  float low = 0, high = 0;
  for (int64_t k = 0; k < x.elements(); ++k) {
    low = std::min(low, static_cast<float>(x.get_double(k)));
    high = std::max(high, static_cast<float>(x.get_double(k)));
  }
  const float scale = (high - low) / 255;
  return has_nan(x) || has_infinity(x) || !std::isfinite(scale) || scale < 0x1p-126f;
}

/// Weights below the smallest normal number, which ONNX Runtime takes for nothing.
bool is_small_weight(const NodeCase& c) {
  return !c.is_form() && c.is({"Attention"}) &&
         c.run_in_subprocess() <= 4e-7 * std::max(1.0, largest_finite(c.operands[2]));
}

/// Rests of i64 as f64.
bool is_float_rest(const NodeCase& c) {
  return !c.is_form() && c.is({"Mod"}) && c.integer("fmod", 0) != 0 &&
         (c.theirs().type() == DataType::I64 || c.theirs().type() == DataType::U64) &&
         std::max(largest_finite(c.operands[0]), largest_finite(c.operands[1])) > 0x1p53;
}

/// x * 0 at minus infinity, where the function's limit is 0 (docs/numerics.md).
bool is_limit(const NodeCase& c) {
  return !c.is_form() && c.is({"Gelu", "Swish"}) && c.our_element() == 0 &&
         std::isnan(c.their_element()) && c.operands[0].get_double(c.element) == -INFINITY;
}

/// The quotient overflows to the infinity of the other sign.
bool is_reciprocal_of_denormal(const NodeCase& c) {
  const double x = c.is({"Reciprocal"}) && !c.is_form() ? c.operands[0].get_double(c.element) : 1;
  return std::abs(x) < 0x1p-126 && c.our_element() == std::copysign(INFINITY, x);
}

/// With activations that have no bound, states grow from step to step until one is infinite; and
/// Softplus is log(1 + exp(x)) there.
bool is_without_bound(const NodeCase& c) {
  if (c.is_form() || !c.is({"RNN", "GRU", "LSTM"}))
    return false;
  const auto found = c.node.attributes.find("activations");
  if (found == c.node.attributes.end())
    return false;
  static const std::set<std::string> kUnbounded = {"Softplus",  "Affine", "Relu",
                                                   "LeakyRelu", "Elu",    "ThresholdedRelu"};
  const auto& names = std::get<std::vector<std::string>>(found->second);
  // exp(x) overflows from 88 on.
  if (std::count(names.begin(), names.end(), "Softplus") > 0 && largest_finite(c.operands[0]) > 80)
    return true;
  return std::isinf(c.run_in_subprocess()) &&
         std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return kUnbounded.count(name) > 0; });
}

/// A window of nothing but minus infinity.
bool is_lowest_number(const NodeCase& c) {
  return !c.is_form() && c.is({"MaxPool", "GlobalMaxPool"}) && c.output == 0 &&
         c.our_element() == -INFINITY && c.their_element() <= -65504;
}

bool is_without_largest(const NodeCase& c) {
  return !c.is_form() && c.is({"ReduceLogSumExp"}) && std::isfinite(c.our_element()) &&
         std::isinf(c.their_element()) && has_infinity(c.operands[0]);
}

/// f64 in f32 on the way: statistics of normalisations, and constants of functions.
bool is_f32_inside(const NodeCase& c) {
  return !c.is_form() && c.operands[0] && c.operands[0].type() == DataType::F64 &&
         c.is({"GroupNormalization", "LayerNormalization", "RMSNormalization", "HardSwish",
               "Shrink", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) &&
         c.run_in_subprocess() <= 1e-5 * std::max(1.0, std::abs(c.their_element()));
}

/// A pivot that is denormal has few digits, and so have quotients by it.
bool is_denormal_pivot(const NodeCase& c) {
  if (c.is_form() || !c.is({"Det"}) || !(c.run_in_subprocess() <= 1e-3 * std::abs(c.our_element())))
    return false;
  for (int64_t k = 0; k < c.operands[0].elements(); ++k)
    if (const double x = std::abs(c.operands[0].get_double(k)); x > 0 && x < 0x1p-120)
      return true;
  return false;
}

/// Exponentials as integers: a sum of n of them is off by up to its logarithm.
bool is_whole_exponential(const NodeCase& c) {
  return !c.is_form() && c.is({"ReduceLogSumExp"}) && !graph::is_float(c.theirs().type()) &&
         c.run_in_subprocess() <= std::log(static_cast<double>(c.operands[0].elements())) + 1;
}

/// Integers whose sum of squares or of absolute values, or whose power, no element holds.
bool is_integer_overflow(const NodeCase& c) {
  if (!c.is_form() && c.is({"Pow"}) && !graph::is_float(c.operands[0].type()))
    return true;
  if (c.is_form() || !c.operands[0] || graph::is_float(c.operands[0].type()) ||
      !c.is({"ReduceSumSquare", "ReduceL2", "ReduceL1", "ReduceProd", "ReduceLogSumExp",
             "ReduceLogSum", "ReduceMean"}))
    return false;
  const double largest = largest_finite(c.operands[0]);
  const double limit = c.operands[0].type() == DataType::I64 ? 4e15 : 2e9;
  return largest * (c.is({"ReduceL1", "ReduceMean", "ReduceLogSum"}) ? 1 : largest) *
             static_cast<double>(c.operands[0].elements()) >
         limit;
}

} // namespace

std::vector<Explanation> explained_numbers() {
  return {
      {"multiplied first", "ONNX Runtime normalises by x * s + (bias - mean * s)",
       is_multiplied_first},
      {"rounded out of range", "ONNX Runtime's means of integers next to the largest are f32",
       is_rounded_out_of_range},
      {"no terms", "ONNX Runtime leaves some products over no terms unset; Kawara's are 0",
       is_of_no_terms},
      {"lost NaN", "ONNX Runtime's maxima and minima drop NaN in some orders; Kawara keeps it",
       loses_nan},
      {"limited steps",
       "ONNX Runtime limits sums of RNNs to the largest number, and loses NaN there",
       is_limited_in_steps},
      {"overflow", "a sum or a norm passes the largest number on the way, in another order",
       overflows},
      {"approximation", "ONNX Runtime's polynomials are off by some 1e-7, absolutely",
       is_approximated},
      {"small weight",
       "ONNX Runtime's softmax in attention is off by some 1e-7 and drops what is denormal",
       is_small_weight},
      {"float rest", "ONNX Runtime computes fmod of integers in f64, which has 53 bits",
       is_float_rest},
      {"limit", "Gelu and Swish of minus infinity are 0, their limit", is_limit},
      {"reciprocal of denormal", "ONNX Runtime's reciprocal of a denormal number has no sign",
       is_reciprocal_of_denormal},
      {"f32 window", "ONNX Runtime computes cosines of windows in f32", is_f32_window},
      {"f32 circle", "ONNX Runtime's roots of unity are f32", is_f32_circle},
      {"f32 coordinate", "ONNX Runtime's coordinates are f32, Kawara's f64", is_f32_coordinate},
      {"zero weight", "a neighbour that has no weight makes NaN of an infinity in ONNX Runtime",
       is_zero_weight},
      {"running sum", "ONNX Runtime adds and subtracts squares from channel to channel",
       is_running_sum},
      {"no epsilon", "the standard divides by the deviation + 1e-9", is_without_epsilon},
      {"infinite row", "inf - inf is NaN in the standard's formula, for the whole row",
       is_infinite_row},
      {"no range", "a range with an infinity, NaN or a scale that underflows has no bytes",
       is_not_a_range},
      {"without bound", "states of RNNs overflow; ONNX Runtime's Softplus there is log(1 + exp(x))",
       is_without_bound},
      {"lowest number", "ONNX Runtime's maxima begin with the lowest number, not with -inf",
       is_lowest_number},
      {"without largest", "ONNX Runtime does not subtract the largest where one is infinite",
       is_without_largest},
      {"f32 inside", "ONNX Runtime takes statistics and constants of f64 in f32", is_f32_inside},
      {"denormal pivot", "ONNX Runtime divides by pivots in f32", is_denormal_pivot},
      {"whole exponential", "ONNX Runtime rounds exponentials of integers to integers",
       is_whole_exponential},
      {"integer overflow", "the standard says nothing of sums that no integer holds",
       is_integer_overflow},
  };
}

} // namespace kawara::peers
