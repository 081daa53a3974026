#pragma once

#include "poly/legality/dependences.h"
#include "poly/legality/legality.h"
#include "poly/scop.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

namespace kawara::poly {

inline constexpr const char* kJacobi = R"(param T, N
inout A: f32[T + 1, N]
for t in range(T):
    for i in range(1, N - 1):
        A[t + 1, i] = A[t, i - 1] + A[t, i] + A[t, i + 1]
)";
inline constexpr const char* kGemm = R"(param N
input A: f32[N, N], B: f32[N, N]
output C: f32[N, N]
for i in range(N):
    for j in range(N):
        C[i, j] = 0
        for k in range(N):
            C[i, j] += A[i, k] * B[k, j]
)";
inline constexpr const char* kPrefixSum = R"(param N
inout s: f32[N]
for i in range(1, N):
    s[i] = s[i - 1] + s[i]
)";

inline program::Program program_of(const std::string& text) {
  auto program = program::parse(make_source("test.kw", text));
  if (!program)
    throw std::runtime_error(render(program.error()));
  return *std::move(program);
}

inline Scop scop_of(const std::string& text) {
  auto scop = scop_from_program(program_of(text), make_context());
  if (!scop)
    throw std::runtime_error(render(scop.error()));
  return *std::move(scop);
}

/// Error text of a program that the analysis refuses; empty when it is accepted.
inline std::string refusal_of(const std::string& text) {
  const auto scop = scop_from_program(program_of(text), make_context());
  return scop ? "" : render(scop.error());
}

/// "S0 -> S0 A write before read (+1, 0)", one line each; reductions end with "reduction".
inline std::string lines_of(const Scop& scop, const std::vector<Dependence>& dependences) {
  std::string out;
  for (const Summary& s : summaries(scop, dependences)) {
    out += s.source + " -> " + s.sink + " " + s.tensor + " " + std::string(name_of(s.kind)) + " (";
    for (size_t k = 0; k < s.distance.size(); ++k)
      out += (k ? ", " : "") + s.distance[k];
    out += s.is_reduction ? ") reduction\n" : ")\n";
  }
  return out;
}

/// The source order with the rows of statement 0 given anew.
inline Order with_rows(const Scop& scop, std::vector<Expr> rows) {
  Order order = scop.source_order;
  order.rows[0] = std::move(rows);
  return order;
}

inline Illegal illegal_of(const Verdict& verdict) {
  if (!std::holds_alternative<Illegal>(verdict))
    throw std::runtime_error("not refused");
  return std::get<Illegal>(verdict);
}

inline bool is_legal(const Verdict& verdict) { return std::holds_alternative<Legal>(verdict); }

} // namespace kawara::poly
