#include "unit/program/example.h"

// The solvers and decompositions of PolyBench: results are put back into the equations they solve.

namespace kawara::program {
namespace {

using Inputs = std::map<std::string, Elements>;

bool is_lower_element(int64_t i, int64_t j) { return j <= i; }
bool is_upper(int64_t i, int64_t j) { return j >= i; }

/// Large diagonals keep the eliminations without pivoting well behaved.
std::function<void(Inputs&)> strong_diagonal(const std::string& name) {
  return [name](Inputs& in) {
    Elements& a = in[name];
    for (int64_t i = 0; i < a.shape[0]; ++i)
      a(i, i) += 2.0 * static_cast<double>(a.shape[0]);
  };
}

void positive_definite(Inputs& in) {
  in["A"] = blend(0.5, in["A"], 0.5, transposed(in["A"]));
  strong_diagonal("A")(in);
}

/// L with ones on its diagonal times U, both stored in one matrix.
Elements product_of_factors(const Elements& lu) {
  Elements lower = part(lu, [](int64_t i, int64_t j) { return j < i; });
  for (int64_t i = 0; i < lu.shape[0]; ++i)
    lower(i, i) = 1;
  return product(lower, part(lu, is_upper));
}

class Solvers : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Solvers, testing::Values("ODD", "MINI"));

TEST_P(Solvers, Cholesky) {
  KernelRun r = run_polybench("cholesky", GetParam(), positive_definite);
  const Elements lower = part(r.out["A"], is_lower_element);
  expect_near(product(lower, transposed(lower)), r.in["A"]);
}

TEST_P(Solvers, Lu) {
  KernelRun r = run_polybench("lu", GetParam(), strong_diagonal("A"));
  expect_near(product_of_factors(r.out["A"]), r.in["A"]);
}

TEST_P(Solvers, Ludcmp) {
  KernelRun r = run_polybench("ludcmp", GetParam(), strong_diagonal("A"));
  expect_near(product_of_factors(r.out["A"]), r.in["A"]);
  expect_near(line(product(r.in["A"], column(r.out["x"]))), r.in["b"]);
}

TEST_P(Solvers, Trisolv) {
  KernelRun r = run_polybench("trisolv", GetParam(), strong_diagonal("L"));
  expect_near(line(product(part(r.in["L"], is_lower_element), column(r.out["x"]))), r.in["b"]);
}

TEST_P(Solvers, Durbin) {
  KernelRun r = run_polybench("durbin", GetParam(), [](Inputs& in) {
    for (double& v : in["r"].at)
      v /= 2.0 * static_cast<double>(in["r"].at.size());
  });
  // T has ones on its main diagonal and r[d - 1] on the d-th one to either side.
  const int64_t n = r.n("N");
  Elements toeplitz = zeros({n, n});
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      toeplitz(i, j) = i == j ? 1 : r.in["r"](std::abs(i - j) - 1);
  expect_near(line(product(toeplitz, column(r.out["y"]))), blend(-1, r.in["r"], 0, r.in["r"]));
}

TEST_P(Solvers, Gramschmidt) {
  // More columns than rows cannot be orthonormal, so only the tall part is looked at.
  KernelRun r = run_polybench("gramschmidt", GetParam());
  const int64_t m = r.n("M"), n = std::min(r.n("M"), r.n("N"));
  Elements q = zeros({m, n}), upper = zeros({n, n}), a = zeros({m, n}), one = zeros({n, n});
  for (int64_t j = 0; j < n; ++j) {
    one(j, j) = 1;
    for (int64_t i = 0; i < m; ++i) {
      q(i, j) = r.out["Q"](i, j);
      a(i, j) = r.in["A"](i, j);
    }
    for (int64_t i = 0; i <= j; ++i)
      upper(i, j) = r.out["R"](i, j);
  }
  expect_near(product(q, upper), a, 1e-6);
  expect_near(product(transposed(q), q), one, 1e-6);
  // Below the diagonal R is zero.
  expect_near(r.out["R"], part(r.out["R"], is_upper));
}

Elements means(Elements& data) {
  Elements mean = zeros({data.shape[1]});
  for (int64_t i = 0; i < data.shape[0]; ++i)
    for (int64_t j = 0; j < data.shape[1]; ++j)
      mean(j) += data(i, j) / static_cast<double>(data.shape[0]);
  return mean;
}

/// Sum over all observations of (x_i - mean_i)(x_j - mean_j).
Elements scatter(Elements data) {
  Elements mean = means(data);
  for (int64_t i = 0; i < data.shape[0]; ++i)
    for (int64_t j = 0; j < data.shape[1]; ++j)
      data(i, j) -= mean(j);
  return product(transposed(data), data);
}

TEST_P(Solvers, Covariance) {
  KernelRun r = run_polybench("covariance", GetParam());
  const Elements s = scatter(r.in["data"]);
  expect_near(r.out["cov"], blend(1.0 / static_cast<double>(r.n("N") - 1), s, 0, s));
}

TEST_P(Solvers, Correlation) {
  KernelRun r = run_polybench("correlation", GetParam(), [](Inputs& in) {
    Elements& data = in["data"];
    for (int64_t i = 0; i < data.shape[0]; ++i)
      data(i, 1) = 0.01 * data(i, 1); // a variable that hardly varies
  });
  Elements s = scatter(r.in["data"]), expected = s;
  const auto samples = static_cast<double>(r.n("N"));
  const auto deviation = [&](int64_t i) {
    const double d = std::sqrt(s(i, i) / samples);
    return d <= 0.1 ? 1.0 : d;
  };
  for (int64_t i = 0; i < r.n("M"); ++i)
    for (int64_t j = 0; j < r.n("M"); ++j)
      expected(i, j) = i == j ? 1 : s(i, j) / (samples * deviation(i) * deviation(j));
  expect_near(r.out["corr"], expected);
}

} // namespace
} // namespace kawara::program
