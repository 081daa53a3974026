#include "cpu/agreement.h"

#include "scalar/half.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kawara::bench {
namespace {

constexpr int64_t kCheckedElements = 64;

double product_element(const Case& c, const Operands& x, int64_t row, int64_t column) {
  double sum = 0;
  for (int64_t k = 0; k < c.k; ++k) {
    const int64_t a = row * c.k + k, b = k * c.n + column;
    if (c.op == Op::GemmI8)
      sum += static_cast<double>(x.a_i8[a]) * x.b_i8[b];
    else if (c.op == Op::GemmF16)
      sum += scalar::f16_value(x.a_f16[a]) * scalar::f16_value(x.b_f16[b]);
    else
      sum += static_cast<double>(x.a[a]) * static_cast<double>(x.b[b]);
  }
  return sum;
}

double conv_element(const Conv& c, const Operands& x, int64_t element) {
  const int64_t out = c.out_size(), filter = element / (out * out);
  const int64_t top = element / out % out * c.stride - c.pad,
                left = element % out * c.stride - c.pad;
  const int64_t channels = c.is_depthwise ? 1 : c.channels;
  double sum = 0;
  for (int64_t i = 0; i < channels; ++i)
    for (int64_t r = 0; r < c.window; ++r)
      for (int64_t s = 0; s < c.window; ++s) {
        const int64_t h = top + r, w = left + s, channel = c.is_depthwise ? filter : i;
        if (h >= 0 && h < c.size && w >= 0 && w < c.size)
          sum += static_cast<double>(x.a[(channel * c.size + h) * c.size + w]) *
                 static_cast<double>(x.b[((filter * channels + i) * c.window + r) * c.window + s]);
      }
  return sum;
}

double attention_element(const Case& c, const Operands& x, int64_t element) {
  const int64_t d = element % c.k, row = element / c.k, head = row / c.n;
  std::vector<double> scores(static_cast<size_t>(c.n));
  for (int64_t j = 0; j < c.n; ++j) {
    double sum = 0;
    for (int64_t k = 0; k < c.k; ++k)
      sum += static_cast<double>(x.a[row * c.k + k]) *
             static_cast<double>(x.b[(head * c.n + j) * c.k + k]);
    scores[static_cast<size_t>(j)] = sum / std::sqrt(static_cast<double>(c.k));
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double total = 0, weighted = 0;
  for (int64_t j = 0; j < c.n; ++j) {
    const double weight = std::exp(scores[static_cast<size_t>(j)] - largest);
    total += weight;
    weighted += weight * static_cast<double>(x.c[(head * c.n + j) * c.k + d]);
  }
  return weighted / total;
}

double softmax_element(const Case& c, const float* row, int64_t column) {
  double total = 0;
  for (int64_t j = 0; j < c.n; ++j)
    total += std::exp(static_cast<double>(row[j]));
  return std::exp(static_cast<double>(row[column])) / total;
}

double layer_norm_element(const Case& c, const Operands& x, const float* row, int64_t column) {
  double mean = 0, variance = 0;
  for (int64_t j = 0; j < c.n; ++j)
    mean += static_cast<double>(row[j]);
  mean /= static_cast<double>(c.n);
  for (int64_t j = 0; j < c.n; ++j)
    variance += std::pow(static_cast<double>(row[j]) - mean, 2);
  variance /= static_cast<double>(c.n);
  return (static_cast<double>(row[column]) - mean) / std::sqrt(variance + 1e-5) *
             static_cast<double>(x.b[column]) +
         static_cast<double>(x.c[column]);
}

double gelu(double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); }

double pooled_element(const Conv& c, const Operands& x, int64_t element) {
  const int64_t size = c.out_size(), pooled = Pool::out_size(size);
  const int64_t filter = element / (pooled * pooled),
                top = element / pooled % pooled * Pool::kStride,
                left = element % pooled * Pool::kStride;
  const auto norm = [&](int64_t row) { return static_cast<double>(x.c[row * c.filters + filter]); };
  double largest = 0; // of relu
  for (int64_t r = 0; r < Pool::kWindow; ++r)
    for (int64_t s = 0; s < Pool::kWindow; ++s) {
      const double sum = conv_element(c, x, (filter * size + top + r) * size + left + s);
      largest = std::max(largest, (sum - norm(2)) / std::sqrt(norm(3) + 1e-5) * norm(0) + norm(1));
    }
  return largest;
}

double root_mean_square(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values)
    sum += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(sum / static_cast<double>(std::max<size_t>(values.size(), 1)));
}

/// Relative to the larger of the element and the scale; infinity where one is no number.
double relative_error(double got, double expected, double scale) {
  const double error = std::abs(got - expected) / std::max({std::abs(expected), scale, 1e-30});
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

/// Elements spread over the whole result, the corners among them.
double error_at_checked_elements(const Case& c, const Operands& x, const std::vector<float>& got) {
  const double scale = root_mean_square(got);
  const auto elements = static_cast<int64_t>(got.size());
  double worst = 0;
  for (int64_t i = 0; i < kCheckedElements; ++i) {
    const int64_t element = (elements - 1) * i / (kCheckedElements - 1);
    worst = std::max(worst, relative_error(static_cast<double>(got[static_cast<size_t>(element)]),
                                           expected_element(c, x, element), scale));
  }
  return worst;
}

struct Gap {
  double error = 0;
  size_t element = 0;
};

Gap largest_gap(const std::vector<float>& a, const std::vector<float>& b) {
  const double scale = root_mean_square(a);
  Gap worst;
  for (size_t element = 0; element < a.size(); ++element) {
    const double error =
        relative_error(static_cast<double>(b[element]), static_cast<double>(a[element]), scale);
    if (error > worst.error)
      worst = {error, element};
  }
  return worst;
}

void look_at(const Case& c, const Operands& x, const std::vector<float>& result, size_t element,
             Agreement& agreement) {
  const double error = relative_error(static_cast<double>(result[element]),
                                      expected_element(c, x, static_cast<int64_t>(element)),
                                      root_mean_square(result));
  agreement.error = std::max(agreement.error, error);
  agreement.is_right = agreement.error <= error_bound(c);
}

} // namespace

double expected_element(const Case& c, const Operands& x, int64_t element) {
  switch (c.op) {
  case Op::Gemm:
  case Op::GemmI8:
  case Op::GemmF16:
    return product_element(c, x, element / c.n, element % c.n);
  case Op::Conv:
    return conv_element(c.conv, x, element);
  case Op::Attention:
    return attention_element(c, x, element);
  case Op::Softmax:
    return softmax_element(c, x.a + element / c.n * c.n, element % c.n);
  case Op::LayerNorm:
    return layer_norm_element(c, x, x.a + element / c.n * c.n, element % c.n);
  case Op::Gelu:
    return gelu(static_cast<double>(x.a[element]));
  case Op::GemmGelu:
    return gelu(product_element(c, x, element / c.n, element % c.n));
  case Op::ConvPool:
    return pooled_element(c.conv, x, element);
  case Op::AddRelu:
    return std::max(static_cast<double>(x.a[element]) + static_cast<double>(x.b[element]), 0.0);
  case Op::Transpose:
    return static_cast<double>(x.a[element % c.m * c.n + element / c.m]);
  }
  return 0;
}

double error_bound(const Case& c) {
  switch (c.op) {
  case Op::GemmI8:
  case Op::Transpose:
    return 0;
  case Op::GemmF16:
    return 5e-2;
  default:
    return 1e-4;
  }
}

std::vector<Agreement> compare_results(const Case& c, const Operands& x,
                                       const std::vector<std::vector<float>>& results) {
  const double bound = error_bound(c);
  std::vector<Agreement> agreements(results.size());
  for (size_t i = 0; i < results.size(); ++i)
    if (!results[i].empty()) {
      agreements[i].error = error_at_checked_elements(c, x, results[i]);
      agreements[i].is_right = agreements[i].error <= bound;
    }
  // Two results that differ are both looked at, against the definition, where they differ most.
  for (size_t first = 0; first < results.size(); ++first)
    for (size_t other = first + 1; other < results.size(); ++other) {
      if (!agreements[first].is_right)
        break;
      if (results[other].empty())
        continue;
      const Gap gap = largest_gap(results[first], results[other]);
      if (gap.error <= bound)
        agreements[other].error = std::max(agreements[other].error, gap.error);
      else
        for (const size_t i : {first, other})
          look_at(c, x, results[i], gap.element, agreements[i]);
    }
  return agreements;
}

} // namespace kawara::bench
