#include "cpu/program_text.h"

#include <fmt/core.h>

#include <cmath>

namespace kawara::bench {
namespace {

std::string product(const Case& c) {
  const bool is_i8 = c.op == Op::GemmI8;
  const char* operand = is_i8 ? "i8" : c.op == Op::GemmF16 ? "f16" : "f32";
  return fmt::format("input A: {0}[{2}, {4}]\nconst B: {0}[{4}, {3}]\n"
                     "output C: {1}[{2}, {3}]\n\n"
                     "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                     operand, is_i8 ? "i32" : "f32", c.m, c.n, c.k);
}

/// "2 * h + r", "h + r", "h"
std::string position(const Conv& conv, const char* at, const char* in_window) {
  std::string text = conv.stride == 1 ? at : fmt::format("{} * {}", conv.stride, at);
  return conv.window == 1 ? text : text + " + " + in_window;
}

std::string padding(const Conv& conv) {
  return fmt::format("for c in range({0}):\n"
                     "    for h in range({1}):\n"
                     "        for w in range({1}):\n"
                     "            if {2} <= h < {3} and {2} <= w < {3}:\n"
                     "                padded[c, h, w] = image[c, h - {2}, w - {2}]\n"
                     "            else:\n"
                     "                padded[c, h, w] = 0\n\n",
                     conv.channels, conv.size + 2 * conv.pad, conv.pad, conv.size + conv.pad);
}

std::string convolution_text(const Conv& conv) {
  const std::string window = conv.window == 1 ? "" : fmt::format(", {0}, {0}", conv.window);
  const std::string rows = position(conv, "h", "r"), columns = position(conv, "w", "s");
  const char* source = conv.pad > 0 ? "padded" : "image";
  std::string text = fmt::format("input image: f32[{0}, {1}, {1}]\nconst weight: f32[{2}{3}{4}]\n"
                                 "output out: f32[{2}, {5}, {5}]\n",
                                 conv.channels, conv.size, conv.filters,
                                 conv.is_depthwise ? "" : fmt::format(", {}", conv.channels),
                                 window, conv.out_size());
  if (conv.pad > 0)
    text +=
        fmt::format("temp padded: f32[{0}, {1}, {1}]\n", conv.channels, conv.size + 2 * conv.pad);
  text += "\n" + (conv.pad > 0 ? padding(conv) : "");
  const char* taps = conv.window == 1 ? "" : ", r, s";
  if (conv.is_depthwise)
    return text + fmt::format("out[c, h, w] = sum(r, s, {}[c, {}, {}] * weight[c{}])\n", source,
                              rows, columns, taps);
  return text + fmt::format("out[k, h, w] = sum(c{0}, {1}[c, {2}, {3}] * weight[k, c{0}])\n", taps,
                            source, rows, columns);
}

std::string attention(const Case& c) {
  return fmt::format("input Q: f32[{0}, {1}, {2}], K: f32[{0}, {1}, {2}], V: f32[{0}, {1}, {2}]\n"
                     "output out: f32[{0}, {1}, {2}]\n"
                     "temp scores: f32[{0}, {1}, {1}], weights: f32[{0}, {1}, {1}]\n\n"
                     "scores[h, i, j] = sum(d, Q[h, i, d] * K[h, j, d]) * {3}\n"
                     "weights[h, i, j] = exp(scores[h, i, j] - max(k, scores[h, i, k]))\n"
                     "out[h, i, d] = sum(j, weights[h, i, j] * V[h, j, d]) / "
                     "sum(j, weights[h, i, j])\n",
                     c.m, c.n, c.k, 1 / std::sqrt(static_cast<double>(c.k)));
}

std::vector<std::string> separate_attention(const Case& c) {
  const std::string scores = fmt::format("f32[{}, {}, {}]", c.m, c.n, c.n);
  const std::string rows = fmt::format("f32[{}, {}]", c.m, c.n);
  const std::string heads = fmt::format("f32[{}, {}, {}]", c.m, c.n, c.k);
  return {fmt::format("input Q: {0}, K: {0}\noutput scores: {1}\n\n"
                      "scores[h, i, j] = sum(d, Q[h, i, d] * K[h, j, d]) * {2}\n",
                      heads, scores, 1 / std::sqrt(static_cast<double>(c.k))),
          fmt::format("input scores: {0}\noutput weights: {0}, total: {1}\ntemp largest: {1}\n\n"
                      "largest[h, i] = max(k, scores[h, i, k])\n"
                      "weights[h, i, j] = exp(scores[h, i, j] - largest[h, i])\n"
                      "total[h, i] = sum(j, weights[h, i, j])\n",
                      scores, rows),
          fmt::format("input weights: {0}, total: {1}, V: {2}\noutput out: {2}\n\n"
                      "out[h, i, d] = sum(j, weights[h, i, j] * V[h, j, d]) / total[h, i]\n",
                      scores, rows, heads)};
}

/// A program over matrices: its declarations, then these lines.
std::string over_rows(const Case& c, const std::string& inputs, const std::string& outputs,
                      const std::string& temps, const std::string& body) {
  const std::string matrix = fmt::format("f32[{}, {}]", c.m, c.n);
  const std::string row = fmt::format("f32[{}]", c.n), column = fmt::format("f32[{}]", c.m);
  const auto declared = [&](const char* role, std::string names) {
    for (const auto& [word, type] : {std::pair{"MATRIX", matrix}, {"ROW", row}, {"COLUMN", column}})
      for (size_t at = names.find(word); at != std::string::npos; at = names.find(word))
        names.replace(at, std::string_view(word).size(), type);
    return names.empty() ? names : fmt::format("{} {}\n", role, names);
  };
  return declared("input", inputs) + declared("output", outputs) + declared("temp", temps) + "\n" +
         body;
}

std::string rows_program(const Case& c) {
  switch (c.op) {
  case Op::Softmax:
    return over_rows(c, "X: MATRIX", "Y: MATRIX", "e: MATRIX",
                     "e[i, j] = exp(X[i, j] - max(k, X[i, k]))\n"
                     "Y[i, j] = e[i, j] / sum(k, e[i, k])\n");
  case Op::LayerNorm:
    return over_rows(
        c, "X: MATRIX, gamma: ROW, beta: ROW", "Y: MATRIX", "mean: COLUMN, variance: COLUMN",
        fmt::format("mean[i] = sum(j, X[i, j]) / {0}\n"
                    "variance[i] = sum(j, (X[i, j] - mean[i]) * (X[i, j] - mean[i])) / {0}\n"
                    "Y[i, j] = (X[i, j] - mean[i]) * rsqrt(variance[i] + 1e-5) * gamma[j] + "
                    "beta[j]\n",
                    c.n));
  case Op::Gelu:
    return over_rows(c, "X: MATRIX", "Y: MATRIX", "", "Y[i, j] = gelu(X[i, j])\n");
  case Op::AddRelu:
    return over_rows(c, "X: MATRIX, Z: MATRIX", "Y: MATRIX", "",
                     "Y[i, j] = relu(X[i, j] + Z[i, j])\n");
  default:
    return fmt::format("input X: f32[{0}, {1}]\noutput Y: f32[{1}, {0}]\n\nY[j, i] = X[i, j]\n",
                       c.m, c.n);
  }
}

std::vector<std::string> separate_rows(const Case& c) {
  if (c.op == Op::Softmax)
    return {over_rows(c, "X: MATRIX", "largest: COLUMN", "", "largest[i] = max(j, X[i, j])\n"),
            over_rows(c, "X: MATRIX, largest: COLUMN", "e: MATRIX", "",
                      "e[i, j] = exp(X[i, j] - largest[i])\n"),
            over_rows(c, "e: MATRIX", "total: COLUMN", "", "total[i] = sum(j, e[i, j])\n"),
            over_rows(c, "e: MATRIX, total: COLUMN", "Y: MATRIX", "",
                      "Y[i, j] = e[i, j] / total[i]\n")};
  if (c.op == Op::LayerNorm)
    return {
        over_rows(c, "X: MATRIX", "mean: COLUMN", "",
                  fmt::format("mean[i] = sum(j, X[i, j]) / {}\n", c.n)),
        over_rows(c, "X: MATRIX, mean: COLUMN", "D: MATRIX", "", "D[i, j] = X[i, j] - mean[i]\n"),
        over_rows(c, "D: MATRIX", "variance: COLUMN", "",
                  fmt::format("variance[i] = sum(j, D[i, j] * D[i, j]) / {}\n", c.n)),
        over_rows(c, "D: MATRIX, variance: COLUMN, gamma: ROW, beta: ROW", "Y: MATRIX", "",
                  "Y[i, j] = D[i, j] * rsqrt(variance[i] + 1e-5) * gamma[j] + beta[j]\n")};
  if (c.op == Op::AddRelu)
    return {over_rows(c, "X: MATRIX, Z: MATRIX", "S: MATRIX", "", "S[i, j] = X[i, j] + Z[i, j]\n"),
            over_rows(c, "S: MATRIX", "Y: MATRIX", "", "Y[i, j] = relu(S[i, j])\n")};
  return {};
}

/// A statement, what it makes, and the constants that it reads.
struct Link {
  std::string tensor, type, constants, statement;
};

/// As one program, or with every statement a program of its own.
std::vector<std::string> chain(const std::string& input, const std::vector<Link>& links,
                               bool is_one) {
  std::vector<std::string> programs;
  std::string declared = input, statements;
  for (const Link& link : links) {
    const bool is_last = &link == &links.back();
    declared += link.constants + (is_one && !is_last ? "temp " : "output ") + link.tensor + ": " +
                link.type + "\n";
    statements += link.statement;
    if (is_one && !is_last)
      continue;
    programs.push_back(declared + "\n" + statements);
    declared = "input " + link.tensor + ": " + link.type + "\n";
    statements.clear();
  }
  return programs;
}

std::vector<std::string> product_and_gelu(const Case& c, bool is_one) {
  const std::string result = fmt::format("f32[{}, {}]", c.m, c.n);
  return chain(fmt::format("input A: f32[{}, {}]\n", c.m, c.k),
               {{"P", result, fmt::format("const B: f32[{}, {}]\n", c.k, c.n),
                 "P[i, j] = sum(k, A[i, k] * B[k, j])\n"},
                {"C", result, "", "C[i, j] = gelu(P[i, j])\n"}},
               is_one);
}

std::vector<std::string> convolution_and_pool(const Conv& conv, bool is_one) {
  const int64_t size = conv.out_size(), pooled = Pool::out_size(size);
  const std::string between = fmt::format("f32[{0}, {1}, {1}]", conv.filters, size);
  return chain(
      fmt::format("input image: f32[{0}, {1}, {1}]\n", conv.channels, conv.size),
      {{"sums", between,
        fmt::format("const weight: f32[{0}, {1}, {2}, {2}]\n", conv.filters, conv.channels,
                    conv.window),
        fmt::format("sums[k, h, w] = sum(c, r, s, image[c, {}, {}] * weight[k, c, r, s])\n",
                    position(conv, "h", "r"), position(conv, "w", "s"))},
       {"active", between, fmt::format("const norm: f32[4, {}]\n", conv.filters),
        "active[k, h, w] = relu((sums[k, h, w] - norm[2, k]) * rsqrt(norm[3, k] + 1e-5) * "
        "norm[0, k] + norm[1, k])\n"},
       {"out", fmt::format("f32[{0}, {1}, {1}]", conv.filters, pooled), "",
        fmt::format("out[k, h, w] = max(r in range({0}), s in range({0}), "
                    "active[k, {1} * h + r, {1} * w + s])\n",
                    Pool::kWindow, Pool::kStride)}},
      is_one);
}

std::map<std::string, Slot> slots_of(Op op) {
  switch (op) {
  case Op::Gemm:
  case Op::GemmI8:
  case Op::GemmF16:
  case Op::GemmGelu:
    return {{"A", Slot::A}, {"B", Slot::B}, {"C", Slot::Out}};
  case Op::Conv:
    return {{"image", Slot::A}, {"weight", Slot::B}, {"out", Slot::Out}};
  case Op::ConvPool:
    return {{"image", Slot::A}, {"weight", Slot::B}, {"norm", Slot::C}, {"out", Slot::Out}};
  case Op::Attention:
    return {{"Q", Slot::A}, {"K", Slot::B}, {"V", Slot::C}, {"out", Slot::Out}};
  case Op::LayerNorm:
    return {{"X", Slot::A}, {"gamma", Slot::B}, {"beta", Slot::C}, {"Y", Slot::Out}};
  default:
    return {{"X", Slot::A}, {"Z", Slot::B}, {"Y", Slot::Out}};
  }
}

} // namespace

ProgramTexts fused_program(const Case& c) {
  if (c.op == Op::GemmGelu)
    return {product_and_gelu(c, true), slots_of(c.op)};
  if (c.op == Op::ConvPool)
    return {convolution_and_pool(c.conv, true), slots_of(c.op)};
  const std::string text = c.group == "gemm"        ? product(c)
                           : c.group == "conv"      ? convolution_text(c.conv)
                           : c.group == "attention" ? attention(c)
                                                    : rows_program(c);
  return {{text}, slots_of(c.op)};
}

ProgramTexts separate_programs(const Case& c) {
  if (c.op == Op::GemmGelu)
    return {product_and_gelu(c, false), slots_of(c.op)};
  if (c.op == Op::ConvPool)
    return {convolution_and_pool(c.conv, false), slots_of(c.op)};
  return {c.op == Op::Attention ? separate_attention(c) : separate_rows(c), slots_of(c.op)};
}

} // namespace kawara::bench
