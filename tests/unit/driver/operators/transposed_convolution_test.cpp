#include "unit/driver/one_node.h"

#include <random>

// Transposed convolutions by classes of residues, against sums that every element of the image is
// added to.

namespace kawara::driver::one_node {
namespace {

using Ints = std::vector<int64_t>;

struct Sample {
  int64_t images = 1, groups = 1, channels = 1, filters = 1; ///< the last two of a group
  Ints spatial, kernel, stride, dilation, begin, end, extra;

  Ints out() const {
    Ints sizes;
    for (size_t k = 0; k < spatial.size(); ++k)
      sizes.push_back(stride[k] * (spatial[k] - 1) + extra[k] + dilation[k] * (kernel[k] - 1) + 1 -
                      begin[k] - end[k]);
    return sizes;
  }
};

/// The place behind `at` within these extents; false at the end.
bool advance(Ints& at, const Ints& extents) {
  for (size_t k = at.size(); k-- > 0;) {
    if (++at[k] < extents[k])
      return true;
    at[k] = 0;
  }
  return false;
}

int64_t place(int64_t front, const Ints& at, const Ints& extents) {
  for (size_t k = 0; k < at.size(); ++k)
    front = front * extents[k] + at[k];
  return front;
}

std::vector<double> scattered(const Sample& s, const Tensor& x, const Tensor& w, const Tensor& b) {
  const Ints out = s.out();
  int64_t elements = 1;
  for (const int64_t extent : out)
    elements *= extent;
  std::vector<double> y(static_cast<size_t>(s.images * s.groups * s.filters * elements));
  for (size_t k = 0; k < y.size(); ++k)
    y[k] = b.get_double(static_cast<int64_t>(k) / elements % (s.groups * s.filters));
  for (int64_t n = 0; n < s.images; ++n)
    for (int64_t gc = 0; gc < s.groups * s.channels; ++gc)
      for (int64_t m = 0; m < s.filters; ++m) {
        Ints i(s.spatial.size()), q(s.spatial.size());
        do {
          do {
            Ints o(i.size());
            bool is_inside = true;
            for (size_t k = 0; k < i.size(); ++k) {
              o[k] = s.stride[k] * i[k] + s.dilation[k] * q[k] - s.begin[k];
              is_inside = is_inside && o[k] >= 0 && o[k] < out[k];
            }
            if (is_inside)
              y[static_cast<size_t>(
                  place((n * s.groups + gc / s.channels) * s.filters + m, o, out))] +=
                  x.get_double(place(n * s.groups * s.channels + gc, i, s.spatial)) *
                  w.get_double(place(gc * s.filters + m, q, s.kernel));
          } while (advance(q, s.kernel));
        } while (advance(i, s.spatial));
      }
  return y;
}

void check(const Sample& s, const std::string& what) {
  Shape image{s.images, s.groups * s.channels}, weights{s.groups * s.channels, s.filters};
  image.insert(image.end(), s.spatial.begin(), s.spatial.end());
  weights.insert(weights.end(), s.kernel.begin(), s.kernel.end());
  Ints pads = s.begin;
  pads.insert(pads.end(), s.end.begin(), s.end.end());
  const Tensor x = varied(image, 1), w = varied(weights, 2), b = varied({s.groups * s.filters}, 3);
  const Case c{"ConvTranspose",
               {{"group", s.groups},
                {"strides", s.stride},
                {"dilations", s.dilation},
                {"pads", pads},
                {"output_padding", s.extra}},
               {x, w, b}};
  SCOPED_TRACE(what);
  const auto got = run(c);
  ASSERT_EQ(got.size(), 1U);
  expect_elements(got[0], scattered(s, x, w, b), 2e-4);
}

TEST(TransposedConvolution, IsTheScatteredSumForRandomWindows) {
  std::mt19937 random(7); // NOLINT(cert-msc51-cpp): the same samples every time
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (int n = 0; n < 40; ++n) {
    Sample s;
    s.images = between(1, 2);
    s.groups = between(0, 2) == 0 ? between(2, 3) : 1;
    s.channels = between(1, 4);
    s.filters = between(1, 3);
    std::string what;
    const int64_t dims = n % 8 == 0 ? 3 : between(1, 2);
    for (int64_t k = 0; k < dims; ++k) {
      s.kernel.push_back(between(1, 5));
      s.stride.push_back(between(1, 4));
      s.dilation.push_back(between(0, 2) == 0 ? between(2, 4) : 1);
      s.spatial.push_back(between(1, 5));
      s.extra.push_back(between(0, s.stride.back() - 1));
      const int64_t whole =
          s.stride.back() * (s.spatial.back() - 1) + s.dilation.back() * (s.kernel.back() - 1);
      s.begin.push_back(between(0, std::min<int64_t>(3, whole / 2)));
      s.end.push_back(between(0, std::min<int64_t>(3, whole / 2)));
      what += fmt::format("kernel {} stride {} dilation {} of {}, pads {} {}, extra {}; ",
                          s.kernel.back(), s.stride.back(), s.dilation.back(), s.spatial.back(),
                          s.begin.back(), s.end.back(), s.extra.back());
    }
    check(s, what);
  }
}

/// What was scattered into a buffer, one product after the other, is now a convolution.
TEST(TransposedConvolution, IsAConvolutionWithStride1) {
  const Case c{"ConvTranspose",
               {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}},
               {varied({1, 3, 5, 5}, 1), varied({3, 2, 4, 4}, 2)}};
  Model model(graph_of(c));
  ASSERT_TRUE(model.run({{"x0", {c.inputs[0], false, {}}}, {"x1", {c.inputs[1], false, {}}}}));
  ASSERT_EQ(model.programs().size(), 1U);
  const std::string& text = model.programs().begin()->first;
  // Four residues of two filters, two by two taps each.
  EXPECT_NE(text.find("temp V0: f32[8, 3, 2, 2]"), std::string::npos) << text;
  EXPECT_EQ(text.find("V1"), std::string::npos) << text;
  EXPECT_EQ(text.find("+="), std::string::npos) << text;
}

} // namespace
} // namespace kawara::driver::one_node
