// Indices that are read from data, in compiled code: results, and what is outside.

#include "driver/session.h"
#include "program/interpret/interpret.h"

#include <gtest/gtest.h>

namespace kawara::driver {
namespace {

using program::Array;
using program::Arrays;
using scalar::Elem;

Array whole(Elem elem, int64_t elements, const std::function<int64_t(int64_t)>& value) {
  Array array(elem, {elements});
  for (int64_t k = 0; k < elements; ++k)
    array.set(k, scalar::int_value(value(k)));
  return array;
}

Array real(int64_t elements) {
  Array array(Elem::F32, {elements});
  for (int64_t k = 0; k < elements; ++k)
    array.set_double(k, static_cast<double>(k % 13) - 6);
  return array;
}

Parsed<Arrays> compiled_result(const std::string& text, const std::string& directives,
                               const std::vector<int64_t>& sizes, Arrays inputs) {
  Trace trace(TraceOptions{{}, true, 1, {}, {}, {}});
  const Request request{make_source("t.kw", text),
                        directives.empty() ? nullptr : make_source("schedule", directives),
                        {},
                        std::nullopt};
  auto compiled = compile(request, host_environment(), trace);
  if (!compiled)
    return fail(compiled.error());
  return call(*compiled, sizes, std::move(inputs));
}

void expect_right(const std::string& text, const std::vector<int64_t>& sizes,
                  const Arrays& inputs) {
  const auto program = program::parse(make_source("t.kw", text));
  ASSERT_TRUE(static_cast<bool>(program)) << render(program.error());
  const auto expected = program::interpret(*program, sizes, inputs);
  ASSERT_TRUE(static_cast<bool>(expected)) << render(expected.error());
  for (const char* directives : {"", "auto"}) {
    const auto got = compiled_result(text, directives, sizes, inputs);
    ASSERT_TRUE(static_cast<bool>(got)) << render(got.error());
    EXPECT_LE(compare(*got, *expected).worst, 1e-5) << directives << "\n" << text;
  }
}

/// The message of a run that has to stop.
Diagnostic fault_of(const std::string& text, const std::string& directives,
                    const std::vector<int64_t>& sizes, const Arrays& inputs) {
  const auto got = compiled_result(text, directives, sizes, inputs);
  EXPECT_FALSE(static_cast<bool>(got)) << text;
  return got ? Diagnostic{} : got.error().front();
}

constexpr const char* kGather = "param N, M\ninput x: f32[N], idx: i32[M]\noutput y: f32[M]\n"
                                "y[i] = x[idx[i]]\n";

TEST(DataIndex, GathersInLanesAndThreads) {
  for (const int64_t elements : {0, 1, 7, 100, 20000}) {
    const Array idx = whole(Elem::I32, elements, [](int64_t k) { return (k * 7919) % 101; });
    expect_right(kGather, {101, elements}, {{"x", real(101)}, {"idx", idx}});
  }
}

TEST(DataIndex, LanesThatMeetInOneElementAddUp) {
  const std::string text = "param N, M\ninput w: f32[M], idx: i64[M]\ninout h: f32[N]\n"
                           "for i in range(M):\n    h[idx[i]] += w[i]\n";
  const Array idx = whole(Elem::I64, 1000, [](int64_t k) { return k % 3 == 0 ? 1 : k % 5; });
  expect_right(text, {5, 1000}, {{"h", real(5)}, {"w", real(1000)}, {"idx", idx}});
  const auto lanes = compiled_result(text, "vectorize(i, 8)", {5, 1000},
                                     {{"h", real(5)}, {"w", real(1000)}, {"idx", idx}});
  const auto plain =
      compiled_result(text, "", {5, 1000}, {{"h", real(5)}, {"w", real(1000)}, {"idx", idx}});
  ASSERT_TRUE(lanes && plain);
  EXPECT_LE(compare(*lanes, *plain).worst, 1e-5);
}

TEST(DataIndex, TheLastWriteStays) {
  const std::string text = "param N, M\ninput w: f32[M], idx: i32[M]\ninout h: f32[N]\n"
                           "for i in range(M):\n    h[idx[i]] = w[i]\n";
  const Array idx = whole(Elem::I32, 999, [](int64_t k) { return (k * k) % 7; });
  expect_right(text, {7, 999}, {{"h", real(7)}, {"w", real(999)}, {"idx", idx}});
}

TEST(DataIndex, RowsOfASparseMatrix) {
  const std::string text = "param R, C, Z\ninput p: i32[R + 1], c: i32[Z], v: f32[Z], x: f32[C]\n"
                           "output y: f32[R]\n"
                           "y[i] = sum(k in range(p[i], p[i + 1]), v[k] * x[c[k]])\n";
  const int64_t rows = 3000, elements = 9000;
  const Array p = whole(Elem::I32, rows + 1, [&](int64_t k) {
    return k == rows ? elements : k / 10 * 30 + (k % 10 > 4 ? 20 : 0);
  });
  const Array c = whole(Elem::I32, elements, [](int64_t k) { return (k * 31) % 57; });
  expect_right(text, {rows, 57, elements},
               {{"p", p}, {"c", c}, {"v", real(elements)}, {"x", real(57)}});
}

TEST(DataIndex, SaysWhatIsOutside) {
  for (const int64_t bad : {int64_t{-1}, int64_t{101}, int64_t{2000000000}})
    for (const int64_t at : {int64_t{0}, int64_t{5}, int64_t{19999}})
      for (const char* directives : {"", "auto", "vectorize(i, 4)"}) {
        const Array idx =
            whole(Elem::I32, 20000, [&](int64_t k) { return k == at ? bad : k % 101; });
        const Diagnostic d =
            fault_of(kGather, directives, {101, 20000}, {{"x", real(101)}, {"idx", idx}});
        EXPECT_EQ(d.code, "K0413");
        EXPECT_EQ(d.headline, "index " + std::to_string(bad) + " is outside of `x`");
        ASSERT_FALSE(d.body.empty());
        EXPECT_NE(d.body.front().find("S0"), std::string::npos) << d.body.front();
        EXPECT_NE(d.body.front().find("`idx[" + std::to_string(at) + "]`"), std::string::npos)
            << d.body.front();
      }
}

TEST(DataIndex, NothingIsInsideOfAnEmptyTensor) {
  const Array idx = whole(Elem::I32, 3, [](int64_t) { return 0; });
  EXPECT_EQ(fault_of(kGather, "auto", {0, 3}, {{"x", real(0)}, {"idx", idx}}).code, "K0413");
}

TEST(DataIndex, ARangeThatLeavesItsTensorIsOutside) {
  const std::string text = "param R, Z\ninput p: i64[R + 1], x: f32[Z]\noutput y: f32[R]\n"
                           "y[i] = sum(k in range(p[i], p[i + 1]), x[k])\n";
  const Array p = whole(Elem::I64, 3, [](int64_t k) { return k * 5; });
  const Diagnostic d = fault_of(text, "", {2, 9}, {{"p", p}, {"x", real(9)}});
  EXPECT_EQ(d.code, "K0413");
  EXPECT_EQ(d.headline, "index 9 is outside of `x`");
}

TEST(DataIndex, ElementsThatNobodyWantsAreNotLookedAt) {
  const std::string text = "param N, M\ninput x: f32[N], idx: i32[M]\noutput y: f32[M]\n"
                           "y[i] = select(idx[i] >= 0, x[idx[i]], 0)\n";
  const Array idx = whole(Elem::I32, 100, [](int64_t k) { return k % 3 == 0 ? -1 : k % 7; });
  expect_right(text, {7, 100}, {{"x", real(7)}, {"idx", idx}});
}

} // namespace
} // namespace kawara::driver
