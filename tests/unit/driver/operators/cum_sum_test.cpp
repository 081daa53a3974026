#include "unit/driver/one_node.h"

namespace kawara::driver::one_node {
namespace {

/// Sums along the middle dimension, as the standard has them.
std::vector<double> running_sums(const Tensor& x, bool is_exclusive, bool is_reverse) {
  const int64_t rows = x.shape()[1], columns = x.shape()[2];
  std::vector<double> sums(static_cast<size_t>(x.elements()));
  for (int64_t a = 0; a < x.shape()[0]; ++a)
    for (int64_t c = 0; c < columns; ++c) {
      double sum = 0;
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (a * rows + (is_reverse ? rows - 1 - r : r)) * columns + c;
        const double element = x.get_double(at);
        sums[static_cast<size_t>(at)] = is_exclusive ? sum : sum + element;
        sum += element;
      }
    }
  return sums;
}

/// Short rows, one element, none; rows long enough for blocks, whole and with a rest; all ways
/// round.
TEST(CumSum, AddsUpWhatStandsBefore) {
  for (const Shape& shape : std::vector<Shape>{{2, 5, 3},
                                               {1, 1, 4},
                                               {2, 0, 3},
                                               {1, 1024, 1},
                                               {3, 1100, 2},
                                               {1, 8192, 1},
                                               {2, 9001, 1},
                                               {1, 8193, 3}})
    for (const int64_t is_exclusive : {0, 1})
      for (const int64_t is_reverse : {0, 1}) {
        SCOPED_TRACE(graph::text_of(shape) + (is_exclusive != 0 ? " exclusive" : "") +
                     (is_reverse != 0 ? " reverse" : ""));
        const Tensor x = varied(shape, 3);
        const auto got = run({"CumSum",
                              {{"exclusive", is_exclusive}, {"reverse", is_reverse}},
                              {x, tensor<int64_t>(DataType::I64, {}, {1})}});
        ASSERT_EQ(got.size(), 1U);
        expect_elements(got[0], running_sums(x, is_exclusive != 0, is_reverse != 0), 1e-3);
      }
}

TEST(CumSum, OfIntegersIsExact) {
  Tensor x(DataType::I32, {1, 9000, 1});
  for (int64_t k = 0; k < x.elements(); ++k)
    x.set_int(k, k * 977 % 65536);
  const auto got = run({"CumSum", {}, {x, tensor<int64_t>(DataType::I64, {}, {1})}});
  ASSERT_EQ(got.size(), 1U);
  expect_elements(got[0], running_sums(x, false, false), 0);
}

} // namespace
} // namespace kawara::driver::one_node
