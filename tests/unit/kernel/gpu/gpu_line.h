#pragma once

// From program text and directives to a kernel for a GPU, and both interpreters side by side.

#include "kernel/from_schedule/from_schedule.h"
#include "kernel/interpret/interpret.h"
#include "kernel/passes.h"
#include "poly/scop.h"
#include "program/interpret/arguments.h"
#include "program/interpret/interpret.h"
#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kawara::gpu_line {

using Sizes = std::vector<std::pair<std::string, int64_t>>;

struct Line {
  program::Program program;
  kernel::Kernel kernel;           ///< after all passes
  std::vector<std::string> broken; ///< what the spec says after each of them
};

/// Sizes are fixed, or stay parameters. The GPU may have fewer multiprocessors than usual.
inline Line compile(const std::string& text, const std::string& directives, const Sizes& sizes,
                    bool are_fixed = true, int64_t multiprocessors = 0) {
  auto program = program::parse(make_source("test.kw", text));
  if (!program)
    throw std::runtime_error(render(program.error()));
  std::vector<std::optional<int64_t>> values(program->params.size());
  for (size_t p = 0; p < values.size() && are_fixed; ++p)
    for (const auto& [name, value] : sizes)
      if (program->params[p].name == name)
        values[p] = value;
  Line line;
  line.program = program::specialise(*program, values);
  auto scop = poly::scop_from_program(line.program, poly::make_context());
  if (!scop)
    throw std::runtime_error(render(scop.error()));
  schedule::Environment environment;
  environment.cpu = *target::named_cpu("neoverse-n1");
  environment.gpu = target::named_gpu("sm_90a");
  if (multiprocessors > 0)
    environment.gpu->multiprocessors = multiprocessors;
  schedule::Schedule at = schedule::initial_schedule(*std::move(scop));
  const auto list = schedule::parse_directives(make_source("test.sched", directives));
  if (!list)
    throw std::runtime_error(render(list.error()));
  auto applied = schedule::apply(at, *list, environment);
  if (!applied)
    throw std::runtime_error(render({schedule::explain(at, applied.error(), environment)}));
  line.kernel =
      kernel::optimise_for_gpu(kernel::kernel_from_schedule(*applied, true), *environment.gpu,
                               [&](std::string_view pass, const kernel::Kernel& k) {
                                 for (const std::string& what : kernel::spec(k))
                                   line.broken.push_back(std::string(pass) + ": " + what);
                               });
  return line;
}

/// Largest difference between the kernel, threads and blocks in an order that the seed chooses, and
/// the program's own meaning; a sentence when the kernel does something that is not allowed.
inline Result<double, std::string> difference(const Line& line, const Sizes& sizes, uint64_t seed) {
  std::vector<int64_t> params;
  for (const program::Param& p : line.program.params)
    for (const auto& [name, value] : sizes)
      if (p.name == name)
        params.push_back(value);
  auto inputs = program::pattern_inputs(line.program, params, 1);
  if (!inputs)
    return fail(render({inputs.error()}));
  const auto expected = program::interpret(line.program, params, *inputs);
  if (!expected)
    return fail(render({expected.error()}));
  std::vector<kernel::Elements> arguments;
  std::vector<std::string> names;
  for (const kernel::Buffer& b : line.kernel.buffers) {
    if (b.scope != kernel::Scope::Argument)
      continue;
    kernel::Elements elements;
    if (const auto found = inputs->find(b.name); found != inputs->end())
      for (int64_t c = 0; c < found->second.elements(); ++c)
        elements.push_back(
            scalar::is_float(b.elem)
                ? scalar::float_value(found->second.get_double(c))
                : scalar::int_value(static_cast<int64_t>(found->second.get_double(c))));
    names.push_back(b.name);
    arguments.push_back(std::move(elements));
  }
  kernel::InterpretOptions options;
  options.seed = seed;
  if (const auto done = kernel::interpret(line.kernel, params, arguments, options); !done)
    return fail(done.error());
  double worst = 0;
  for (const auto& [name, want] : *expected) {
    const auto at = std::find(names.begin(), names.end(), name) - names.begin();
    for (int64_t c = 0; c < want.elements(); ++c) {
      const scalar::Value element = arguments[static_cast<size_t>(at)][static_cast<size_t>(c)];
      const double got = scalar::is_float(want.elem()) ? element.f : static_cast<double>(element.i);
      const double error = std::abs(got - want.get_double(c)) / std::max(1.0, std::abs(got));
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
  }
  return worst;
}

inline void expect_same(const std::string& text, const std::string& directives, const Sizes& sizes,
                        bool are_fixed = true) {
  const Line line = compile(text, directives, sizes, are_fixed);
  EXPECT_EQ(line.broken, std::vector<std::string>{});
  for (const uint64_t seed : {1, 2}) {
    const auto worst = difference(line, sizes, seed);
    ASSERT_TRUE(worst) << worst.error() << "\n" << kernel::print(line.kernel);
    EXPECT_LE(*worst, 1e-5) << kernel::print(line.kernel);
  }
}

inline const std::string kGemm = "param M, N, K\n"
                                 "input A: f32[M, K], B: f32[K, N]\n"
                                 "output C: f32[M, N]\n"
                                 "C[i, j] = sum(k, A[i, k] * B[k, j])\n";
inline const std::string kNarrowGemm = "param M, N, K\n"
                                       "input A: bf16[M, K], B: bf16[K, N], b: f32[N]\n"
                                       "output C: bf16[M, N]\n"
                                       "temp acc: f32[M, N]\n"
                                       "acc[i, j] = sum(k, f32(A[i, k]) * f32(B[k, j]))\n"
                                       "C[i, j] = max(acc[i, j] + b[j], 0)\n";
inline const std::string kSoftmax = "param M, N\n"
                                    "input X: f32[M, N]\n"
                                    "output Y: f32[M, N]\n"
                                    "temp m: f32[M], s: f32[M]\n"
                                    "assume N >= 1\n"
                                    "m[i] = max(j, X[i, j])\n"
                                    "s[i] = sum(j, exp(X[i, j] - m[i]))\n"
                                    "Y[i, j] = exp(X[i, j] - m[i]) / s[i]\n";
inline const std::string kTranspose = "param M, N\n"
                                      "input A: f32[M, N]\n"
                                      "output B: f32[N, M]\n"
                                      "B[j, i] = A[i, j]\n";
inline const std::string kGelu = "param M, N\n"
                                 "input X: f32[M, N], b: f32[N]\n"
                                 "output Y: f32[M, N]\n"
                                 "Y[i, j] = gelu(X[i, j] + b[j])\n";

} // namespace kawara::gpu_line
