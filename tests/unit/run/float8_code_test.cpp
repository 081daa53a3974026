#include "unit/run/hand_kernel.h"

#include "scalar/float8.h"

#include <bit>
#include <cmath>
#include <cstring>

// Compiled conversions of 8-bit floats against scalar/float8, for every code and from floats of
// every magnitude.

namespace kawara::run {
namespace {

constexpr Elem kFloat8Types[] = {Elem::F8E4M3, Elem::F8E5M2};

/// out[i] = in[i], one element at a time or four.
void run_copy(Elem from, Elem to, uint16_t lanes, void* in, void* out, int64_t n) {
  HandKernel h;
  const uint32_t A = h.buffer("A", from, {int_lit(n)});
  const uint32_t i = h.variable("i");
  const Expr at = scalar::ramp(h.var(i), 1, lanes);
  const Expr value = scalar::cast(h.load(A, {at}), {to, lanes});
  const uint32_t C = h.buffer("C", to, {int_lit(n)});
  h.kernel.body = {loop(i, int_lit(0), int_lit(n), {store(C, {at}, value)}, lanes)};
  call(loaded(h.kernel), {in, out});
}

TEST(Float8Code, EveryCodeIsReadAsItsValue) {
  for (const Elem elem : kFloat8Types)
    for (const uint16_t lanes : {uint16_t{1}, uint16_t{4}}) {
      std::vector<uint8_t> codes(256);
      for (size_t n = 0; n < 256; ++n)
        codes[n] = static_cast<uint8_t>(n);
      std::vector<float> values(256);
      run_copy(elem, Elem::F32, lanes, codes.data(), values.data(), 256);
      for (size_t n = 0; n < 256; ++n) {
        const auto want = static_cast<float>(scalar::float8_value(elem, codes[n]));
        if (std::isnan(want))
          EXPECT_TRUE(std::isnan(values[n])) << n;
        else
          EXPECT_EQ(std::bit_cast<uint32_t>(values[n]), std::bit_cast<uint32_t>(want)) << n;
      }
    }
}

TEST(Float8Code, FloatsOfAllMagnitudesAreRoundedOnce) {
  std::vector<float> given;
  for (uint32_t high = 0; high < 0x10000; high += 3)
    for (const uint32_t low : {0u, 1u, 0x8000u, 0xffffu})
      given.push_back(std::bit_cast<float>(high << 16 | low));
  while (given.size() % 4 != 0)
    given.push_back(0);
  std::vector<double> wide(given.begin(), given.end());
  for (double& x : wide) // the last bits of an f64 decide ties
    x = std::isfinite(x) ? std::nextafter(x, 0.0) : x;
  const auto n = static_cast<int64_t>(given.size());
  for (const Elem elem : kFloat8Types)
    for (const uint16_t lanes : {uint16_t{1}, uint16_t{4}}) {
      std::vector<uint8_t> codes(given.size()), codes_of_wide(given.size());
      run_copy(Elem::F32, elem, lanes, given.data(), codes.data(), n);
      run_copy(Elem::F64, elem, lanes, wide.data(), codes_of_wide.data(), n);
      size_t wrong = 0;
      for (size_t k = 0; k < given.size(); ++k) {
        wrong += codes[k] != scalar::float8_bits(elem, static_cast<double>(given[k])) ? 1 : 0;
        wrong += codes_of_wide[k] != scalar::float8_bits(elem, wide[k]) ? 1 : 0;
      }
      EXPECT_EQ(wrong, 0U) << scalar::name_of(elem) << " in lanes of " << lanes;
    }
}

} // namespace
} // namespace kawara::run
