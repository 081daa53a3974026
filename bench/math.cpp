#include "driver/pipeline.h"
#include "scalar/eval.h"
#include "support/check.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <ctime>

// Functions of f32 on one core, data in the L1: the C library (`numerics exact`) against
// arithmetic (`rounding`, `fast`), and how far each is from the function's value.

namespace kawara {
namespace {

using program::Numerics;
using scalar::UnaryOp;

constexpr int64_t kElements = 4096;
constexpr int kSamples = 41;

/// Time that this thread ran: other work on the machine counts less than on a clock.
double seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

driver::Compiled compiled(UnaryOp op, Numerics numerics) {
  const std::string text = fmt::format("input A: f32[{0}]\noutput B: f32[{0}]\nB[i] = {1}(A[i])\n",
                                       kElements, scalar::name_of(op));
  const driver::Request request{
      make_source("math", text), make_source("schedule", "vectorize(i)"), {}, numerics};
  Trace silent;
  auto result = driver::compile(request, driver::host_environment(), silent);
  KAWARA_CHECK(result, "the benchmark's own program");
  return *std::move(result);
}

void call(const driver::Compiled& code, std::vector<float>& x, std::vector<float>& y) {
  const std::vector<void*> arguments{x.data(), y.data()};
  KAWARA_CHECK(code.executable.call(arguments, {}), "the benchmark's own arguments");
}

/// Best of several samples: every disturbance makes it longer.
double nanoseconds_per_element(const driver::Compiled& code) {
  std::vector<float> x(kElements), y(kElements);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = 0.001F + static_cast<float>(i) * (5.0F / kElements);
  double best = HUGE_VAL;
  for (int sample = 0; sample < kSamples; ++sample) {
    constexpr int kCalls = 20;
    const double begin = seconds();
    for (int i = 0; i < kCalls; ++i)
      call(code, x, y);
    best = std::min(best, (seconds() - begin) / kCalls);
  }
  return best * 1e9 / kElements;
}

double units_apart(float got, double want) {
  if (std::isnan(want) || std::isinf(static_cast<float>(want)))
    return 0; // tests/unit/run/math_code_test.cpp looks at these
  int exponent = 0;
  std::frexp(want, &exponent);
  return std::fabs(static_cast<double>(got) - want) /
         std::ldexp(1.0, std::max(want == 0 ? -125 : exponent, -125) - 24);
}

/// Largest distance over floats spread evenly over all bit patterns.
double worst_units(UnaryOp op, const driver::Compiled& code) {
  double worst = 0;
  std::vector<float> x(kElements), y(kElements);
  constexpr uint64_t kStep = 1021;
  for (uint64_t bits = 0; bits + kStep * kElements < uint64_t{1} << 32; bits += kStep * kElements) {
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = std::bit_cast<float>(static_cast<uint32_t>(bits + i * kStep));
    call(code, x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const auto exact =
          scalar::apply(op, scalar::Elem::F64, scalar::float_value(static_cast<double>(x[i])));
      worst = std::max(worst, units_apart(y[i], exact.f));
    }
  }
  return worst;
}

void print_row(UnaryOp op) {
  std::string row = fmt::format("{:<10}", scalar::name_of(op));
  for (const Numerics numerics : {Numerics::Exact, Numerics::Rounding, Numerics::Fast}) {
    const driver::Compiled code = compiled(op, numerics);
    row += fmt::format("{:>10.3f}{:>12.4g}", nanoseconds_per_element(code), worst_units(op, code));
  }
  fmt::print("{}\n", row);
}

} // namespace
} // namespace kawara

int main() {
  using kawara::scalar::UnaryOp;
  fmt::print("{:<10}{:>22}{:>22}{:>22}\n", "", "exact", "rounding", "fast");
  fmt::print("{:<10}", "function");
  for (int i = 0; i < 3; ++i)
    fmt::print("{:>10}{:>12}", "ns/element", "units");
  fmt::print("\n");
  for (const UnaryOp op :
       {UnaryOp::Exp, UnaryOp::Log, UnaryOp::Tanh, UnaryOp::Erf, UnaryOp::Sigmoid, UnaryOp::Silu,
        UnaryOp::Gelu, UnaryOp::GeluTanh, UnaryOp::Sin, UnaryOp::Cos, UnaryOp::Rsqrt})
    kawara::print_row(op);
  return 0;
}
