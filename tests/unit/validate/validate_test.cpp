#include "unit/validate/line.h"

#include "kernel/walk.h"

namespace kawara::validate {
namespace {

std::vector<std::string> faults(const std::string& text, const std::string& directives,
                                bool is_for_gpu = false) {
  const Made all = made(text, directives, is_for_gpu);
  const Report report = validate(all.schedule, all.kernel);
  EXPECT_TRUE(report.is_finished);
  EXPECT_EQ(report.unchecked, std::vector<std::string>{});
  return report.faults;
}

/// The first loop or condition for which `change` says that it has changed it.
Kernel changed(Kernel kernel, const std::function<bool(kernel::Stmt&)>& change) {
  bool is_done = false;
  kernel.body = kernel::rewrite(kernel.body, [&](kernel::Stmt stmt) {
    is_done = is_done || change(stmt);
    return kernel::block_of(std::move(stmt));
  });
  EXPECT_TRUE(is_done);
  return kernel;
}

const std::string kProduct =
    "param M, N, K\ninput A: f32[M, K], B: f32[K, N]\noutput C: f32[M, N]\n"
    "C[i, j] = sum(k, A[i, k] * B[k, j])\n";
const std::string kTiles = "distribute(i); tile(S1.i=4, S1.j=8); reorder(S1.i.0, S1.j.0, S1.k, "
                           "S1.i.1, S1.j.1); unroll(S1.i.1); vectorize(S1.j.1, 4)";
const std::string kStencil = "param T, N\ninout A: f64[T + 1, N]\nfor t in range(T):\n"
                             "    for i in range(1, N - 1):\n"
                             "        A[t + 1, i] = A[t, i - 1] + A[t, i + 1]\n";
const std::string kSoftmax = "param M, N\ninput X: f32[M, N]\noutput Y: f32[M, N]\n"
                             "temp m: f32[M], s: f32[M]\nassume N >= 1\nm[i] = max(j, X[i, j])\n"
                             "s[i] = sum(j, exp(X[i, j] - m[i]))\n"
                             "Y[i, j] = exp(X[i, j] - m[i]) / s[i]\n";

TEST(Validate, FindsNothingInKernelsThatAreRight) {
  for (const char* directives : {"", "auto", kTiles.c_str()})
    EXPECT_EQ(faults(kProduct, directives), std::vector<std::string>{}) << directives;
  for (const char* directives : {"", "auto", "vectorize(i, 4)", "parallel(i)"})
    EXPECT_EQ(faults(kStencil, directives), std::vector<std::string>{}) << directives;
  EXPECT_EQ(faults(kSoftmax, "auto"), std::vector<std::string>{});
}

TEST(Validate, ReadsLaunches) {
  EXPECT_EQ(faults(kSoftmax, "auto", true), std::vector<std::string>{});
  EXPECT_EQ(faults("input A: f32[64, 32], B: f32[32, 64]\noutput C: f32[64, 64]\n"
                   "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                   "auto", true),
            std::vector<std::string>{});
}

TEST(Validate, FindsInstancesThatDoNotRun) {
  const Made all = made(kProduct, kTiles);
  size_t loops = 0;
  kernel::visit(all.kernel.body, [&](const kernel::Stmt& stmt) {
    loops += std::holds_alternative<kernel::For>(stmt) ? 1 : 0;
  });
  for (size_t n = 0; n < loops; ++n) {
    size_t at = 0;
    const Kernel shorter = changed(all.kernel, [&](kernel::Stmt& stmt) {
      auto* loop = std::get_if<kernel::For>(&stmt);
      if (loop == nullptr || at++ != n)
        return false;
      loop->lo = loop->lo + scalar::int_lit(loop->step);
      return true;
    });
    const Report report = validate(all.schedule, shorter);
    ASSERT_FALSE(report.faults.empty()) << kernel::print(shorter);
    EXPECT_NE(report.faults[0].find("does not run: "), std::string::npos) << report.faults[0];
  }
}

TEST(Validate, FindsInstancesThatRunTwice) {
  const Made all = made(kStencil, "");
  const Kernel twice = changed(all.kernel, [](kernel::Stmt& stmt) {
    auto* loop = std::get_if<kernel::For>(&stmt);
    if (loop == nullptr || loop->body.size() != 1 ||
        !std::holds_alternative<kernel::Store>(loop->body[0]))
      return false;
    loop->body.push_back(loop->body[0]);
    return true;
  });
  const Report report = validate(all.schedule, twice);
  ASSERT_FALSE(report.faults.empty());
  EXPECT_NE(report.faults[0].find("runs more than once: "), std::string::npos) << report.faults[0];
}

TEST(Validate, FindsOrdersThatChangeWhatIsRead) {
  const Made all = made(kSoftmax, "");
  Kernel swapped = all.kernel;
  ASSERT_GE(swapped.body.size(), 2U) << kernel::print(swapped);
  std::swap(swapped.body.front(), swapped.body.back());
  const Report report = validate(all.schedule, swapped);
  ASSERT_FALSE(report.faults.empty()) << kernel::print(swapped);
  EXPECT_NE(report.faults[0].find("run in another order"), std::string::npos) << report.faults[0];
}

TEST(Validate, FindsParallelLoopsThatCarryADependence) {
  const Made all = made(kStencil, "");
  const Kernel parallel = changed(all.kernel, [&](kernel::Stmt& stmt) {
    auto* loop = std::get_if<kernel::For>(&stmt);
    if (loop == nullptr || all.kernel.variables[loop->var].name != "t")
      return false;
    loop->marks.is_parallel = true;
    return true;
  });
  const Report report = validate(all.schedule, parallel);
  ASSERT_FALSE(report.faults.empty());
  EXPECT_NE(report.faults[0].find("parallel"), std::string::npos) << report.faults[0];
}

/// Most accesses are compared as expressions, without any set.
constexpr unsigned long kQuotaForElements = 20'000;

/// Each of the first stores, or loads, of a tensor of the program, one element further.
void expect_found_elsewhere(const Made& all, bool is_store) {
  size_t places = 0;
  const auto further = [](std::vector<scalar::Expr> index, size_t d) {
    index[d] = scalar::simplify(index[d] + scalar::int_lit(1, index[d].type()));
    return index;
  };
  // Every place in turn; which one is counted by the walk itself.
  for (size_t at = 0; at == 0 || at < std::min<size_t>(places, 40); ++at) {
    places = 0;
    Kernel other = all.kernel;
    if (is_store)
      other.body = kernel::rewrite(other.body, [&](kernel::Stmt stmt) {
        auto* store = std::get_if<kernel::Store>(&stmt);
        // Zeros that fill tiles up are of no statement.
        if (store != nullptr && store->buffer < all.schedule.scop.tensors.size() &&
            (!store->origins.empty() || scalar::as<scalar::Var>(store->value) != nullptr) &&
            places++ == at) {
          store->index = further(store->index, store->index.size() - 1);
        }
        return kernel::block_of(std::move(stmt));
      });
    else
      other.body = kernel::map_exprs(other.body, [&](const scalar::Expr& root) {
        return scalar::rewrite(root, [&](const scalar::Expr& e) -> scalar::Expr {
          const auto* load = scalar::as<scalar::Load>(e);
          if (load == nullptr || load->tensor >= all.schedule.scop.tensors.size() || places++ != at)
            return {};
          return scalar::load(load->tensor, further(load->index, 0), e.type());
        });
      });
    ASSERT_GT(places, 0U);
    const Report report = validate(all.schedule, other, {kQuotaForElements});
    ASSERT_FALSE(report.faults.empty()) << kernel::print(other);
  }
}

TEST(Validate, FindsStoresToOtherElements) {
  expect_found_elsewhere(made(kStencil, ""), true);
  expect_found_elsewhere(made(kProduct, kTiles), true);
  expect_found_elsewhere(made(kProduct, "auto"), true);
  expect_found_elsewhere(made(kSoftmax, "auto"), true);
}

TEST(Validate, FindsLoadsOfOtherElements) {
  expect_found_elsewhere(made(kStencil, ""), false);
  expect_found_elsewhere(made(kProduct, kTiles), false);
  expect_found_elsewhere(made(kProduct, "auto"), false);
  expect_found_elsewhere(made(kSoftmax, ""), false);
}

TEST(Validate, SaysWhichElementsDiffer) {
  const Made all = made(kStencil, "");
  const Kernel other = changed(all.kernel, [](kernel::Stmt& stmt) {
    auto* store = std::get_if<kernel::Store>(&stmt);
    if (store == nullptr)
      return false;
    store->index.back() = store->index.back() + scalar::int_lit(1);
    return true;
  });
  const Report report = validate(all.schedule, other);
  ASSERT_EQ(report.faults.size(), 1U);
  EXPECT_EQ(report.faults[0], "S0 stores to A[t * N + i + N + 1], not to A[t + 1, i]: [T, N] -> { "
                              "S0[2, 1] : T = 3 and N = 3 }")
      << kernel::print(other);
}

/// An element that is read twice in place of its neighbour is one that the program reads, too.
TEST(Validate, FindsElementsThatAreNotRead) {
  const Made all = made(kStencil, "");
  const Kernel other = changed(all.kernel, [](kernel::Stmt& stmt) {
    auto* store = std::get_if<kernel::Store>(&stmt);
    if (store == nullptr)
      return false;
    const auto* sum = scalar::as<scalar::Binary>(store->value);
    store->value = sum->lhs + sum->lhs;
    return true;
  });
  const Report report = validate(all.schedule, other);
  ASSERT_FALSE(report.faults.empty());
  EXPECT_NE(report.faults[0].find("does not read"), std::string::npos) << report.faults[0];
}

/// However many kernels a model has, all of them together take no more than a few would.
TEST(Validate, KernelsOfAModelShareTheirLimits) {
  EXPECT_EQ(quick_limits(1).operations, kQuick.operations);
  EXPECT_EQ(quick_limits(kTogether).statements, kQuick.statements);
  for (const size_t kernels : {kTogether + 1, size_t{1'000}, size_t{100'000}}) {
    const Limits limits = quick_limits(kernels);
    EXPECT_LE(limits.operations, std::max<size_t>(kQuick.operations * kTogether / kernels, 1));
    EXPECT_LE(limits.statements, std::max<size_t>(kQuick.statements * kTogether / kernels, 1));
    EXPECT_GE(limits.operations, 1U);
  }
}

/// Accesses that cannot be compared take as long as those that can.
TEST(Validate, CountsAccessesThatItCannotCompare) {
  const Made all =
      made("input A: f32[16], P: i64[16]\noutput B: f32[16]\nB[i] = A[i] + P[i]\n", "unroll(i)");
  Kernel other = all.kernel;
  other.body = kernel::rewrite(other.body, [](kernel::Stmt stmt) {
    if (auto* store = std::get_if<kernel::Store>(&stmt))
      store->index[0] = scalar::load(1, {store->index[0]}, scalar::kIndex);
    return kernel::block_of(std::move(stmt));
  });
  Limits limits;
  limits.accesses = 5;
  const Report report = validate(all.schedule, other, limits);
  EXPECT_EQ(
      std::count(report.uncompared.begin(), report.uncompared.end(), "accesses after the first 5"),
      1);
  EXPECT_LT(report.compared, 5U);
}

TEST(Validate, StopsAtItsLimits) {
  const Made all = made(kProduct, kTiles);
  for (const Limits& limits : {Limits{10}, Limits{.statements = 1}}) {
    const Report report = validate(all.schedule, all.kernel, limits);
    EXPECT_FALSE(report.is_finished);
    EXPECT_EQ(report.faults, std::vector<std::string>{});
  }
}

} // namespace
} // namespace kawara::validate
