#include "program/interpret/arguments.h"
#include "program/interpret/interpret.h"
#include "unit/program/text_of.h"

namespace kawara::program {
namespace {

constexpr const char* kGather = R"(param N, M
input x: f32[N], idx: i32[M]
output y: f32[M]
for i in range(M):
    y[i] = x[idx[i]]
)";

Array integers(scalar::Elem elem, const std::vector<int64_t>& values) {
  Array array(elem, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k)
    array.set(static_cast<int64_t>(k), scalar::int_value(values[k]));
  return array;
}

Array reals(const std::vector<double>& values) {
  Array array(scalar::Elem::F32, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k)
    array.set_double(static_cast<int64_t>(k), values[k]);
  return array;
}

std::vector<double> values_in(const Array& array) {
  std::vector<double> values;
  for (int64_t k = 0; k < array.elements(); ++k)
    values.push_back(array.get_double(k));
  return values;
}

/// The first output, or the code of what went wrong.
Result<std::vector<double>, Diagnostic>
result_of(const std::string& text, const std::vector<int64_t>& params, Arrays inputs) {
  const auto done = interpret(parsed(text), params, std::move(inputs));
  if (!done)
    return fail(done.error());
  return values_in(done->begin()->second);
}

std::string again(const std::string& text) { return print(parsed(print(parsed(text)))); }

TEST(DataIndex, PrintsAsItWasWritten) {
  for (const std::string& text : std::vector<std::string>{
           std::string(kGather),
           std::string("param N\ninput x: f32[N, N], a: i64[N], b: u8[N]\ninout y: f32[N]\n\n"
                       "for i in range(N):\n    y[a[i]] += x[b[i], 2 * a[i] + i]\n"),
           std::string("param N\ninput v: f32[N]\ninout h: f32[N]\nassume N >= 1\n\n"
                       "for i in range(N):\n    h[i64(v[i] * 10.0)] += 1.0\n"),
           std::string("param R, Z\ninput p: i32[R + 1], x: f32[Z]\noutput y: f32[R]\n"
                       "assume p in range(0, Z + 1)\n\n"
                       "for i in range(R):\n    y[i] = 0.0\n    for k in range(p[i], p[i + 1]):\n"
                       "        y[i] += x[k]\n"),
       }) {
    const Program program = parsed(text);
    EXPECT_TRUE(spec(program).empty()) << spec(program).front();
    EXPECT_EQ(again(text), print(program));
  }
  EXPECT_NE(print(parsed(kGather)).find("y[i] = x[idx[i]]"), std::string::npos);
}

TEST(DataIndex, ReadsAndWritesThroughIndices) {
  const auto gathered =
      result_of(kGather, {3, 4},
                {{"x", reals({5, 6, 7})}, {"idx", integers(scalar::Elem::I32, {2, 0, 2, 1})}});
  ASSERT_TRUE(static_cast<bool>(gathered));
  EXPECT_EQ(*gathered, (std::vector<double>{7, 5, 7, 6}));
  const auto scattered = [&](const std::string& op) {
    const auto done = result_of("param N, M\ninput w: f32[M], idx: i32[M]\ninout h: f32[N]\n"
                                "for i in range(M):\n    h[idx[i]] " +
                                    op + " w[i]\n",
                                {3, 4},
                                {{"h", reals({1, 1, 1})},
                                 {"w", reals({2, 3, 4, 0.5})},
                                 {"idx", integers(scalar::Elem::I32, {2, 0, 2, 0})}});
    return done ? *done : std::vector<double>{};
  };
  EXPECT_EQ(scattered("+="), (std::vector<double>{4.5, 1, 7}));
  EXPECT_EQ(scattered("="), (std::vector<double>{0.5, 1, 4})); // the last one stays
  EXPECT_EQ(scattered("max="), (std::vector<double>{3, 1, 4}));
  EXPECT_EQ(scattered("min="), (std::vector<double>{0.5, 1, 1}));
}

TEST(DataIndex, RangesThatAreReadMayBeEmpty) {
  const std::string text = "param R, Z\ninput p: i32[R + 1], x: f32[Z]\noutput y: f32[R]\n"
                           "y[i] = sum(k in range(p[i], p[i + 1]), x[k])\n";
  const auto done = result_of(
      text, {3, 4}, {{"p", integers(scalar::Elem::I32, {0, 3, 3, 4})}, {"x", reals({1, 2, 3, 4})}});
  ASSERT_TRUE(static_cast<bool>(done));
  EXPECT_EQ(*done, (std::vector<double>{6, 0, 4}));
}

TEST(DataIndex, SaysWhatIsOutside) {
  for (const int64_t bad : {int64_t{-1}, int64_t{3}, int64_t{1} << 40}) {
    const auto done = result_of(
        "param N, M\ninput x: f32[N], idx: i64[M]\noutput y: f32[M]\ny[i] = x[idx[i]]\n", {3, 2},
        {{"x", reals({5, 6, 7})}, {"idx", integers(scalar::Elem::I64, {0, bad})}});
    ASSERT_FALSE(static_cast<bool>(done));
    EXPECT_EQ(done.error().code, "K0413");
    EXPECT_EQ(done.error().headline, "index " + std::to_string(bad) + " is outside of `x`");
    EXPECT_EQ(done.error().label, "S0 at (i=1)");
    EXPECT_NE(done.error().body.front().find("`idx[1]`"), std::string::npos);
  }
}

TEST(DataIndex, IndicesAreIntegers) {
  const std::string head = "param N\ninput x: f32[N], c: bool[N], n: i32[N]\ninout y: f32[N]\n";
  const auto codes = [&](const std::string& body) { return codes_of(head + body); };
  EXPECT_EQ(codes("for i in range(N):\n    y[x[i]] = 1\n"), "K0145");
  EXPECT_EQ(codes("for i in range(N):\n    y[i] = x[c[i]]\n"), "K0145");
  EXPECT_EQ(codes("for i in range(N):\n    y[i * i] = 1\n"), "K0140");
  EXPECT_EQ(codes("for i in range(N):\n    if n[i] > 0: y[i] = 1\n"), "K0141");
  EXPECT_EQ(codes("for i in range(N):\n    y[i] = x[n[i] % N]\n"), "");
  EXPECT_EQ(codes("for i in range(N):\n    y[i] = x[n[i] // 0]\n"), "K0142");
  EXPECT_EQ(codes("for i in range(N):\n    y[i] = x[sum(k, n[k])]\n"), "K0140");
}

TEST(DataIndex, RangesThatAreReadHoldOneAssignment) {
  const std::string head = "param N\ninput x: f32[N], n: i32[N]\ninout y: f32[N]\n"
                           "for i in range(N):\n    for p in range(n[i]):\n";
  EXPECT_EQ(codes_of(head + "        y[i] += x[p]\n"), "");
  EXPECT_EQ(codes_of(head + "        y[i] += x[p]\n        y[p] = 1\n"), "K0147");
  EXPECT_EQ(codes_of(head + "        for j in range(N):\n            y[j] += x[p]\n"), "K0147");
  EXPECT_EQ(codes_of("param N\ninput n: i32[N]\ninout y: f32[N]\nfor i in range(N):\n"
                     "    for p in range(0, n[i], 2):\n        y[p] = 1\n"),
            "K0147");
}

TEST(DataIndex, AssumesValuesOfIntegers) {
  const auto codes = [](const std::string& line) {
    return codes_of("param N\n" + line +
                    "input x: f32[N], n: i32[N]\noutput y: f32[N]\ny[i] = x[n[i]]\n");
  };
  EXPECT_EQ(codes("assume n in range(N)\n"), "");
  EXPECT_EQ(codes("assume n in range(1, N)\n"), "");
  EXPECT_EQ(codes("assume n in range(N) and N >= 2\n"), "");
  EXPECT_EQ(codes("assume n in range(N) and x in range(N)\n"), "K0146");
  EXPECT_EQ(codes("assume n in range(N) and n in range(N)\n"), "K0146");
  EXPECT_EQ(codes("assume n in range(N) and\n"), "K0110");
  EXPECT_EQ(codes("assume x in range(N)\n"), "K0146");
  EXPECT_EQ(codes("assume N in range(4)\n"), "K0146");
  EXPECT_EQ(codes("assume n in range(N)\nassume n in range(N)\n"), "K0146");
  EXPECT_EQ(codes("assume m in range(N)\n"), "K0121");
  EXPECT_EQ(codes("assume n in range(0, N, 2)\n"), "K0144");
}

TEST(DataIndex, PatternsStayInside) {
  for (const std::string& text : std::vector<std::string>{
           std::string(kGather),
           std::string(
               "param N, M\ninput p: i32[N + 1], c: i64[M], x: f32[N], v: f32[M]\n"
               "output y: f32[N]\ny[i] = sum(k in range(p[i], p[i + 1]), v[k] * x[c[k]])\n"),
           std::string("param N, M\ninput a: i32[M], x: f32[N]\noutput y: f32[M]\n"
                       "y[i] = x[2 * a[i]]\n")}) {
    const Program program = parsed(text);
    const auto inputs = pattern_inputs(program, {5, 17}, 3);
    ASSERT_TRUE(static_cast<bool>(inputs));
    const auto done = interpret(program, {5, 17}, *inputs);
    EXPECT_TRUE(static_cast<bool>(done)) << render(done.error());
  }
}

} // namespace
} // namespace kawara::program
