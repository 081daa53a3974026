#include "unit/program/example.h"

// The programs of the talks against formulas for single elements.

namespace kawara::program {
namespace {

struct Talk {
  std::map<std::string, Elements> in, out;
};

Talk run(const std::string& file, const std::vector<int64_t>& params) {
  Talk talk;
  const auto program = parse_example(file);
  if (!program) {
    ADD_FAILURE() << render(program.error());
    return talk;
  }
  const auto inputs = pattern_inputs(*program, params, 3);
  if (!inputs) {
    ADD_FAILURE() << render(inputs.error());
    return talk;
  }
  const auto results = interpret(*program, params, *inputs);
  if (!results) {
    ADD_FAILURE() << render(results.error());
    return talk;
  }
  for (const auto& [name, array] : *inputs)
    talk.in[name] = elements_of(array);
  for (const auto& [name, array] : *results)
    talk.out[name] = elements_of(array);
  return talk;
}

constexpr double kSingle = 1e-5; // f32 arithmetic against f64

TEST(Talks, Add) {
  Talk t = run("add.kw", {13});
  expect_near(t.out["c"], blend(1, t.in["a"], 1, t.in["b"]), kSingle);
}

TEST(Talks, Walk) {
  Talk t = run("walk.kw", {});
  Elements expected = transposed(t.in["A"]);
  for (double& v : expected.at)
    v = 2 * v + 1;
  expect_near(t.out["B"], expected, kSingle);
}

TEST(Talks, Strip) {
  Talk t = run("strip.kw", {13});
  expect_near(t.out["y"], blend(t.in["a"](0), t.in["x"], 1, t.in["y"]), kSingle);
}

TEST(Talks, Coalesce) {
  Talk t = run("coalesce.kw", {3, 7});
  Elements expected = t.in["A"];
  for (size_t i = 0; i < expected.at.size(); ++i)
    expected.at[i] *= t.in["B"].at[i];
  expect_near(t.out["C"], expected, kSingle);
}

TEST(Talks, SineOfSine) {
  Talk t = run("sinsin.kw", {13});
  Elements expected = t.in["x"];
  for (double& v : expected.at)
    v = std::sin(std::sin(v));
  expect_near(t.out["y"], expected, kSingle);
}

TEST(Talks, GemmAndRelu) {
  Talk plain = run("gemm.kw", {5, 7, 3});
  expect_near(plain.out["C"], product(plain.in["A"], plain.in["B"]), kSingle);
  Talk relu = run("gemm_relu.kw", {5, 7, 3});
  Elements expected = product(relu.in["A"], relu.in["B"]);
  for (double& v : expected.at)
    v = std::max(v, 0.0);
  expect_near(relu.out["D"], expected, kSingle);
}

TEST(Talks, Conv2d) {
  const int64_t L = 2, C = 3, H = 5, W = 4, K = 2, R = 3, S = 2;
  Talk t = run("conv2d.kw", {L, C, H, W, K, R, S});
  Elements& image = t.in["image"];
  Elements& weight = t.in["weight"];
  Elements expected = zeros({L, K, H, W});
  const auto image_at = [&](int64_t n, int64_t c, int64_t h, int64_t w) {
    return image(((n * C + c) * (H + R - 1) + h) * (W + S - 1) + w);
  };
  // Scattered from the image instead of gathered for the output.
  for (int64_t n = 0; n < L; ++n)
    for (int64_t c = 0; c < C; ++c)
      for (int64_t r = 0; r < R; ++r)
        for (int64_t s = 0; s < S; ++s)
          for (int64_t k = 0; k < K; ++k)
            for (int64_t h = 0; h < H; ++h)
              for (int64_t w = 0; w < W; ++w)
                expected(((n * K + k) * H + h) * W + w) +=
                    image_at(n, c, h + r, w + s) * weight(((k * C + c) * R + r) * S + s);
  expect_near(t.out["out"], expected, kSingle);
}

TEST(Talks, Maxpool) {
  const int64_t L = 2, C = 3, H = 3, W = 5;
  Talk t = run("maxpool.kw", {L, C, H, W});
  Elements expected = zeros({L, C, H, W});
  std::fill(expected.at.begin(), expected.at.end(), -2.0);
  for (int64_t plane = 0; plane < L * C; ++plane)
    for (int64_t y = 0; y < 2 * H; ++y)
      for (int64_t x = 0; x < 2 * W; ++x) {
        double& element = expected((plane * H + y / 2) * W + x / 2);
        element = std::max(element, t.in["image"]((plane * 2 * H + y) * 2 * W + x));
      }
  expect_near(t.out["out"], expected, kSingle);
}

TEST(Talks, Attention) {
  const int64_t N = 7;
  Talk t = run("attention.kw", {N, 5});
  Elements weights = product(t.in["Q"], transposed(t.in["K"]));
  for (int64_t i = 0; i < N; ++i) {
    double total = 0;
    for (int64_t j = 0; j < N; ++j)
      total += weights(i, j) = std::exp(t.in["scale"](0) * weights(i, j));
    for (int64_t j = 0; j < N; ++j)
      weights(i, j) /= total;
  }
  expect_near(t.out["out"], product(weights, t.in["V"]), kSingle);
}

TEST(Talks, Blur) {
  const int64_t H = 5, W = 7;
  Talk t = run("blur.kw", {H, W});
  Elements expected = zeros({H, W});
  for (int64_t y = 0; y < H; ++y)
    for (int64_t x = 0; x < W; ++x)
      for (int64_t d = 0; d < 9; ++d)
        expected(y, x) += t.in["image"](y + d / 3, x + d % 3) / 9;
  expect_near(t.out["out"], expected, kSingle);
}

TEST(Talks, PolynomialProduct) {
  for (const int64_t n : {1, 2, 7}) {
    Talk t = run("polyproduct.kw", {n});
    Elements expected = zeros({2 * n - 1});
    for (int64_t power = 0; power < 2 * n - 1; ++power)
      for (int64_t i = std::max<int64_t>(0, power - n + 1); i <= std::min(power, n - 1); ++i)
        expected(power) += t.in["a"](i) * t.in["b"](power - i);
    expect_near(t.out["c"], expected, kSingle);
  }
}

TEST(Talks, FusedPair) {
  Talk t = run("fusedpair.kw", {7});
  const auto outer = [&](const char* u, const char* v) {
    return product(column(t.in[u]), transposed(column(t.in[v])));
  };
  const Elements A = blend(1, blend(1, t.in["A"], 1, outer("u1", "v1")), 1, outer("u2", "v2"));
  expect_near(t.out["A"], A, kSingle);
  expect_near(t.out["x"], blend(1, t.in["x"], 1, line(product(transposed(A), column(t.in["y"])))),
              kSingle);
}

TEST(Talks, PrefixSum) {
  Talk t = run("prefix.kw", {13});
  double sum = 0;
  Elements expected = t.in["x"];
  for (double& v : expected.at)
    v = sum += v;
  expect_near(t.out["s"], expected, kSingle);
}

TEST(Talks, Jacobi1d) {
  const int64_t T = 4, N = 9;
  Talk t = run("jacobi1d.kw", {T, N});
  Elements a = t.in["A"];
  for (int64_t step = 1; step <= T; ++step)
    for (int64_t i = 1; i + 1 < N; ++i)
      a(step, i) = (a(step - 1, i - 1) + a(step - 1, i) + a(step - 1, i + 1)) / 3;
  expect_near(t.out["A"], a, kSingle);
}

} // namespace
} // namespace kawara::program
