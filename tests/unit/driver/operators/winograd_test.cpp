// Convolutions in Winograd's form, as compiled code, compared with the interpreter's direct sum.

#include "driver/pipeline.h"
#include "driver/session.h"

#include "program/interpret/interpret.h"
#include "program/rewrites/winograd.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace kawara::driver {
namespace {

struct Conv {
  int64_t images, channels, filters, height, width, pad;
  bool has_channels_last = false;
};

std::string channels_last_text(const Conv& c) {
  return fmt::format("input X: f32[{0}, {3}, {4}, {1}]\nconst W: f32[3, 3, {1}, {2}]\n"
                     "output Y: f32[{0}, {5}, {6}, {2}]\n"
                     "Y[n, h, w, k] = sum(c, r, s, X[n, h + r, w + s, c] * W[r, s, c, k])\n",
                     c.images, c.channels, c.filters, c.height + 2, c.width + 2, c.height, c.width);
}

std::string text_of(const Conv& c) {
  if (c.has_channels_last)
    return channels_last_text(c);
  const std::string image = fmt::format("f32[{}, {}, {}, {}]", c.images, c.channels,
                                        c.height + 2 - 2 * c.pad, c.width + 2 - 2 * c.pad);
  std::string text = fmt::format("input X: {0}\nconst W: f32[{2}, {1}, 3, 3]\n"
                                 "output Y: f32[{3}, {2}, {4}, {5}]\n",
                                 image, c.channels, c.filters, c.images, c.height, c.width);
  const char* source = c.pad > 0 ? "P" : "X";
  if (c.pad > 0)
    text += fmt::format("temp P: f32[{0}, {1}, {2}, {3}]\n"
                        "for n in range({0}):\n  for c in range({1}):\n    for h in range({2}):\n"
                        "      for w in range({3}):\n"
                        "        if 1 <= h < {4} and 1 <= w < {5}:\n"
                        "          P[n, c, h, w] = X[n, c, h - 1, w - 1]\n"
                        "        else:\n          P[n, c, h, w] = 0\n",
                        c.images, c.channels, c.height + 2, c.width + 2, c.height + 1, c.width + 1);
  return text +
         fmt::format("Y[n, k, h, w] = sum(c, r, s, {}[n, c, h + r, w + s] * W[k, c, r, s])\n",
                     source);
}

double largest_of(const program::Array& array) {
  double found = 0;
  for (int64_t k = 0; k < array.elements(); ++k)
    found = std::max(found, std::abs(array.get_double(k)));
  return found;
}

/// Largest difference from the direct sum, and how large it may be.
std::pair<double, double> difference_of(const Conv& c, int64_t m) {
  schedule::Environment environment = host_environment();
  Request request{make_source("conv", text_of(c)), make_source("schedule", "auto"), {}, {}};
  request.numerics = program::Numerics::Fast;
  request.winograd = m;
  Trace silent;
  auto compiled = compile(request, environment, silent);
  EXPECT_TRUE(compiled) << (compiled ? "" : render(compiled.error()));
  if (!compiled)
    return {1, 0};
  const auto direct = program::parse(request.text);
  const auto inputs = driver::inputs_for(*direct, {}, {});
  const auto got = call(*compiled, {}, *inputs);
  const auto expected = program::interpret(*direct, {}, *inputs);
  EXPECT_TRUE(got && expected);
  double worst = 0;
  for (int64_t k = 0; k < expected->at("Y").elements(); ++k)
    worst = std::max(worst, std::abs(got->at("Y").get_double(k) - expected->at("Y").get_double(k)));
  return {worst, program::winograd_bound(m, c.channels) * largest_of(inputs->at("X")) *
                     largest_of(inputs->at("W"))};
}

TEST(WinogradCode, StaysWithinItsBound) {
  for (const Conv& c :
       {Conv{1, 16, 32, 8, 8, 1}, Conv{2, 5, 7, 7, 9, 0}, Conv{1, 33, 18, 14, 6, 1},
        Conv{3, 8, 8, 3, 2, 1}, Conv{1, 16, 32, 8, 8, 0, true}, Conv{2, 5, 7, 7, 9, 0, true}})
    for (const int64_t m : {2, 4}) {
      const auto [worst, bound] = difference_of(c, m);
      EXPECT_LE(worst, bound) << text_of(c) << "m " << m;
      EXPECT_GT(bound, 0);
    }
}

/// What `auto` makes of a convolution under `numerics fast`: whether it transforms tiles.
bool has_tiles(const Conv& c, program::Numerics numerics, int64_t winograd = 0,
               const char* directives = "auto") {
  schedule::Environment environment;
  environment.cpu = *target::named_cpu("neoverse-n1");
  Request request{make_source("conv", text_of(c)), make_source("schedule", directives), {}, {}};
  request.numerics = numerics;
  request.winograd = winograd;
  Trace silent;
  const auto front = schedule(request, environment, silent);
  EXPECT_TRUE(front);
  return front &&
         std::any_of(front->schedule.scop.tensors.begin(), front->schedule.scop.tensors.end(),
                     [](const program::Tensor& t) { return t.name == "Y_tiles"; });
}

TEST(WinogradCode, IsChosenWhereItPaysUnderFast) {
  const Conv wide{1, 64, 64, 28, 28, 1}, narrow{1, 3, 64, 28, 28, 1};
  EXPECT_TRUE(has_tiles(wide, program::Numerics::Fast));
  EXPECT_TRUE(has_tiles({1, 64, 64, 28, 28, 0, true}, program::Numerics::Fast));
  EXPECT_FALSE(has_tiles(wide, program::Numerics::Rounding));
  EXPECT_FALSE(has_tiles(narrow, program::Numerics::Fast)) << "transforms outweigh products";
  EXPECT_FALSE(has_tiles(wide, program::Numerics::Fast, 1)) << "the direct sum was asked for";
  EXPECT_FALSE(has_tiles(wide, program::Numerics::Fast, 0, "parallel(S0.n)"));
}

} // namespace
} // namespace kawara::driver
