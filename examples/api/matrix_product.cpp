// A matrix product from C++: schedule it, see a refusal, run it, check it.

#include <kawara/kawara.h>

#include <cmath>
#include <cstdio>

namespace {

constexpr const char* kProgram = R"(param M, N, K
input A: f32[M, K], B: f32[K, N]
output C: f32[M, N]

for i in range(M):
    for j in range(N):
        C[i, j] = 0
        for k in range(K):
            C[i, j] += A[i, k] * B[k, j]
)";

constexpr int64_t kM = 70, kN = 50, kK = 30;

float largest_error(const std::vector<float>& a, const std::vector<float>& b,
                    const std::vector<float>& c) {
  float worst = 0;
  for (int64_t i = 0; i < kM; ++i)
    for (int64_t j = 0; j < kN; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < kK; ++k)
        sum += a[static_cast<size_t>(i * kK + k)] * b[static_cast<size_t>(k * kN + j)];
      worst = std::max(worst, std::abs(sum - c[static_cast<size_t>(i * kN + j)]));
    }
  return worst;
}

int run() {
  const kawara::Program program = kawara::parse(kProgram, "matrix_product.kw");
  kawara::Schedule schedule = program.schedule(); // for all sizes

  // The sum over k cannot be shared among threads as it stands; the message says what would help.
  if (const kawara::Verdict verdict = schedule.check("parallel(k)"); !verdict)
    std::printf("%s\n", verdict.message.c_str());

  schedule.distribute("i")
      .tile({{"S1.i", 32}, {"S1.j", 32}})
      .reorder({"S1.i.0", "S1.j.0", "S1.i.1", "S1.k", "S1.j.1"})
      .vectorize("S1.j.1", 4)
      .parallel("S1.i.0");
  std::printf("%s\n%s\n", schedule.print().c_str(), schedule.tree().c_str());

  std::vector<float> a(kM * kK), b(kK * kN), c(kM * kN);
  for (size_t n = 0; n < a.size(); ++n)
    a[n] = static_cast<float>(n % 7) - 3;
  for (size_t n = 0; n < b.size(); ++n)
    b[n] = static_cast<float>(n % 5) - 2;
  const kawara::Executable product = schedule.compile();
  const kawara::Sizes sizes = {{"M", kM}, {"N", kN}, {"K", kK}};
  product.run({{"A", a}, {"B", b}, {"C", c}}, sizes);
  const float error = largest_error(a, b, c);
  std::printf("largest error %g, %.3f us per call\n", static_cast<double>(error),
              product.time(sizes).median * 1e6);
  return error < 1e-3F ? 0 : 1;
}

} // namespace

int main() {
  try {
    return run();
  } catch (const kawara::Error& e) {
    std::fprintf(stderr, "%s", e.what());
    return 1;
  }
}
