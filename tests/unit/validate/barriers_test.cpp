#include "unit/validate/line.h"

#include "kernel/walk.h"

namespace kawara::validate {
namespace {

using kernel::Stmt;

const std::string kStaged = "input A: f32[96, 64], B: f32[64, 96]\noutput C: f32[96, 96]\n"
                            "C[i, j] = sum(k, A[i, k] * B[k, j])\n";
const std::string kRows = "param M, N\ninput X: f32[M, N]\noutput Y: f32[M, N]\n"
                          "temp s: f32[M, N]\ns[i, j] = X[i, j] * 2\n"
                          "Y[i, j] = s[i, j] + X[i, j]\n";

/// The kernel with the `at`-th of the statements that `is_one` names replaced; nothing where there
/// are fewer.
std::optional<Kernel> with(const Kernel& kernel, size_t at,
                           const std::function<bool(const Stmt&)>& is_one,
                           const std::function<kernel::Block(Stmt)>& instead) {
  Kernel changed = kernel;
  size_t count = 0;
  changed.body = kernel::rewrite(kernel.body, [&](Stmt stmt) {
    return is_one(stmt) && count++ == at ? instead(std::move(stmt))
                                         : kernel::block_of(std::move(stmt));
  });
  return count > at ? std::optional(changed) : std::nullopt;
}
bool is_barrier(const Stmt& s) { return std::holds_alternative<kernel::Barrier>(s); }
bool is_await(const Stmt& s) { return std::holds_alternative<kernel::Await>(s); }
kernel::Block none(const Stmt&) { return {}; }

/// Barriers and elements alone: the rest is proved elsewhere.
Report report_of(const Made& all, const Kernel& kernel) {
  return validate(all.schedule, kernel, {.operations = 100'000});
}

std::string all_of(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& one : list)
    text += one + "\n";
  return text;
}

TEST(Barriers, ArePlacedWhereThreadsMeet) {
  for (const std::string& text : {kStaged, kRows}) {
    const Made all = made(text, "auto", true);
    const Report report = report_of(all, all.kernel);
    EXPECT_EQ(report.faults, std::vector<std::string>{});
    EXPECT_GT(report.pairs, 0U) << kernel::print(all.kernel);
    EXPECT_EQ(all_of(report.unchecked).find("barriers"), std::string::npos)
        << all_of(report.unchecked);
  }
}

TEST(Barriers, AreMissedWhereverOneIsDropped) {
  const Made all = made(kStaged, "auto", true);
  for (auto* const is_one : {is_barrier, is_await}) {
    size_t dropped = 0;
    while (const auto faulty = with(all.kernel, dropped, is_one, none)) {
      const std::string found = all_of(report_of(all, *faulty).faults);
      EXPECT_TRUE(found.find("with no barrier between") != std::string::npos ||
                  found.find("before a copy to it has come") != std::string::npos)
          << found << kernel::print(*faulty);
      ++dropped;
    }
    EXPECT_GE(dropped, 1U) << kernel::print(all.kernel);
  }
}

TEST(Barriers, AreWhereAllThreadsCome) {
  const Made all = made(kStaged, "auto", true);
  const auto thread = std::find_if(all.kernel.variables.begin(), all.kernel.variables.end(),
                                   [](const auto& v) { return v.name == "thread_x"; });
  ASSERT_NE(thread, all.kernel.variables.end());
  const auto first =
      scalar::binary(scalar::BinaryOp::Eq,
                     scalar::var(static_cast<uint32_t>(thread - all.kernel.variables.begin())),
                     scalar::int_lit(0));
  const auto faulty = with(all.kernel, 0, is_barrier, [&](Stmt stmt) {
    return kernel::block_of(kernel::If{first, kernel::block_of(std::move(stmt)), {}});
  });
  ASSERT_TRUE(faulty);
  EXPECT_NE(all_of(report_of(all, *faulty).faults).find("disagree on thread_x == 0"),
            std::string::npos);
}

TEST(Barriers, WaitForCopiesUnderWay) {
  const Made all = made(kStaged, "auto", true);
  const auto faulty = with(all.kernel, 0, is_await, [](Stmt stmt) {
    ++std::get<kernel::Await>(stmt).pending;
    return kernel::block_of(std::move(stmt));
  });
  ASSERT_TRUE(faulty) << kernel::print(all.kernel);
  EXPECT_NE(all_of(report_of(all, *faulty).faults).find("before a copy to it has come"),
            std::string::npos)
      << kernel::print(*faulty);
}

/// Of a launch of warpgroups nothing is said to be equal.
TEST(Barriers, OfWarpgroupsAreNotChecked) {
  const Made all = made("input A: bf16[256, 256], B: bf16[256, 256]\noutput C: f32[256, 256]\n"
                        "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                        "auto", true);
  ASSERT_TRUE(kernel::has_async_op(all.kernel.body)) << kernel::print(all.kernel);
  const Report report = report_of(all, all.kernel);
  EXPECT_FALSE(report.is_read);
  EXPECT_EQ(report.faults, std::vector<std::string>{});
  EXPECT_NE(all_of(report.unchecked).find("barriers of test_0"), std::string::npos)
      << all_of(report.unchecked);
  EXPECT_NE(all_of(report.unchecked).find("instances, order and elements"), std::string::npos);
}

/// What warpgroups store to outputs is counted: a tile that is left out, stored twice or stored
/// elsewhere is a fault.
TEST(GroupStores, CoverOutputsOnce) {
  const Made all = made("input A: bf16[256, 128], B: bf16[128, 200], c: f32[200]\n"
                        "output C: bf16[256, 200]\ntemp T: f32[256, 200]\n"
                        "T[i, j] = sum(k, A[i, k] * B[k, j])\nC[i, j] = max(T[i, j] + c[j], 0)\n",
                        "auto", true);
  ASSERT_TRUE(kernel::has_async_op(all.kernel.body)) << kernel::print(all.kernel);
  const Report report = report_of(all, all.kernel);
  EXPECT_EQ(report.faults, std::vector<std::string>{});
  EXPECT_EQ(report.outputs, 1U) << all_of(report.unchecked);
  EXPECT_EQ(validate(all.schedule, all.kernel, kQuick).outputs, 0U);
  EXPECT_NE(
      all_of(validate(all.schedule, all.kernel, kQuick).unchecked).find("stores of warpgroups"),
      std::string::npos);
  const auto faults_with = [&](const std::function<void(Stmt&)>& change) {
    Kernel other = all.kernel;
    other.body = kernel::rewrite(other.body, [&](Stmt stmt) {
      change(stmt);
      return kernel::block_of(std::move(stmt));
    });
    return all_of(report_of(all, other).faults);
  };
  const auto bulk_of = [](Stmt& stmt) {
    auto* async_op = std::get_if<kernel::AsyncOp>(&stmt);
    return async_op != nullptr ? std::get_if<kernel::BulkStore>(&async_op->what) : nullptr;
  };
  EXPECT_NE(faults_with([&](Stmt& stmt) {
              if (auto* bulk = bulk_of(stmt))
                bulk->to.index[1] = bulk->to.index[1] + scalar::int_lit(1);
            }).find("nothing stores to C[0, 0]"),
            std::string::npos);
  EXPECT_NE(faults_with([&](Stmt& stmt) {
              if (auto* bulk = bulk_of(stmt))
                bulk->box[0] += 1;
            }).find("stores twice to C[64, 0]"),
            std::string::npos);
  EXPECT_NE(faults_with([&](Stmt& stmt) {
              auto* loop = std::get_if<kernel::For>(&stmt);
              if (loop != nullptr && all.kernel.variables[loop->var].name == "tile")
                loop->hi = loop->hi - scalar::int_lit(1);
            }).find("nothing stores to C"),
            std::string::npos);
}

/// 80 columns are stored as two panels of 64, of which the second begins within the first.
TEST(GroupStores, MayBeginWithinThePanelBefore) {
  const Made all =
      made("numerics fast\ninput A: bf16[128, 64], B: bf16[72, 64]\noutput C: bf16[128, 72]\n"
           "temp T: f32[128, 72]\nT[q, m] = sum(c, A[q, c] * B[m, c])\nC[q, m] = T[q, m]\n",
           "distribute(S0.q); reorder(S1.q, S1.m, S1.c); tile(S1.q=64, S1.m=80, S1.c=64); "
           "tile(S0.q=64, S0.m=80); fuse(S0.q.0, S1.q.0); fuse(S0.m.0, S1.m.0); "
           "tile(S2.q=64, S2.m=80); fuse(S1.q.0, S2.q.0); fuse(S1.m.0, S2.m.0); "
           "bind(S0.q.0, block.y); bind(S0.m.0, block.x); "
           "tensorize(S1.q.1, wgmma.m64n80k16.bf16); pipeline(S1.c.0, 4); store_at(T, S1.m.0)",
           true);
  ASSERT_TRUE(kernel::has_async_op(all.kernel.body)) << kernel::print(all.kernel);
  const Report report = report_of(all, all.kernel);
  EXPECT_EQ(report.faults, std::vector<std::string>{});
  EXPECT_EQ(report.outputs, 1U) << all_of(report.unchecked);
  const auto faults_with_column = [&](int64_t column) {
    Kernel other = all.kernel;
    kernel::visit(other.body, [&](kernel::AsyncOp& op) {
      auto* bulk = std::get_if<kernel::BulkStore>(&op.what);
      if (bulk != nullptr && scalar::constant_of(bulk->to.index[1]) == 16)
        bulk->to.index[1] = scalar::int_lit(column);
    });
    return all_of(report_of(all, other).faults);
  };
  EXPECT_EQ(faults_with_column(16), "");
  EXPECT_NE(faults_with_column(0).find("stores twice to C[0, 0]"), std::string::npos);
}

/// What no expression says of an element is said not to be checked, and no fault.
TEST(Barriers, SayWhatTheyCannotSee) {
  const Made all = made(kStaged, "auto", true);
  Kernel other = all.kernel;
  bool is_done = false;
  other.body = kernel::rewrite(other.body, [&](Stmt stmt) {
    auto* store = std::get_if<kernel::Store>(&stmt);
    if (store == nullptr || is_done || other.buffers[store->buffer].scope != kernel::Scope::Shared)
      return kernel::block_of(std::move(stmt));
    is_done = true;
    const scalar::Expr at = scalar::cast(
        scalar::load(0, {scalar::int_lit(0), scalar::int_lit(0)}, {scalar::Elem::F32, 1}),
        scalar::kIndex);
    store->index[0] = at;
    return kernel::block_of(std::move(stmt));
  });
  ASSERT_TRUE(is_done);
  const Report report = report_of(all, other);
  EXPECT_NE(all_of(report.unchecked).find("an index is not affine"), std::string::npos)
      << all_of(report.unchecked);
  EXPECT_EQ(all_of(report.faults).find("barrier"), std::string::npos) << all_of(report.faults);
}

} // namespace
} // namespace kawara::validate
