#include "example.h"

#include <gtest/gtest.h>

// Under `numerics exact` no bit differs from the interpreter's, whatever the schedule.

namespace kawara::run_test {
namespace {

struct Case {
  std::string name, path, directives;
};

class Exact : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    Few, Exact,
    testing::Values(Case{"gemm", "gemm", ""},
                    Case{"gemm_tiled", "gemm",
                         "distribute(i); tile(S1.i=16, S1.j=16, S1.k=16); "
                         "reorder(S1.i.0, S1.j.0, S1.k.0, S1.i.1, S1.k.1, S1.j.1); "
                         "parallel(S1.i.0); vectorize(S1.j.1, 4)"},
                    Case{"gemm_auto", "gemm", "auto"},
                    Case{"jacobi_skewed", "jacobi1d", "skew(i, by=t, factor=1); tile(t=8, i=16)"},
                    Case{"blur_strips", "blur",
                         "split(S1.y, 8); compute_at(S0, S1.y.0); parallel(S1.y.0)"},
                    Case{"blur_sliding", "blur", "shift(S1.y, 2); fuse(S0.y, S1.y)"},
                    Case{"prefix", "prefix", "split(i, 8)"}, Case{"lu", "polybench/lu", ""},
                    Case{"lu_auto", "polybench/lu", "auto"},
                    Case{"atax_auto", "polybench/atax", "auto"},
                    Case{"seidel_auto", "polybench/seidel-2d", "auto"}),
    [](const auto& given) { return given.param.name; });

TEST_P(Exact, SameBits) {
  Example example = example_at(GetParam().path);
  example.program.numerics = program::Numerics::Exact;
  const driver::Compiled compiled = compile(request_of(example, GetParam().directives));
  Trace silent;
  const kernel::Kernel loops = driver::kernel_of(compiled.front, silent);
  const auto library = bench::load_c({{"tuned", loops, false}}, {"cc", {"-O2"}});
  ASSERT_TRUE(static_cast<bool>(library)) << library.error();
  for (const char* set : {"MINI", "ODD"}) {
    const Sizes sizes = sizes_of(example, set);
    const std::vector<int64_t> values = values_of(example, sizes);
    const program::Arrays inputs = inputs_of(example, sizes);
    const program::Arrays expected = expected_of(example, sizes, inputs);
    EXPECT_TRUE(run_compiled(compiled, values, inputs) == expected) << "compiled, " << set;
    EXPECT_TRUE(run_c(example, *library, "tuned", loops, values, inputs) == expected)
        << "C, " << set;
  }
}

} // namespace
} // namespace kawara::run_test
