#include "unit/poly/scops.h"

#include "poly/accesses.h"

#include <algorithm>

namespace kawara::poly {
namespace {

constexpr const char* kScatter = R"(param N, M
input w: f32[M], idx: i32[M]
inout h: f32[N]
for i in range(M):
    h[idx[i]] += w[i]
)";

/// How many checks of indices are left in the statements.
size_t checks_in(const Scop& scop) {
  size_t count = 0;
  for (const ScopStatement& statement : scop.statements)
    program::visit_exprs(statement.text, [&](const Expr& root) {
      scalar::visit(
          root, [&](const Expr& e) { count += scalar::as<scalar::Within>(e) != nullptr ? 1 : 0; });
    });
  return count;
}

size_t checks_in(const std::string& text) { return checks_in(scop_of(text)); }

Order marked(const Scop& scop, bool is_parallel) {
  Order order = scop.source_order;
  Marks& marks = order[path_of(order, StmtId{0})[0]].marks;
  marks.is_parallel = is_parallel;
  marks.vector_width = is_parallel ? 0 : 4;
  return order;
}

TEST(DataIndex, AReadMayBeOfAnyElement) {
  const Scop scop = scop_of("param N, M\ninput idx: i32[M]\ninout x: f32[N]\noutput y: f32[M]\n"
                            "for i in range(M):\n    y[i] = x[idx[i]]\n"
                            "for j in range(N):\n    x[j] = 0\n");
  EXPECT_EQ(lines_of(scop, scop.dependences), "S0 -> S1 x read before write ()\n");
  const auto all = accesses(scop);
  const auto read =
      std::find_if(all.begin(), all.end(), [](const Access& a) { return !a.is_sure; });
  ASSERT_NE(read, all.end());
  EXPECT_FALSE(read->is_write);
}

TEST(DataIndex, ThreadsDoNotScatter) {
  const Scop scop = scop_of(kScatter);
  const Illegal illegal = illegal_of(judge(scop, marked(scop, true)));
  EXPECT_EQ(illegal.broken, Broken::Parallel);
  EXPECT_EQ(illegal.element, (std::vector<int64_t>{kAnyElement}));
}

TEST(DataIndex, UpdatesChangePlacesWhereSumsMay) {
  const Scop scop = scop_of(kScatter);
  const Order reversed = with_rows(scop, {scalar::int_lit(0) - scalar::iter(0)});
  EXPECT_TRUE(is_legal(judge(scop, reversed)));
  const Scop exact = scop_of("numerics exact\n" + std::string(kScatter));
  EXPECT_FALSE(is_legal(judge(exact, with_rows(exact, {scalar::int_lit(0) - scalar::iter(0)}))));
  std::string last_wins = kScatter;
  last_wins.replace(last_wins.find("+="), 2, "=");
  const Scop plain = scop_of(last_wins);
  EXPECT_FALSE(is_legal(judge(plain, with_rows(plain, {scalar::int_lit(0) - scalar::iter(0)}))));
  EXPECT_FALSE(is_legal(judge(plain, marked(plain, false))));
}

TEST(DataIndex, AWriteThatMayMissKillsNothing) {
  const Scop scop = scop_of("param N\ninput idx: i32[N]\noutput y: f32[N]\ntemp t: f32[N]\n"
                            "t[i] = 0\nfor i in range(N):\n    t[idx[i]] = 1\ny[i] = t[i]\n");
  std::string flows;
  for (const Dependence& d : exact_dependences(scop))
    if (d.kind == DependenceKind::Flow)
      flows += scop[d.source].text.name + "-" + scop[d.sink].text.name + " ";
  EXPECT_EQ(flows, "S0-S2 S1-S2 ");
}

TEST(DataIndex, ATempMustBeWrittenWhereverItMayBeRead) {
  const std::string head = "param N\nassume N >= 2\ninput idx: i32[N]\noutput y: f32[N]\n"
                           "temp t: f32[N]\n";
  EXPECT_EQ(refusal_of(head + "t[i] = 0\ny[i] = t[idx[i]]\n"), "");
  EXPECT_NE(refusal_of(head + "for i in range(1, N): t[i] = 0\ny[i] = t[idx[i]]\n").find("K0171"),
            std::string::npos);
  EXPECT_NE(refusal_of(head + "for i in range(N): t[idx[i]] = 0\ny[i] = t[i]\n").find("K0171"),
            std::string::npos);
}

TEST(DataIndex, ChecksAreLeftOutWhereTheyAreProved) {
  const std::string plain = "input x: f32[N], n: i32[N]\noutput y: f32[N]\ny[i] = x[n[i]]\n";
  EXPECT_EQ(checks_in("param N\n" + plain), 1u);
  EXPECT_EQ(checks_in("param N\nassume n in range(N)\n" + plain), 0u);
  EXPECT_EQ(checks_in("param N\nassume n in range(N + 1)\n" + plain), 1u);
  EXPECT_EQ(checks_in("param N\nassume n in range(-1, N)\n" + plain), 1u);
  EXPECT_EQ(checks_in("param N, M\nassume M <= N\nassume n in range(M)\n" + plain), 0u);
  EXPECT_EQ(checks_in("param N\ninput x: f32[256], n: u8[N]\noutput y: f32[N]\ny[i] = x[n[i]]\n"),
            0u);
  EXPECT_EQ(checks_in("param N\ninput x: f32[256], n: i8[N]\noutput y: f32[N]\ny[i] = x[n[i]]\n"),
            1u);
  EXPECT_EQ(checks_in("param N\nassume N >= 1\ninput x: f32[N], n: i64[N]\noutput y: f32[N]\n"
                      "y[i] = x[min(max(n[i], 0), N - 1)]\n"),
            0u);
  EXPECT_EQ(checks_in("param R, Z\nassume p in range(Z + 1)\ninput p: i32[R + 1], x: f32[Z]\n"
                      "output y: f32[R]\ny[i] = sum(k in range(p[i], p[i + 1]), x[k])\n"),
            0u);
}

} // namespace
} // namespace kawara::poly
