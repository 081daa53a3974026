#include "driver/session.h"
#include "driver/suspects.h"

#include <gtest/gtest.h>

namespace kawara::driver {
namespace {

program::Program parsed(const char* text) {
  auto program = program::parse(make_source("t.kw", text));
  EXPECT_TRUE(program) << (program ? "" : render(program.error()));
  return program ? *std::move(program) : program::Program{};
}

poly::Scop scop_of(const char* text) {
  Request request;
  request.text = make_source("t.kw", text);
  Trace trace(TraceOptions{});
  auto front = schedule(request, host_environment(), trace);
  EXPECT_TRUE(front) << (front ? "" : render(front.error()));
  return front->schedule.scop;
}

Diagnostic failed(const char* code) {
  Diagnostic d;
  d.code = code;
  d.headline = "something went wrong";
  return d;
}

constexpr const char* kDeclarations = R"(param N, M
input x: f32[N], d: i32[M], idx: i32[M]
output y: f32[M], z: f32[N]
)";

TEST(Suspects, NamesStatementsThatReadIndices) {
  const auto scop = scop_of((std::string(kDeclarations) + R"(z[i] = 0
for i in range(M):
    y[i] = x[idx[i]]
for i in range(M):
    z[d[i]] += 1
)")
                                .c_str());
  const std::string text = render(with_data_indices(failed("K0713"), scop));
  EXPECT_NE(text.find("t.kw:6:5"), std::string::npos) << text;
  EXPECT_NE(text.find("S1 may have done it"), std::string::npos) << text;
  EXPECT_NE(text.find("Statements that read indices: S1, S2."), std::string::npos) << text;
  EXPECT_NE(text.find("kawara run --check"), std::string::npos) << text;
}

TEST(Suspects, LeavesTheMessageWhereNoIndexIsRead) {
  const auto scop = scop_of("param N\noutput y: f32[N]\ny[i] = i\n");
  EXPECT_EQ(render(with_data_indices(failed("K0713"), scop)), render(failed("K0713")));
}

TEST(Suspects, AssumedIndicesAreNotChecked) {
  const auto scop = scop_of(R"(param N, M
input x: f32[N], idx: i32[M]
output y: f32[M]
assume idx in range(N)
y[i] = x[idx[i]]
)");
  EXPECT_EQ(render(with_data_indices(failed("K0713"), scop)), render(failed("K0713")));
}

TEST(Suspects, SeesDivisionsInIndicesToo) {
  const auto program = parsed((std::string(kDeclarations) + R"(y[i] = i // 2
z[i] = 0
for i in range(M):
    z[max(min(idx[i] // d[i], N - 1), 0)] += 1
)")
                                  .c_str());
  const std::string text = render(with_divisions(failed("K0412"), program));
  EXPECT_NE(text.find("t.kw:7:5"), std::string::npos) << text;
  EXPECT_NE(text.find("^ S2\n"), std::string::npos) << text;
}

} // namespace
} // namespace kawara::driver
