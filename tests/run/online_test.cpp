#include "example.h"
#include "program/interpret/values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

// Chains of reductions in one pass give what the interpreter says, for any size and any block, also
// where rows hold infinities, and keep no element for each pair of positions.

namespace kawara::run_test {
namespace {

constexpr const char* kRowwise = "distribute(S9.d); fuse(S4.i, S5.i); fuse(S4.i, S7.i); "
                                 "fuse(S4.i, S9.i); interchange(S9.d, S9.j); ";

std::string in_blocks(int64_t rows, int64_t keys) {
  const std::string r = std::to_string(rows), k = std::to_string(keys);
  return "distribute(S9.d); fuse(S4.i, S5.i); fuse(S4.i, S7.i); fuse(S4.i, S9.i); split(S4.i, " +
         r + "); distribute(S4.i.1); split(S4.k, " + k + "); split(S5.j, " + k + "); split(S7.j, " +
         k + "); split(S9.j, " + k +
         "); reorder(S4.k.0, S4.i.1, S4.k.1); reorder(S5.j.0, S5.i.1, S5.j.1); "
         "reorder(S7.j.0, S7.i.1, S7.j.1); reorder(S9.j.0, S9.i.1, S9.j.1, S9.d); "
         "online(S4.k.0, S5.j.0, S7.j.0, S9.j.0); compute_at(S2, S4.k.0); compute_at(S1, S4.k.0)";
}

void expect_same(const std::string& directives, const Sizes& sizes) {
  const Example example = example_at("attention");
  const program::Arrays inputs = inputs_of(example, sizes);
  const program::Arrays expected = expected_of(example, sizes, inputs);
  const driver::Compiled compiled = compile(request_of(example, directives));
  expect_near(example, sizes, directives, run_compiled(compiled, values_of(example, sizes), inputs),
              expected);
}

TEST(OnePass, RowByRow) {
  for (const int64_t n : {1, 2, 7, 33})
    expect_same(std::string(kRowwise) + "online(S4.k, S5.j, S7.j, S9.j)", {{"N", n}, {"D", 5}});
}

TEST(OnePass, BlocksOfAnySize) {
  std::mt19937 random(7);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 6; ++round)
    expect_same(in_blocks(draw(1, 9), draw(1, 17)), {{"N", draw(1, 50)}, {"D", draw(1, 9)}});
}

/// Elements of everything that a call needs besides its arguments, for N positions.
int64_t elements_for(const driver::Compiled& compiled, const std::vector<int64_t>& sizes) {
  int64_t elements = 0;
  const emit::Signature& signature = compiled.executable.signature();
  for (const auto* group : {&signature.workspace, &signature.scratch})
    for (const emit::BufferInfo& buffer : *group)
      elements += *emit::bytes_of(buffer, sizes) / 4;
  return elements;
}

TEST(OnePass, KeepsBlocksOnly) {
  const Example example = example_at("attention");
  const driver::Compiled compiled = compile(request_of(example, in_blocks(8, 16)));
  EXPECT_LE(elements_for(compiled, {4000, 4}), 4000 * 8);
}

TEST(OnePass, AutoKeepsBlocksOnly) {
  for (const char* path : {"attention_heads", "attention_causal"}) {
    const Example example = example_at(path);
    const driver::Compiled compiled = compile(request_of(example, "auto"));
    // Twelve heads: a sum of 64 elements, a maximum and a total for each row, and one head's packed
    // keys and values.
    EXPECT_LE(elements_for(compiled, {40000}), 40000 * 12 * 80) << path;
    for (const int64_t n : {1, 67, 200}) {
      const Sizes sizes{{"N", n}};
      const program::Arrays inputs = inputs_of(example, sizes);
      expect_near(example, sizes, "auto", run_compiled(compiled, {n}, inputs),
                  expected_of(example, sizes, inputs));
    }
  }
}

constexpr const char* kSoftmaxSum = R"(param M, N
input s: f32[M, N], v: f32[M, N]
output top: f32[M], total: f32[M], mean: f32[M]
temp w: f32[M, N]
for i in range(M):
    top[i] = -inf
    total[i] = 0
    mean[i] = 0
    for j in range(N):
        top[i] max= s[i, j]
    for j in range(N):
        w[i, j] = exp(s[i, j] - top[i])
        total[i] += w[i, j]
    for j in range(N):
        mean[i] += w[i, j] / total[i] * v[i, j]
)";

/// Rows that begin with, end with or consist of infinities.
double score(int64_t row, int64_t column) {
  const double low = -std::numeric_limits<double>::infinity();
  const auto value = static_cast<double>((row * 7 + column * 13) % 11) * 20 - 300;
  switch (row % 5) {
  case 0:
    return column < 6 ? low : value;
  case 1:
    return column >= 2 ? low : value;
  case 2:
    return low;
  case 3:
    return column == 4 ? -low : value;
  default:
    return value;
  }
}

TEST(OnePass, InfinitiesAndNans) {
  Example example;
  example.path = "softmax_sum";
  example.source = make_source("softmax_sum.kw", kSoftmaxSum);
  auto parsed = program::parse(example.source);
  ASSERT_TRUE(static_cast<bool>(parsed));
  example.program = *std::move(parsed);
  const Sizes sizes{{"M", 10}, {"N", 13}};
  program::Arrays inputs = inputs_of(example, sizes);
  for (int64_t i = 0; i < 10; ++i)
    for (int64_t j = 0; j < 13; ++j)
      inputs.at("s").set_double(i * 13 + j, score(i, j));
  const program::Arrays expected = expected_of(example, sizes, inputs);
  for (const char* directives :
       {"online(S3.j, S4.j, S6.j)", "split(S3.j, 4); split(S4.j, 4); split(S6.j, 4); "
                                    "online(S3.j.0, S4.j.0, S6.j.0)"}) {
    const program::Arrays got =
        run_compiled(compile(request_of(example, directives)), values_of(example, sizes), inputs);
    for (const auto& [name, array] : expected) {
      for (int64_t i = 0; i < 10; ++i) {
        const double want = array.get_double(i), have = got.at(name).get_double(i);
        EXPECT_EQ(std::isnan(have), std::isnan(want)) << name << " " << i << " " << directives;
        if (std::isfinite(want)) {
          EXPECT_NEAR(have, want, 1e-4 * (1 + std::fabs(want))) << name << " " << i;
        }
      }
    }
  }
}

} // namespace
} // namespace kawara::run_test
