#include <kawara/kawara.h>

#include <gtest/gtest.h>

#include <functional>

namespace kawara {
namespace {

constexpr const char* kGemm = R"(param M, N, K
input A: f32[M, K], B: f32[K, N]
output C: f32[M, N]
for i in range(M):
    for j in range(N):
        C[i, j] = 0
        for k in range(K):
            C[i, j] += A[i, k] * B[k, j]
)";

constexpr const char* kJacobi = R"(param T, N
inout A: f64[T + 1, N]
for t in range(T):
    for i in range(1, N - 1):
        A[t + 1, i] = A[t, i - 1] + A[t, i + 1]
)";

/// Code of the Error that `work` throws; "none" when it throws nothing.
std::string code_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("error[" + e.code() + "]"), std::string::npos);
    return e.code();
  }
  return "none";
}

TEST(Api, ProgramNamesWhatItHas) {
  const Program p = parse(kGemm);
  EXPECT_EQ(p.params(), (std::vector<std::string>{"M", "N", "K"}));
  EXPECT_EQ(p.tensors(), (std::vector<std::string>{"A", "B", "C"}));
  EXPECT_EQ(parse(p.print()).print(), p.print());
}

TEST(Api, ParseThrowsAllErrorsAtOnce) {
  try {
    parse("param N\ninput a: f99[N]\noutput b: f32[N]\nb[i] = zzz[i]\n", "bad.kw");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), "K0124");
    EXPECT_NE(std::string(e.what()).find("bad.kw:2:"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("bad.kw:4:"), std::string::npos) << e.what();
  }
}

TEST(Api, MethodsAreTheirTexts) {
  const Program p = parse(kGemm);
  Schedule a = p.schedule(), b = p.schedule();
  a.distribute("i")
      .tile({{"S1.i", 8}, {"S1.j", 8}})
      .reorder({"S1.i.0", "S1.j.0", "S1.i.1", "S1.k", "S1.j.1"})
      .vectorize("S1.j.1", 4)
      .unroll("S1.k", 2)
      .parallel("S1.i.0");
  b.apply("distribute(i); tile(S1.i=8, S1.j=8); reorder(S1.i.0, S1.j.0, S1.i.1, S1.k, S1.j.1)\n"
          "vectorize(S1.j.1, 4); unroll(S1.k, 2); parallel(S1.i.0)");
  EXPECT_EQ(a.print(), b.print());
  EXPECT_EQ(a.tree(), b.tree());
  EXPECT_EQ(p.schedule().apply(a.print()).print(), a.print());
}

TEST(Api, EveryDirectiveHasItsMethod) {
  const Program jacobi = parse(kJacobi);
  EXPECT_EQ(jacobi.schedule().skew("i", "t").interchange("t", "i").print(),
            jacobi.schedule().apply("skew(i, by=t, factor=1); interchange(t, i)").print());
  EXPECT_EQ(jacobi.schedule().cut("i", 8).print(), "cut(i, 8)");
  EXPECT_EQ(jacobi.schedule().reverse("i").shift("i", 2).print(), "reverse(i); shift(i, 2)");
  EXPECT_EQ(jacobi.schedule().split("i", 8).isolate("i.1").print(), "split(i, 8); isolate(i.1)");
  const Program two =
      parse("param N\ninput x: f32[N, N]\noutput y: f32[N, N]\ntemp s: f32[N, N]\n"
            "for i in range(N):\n    for j in range(N):\n        s[i, j] = x[i, j]\n"
            "for i in range(N):\n    for j in range(N):\n        y[i, j] = s[i, j]\n");
  EXPECT_EQ(two.schedule().fuse("S0.i", "S1.i").print(), "fuse(S0.i, S1.i)");
  EXPECT_EQ(two.schedule().inline_("S0").print(), "inline(S0)");
  EXPECT_EQ(two.schedule().compute_at("S0", "S1.i").print(), "compute_at(S0, S1.i)");
  EXPECT_EQ(two.schedule().stage("s", "S1.i").print(), "stage(s, S1.i)");
  EXPECT_EQ(two.schedule().stage("s", "S1.i", 1, 4).print(), "stage(s, S1.i, panel=1, width=4)");
  EXPECT_EQ(two.schedule().pack("s", "S1.i").print(), "pack(s, S1.i)");
  EXPECT_EQ(two.schedule().prefetch("s", "S1.i", 2).print(), "prefetch(s, S1.i, 2)");
  EXPECT_EQ(two.schedule().coalesce("S1.i", "S1.j").print(), "coalesce(S1.i, S1.j)");
  EXPECT_EQ(two.schedule().unroll_and_jam("S1.i", 2).print(), "unroll_and_jam(S1.i, 2)");
  const Program sum = parse("param N\ninput x: f32[N]\noutput s: f32\ns = 0\n"
                            "for k in range(N):\n    s += x[k]\n");
  EXPECT_EQ(sum.schedule().split("k", 8).rfactor("k.0").print(), "split(k, 8); rfactor(k.0)");
  EXPECT_EQ(sum.schedule().auto_().print(), sum.schedule().apply("auto").print());
}

TEST(Api, RefusalThrowsAndChangesNothing) {
  Schedule s = parse(kJacobi).schedule();
  s.split("i", 8);
  const std::string before = s.print(), tree = s.tree();
  EXPECT_EQ(code_of([&] { s.parallel("t"); }), "K0204");
  EXPECT_EQ(code_of([&] { s.split("zzz", 8); }), "K0201");
  EXPECT_EQ(code_of([&] { s.split("i.0", 0); }), "K0212");
  EXPECT_EQ(code_of([&] { s.tile({}); }), "K0232");
  EXPECT_EQ(code_of([&] { s.stage("zzz", "i.0"); }), "K0208");
  EXPECT_EQ(code_of([&] { s.pack("A", "t"); }), "K0235");
  EXPECT_EQ(code_of([&] { s.apply("split(i.1, 4); parallel(t)"); }), "K0204");
  EXPECT_EQ(s.print(), before);
  EXPECT_EQ(s.tree(), tree);
}

TEST(Api, CheckAnswersWithoutThrowing) {
  const Schedule s = parse(kJacobi).schedule();
  const Verdict refused = s.check("interchange(t, i)");
  EXPECT_FALSE(refused);
  EXPECT_EQ(refused.code, "K0203");
  EXPECT_NE(refused.message.find("error[K0203]"), std::string::npos);
  EXPECT_TRUE(s.check("skew(i, by=t, factor=1); interchange(t, i)"));
  EXPECT_EQ(s.check("nonesuch(i)").code, "K0230");
  EXPECT_EQ(s.print(), "");
  const Schedule sum = parse("param N\ninput x: f32[N]\noutput s: f32\ns = 0\n"
                             "for k in range(N):\n    s += x[k]\n")
                           .schedule();
  EXPECT_TRUE(sum.check("reverse(k)").reassociates);
  EXPECT_FALSE(sum.check("split(k, 8)").reassociates);
}

TEST(Api, CopiesAreIndependent) {
  Schedule a = parse(kJacobi).schedule();
  Schedule b = a;
  b.split("i", 4);
  EXPECT_EQ(a.print(), "");
  EXPECT_EQ(b.print(), "split(i, 4)");
}

class ApiRun : public testing::Test {
protected:
  std::vector<float> a = std::vector<float>(6, 1), b = std::vector<float>(12, 2),
                     c = std::vector<float>(8, -1);
  const Sizes sizes = {{"M", 2}, {"N", 4}, {"K", 3}};
};

TEST_F(ApiRun, OpenSizes) {
  const Executable e = parse(kGemm).schedule().auto_().compile();
  e.run({{"A", a}, {"B", b}, {"C", c}}, sizes);
  EXPECT_EQ(c, std::vector<float>(8, 6));
  e.run({{"A", a.data()}, {"B", b.data()}, {"C", static_cast<void*>(c.data())}},
        {{"M", 1}, {"N", 4}, {"K", 2}});
  EXPECT_EQ(c[0], 4);
  EXPECT_EQ(c[7], 6);
}

TEST_F(ApiRun, FixedSizesNeedNotBeRepeated) {
  const Executable e = parse(kGemm).schedule(sizes).compile();
  e.run({{"A", a}, {"B", b}, {"C", c}});
  EXPECT_EQ(c, std::vector<float>(8, 6));
  EXPECT_EQ(code_of([&] { e.run({{"A", a}, {"B", b}, {"C", c}}, {{"M", 3}}); }), "K0405");
}

TEST_F(ApiRun, MisuseIsRefused) {
  const Executable e = parse(kGemm).schedule().compile();
  const std::vector<float> constant = c;
  std::vector<double> wide(8);
  std::vector<float> shorter(7);
  const auto run = [&](const std::map<std::string, TensorData>& tensors, const Sizes& given) {
    return code_of([&] { e.run(tensors, given); });
  };
  EXPECT_EQ(run({{"A", a}, {"B", b}}, sizes), "K0401");
  EXPECT_EQ(run({{"A", a}, {"B", b}, {"C", shorter}}, sizes), "K0402");
  EXPECT_EQ(run({{"A", a}, {"B", b}, {"C", wide}}, sizes), "K0403");
  EXPECT_EQ(run({{"A", a}, {"B", b}, {"C", constant}}, sizes), "K0408");
  EXPECT_EQ(run({{"A", a}, {"B", b}, {"C", c}, {"D", c}}, sizes), "K0407");
  EXPECT_EQ(run({{"A", a}, {"B", b}, {"C", c}}, {{"M", 2}}), "K0431");
  EXPECT_EQ(run({{"A", a}, {"B", b}, {"C", c}}, {{"Z", 2}}), "K0430");
  EXPECT_EQ(run({{"A", a}, {"B", b}, {"C", c}}, {{"M", -2}, {"N", 4}, {"K", 3}}), "K0404");
  float* nowhere = nullptr;
  EXPECT_EQ(run({{"A", a}, {"B", b}, {"C", nowhere}}, sizes), "K0442");
  EXPECT_EQ(c, std::vector<float>(8, -1));
}

TEST_F(ApiRun, TimesAndTexts) {
  const Schedule s = parse(kGemm, "gemm.kw").schedule();
  const Executable e = s.compile();
  const Timing t = e.time(sizes);
  EXPECT_GT(t.median, 0);
  EXPECT_GE(t.max, t.min);
  EXPECT_NE(e.kernel(), "");
  EXPECT_NE(s.c().find("void gemm(int64_t M"), std::string::npos);
}

TEST(Api, ThisMachine) {
  const Machine m = this_machine();
  EXPECT_GT(m.vector_bytes, 0);
  EXPECT_GT(m.threads, 0);
}

} // namespace
} // namespace kawara
