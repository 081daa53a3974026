#include "unit/driver/one_node.h"

#include <random>

namespace kawara::driver::one_node {
namespace {

struct Way {
  std::string mode, padding;
  bool aligns = false;
};

/// Where a number of the grid is along n elements, as the padding has it.
double place_of(const Way& w, double x, int64_t n) {
  const auto extent = static_cast<double>(n);
  double at = w.aligns ? (x + 1) / 2 * (extent - 1) : ((x + 1) * extent - 1) / 2;
  if (w.padding == "zeros")
    return at;
  const double low = w.aligns ? 0 : -0.5, high = w.aligns ? extent - 1 : extent - 0.5;
  while (w.padding == "reflection" && high > low && (at < low || at > high))
    at = at < low ? 2 * low - at : 2 * high - at;
  return std::clamp(at, 0.0, extent - 1);
}

/// All elements of the plane, each times how near it is to the point.
double sampled(const Way& w, const Tensor& x, int64_t plane, double row, double column) {
  const int64_t height = x.shape()[2], width = x.shape()[3];
  const double y = place_of(w, row, height), z = place_of(w, column, width);
  const auto nearness = [&](double at, int64_t element) {
    const auto k = static_cast<double>(element);
    return w.mode == "nearest" ? (std::nearbyint(at) == k ? 1.0 : 0.0)
                               : std::max(0.0, 1 - std::abs(at - k));
  };
  double sum = 0;
  for (int64_t i = 0; i < height; ++i)
    for (int64_t j = 0; j < width; ++j)
      sum += nearness(y, i) * nearness(z, j) * x.get_double((plane * height + i) * width + j);
  return sum;
}

/// More points than one group, some of them outside.
TEST(GridSample, WeighsElementsByHowNearTheyAre) {
  std::mt19937 random(5); // NOLINT(cert-msc51-cpp): the same samples every time
  std::uniform_real_distribution<double> somewhere(-1.6, 1.6);
  for (const char* mode : {"linear", "nearest"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const bool aligns : {false, true}) {
        const Way w{mode, padding, aligns};
        const Tensor x = varied({2, 3, 5, 7}, 1);
        Tensor grid(DataType::F32, {2, 20, 15, 2});
        for (int64_t k = 0; k < grid.elements(); ++k)
          grid.set_double(k, k < 8 ? static_cast<double>(k % 3 - 1) : somewhere(random));
        const Tensor got = run({"GridSample",
                                {{"mode", w.mode},
                                 {"padding_mode", w.padding},
                                 {"align_corners", int64_t{aligns ? 1 : 0}}},
                                {x, grid}})[0];
        std::vector<double> wanted;
        for (int64_t plane = 0; plane < 6; ++plane)
          for (int64_t p = 0; p < 300; ++p) {
            const int64_t at = (plane / 3 * 300 + p) * 2;
            wanted.push_back(sampled(w, x, plane, grid.get_double(at + 1), grid.get_double(at)));
          }
        SCOPED_TRACE(w.mode + " " + w.padding + (aligns ? " aligned" : ""));
        expect_elements(got, wanted, 1e-5);
      }
}

} // namespace
} // namespace kawara::driver::one_node
