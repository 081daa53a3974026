#pragma once

#include "program/program.h"
#include "schedule/schedule.h"

#include <gtest/gtest.h>
#include <string>

namespace kawara::schedule {

/// Programs that the tests of this folder share.
inline constexpr const char* kJacobi = R"(param T, N
inout A: f32[T + 1, N]
for t in range(T):
    for i in range(1, N - 1):
        A[t + 1, i] = A[t, i - 1] + A[t, i] + A[t, i + 1]
)";
inline constexpr const char* kGemm = R"(param M, N, K
input A: f32[M, K], B: f32[K, N]
output C: f32[M, N]
for i in range(M):
    for j in range(N):
        C[i, j] = 0
        for k in range(K):
            C[i, j] += A[i, k] * B[k, j]
)";
inline constexpr const char* kPrefixSum = R"(param N
inout s: f32[N]
for i in range(1, N):
    s[i] = s[i - 1] + s[i]
)";
inline constexpr const char* kAdd = R"(param M, N
input A: f32[M, N], B: f32[M, N]
output C: f32[M, N]
for i in range(M):
    for j in range(N):
        C[i, j] = A[i, j] + B[i, j]
)";
/// The consumer reads one element ahead of what the producer has made.
inline constexpr const char* kAhead = R"(param N
input x: f32[N]
temp y: f32[N]
output z: f32[N]
for i in range(N):
    y[i] = x[i] * 2
for i in range(N - 1):
    z[i] = y[i + 1]
)";
inline constexpr const char* kTriangle = R"(param N
output A: f32[N, N]
for i in range(N):
    for j in range(i + 1):
        A[i, j] = 1
)";

inline Environment test_environment() {
  Environment environment;
  environment.cpu = *target::named_cpu("neoverse-n1");
  return environment;
}

inline Schedule initial(const std::string& text) {
  auto program = program::parse(make_source("test.kw", text));
  if (!program)
    throw std::runtime_error(render(program.error()));
  auto scop = poly::scop_from_program(*program, poly::make_context());
  if (!scop)
    throw std::runtime_error(render(scop.error()));
  return initial_schedule(*std::move(scop));
}

inline std::vector<Directive> directives(const std::string& text) {
  auto parsed = parse_directives(make_source("directives", text));
  if (!parsed)
    throw std::runtime_error(render(parsed.error()));
  return *std::move(parsed);
}

/// The loops after `schedule`, or the code and headline of its refusal.
inline std::string outcome(const std::string& program, const std::string& schedule) {
  const Schedule start = initial(program);
  const auto result = apply(start, directives(schedule), test_environment());
  if (result)
    return "\n" + poly::print(result->order, poly::names_of_statements(result->scop));
  const Diagnostic d = explain(start, result.error(), test_environment());
  return d.code + ": " + d.headline;
}

/// The whole message of a refusal; empty when the schedule was accepted.
inline std::string message(const std::string& program, const std::string& schedule) {
  const Schedule start = initial(program);
  const auto result = apply(start, directives(schedule), test_environment());
  return result ? "" : "\n" + render(explain(start, result.error(), test_environment()));
}

/// "S0: i // 32, i % 32": the rows of all statements.
inline std::string rows(const std::string& program, const std::string& schedule) {
  const auto result = apply(initial(program), directives(schedule), test_environment());
  if (!result)
    return "refused";
  std::string text;
  for (uint32_t s = 0; s < result->scop.statements.size(); ++s) {
    text += result->scop.statements[s].text.name + ":";
    for (const auto& row : result->order.rows[s])
      text += " [" + scalar::to_string(row, poly::names_of(result->scop, poly::StmtId{s})) + "]";
    text += "\n";
  }
  return text;
}

/// `auto` for one core of a processor.
inline Schedule for_one_core_of(const std::string& processor, const std::string& text) {
  Environment environment = test_environment();
  environment.cpu = *target::named_cpu(processor);
  environment.cpu.cores = 1;
  const Schedule start = initial(text);
  auto result = apply(start, Auto{}, environment);
  EXPECT_TRUE(static_cast<bool>(result));
  return result ? *std::move(result) : start;
}

} // namespace kawara::schedule
