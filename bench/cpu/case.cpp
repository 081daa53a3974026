#include "cpu/case.h"

#include "cpu/networks.h"

#include <fmt/core.h>

#include <array>
#include <sstream>
#include <stdexcept>

namespace kawara::bench {
namespace {

constexpr int64_t kFloat = 4;
constexpr int64_t kRows = 4096;
constexpr int64_t kHeads = 12;
constexpr int64_t kHeadSize = 64;

Case product(Op op, const char* title, int64_t m, int64_t n, int64_t k, int64_t operand_bytes) {
  Case c;
  c.group = "gemm";
  c.name = fmt::format("{} {},{},{}", title, m, n, k);
  c.op = op;
  c.m = m;
  c.n = n;
  c.k = k;
  c.flops = 2.0 * static_cast<double>(m * n * k);
  c.bytes = static_cast<double>((m * k + k * n) * operand_bytes + m * n * kFloat);
  return c;
}

void add_products(std::vector<Case>& cases) {
  for (const int64_t n : {64, 128, 256, 512, 1024, 2048})
    cases.push_back(product_case(n, n, n));
  constexpr std::array<std::array<int64_t, 3>, 10> shapes = {{{128, 768, 768},
                                                              {128, 3072, 768},
                                                              {128, 768, 3072},
                                                              {1, 768, 768},
                                                              {1, 3072, 768},
                                                              {1, 4096, 4096},
                                                              {3136, 64, 576},
                                                              {784, 128, 1152},
                                                              {196, 256, 2304},
                                                              {49, 512, 4608}}};
  for (const auto& [m, n, k] : shapes)
    cases.push_back(product_case(m, n, k));
  cases.push_back(product(Op::GemmI8, "gemm_i8", 1024, 1024, 1024, 1));
  cases.push_back(product(Op::GemmF16, "gemm_f16", 1024, 1024, 1024, 2));
}

Case convolution(const Conv& conv) {
  Case c;
  c.group = "conv";
  c.name =
      fmt::format("{} {},{} -> {} {}x{}/{}", conv.is_depthwise ? "depthwise" : "conv",
                  conv.channels, conv.size, conv.filters, conv.window, conv.window, conv.stride);
  c.op = Op::Conv;
  c.conv = conv;
  const int64_t window = conv.window * conv.window * (conv.is_depthwise ? 1 : conv.channels);
  const int64_t out = conv.filters * conv.out_size() * conv.out_size();
  c.flops = 2.0 * static_cast<double>(out * window);
  c.bytes = static_cast<double>(
      kFloat * (conv.channels * conv.size * conv.size + conv.filters * window + out));
  return c;
}

/// Each distinct convolution once, in the order of the networks.
void add_convolutions(std::vector<Case>& cases) {
  std::map<Conv, size_t> known;
  for (const Network& network : {resnet50(), mobilenet_v2()})
    for (const Conv& conv : network.convolutions) {
      const auto [at, is_new] = known.emplace(conv, cases.size());
      if (is_new)
        cases.push_back(convolution(conv));
      ++cases[at->second].uses[network.name];
    }
}

void add_attention(std::vector<Case>& cases) {
  for (const int64_t n : {128, 512, 2048}) {
    Case c;
    c.group = "attention";
    c.name = fmt::format("attention {},{},{}", kHeads, n, kHeadSize);
    c.op = Op::Attention;
    c.m = kHeads;
    c.n = n;
    c.k = kHeadSize;
    c.flops = 4.0 * static_cast<double>(kHeads * n * n * kHeadSize);
    c.bytes = 4.0 * static_cast<double>(kHeads * n * kHeadSize * kFloat);
    cases.push_back(c);
  }
}

void add_rows(std::vector<Case>& cases) {
  struct Kind {
    Op op;
    const char* name;
    int64_t streams;
  };
  for (const Kind kind : {Kind{Op::Softmax, "softmax", 2}, Kind{Op::LayerNorm, "layer norm", 2},
                          Kind{Op::Gelu, "gelu erf", 2}, Kind{Op::AddRelu, "add relu", 3},
                          Kind{Op::Transpose, "transpose", 2}}) {
    Case c;
    c.group = "rows";
    c.name = fmt::format("{} {}x{}", kind.name, kRows, kRows);
    c.op = kind.op;
    c.m = c.n = kRows;
    c.bytes = static_cast<double>(kind.streams * kRows * kRows * kFloat);
    cases.push_back(c);
  }
}

/// Chains that one kernel each computes, beyond those above.
void add_fused(std::vector<Case>& cases) {
  cases.push_back(product(Op::GemmGelu, "gemm + gelu", 128, 3072, 768, kFloat));
  cases.back().group = "fused";
  Conv head;
  head.channels = 3;
  head.size = 231;
  head.filters = 64;
  head.window = 7;
  head.stride = 2;
  Case c = convolution(head);
  c.op = Op::ConvPool;
  c.group = "fused";
  c.name = fmt::format("conv + norm + relu + pool {},{} -> {} {}x{}/{}", head.channels, head.size,
                       head.filters, head.window, head.window, head.stride);
  c.bytes -= static_cast<double>(
      kFloat * (head.filters * head.out_size() * head.out_size() - output_elements(c)));
  cases.push_back(c);
}

} // namespace

Case product_case(int64_t m, int64_t n, int64_t k) {
  return product(Op::Gemm, "gemm", m, n, k, kFloat);
}

std::vector<Case> product_cases(const std::string& text) {
  std::vector<Case> cases;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    int64_t m = 0, n = 0, k = 0;
    std::string more;
    if (!(words >> m >> n >> k) || words >> more || m < 1 || n < 1 || k < 1)
      throw std::runtime_error(fmt::format("`{}` is no product: M N K is what a line has", line));
    cases.push_back(product_case(m, n, k));
  }
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_products(cases);
  add_convolutions(cases);
  add_attention(cases);
  add_rows(cases);
  add_fused(cases);
  return cases;
}

std::vector<Case> selected_cases(const std::string& group, const std::string& filter) {
  std::vector<Case> chosen;
  for (Case& c : all_cases())
    if ((group.empty() || c.group == group) && c.name.find(filter) != std::string::npos)
      chosen.push_back(std::move(c));
  return chosen;
}

} // namespace kawara::bench
