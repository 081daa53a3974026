#include "example.h"
#include "program/program.h"

#include <gtest/gtest.h>

// Products of narrow types, with the schedule that this machine gets: integers give the
// interpreter's bits, f16 and bf16 stay within what the contract allows, also at edges and with
// more work behind them.

namespace kawara::run_test {
namespace {

Example from_text(const std::string& text) {
  const SourcePtr source = make_source("narrow.kw", text);
  auto program = program::parse(source);
  if (!program)
    throw std::runtime_error(render(program.error()));
  return {"narrow", source, *std::move(program)};
}

void expect_narrow(const std::string& text, const Sizes& sizes = {}) {
  SCOPED_TRACE(text);
  const Example example = from_text(text);
  const program::Arrays inputs = inputs_of(example, sizes);
  const driver::Compiled compiled = compile(request_of(example, "auto"));
  expect_near(example, sizes, "auto", run_compiled(compiled, values_of(example, sizes), inputs),
              expected_of(example, sizes, inputs));
}

struct Types {
  const char *left, *right, *result;
};
constexpr Types kIntegers[] = {{"i8", "i8", "i32"},
                               {"u8", "i8", "i32"},
                               {"i8", "u8", "i32"},
                               {"u8", "u8", "i32"},
                               {"i16", "i8", "i32"}};
constexpr Types kFloats[] = {{"f16", "f16", "f32"}, {"bf16", "bf16", "f32"}, {"f16", "f16", "f16"}};

std::string product_text(const Types& types, const std::string& m, const std::string& n,
                         const std::string& k) {
  return std::string("input A: ") + types.left + "[" + m + ", " + k + "], B: " + types.right + "[" +
         k + ", " + n + "]\noutput C: " + types.result + "[" + m + ", " + n +
         "]\nC[i, j] = sum(k, A[i, k] * B[k, j])\n";
}

TEST(Narrow, IntegersAreExact) {
  for (const Types& types : kIntegers)
    for (const std::string numerics : {"exact", "rounding"})
      expect_narrow("numerics " + numerics + "\n" + product_text(types, "37", "50", "45"));
}

TEST(Narrow, FloatsAreWithinTheContract) {
  for (const Types& types : kFloats)
    for (const std::string numerics : {"rounding", "fast"})
      expect_narrow("numerics " + numerics + "\n" + product_text(types, "33", "130", "300"));
}

TEST(Narrow, SizesMayBeOpen) {
  for (const Sizes& sizes : {Sizes{{"M", 40}, {"N", 33}, {"K", 24}},
                             {{"M", 1}, {"N", 3}, {"K", 5}},
                             {{"M", 17}, {"N", 70}, {"K", 131}},
                             {{"M", 4}, {"N", 4}, {"K", 0}}}) {
    expect_narrow("param M, N, K\n" + product_text(kIntegers[0], "M", "N", "K"), sizes);
    expect_narrow("numerics fast\nparam M, N, K\n" + product_text(kFloats[0], "M", "N", "K"),
                  sizes);
  }
}

TEST(Narrow, BatchesAndTransposes) {
  expect_narrow("input A: i8[3, 30, 41], B: i8[3, 41, 35]\noutput C: i32[3, 30, 35]\n"
                "C[b, i, j] = sum(k, A[b, i, k] * B[b, k, j])\n");
  expect_narrow("input A: i8[41, 30], B: i8[35, 41]\noutput C: i32[30, 35]\n"
                "C[i, j] = sum(k, A[k, i] * B[j, k])\n");
  expect_narrow("input A: i8[30, 41], B: i8[41, 35]\noutput C: i32[35, 30]\n"
                "C[j, i] = sum(k, A[i, k] * B[k, j])\n");
}

TEST(Narrow, RequantisesInTheSameTile) {
  expect_narrow("input A: u8[50, 70], scale: f32[45]\nconst B: i8[70, 45]\noutput D: u8[50, 45]\n"
                "temp C: i32[50, 45]\nC[i, j] = sum(k, A[i, k] * B[k, j])\n"
                "D[i, j] = u8(min(max(round(f32(C[i, j]) * scale[j] * 0.01) + 3, 0), 255))\n");
}

/// A convolution; `channels` of an image come first, of another last.
std::string image_text(const Types& types, int64_t channels, int64_t filters, int64_t width,
                       int64_t stride, bool is_last) {
  const std::string at =
      std::to_string(stride) + " * h + r, " + std::to_string(stride) + " * w + s";
  const std::string c = std::to_string(channels), k = std::to_string(filters);
  const std::string in = "8, " + std::to_string(stride * (width - 1) + 3);
  const std::string out = std::to_string((8 - 3) / stride + 1) + ", " + std::to_string(width);
  const auto of = [&](const std::string& elements, const std::string& first) {
    return is_last ? elements + ", " + first : first + ", " + elements;
  };
  return std::string("input X: ") + types.left + "[" + of(in, c) + "]\nconst W: " + types.right +
         "[" + k + ", " + c + ", 3, 3]\noutput Y: " + types.result + "[" + of(out, k) + "]\nY[" +
         of("h, w", "k") + "] = sum((c, r, s), X[" + of(at, "c") + "] * W[k, c, r, s])\n";
}

TEST(Narrow, ImagesAreExact) {
  for (const Types& types : kIntegers)
    for (const bool is_last : {false, true}) {
      expect_narrow(image_text(types, 8, 48, 16, 1, is_last));
      expect_narrow(image_text(types, 7, 37, 19, 1, is_last));
      expect_narrow(image_text(types, 12, 24, 13, 2, is_last));
    }
}

TEST(Narrow, ImagesOfFloatsAreWithinTheContract) {
  for (const Types& types : kFloats)
    for (const bool is_last : {false, true})
      expect_narrow("numerics rounding\n" + image_text(types, 7, 40, 19, 1, is_last));
}

TEST(Narrow, RequantisesRowsOfAnyLength) {
  for (const std::string type : {"i8", "u8", "i16"})
    for (const std::string width : {"3", "5", "7", "11"})
      expect_narrow("input X: i8[12, 40], W: i8[16, 12]\noutput Y: " + type + "[16, " + width +
                    "]\ntemp T: i32[16, " + width +
                    "]\nT[k, w] = sum(c, X[c, 3 * w + 1] * W[k, c])\nY[k, w] = " + type +
                    "(max(0 - 100, min(127, round(f32(T[k, w]) * 0.5))))\n");
}

TEST(Narrow, FewRowsReadWeightsAsTheyAre) {
  for (const Types& types : {kIntegers[0], kFloats[0], kFloats[1]})
    expect_narrow(product_text(types, "1", "200", "300"));
}

} // namespace
} // namespace kawara::run_test
