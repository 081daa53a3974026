#include "unit/program/example.h"

// The linear algebra of PolyBench against whole-matrix formulas.

namespace kawara::program {
namespace {

bool is_lower(int64_t i, int64_t j) { return j <= i; }

class Blas : public testing::TestWithParam<const char*> {
protected:
  KernelRun at(const std::string& name) { return run_polybench(name, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Sizes, Blas, testing::Values("ODD", "MINI"));

TEST_P(Blas, Gemm) {
  KernelRun r = at("gemm");
  expect_near(r.out["C"],
              blend(r.in["alpha"](0), product(r.in["A"], r.in["B"]), r.in["beta"](0), r.in["C"]));
}

TEST_P(Blas, TwoProducts) {
  KernelRun r = at("2mm");
  const Elements chain = product(product(r.in["A"], r.in["B"]), r.in["C"]);
  expect_near(r.out["D"], blend(r.in["alpha"](0), chain, r.in["beta"](0), r.in["D"]));
}

TEST_P(Blas, ThreeProducts) {
  KernelRun r = at("3mm");
  expect_near(r.out["G"], product(product(r.in["A"], r.in["B"]), product(r.in["C"], r.in["D"])));
}

TEST_P(Blas, Atax) {
  KernelRun r = at("atax");
  expect_near(r.out["y"],
              line(product(transposed(r.in["A"]), product(r.in["A"], column(r.in["x"])))));
}

TEST_P(Blas, Bicg) {
  KernelRun r = at("bicg");
  expect_near(r.out["s"], line(product(transposed(r.in["A"]), column(r.in["r"]))));
  expect_near(r.out["q"], line(product(r.in["A"], column(r.in["p"]))));
}

TEST_P(Blas, Mvt) {
  KernelRun r = at("mvt");
  expect_near(r.out["x1"], blend(1, r.in["x1"], 1, line(product(r.in["A"], column(r.in["y1"])))));
  expect_near(r.out["x2"],
              blend(1, r.in["x2"], 1, line(product(transposed(r.in["A"]), column(r.in["y2"])))));
}

TEST_P(Blas, Gesummv) {
  KernelRun r = at("gesummv");
  const Elements x = column(r.in["x"]);
  expect_near(r.out["y"], line(blend(r.in["alpha"](0), product(r.in["A"], x), r.in["beta"](0),
                                     product(r.in["B"], x))));
}

TEST_P(Blas, Gemver) {
  KernelRun r = at("gemver");
  const auto outer = [&](const char* u, const char* v) {
    return product(column(r.in[u]), transposed(column(r.in[v])));
  };
  const Elements A = blend(1, blend(1, r.in["A"], 1, outer("u1", "v1")), 1, outer("u2", "v2"));
  const Elements step = line(product(transposed(A), column(r.in["y"])));
  const Elements x = blend(1, blend(1, r.in["x"], r.in["beta"](0), step), 1, r.in["z"]);
  expect_near(r.out["A"], A);
  expect_near(r.out["x"], x);
  expect_near(r.out["w"], blend(1, r.in["w"], r.in["alpha"](0), line(product(A, column(x)))));
}

TEST_P(Blas, Symm) {
  KernelRun r = at("symm");
  // The full matrix from its lower triangle.
  Elements full = r.in["A"];
  for (int64_t i = 0; i < r.n("M"); ++i)
    for (int64_t j = i + 1; j < r.n("M"); ++j)
      full(i, j) = full(j, i);
  expect_near(r.out["C"],
              blend(r.in["alpha"](0), product(full, r.in["B"]), r.in["beta"](0), r.in["C"]));
}

TEST_P(Blas, Syrk) {
  KernelRun r = at("syrk");
  const Elements whole = blend(r.in["alpha"](0), product(r.in["A"], transposed(r.in["A"])),
                               r.in["beta"](0), r.in["C"]);
  expect_near(part(r.out["C"], is_lower), part(whole, is_lower));
  const auto is_upper = [](int64_t i, int64_t j) { return j > i; };
  expect_near(part(r.out["C"], is_upper), part(r.in["C"], is_upper));
}

TEST_P(Blas, Syr2k) {
  KernelRun r = at("syr2k");
  const Elements both = blend(1, product(r.in["A"], transposed(r.in["B"])), 1,
                              product(r.in["B"], transposed(r.in["A"])));
  const Elements whole = blend(r.in["alpha"](0), both, r.in["beta"](0), r.in["C"]);
  expect_near(part(r.out["C"], is_lower), part(whole, is_lower));
}

TEST_P(Blas, Trmm) {
  KernelRun r = at("trmm");
  Elements unit = part(r.in["A"], is_lower);
  for (int64_t i = 0; i < r.n("M"); ++i)
    unit(i, i) = 1;
  expect_near(r.out["B"],
              blend(r.in["alpha"](0), product(transposed(unit), r.in["B"]), 0, r.in["B"]));
}

TEST_P(Blas, Doitgen) {
  KernelRun r = at("doitgen");
  Elements rows = r.in["A"], expected = r.in["A"];
  rows.shape = {r.n("NR") * r.n("NQ"), r.n("NP")};
  expected.at = product(rows, r.in["C4"]).at;
  expect_near(r.out["A"], expected);
}

} // namespace
} // namespace kawara::program
