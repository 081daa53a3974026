#include "program/rewrites/unit_dimensions.h"

#include "program/interpret/arguments.h"
#include "program/interpret/interpret.h"

#include <gtest/gtest.h>

namespace kawara::program {
namespace {

/// The shorter program computes the same elements in the same order; its listing.
std::string shortened(const std::string& text) {
  const auto parsed = parse(make_source("units.kw", text));
  EXPECT_TRUE(parsed) << render(parsed.error());
  const Program other = without_unit_dimensions(*parsed);
  EXPECT_EQ(spec(other), std::vector<std::string>{});
  auto inputs = pattern_inputs(*parsed, {}, 7);
  EXPECT_TRUE(inputs);
  const auto want = interpret(*parsed, {}, *inputs);
  const auto shapes = required_shapes(other, {});
  EXPECT_TRUE(want && shapes);
  for (size_t t = 0; t < other.tensors.size(); ++t)
    if (const auto given = inputs->find(other.tensors[t].name); given != inputs->end()) {
      Array flat(given->second.elem(), (*shapes)[t]);
      for (int64_t c = 0; c < flat.elements(); ++c)
        flat.set(c, given->second.get(c));
      given->second = flat;
    }
  const auto got = interpret(other, {}, *inputs);
  EXPECT_TRUE(got) << render(got.error());
  for (const auto& [name, array] : *want)
    for (int64_t c = 0; c < array.elements(); ++c)
      EXPECT_EQ(array.get_double(c), got->at(name).get_double(c)) << name << " " << c;
  return print(other);
}

/// What the program without these dimensions looks like.
std::string plain(const std::string& text) { return print(*parse(make_source("units.kw", text))); }

TEST(UnitDimensions, OfConvolutionsAreLeftOut) {
  EXPECT_EQ(shortened("input X: f32[1, 2, 5, 6], W: f32[3, 2, 3, 3]\noutput Y: f32[1, 3, 3, 4]\n"
                      "Y[n, k, h, w] = sum(c, r, s, X[n, c, h + r, w + s] * W[k, c, r, s])\n"),
            plain("input X: f32[2, 5, 6], W: f32[3, 2, 3, 3]\noutput Y: f32[3, 3, 4]\n"
                  "Y[k, h, w] = sum(c, r, s, X[c, h + r, w + s] * W[k, c, r, s])\n"));
  EXPECT_EQ(shortened("input X: f32[1, 4, 5, 2], W: f32[3, 2, 1, 1]\noutput Y: f32[1, 4, 5, 3]\n"
                      "Y[n, h, w, k] = sum(c, r, s, X[n, h + r, w + s, c] * W[k, c, r, s])\n"),
            plain("input X: f32[4, 5, 2], W: f32[3, 2]\noutput Y: f32[4, 5, 3]\n"
                  "Y[h, w, k] = sum(c, X[h, w, c] * W[k, c])\n"));
}

TEST(UnitDimensions, OfRowsAreLeftOutInAllNests) {
  EXPECT_EQ(shortened("input X: f32[1, 3, 4]\noutput Y: f32[1, 3, 4]\ntemp m: f32[1, 3]\n"
                      "m[b, i] = max(k, X[b, i, k])\nY[b, i, j] = X[b, i, j] - m[b, i]\n"),
            plain("input X: f32[3, 4]\noutput Y: f32[3, 4]\ntemp m: f32[3]\n"
                  "m[i] = max(k, X[i, k])\nY[i, j] = X[i, j] - m[i]\n"));
}

TEST(UnitDimensions, OfBatchesOfProductsAreLeftOut) {
  EXPECT_EQ(shortened("input A: f32[1, 3, 4], B: f32[1, 4, 5]\noutput C: f32[1, 3, 5]\n"
                      "C[b, i, j] = sum(k, A[b, i, k] * B[b, k, j])\n"),
            plain("input A: f32[3, 4], B: f32[4, 5]\noutput C: f32[3, 5]\n"
                  "C[i, j] = sum(k, A[i, k] * B[k, j])\n"));
}

TEST(UnitDimensions, StayWhereTheyAreAProductsRows) {
  const std::string row = "input A: f32[1, 4], B: f32[4, 5], bias: f32[5]\noutput D: f32[1, 5]\n"
                          "temp C: f32[1, 5]\n"
                          "C[i, j] = sum(k, A[i, k] * B[k, j])\n"
                          "D[i, j] = C[i, j] + bias[j]\n";
  EXPECT_EQ(shortened(row), plain(row));
  const std::string heads = "input A: f32[2, 1, 4], B: f32[2, 4, 5]\noutput C: f32[2, 1, 5]\n"
                            "C[h, i, j] = sum(k, A[h, i, k] * B[h, k, j])\n";
  EXPECT_EQ(shortened(heads), plain(heads));
  // One loop is a row; two are not two.
  EXPECT_EQ(shortened("input A: f32[1, 1, 4], B: f32[4, 5]\noutput C: f32[1, 1, 5]\n"
                      "C[n, i, j] = sum(k, A[n, i, k] * B[k, j])\n"),
            plain("input A: f32[1, 4], B: f32[4, 5]\noutput C: f32[1, 5]\n"
                  "C[i, j] = sum(k, A[i, k] * B[k, j])\n"));
}

TEST(UnitDimensions, LeaveALoopAndADimension) {
  const std::string text = "input X: f32[6]\noutput Y: f32[1]\nY[z] = sum(i, X[i])\n";
  EXPECT_NE(shortened(text).find("Y: f32[1]"), std::string::npos) << shortened(text);
  const std::string one = "input X: f32[1, 1]\noutput Y: f32[1, 1]\nY[i, j] = X[i, j] + 1\n";
  EXPECT_NE(shortened(one).find("Y: f32[1]"), std::string::npos) << shortened(one);
  EXPECT_NE(shortened(one).find("for j in range(1)"), std::string::npos) << shortened(one);
}

TEST(UnitDimensions, MayBeReadInTheMiddle) {
  const std::string text = shortened("input X: f32[3, 1, 4], s: f32[1]\noutput Y: f32[3, 1, 4]\n"
                                     "Y[i, u, j] = X[i, u, 3 - j] * s[u] + u\n");
  EXPECT_NE(text.find("X: f32[3, 4]"), std::string::npos) << text;
}

} // namespace
} // namespace kawara::program
