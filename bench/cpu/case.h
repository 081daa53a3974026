#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace kawara::bench {

enum class Op : uint8_t {
  Gemm,      ///< C[m, n] = A[m, k] * B[k, n], f32; B is a constant
  GemmI8,    ///< the same, i8 times i8 into i32
  GemmF16,   ///< the same, f16 operands, f32 result
  Conv,      ///< NCHW, one image, f32; the weights are a constant
  Attention, ///< m heads, n positions, k numbers a head; scores scaled by 1 / sqrt(k)
  Softmax,   ///< over the rows of an m x n matrix
  LayerNorm, ///< likewise, with gamma and beta
  Gelu,      ///< with erf
  AddRelu,   ///< max(A + B, 0)
  Transpose, ///< Y[j, i] = X[i, j]
  GemmGelu,  ///< gelu(A[m, k] * B[k, n]), with erf; B is a constant
  ConvPool, ///< a convolution, its results normalised channel by channel, relu, the largest of 3 x 3 windows with stride 2
};

/// Largest values of windows, as in the heads of residual nets.
struct Pool {
  static constexpr int64_t kWindow = 3, kStride = 2;
  static int64_t out_size(int64_t size) { return (size - kWindow) / kStride + 1; }
};

/// A square convolution of one image.
struct Conv {
  int64_t channels = 0, size = 0; ///< of the image
  int64_t filters = 0, window = 1, stride = 1, pad = 0;
  bool is_depthwise = false; ///< one filter per channel
  int64_t out_size() const { return (size + 2 * pad - window) / stride + 1; }
  friend bool operator<(const Conv& x, const Conv& y) {
    const auto key = [](const Conv& c) {
      return std::make_tuple(c.channels, c.size, c.filters, c.window, c.stride, c.pad,
                             c.is_depthwise);
    };
    return key(x) < key(y);
  }
};

inline constexpr std::array<const char*, 5> kGroups = {"gemm", "conv", "attention", "rows",
                                                       "fused"};

/// One thing that all contestants do.
struct Case {
  std::string group; ///< one of `kGroups`
  std::string name;  ///< "gemm 128,768,768"; unique
  Op op = Op::Gemm;
  int64_t m = 0, n = 0, k = 0;
  Conv conv;
  std::map<std::string, int64_t> uses; ///< how often a network has it
  double flops = 0;                    ///< 2 per multiply-add; 0 where bytes are what counts
  double bytes = 0;                    ///< that must be read or written
  /// Whether the time that memory allows is longer than what arithmetic needs.
  bool is_memory_bound() const { return flops == 0; }
};

/// Elements of the result.
inline int64_t output_elements(const Case& c) {
  switch (c.op) {
  case Op::Conv:
    return c.conv.filters * c.conv.out_size() * c.conv.out_size();
  case Op::ConvPool: {
    const int64_t size = Pool::out_size(c.conv.out_size());
    return c.conv.filters * size * size;
  }
  case Op::Attention:
    return c.m * c.n * c.k;
  default:
    return c.m * c.n;
  }
}

/// Every case of the suite.
std::vector<Case> all_cases();

/// The f32 product of an m x k and a k x n matrix, as in the suite.
Case product_case(int64_t m, int64_t n, int64_t k);

/// Products of a text with "M N K" in each line, in its order; throws where a line has something else.
std::vector<Case> product_cases(const std::string& text);

/// The cases of a group (all when empty) whose name contains `filter`.
std::vector<Case> selected_cases(const std::string& group, const std::string& filter);

} // namespace kawara::bench
