#include "emit/cuda/gelu_table.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace kawara::emit {
namespace {

/// What kw_gelu of the CUDA text computes.
float looked_up(const GeluTable& table, float x) {
  const float z = std::fmin(std::fabs(x), GeluTable::kMost);
  const float bend = GeluTable::kScale * GeluTable::kBend;
  const float place = std::fma(z, std::fma(z, GeluTable::kScale, bend), 0x1.8p21F);
  const size_t i = (std::bit_cast<uint32_t>(place) & 1020U) / 4;
  const float r = z - table.centres[i];
  float tail = table.factors.back()[i];
  for (size_t k = GeluTable::kDegree; k-- > 0;)
    tail = std::fma(tail, r, table.factors[k][i]);
  const float above = x > 0 || std::isnan(x) ? x : -0.0F;
  return std::fma(z * tail, -0x1p-64F, above);
}

double units_off(float got, double wanted) {
  const int exponent = std::max(std::ilogb(wanted), -126);
  return std::abs(got - wanted) / std::ldexp(1.0, exponent - 23);
}

TEST(GeluTable, IsWithinTwoUnits) {
  const GeluTable table = gelu_table();
  double worst = 0;
  for (uint32_t bits = 0x30000000; bits < 0x41700000; bits += 601) // 2^-31 to 15
    for (const uint32_t sign : {0U, 0x80000000U}) {
      const auto x = std::bit_cast<float>(bits | sign);
      const double wanted = 0.5 * x * std::erfc(-static_cast<double>(x) * M_SQRT1_2);
      worst = std::max(worst, units_off(looked_up(table, x), wanted));
    }
  EXPECT_LE(worst, 1.95);
  EXPECT_GE(worst, 1.0) << "a reference that is no better than the table";
}

TEST(GeluTable, EndsAndWhatIsNoNumber) {
  const GeluTable table = gelu_table();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(looked_up(table, infinity), infinity);
  EXPECT_EQ(looked_up(table, -infinity), 0.0F);
  EXPECT_EQ(looked_up(table, 1e30F), 1e30F);
  EXPECT_EQ(looked_up(table, -1e30F), 0.0F);
  EXPECT_EQ(looked_up(table, 0.0F), 0.0F);
  EXPECT_TRUE(std::isnan(looked_up(table, std::numeric_limits<float>::quiet_NaN())));
}

TEST(GeluTable, TextHasTheSameConstants) {
  const std::string text = gelu_text();
  const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  const auto digits = [](float value) {
    std::array<char, 32> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.8gf", value);
    return std::string(buffer.data());
  };
  EXPECT_TRUE(has("fmaf(z, " + digits(GeluTable::kScale))) << digits(GeluTable::kScale);
  EXPECT_TRUE(has(digits(GeluTable::kScale * GeluTable::kBend)));
  EXPECT_TRUE(has("kw_given_tails[7][256]") && has("& 1020"));
}

} // namespace
} // namespace kawara::emit
