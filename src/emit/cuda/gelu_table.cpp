#include "emit/cuda/gelu_table.h"

#include "kernel/walk.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <vector>

namespace kawara::emit {
namespace {

constexpr double kReach = 0.13; ///< over the ends of an interval, in intervals

double tail(double z) { return 0x1p63 * std::erfc(z / std::numbers::sqrt2); }

/// The z whose index, before it is made an integer, is `place`.
double at_place(double place) {
  constexpr double bend = GeluTable::kBend;
  return (std::sqrt(bend * bend + 4 * std::max(place, 0.0) / GeluTable::kScale) - bend) / 2;
}

/// The number with few digits near `middle` at which the tail is nearest to an f32.
double centre_near(double middle) {
  constexpr int kTries = 80;
  const double step = std::ldexp(1.0, std::max(std::ilogb(middle), 0) - 16);
  const double start = std::round(middle / step) * step;
  double best = start, least = 1;
  for (int n = 0; n < kTries; ++n) {
    const double z = start + step * ((n + 1) / 2) * (n % 2 == 0 ? 1 : -1);
    const double value = tail(z);
    const double off = std::abs(static_cast<float>(value) / value - 1);
    if (off < least) {
      least = off;
      best = z;
    }
  }
  return best;
}

/// Coefficients of the polynomial through (x, y).
std::vector<double> through(const std::vector<double>& x, std::vector<double> y) {
  const size_t n = x.size();
  for (size_t k = 1; k < n; ++k)
    for (size_t i = n - 1; i >= k; --i)
      y[i] = (y[i] - y[i - 1]) / (x[i] - x[i - k]);
  std::vector<double> sum = {y[n - 1]};
  for (size_t i = n - 1; i-- > 0;) {
    std::vector<double> next(sum.size() + 1, 0.0);
    for (size_t k = 0; k < sum.size(); ++k) {
      next[k] -= x[i] * sum[k];
      next[k + 1] += sum[k];
    }
    next[0] += y[i];
    sum = std::move(next);
  }
  return sum;
}

/// Of the tail around a centre all coefficients but the first, through Chebyshev's points of the
/// interval.
std::vector<double> other_factors(double low, double high, double centre) {
  constexpr size_t kCount = GeluTable::kDegree;
  std::vector<double> points, slopes;
  for (size_t k = 0; k < kCount; ++k) {
    const double angle = std::numbers::pi * static_cast<double>(2 * k + 1) / (2.0 * kCount);
    const double r = (low + high + (high - low) * std::cos(angle)) / 2 - centre;
    // The one at the centre itself says nothing.
    points.push_back(std::abs(r) > (high - low) / 200 ? r : (high - low) / 200);
    slopes.push_back((tail(centre + points.back()) - static_cast<float>(tail(centre))) /
                     points.back());
  }
  return through(points, std::move(slopes));
}

std::string text_of_row(const std::array<float, GeluTable::kIntervals>& row) {
  std::string text = "  {";
  for (const float value : row) {
    std::array<char, 32> digits{};
    const auto end =
        std::to_chars(digits.begin(), digits.end(), value, std::chars_format::scientific);
    text += (text.size() > 3 ? ", " : "") + std::string(digits.begin(), end.ptr) + "f";
  }
  return text + "},\n";
}

} // namespace

GeluTable gelu_table() {
  GeluTable table{};
  for (size_t i = 0; i < GeluTable::kIntervals; ++i) {
    const double low = at_place(static_cast<double>(i) - kReach);
    const double high = at_place(static_cast<double>(i + 1) + kReach);
    const double centre = centre_near((low + high) / 2);
    table.centres[i] = static_cast<float>(centre);
    table.factors[0][i] = static_cast<float>(tail(centre));
    const std::vector<double> others = other_factors(low, high, centre);
    for (size_t k = 0; k < others.size(); ++k)
      table.factors[k + 1][i] = static_cast<float>(others[k]);
  }
  return table;
}

std::string gelu_text() {
  const GeluTable table = gelu_table();
  std::string text = "// Centres of intervals of z = |x|, and the normal distribution's tail "
                     "beyond z (times 2^64) as\n"
                     "// polynomials around them.\n"
                     "static __device__ __align__(16) const float kw_given_tails[" +
                     std::to_string(GeluTable::kDegree + 2) + "][" +
                     std::to_string(GeluTable::kIntervals) + "] = {\n" + text_of_row(table.centres);
  for (const auto& row : table.factors)
    text += text_of_row(row);
  return text + R"(};
// max(x, 0) - z * tail
static __device__ inline float kw_gelu_from(const float* tails, float x) {
  const float z = fminf(fabsf(x), 14.5f);
  const float place = fmaf(z, fmaf(z, 1.0365112f, 2.5912781f), 0x1.8p21f);
  const float* at = (const float*)((const char*)tails + (__float_as_uint(place) & 1020));
  const float r = z - at[0];
  float tail = at[6 * 256];
  tail = fmaf(tail, r, at[5 * 256]);
  tail = fmaf(tail, r, at[4 * 256]);
  tail = fmaf(tail, r, at[3 * 256]);
  tail = fmaf(tail, r, at[2 * 256]);
  tail = fmaf(tail, r, at[256]);
  float above;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(above) : "f"(x), "f"(-0.0f));
  return fmaf(z * tail, -0x1p-64f, above);
}
static __device__ inline float kw_gelu(float x) { return kw_gelu_from(&kw_given_tails[0][0], x); }

)";
}

std::string gelu_by_tails_text() {
  return R"(static __device__ inline float* kw_tails() {
  __shared__ __align__(16) float tails[7 * 256];
  return tails;
}
static __device__ inline unsigned kw_tails_barrier() {
  __shared__ unsigned long long barrier;
  return (unsigned)__cvta_generic_to_shared(&barrier);
}
// To shared memory, where threads that look for different intervals do not wait for each other; in one piece, beside
// whatever comes before kw_await_tails.
static __device__ inline void kw_bring_tails() {
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
#if __CUDA_ARCH__ >= 900
  if (thread == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n"
                 "fence.mbarrier_init.release.cluster;\n"
                 "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %3;\n"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%1], [%2], %3, [%0];"
                 ::"r"(kw_tails_barrier()), "r"((unsigned)__cvta_generic_to_shared(kw_tails())),
                 "l"(__cvta_generic_to_global(kw_given_tails)), "r"((unsigned)sizeof(kw_given_tails))
                 : "memory");
#else
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  for (int n = thread; n < 7 * 256 / 4; n += threads)
    ((uint4*)kw_tails())[n] = ((const uint4*)kw_given_tails)[n];
#endif
  __syncthreads();
}
static __device__ inline void kw_await_tails() {
#if __CUDA_ARCH__ >= 900
  int done = 0;
  while (!done)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
                 "selp.b32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(kw_tails_barrier()) : "memory");
#endif
}
static __device__ inline float kw_gelu_by_tails(float x) { return kw_gelu_from(kw_tails(), x); }

)";
}

namespace {

int64_t tails_in(const scalar::Expr& root) {
  int64_t count = 0;
  scalar::visit(root, [&](const scalar::Expr& e) {
    const auto* call = scalar::as<scalar::Unary>(e);
    count += call != nullptr && call->op == scalar::UnaryOp::Gelu ? e.type().lanes : 0;
  });
  return count;
}

/// Of two branches a thread takes one.
int64_t tails_in(const kernel::Block& body) {
  int64_t count = 0;
  for (const kernel::Stmt& stmt : body) {
    if (const auto* branch = std::get_if<kernel::If>(&stmt))
      count += std::max(tails_in(branch->then), tails_in(branch->otherwise));
    else
      kernel::visit_exprs(stmt, [&](const scalar::Expr& root) { count += tails_in(root); });
  }
  return count;
}

} // namespace

bool computes_many_tails(const kernel::Block& body) {
  constexpr int64_t kMany = 8;
  return tails_in(body) >= kMany;
}

} // namespace kawara::emit
