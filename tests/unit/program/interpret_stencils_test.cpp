#include "unit/program/example.h"

// The stencils and dynamic programs of PolyBench against plain loops, written another way round
// where there is one: all time steps kept, scalars instead of array recurrences, recursion.

namespace kawara::program {
namespace {

class Stencils : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Stencils, testing::Values("ODD", "MINI"));

/// One sweep over the inner points; the border is copied.
Elements swept(Elements from, const std::function<double(Elements&, int64_t, int64_t)>& f) {
  Elements to = from;
  for (int64_t i = 1; i + 1 < from.shape[0]; ++i)
    for (int64_t j = 1; j + 1 < from.shape[1]; ++j)
      to(i, j) = f(from, i, j);
  return to;
}

TEST_P(Stencils, Jacobi1d) {
  KernelRun r = run_polybench("jacobi-1d", GetParam());
  Elements a = r.in["A"], b = r.in["B"];
  const auto sweep = [](Elements from, Elements to) {
    for (int64_t i = 1; i + 1 < from.shape[0]; ++i)
      to(i) = 0.33333 * (from(i - 1) + from(i) + from(i + 1));
    return to;
  };
  for (int64_t t = 0; t < r.n("TSTEPS"); ++t) {
    b = sweep(a, b);
    a = sweep(b, a);
  }
  expect_near(r.out["A"], a);
  expect_near(r.out["B"], b);
}

TEST_P(Stencils, Jacobi2d) {
  // With equal borders in A and B, both are snapshots of one field.
  KernelRun r = run_polybench("jacobi-2d", GetParam(),
                              [](std::map<std::string, Elements>& in) { in["B"] = in["A"]; });
  const auto mean = [](Elements& f, int64_t i, int64_t j) {
    return 0.2 * (f(i, j) + f(i, j - 1) + f(i, j + 1) + f(i + 1, j) + f(i - 1, j));
  };
  Elements field = r.in["A"], before = field;
  for (int64_t t = 0; t < 2 * r.n("TSTEPS"); ++t) {
    before = field;
    field = swept(field, mean);
  }
  expect_near(r.out["A"], field);
  expect_near(r.out["B"], before);
}

TEST_P(Stencils, Seidel2d) {
  KernelRun r = run_polybench("seidel-2d", GetParam());
  Elements a = r.in["A"];
  for (int64_t t = 0; t < r.n("TSTEPS"); ++t)
    for (int64_t i = 1; i + 1 < r.n("N"); ++i)
      for (int64_t j = 1; j + 1 < r.n("N"); ++j) {
        double sum = 0;
        for (int64_t di = -1; di <= 1; ++di)
          for (int64_t dj = -1; dj <= 1; ++dj)
            sum += a(i + di, j + dj);
        a(i, j) = sum / 9;
      }
  expect_near(r.out["A"], a);
}

TEST_P(Stencils, Heat3d) {
  KernelRun r = run_polybench("heat-3d", GetParam(),
                              [](std::map<std::string, Elements>& in) { in["B"] = in["A"]; });
  Elements field = r.in["A"];
  const int64_t n = r.n("N");
  for (int64_t t = 0; t < 2 * r.n("TSTEPS"); ++t) {
    Elements next = field;
    for (int64_t i = 1; i + 1 < n; ++i)
      for (int64_t j = 1; j + 1 < n; ++j)
        for (int64_t k = 1; k + 1 < n; ++k)
          next(i, j, k) = 0.25 * field(i, j, k) +
                          0.125 * (field(i + 1, j, k) + field(i - 1, j, k) + field(i, j + 1, k) +
                                   field(i, j - 1, k) + field(i, j, k + 1) + field(i, j, k - 1));
    field = next;
  }
  expect_near(r.out["A"], field);
}

TEST_P(Stencils, Fdtd2d) {
  KernelRun r = run_polybench("fdtd-2d", GetParam());
  Elements ex = r.in["ex"], ey = r.in["ey"], hz = r.in["hz"];
  const int64_t nx = r.n("NX"), ny = r.n("NY");
  for (int64_t t = 0; t < r.n("TMAX"); ++t) {
    for (int64_t i = 0; i < nx; ++i)
      for (int64_t j = 0; j < ny; ++j) {
        ey(i, j) = i == 0 ? r.in["source"](t) : ey(i, j) - 0.5 * (hz(i, j) - hz(i - 1, j));
        ex(i, j) -= j == 0 ? 0 : 0.5 * (hz(i, j) - hz(i, j - 1));
      }
    for (int64_t i = 0; i + 1 < nx; ++i)
      for (int64_t j = 0; j + 1 < ny; ++j)
        hz(i, j) -= 0.7 * (ex(i, j + 1) - ex(i, j) + ey(i + 1, j) - ey(i, j));
  }
  expect_near(r.out["ex"], ex);
  expect_near(r.out["ey"], ey);
  expect_near(r.out["hz"], hz);
}

/// Solves low * x[k-1] + mid * x[k] + low * x[k+1] = rhs[k] between x = 1 at both ends, by the
/// Thomas algorithm.
std::vector<double> tridiagonal(double low, double mid, const std::vector<double>& rhs) {
  const size_t n = rhs.size();
  std::vector<double> ratio(n, 0), part(n, 1), x(n, 1);
  for (size_t k = 1; k + 1 < n; ++k) {
    const double pivot = mid + low * ratio[k - 1];
    ratio[k] = -low / pivot;
    part[k] = (rhs[k] - low * part[k - 1]) / pivot;
  }
  for (size_t k = n - 2; k > 0; --k)
    x[k] = ratio[k] * x[k + 1] + part[k];
  return x;
}

TEST_P(Stencils, Adi) {
  KernelRun r = run_polybench("adi", GetParam());
  const int64_t n = r.n("N");
  const double steps = static_cast<double>(r.n("TSTEPS"));
  const double lambda = static_cast<double>(n * n) / steps;
  const double a = -lambda, b = 1 + 2 * lambda, d = -lambda / 2, e = 1 + lambda;
  Elements u = r.in["u"], v = zeros({n, n});
  for (int64_t t = 0; t < r.n("TSTEPS"); ++t) {
    for (int64_t i = 1; i + 1 < n; ++i) {
      std::vector<double> rhs(static_cast<size_t>(n));
      for (int64_t j = 1; j + 1 < n; ++j)
        rhs[static_cast<size_t>(j)] = -d * u(j, i - 1) + (1 + 2 * d) * u(j, i) - d * u(j, i + 1);
      const auto x = tridiagonal(a, b, rhs);
      for (int64_t j = 0; j < n; ++j)
        v(j, i) = x[static_cast<size_t>(j)];
    }
    for (int64_t i = 1; i + 1 < n; ++i) {
      std::vector<double> rhs(static_cast<size_t>(n));
      for (int64_t j = 1; j + 1 < n; ++j)
        rhs[static_cast<size_t>(j)] = -a * v(i - 1, j) + (1 + 2 * a) * v(i, j) - a * v(i + 1, j);
      const auto x = tridiagonal(d, e, rhs);
      for (int64_t j = 0; j < n; ++j)
        u(i, j) = x[static_cast<size_t>(j)];
    }
  }
  expect_near(r.out["u"], u, 1e-7);
}

/// Both recurrences of Deriche's filter over one line, with the last values in scalars.
std::vector<double> filtered(const std::vector<double>& x) {
  const double alpha = 0.25, near = std::exp(-alpha), far = std::exp(-2 * alpha);
  const double k = (1 - near) * (1 - near) / (1 + 2 * alpha * near - std::exp(2 * alpha));
  const double b1 = std::pow(2.0, -alpha), b2 = -far;
  std::vector<double> y(x.size());
  double x1 = 0, x2 = 0, y1 = 0, y2 = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = k * x[i] + k * near * (alpha - 1) * x1 + b1 * y1 + b2 * y2;
    x1 = x[i];
    y2 = y1;
    y1 = y[i];
  }
  x1 = x2 = y1 = y2 = 0;
  for (size_t i = x.size(); i-- > 0;) {
    const double back = k * near * (alpha + 1) * x1 - k * far * x2 + b1 * y1 + b2 * y2;
    x2 = x1;
    x1 = x[i];
    y2 = y1;
    y1 = back;
    y[i] += back;
  }
  return y;
}

TEST_P(Stencils, Deriche) {
  KernelRun r = run_polybench("deriche", GetParam());
  const auto rows_filtered = [](Elements image) {
    const auto width = static_cast<size_t>(image.shape[1]);
    for (size_t at = 0; at < image.at.size(); at += width) {
      const auto begin = image.at.begin() + static_cast<ptrdiff_t>(at);
      const auto row = filtered({begin, begin + static_cast<ptrdiff_t>(width)});
      std::copy(row.begin(), row.end(), begin);
    }
    return image;
  };
  const Elements expected = transposed(rows_filtered(transposed(rows_filtered(r.in["img"]))));
  expect_near(r.out["out"], expected);
}

TEST_P(Stencils, FloydWarshall) {
  KernelRun r =
      run_polybench("floyd-warshall", GetParam(), [](std::map<std::string, Elements>& in) {
        for (double& v : in["path"].at)
          v = std::fabs(v) * 13 + 1;
      });
  // Relaxing over all pairs until nothing gets shorter.
  Elements path = r.in["path"];
  for (bool changed = true; changed;) {
    changed = false;
    for (int64_t i = 0; i < r.n("N"); ++i)
      for (int64_t j = 0; j < r.n("N"); ++j)
        for (int64_t k = 0; k < r.n("N"); ++k)
          if (path(i, k) + path(k, j) < path(i, j)) {
            path(i, j) = path(i, k) + path(k, j);
            changed = true;
          }
  }
  expect_near(r.out["path"], path, 0);
}

TEST_P(Stencils, Nussinov) {
  KernelRun r = run_polybench("nussinov", GetParam(), [](std::map<std::string, Elements>& in) {
    for (double& v : in["seq"].at)
      v = static_cast<int64_t>(v + 8) % 4;
  });
  const int64_t n = r.n("N");
  Elements seq = r.in["seq"];
  std::map<std::pair<int64_t, int64_t>, double> known;
  // Base i stays alone, or pairs with some k that is not its neighbour.
  const std::function<double(int64_t, int64_t)> best = [&](int64_t i, int64_t j) -> double {
    if (j <= i)
      return 0;
    const auto found = known.find({i, j});
    if (found != known.end())
      return found->second;
    double most = best(i + 1, j);
    for (int64_t k = i + 2; k <= j; ++k)
      most = std::max(most, (seq(i) + seq(k) == 3) + best(i + 1, k - 1) + best(k + 1, j));
    known[{i, j}] = most;
    return most;
  };
  Elements expected = zeros({n, n});
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j)
      expected(i, j) = best(i, j);
  expect_near(r.out["table"], expected, 0);
}

} // namespace
} // namespace kawara::program
