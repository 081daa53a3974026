#include "example.h"

#include "target/cpu.h"

#include <gtest/gtest.h>

// `auto` decides by the processor: widths, registers, caches. What it decides for others must be
// right too, and runs here, since any processor can run any schedule.

namespace kawara::run_test {
namespace {

struct SmallProgram {
  std::string name;
  std::string text;
};

std::vector<SmallProgram> small_programs() {
  return {{"product", R"(input A: f32[37, 53]
const B: f32[53, 70]
output C: f32[37, 70]
C[i, j] = sum(k, A[i, k] * B[k, j])
)"},
          {"one_row", R"(input A: f32[1, 65]
const B: f32[65, 150]
output C: f32[1, 150]
C[i, j] = sum(k, A[i, k] * B[k, j])
)"},
          {"pointwise_convolution", R"(input image: f32[16, 7, 7]
const weight: f32[96, 16]
output out: f32[96, 7, 7]
out[k, h, w] = sum(c, image[c, h, w] * weight[k, c])
)"},
          {"wide_pointwise_convolution", R"(input image: f32[9, 14, 14]
const weight: f32[192, 9]
output out: f32[192, 14, 14]
out[k, h, w] = sum(c, image[c, h, w] * weight[k, c])
)"},
          {"convolution", R"(input image: f32[5, 17, 17]
const weight: f32[40, 5, 3, 3]
output out: f32[40, 8, 8]
out[k, h, w] = sum(c, r, s, image[c, 2*h + r, 2*w + s] * weight[k, c, r, s])
)"},
          {"padded_convolution", R"(input image: f32[10, 99, 99]
const weight: f32[36, 10, 3, 3]
output out: f32[36, 50, 50]
temp padded: f32[10, 101, 101]
for c in range(10):
    for h in range(101):
        for w in range(101):
            if 1 <= h < 100 and 1 <= w < 100:
                padded[c, h, w] = image[c, h - 1, w - 1]
            else:
                padded[c, h, w] = 0
out[k, h, w] = sum(c, r, s, padded[c, 2*h + r, 2*w + s] * weight[k, c, r, s])
)"},
          {"depthwise_convolution", R"(input image: f32[17, 28, 28]
const weight: f32[17, 3, 3]
output out: f32[17, 28, 28]
temp padded: f32[17, 30, 30]
for c in range(17):
    for h in range(30):
        for w in range(30):
            if 1 <= h < 29 and 1 <= w < 29:
                padded[c, h, w] = image[c, h - 1, w - 1]
            else:
                padded[c, h, w] = 0
out[c, h, w] = sum(r, s, padded[c, h + r, w + s] * weight[c, r, s])
)"},
          {"strided_depthwise_convolution", R"(input image: f32[17, 29, 29]
const weight: f32[17, 3, 3]
output out: f32[17, 15, 15]
temp padded: f32[17, 31, 31]
for c in range(17):
    for h in range(31):
        for w in range(31):
            if 1 <= h < 30 and 1 <= w < 30:
                padded[c, h, w] = image[c, h - 1, w - 1]
            else:
                padded[c, h, w] = 0
out[c, h, w] = sum(r, s, padded[c, 2*h + r, 2*w + s] * weight[c, r, s])
)"},
          {"scaled_products", R"(input Q: f32[3, 64, 20], K: f32[3, 64, 20]
output scores: f32[3, 64, 64]
scores[h, i, j] = sum(d, Q[h, i, d] * K[h, j, d]) * 0.5
)"},
          {"transposition", R"(input X: f32[45, 83]
output Y: f32[83, 45]
Y[j, i] = X[i, j]
)"},
          {"softmax", R"(input X: f32[5, 300]
output Y: f32[5, 300]
temp m: f32[5], s: f32[5]
m[i] = max(j, X[i, j])
s[i] = sum(j, exp(X[i, j] - m[i]))
Y[i, j] = exp(X[i, j] - m[i]) / s[i]
)"}};
}

class OtherCpus : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, OtherCpus, testing::ValuesIn(target::named_cpus()),
                         [](const auto& given) {
                           std::string name = given.param;
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

TEST_P(OtherCpus, HaveTheSameResults) {
  schedule::Environment environment = driver::host_environment();
  environment.cpu = *target::named_cpu(GetParam());
  for (const int64_t cores : {environment.cpu.cores, int64_t{1}})
    for (const SmallProgram& p : small_programs()) {
      SCOPED_TRACE(p.name + ", " + std::to_string(cores) + " cores");
      environment.cpu.cores = cores;
      const Example example = example_of(p.name, p.text);
      const program::Arrays inputs = inputs_of(example, {});
      const driver::Compiled compiled = compile(request_of(example, "auto"), environment);
      expect_near(example, {}, p.name, run_compiled(compiled, {}, inputs),
                  expected_of(example, {}, inputs));
    }
}

} // namespace
} // namespace kawara::run_test
