#pragma once

// From program text and directives to a kernel, and both interpreters side by side.

#include "kernel/from_schedule/from_schedule.h"
#include "kernel/interpret/interpret.h"
#include "kernel/passes.h"
#include "poly/scop.h"
#include "program/interpret/interpret.h"
#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kawara::line {

inline target::Cpu test_cpu() { return *target::named_cpu("neoverse-n1"); }

struct Line {
  program::Program program;
  kernel::Kernel kernel; ///< as isl orders it, before the passes
};

inline Line compile(const std::string& text, const std::string& directives = "",
                    const target::Cpu& cpu = test_cpu()) {
  auto program = program::parse(make_source("test.kw", text));
  if (!program)
    throw std::runtime_error(render(program.error()));
  auto scop = poly::scop_from_program(*program, poly::make_context());
  if (!scop)
    throw std::runtime_error(render(scop.error()));
  schedule::Schedule schedule = schedule::initial_schedule(*scop);
  const schedule::Environment environment{.cpu = cpu};
  const auto list = schedule::parse_directives(make_source("test.sched", directives));
  if (!list)
    throw std::runtime_error(render(list.error()));
  auto applied = schedule::apply(schedule, *list, environment);
  if (!applied)
    throw std::runtime_error(render(schedule::explain(schedule, applied.error(), environment)));
  return {*program, kernel::kernel_from_schedule(*applied)};
}

/// Empty when the kernel computes what the program means; else what is different.
inline std::string difference(const program::Program& program, const kernel::Kernel& kernel,
                              const std::vector<int64_t>& params, double tolerance = 1e-5) {
  for (const std::string& broken : kernel::spec(kernel))
    return "spec: " + broken;
  auto inputs = program::pattern_inputs(program, params, 7);
  if (!inputs)
    return render(inputs.error());
  std::vector<kernel::Elements> arguments;
  for (const kernel::Buffer& b : kernel.buffers) {
    if (b.scope != kernel::Scope::Argument)
      continue;
    arguments.emplace_back();
    const auto given = inputs->find(b.name);
    if (given == inputs->end())
      continue;
    for (int64_t c = 0; c < given->second.elements(); ++c)
      arguments.back().push_back(given->second.get(c));
  }
  const auto expected = program::interpret(program, params, *inputs);
  if (!expected)
    return render(expected.error());
  const auto done = kernel::interpret(kernel, params, arguments, {.seed = 3});
  if (!done)
    return done.error();
  size_t next = 0;
  for (const kernel::Buffer& b : kernel.buffers) {
    if (b.scope != kernel::Scope::Argument)
      continue;
    const kernel::Elements& elements = arguments[next++];
    const auto wanted = expected->find(b.name);
    if (wanted == expected->end())
      continue;
    for (int64_t c = 0; c < wanted->second.elements(); ++c) {
      const double want = wanted->second.get_double(c);
      const auto at = static_cast<size_t>(c);
      const double got =
          scalar::is_float(b.elem) ? elements[at].f : static_cast<double>(elements[at].i);
      if (!(std::isnan(want) && std::isnan(got)) &&
          !(std::abs(want - got) <= tolerance * (1 + std::abs(want))))
        return b.name + " element " + std::to_string(c) + ": " + std::to_string(got) +
               " instead of " + std::to_string(want);
    }
  }
  return "";
}

/// Whether a listing has `part` somewhere.
inline bool has(const std::string& listing, const std::string& part) {
  return listing.find(part) != std::string::npos;
}

/// Checks the kernel after isl and after every pass that changes it, at these parameter values.
inline void expect_same(const std::string& text, const std::string& directives,
                        const std::vector<std::vector<int64_t>>& sizes,
                        const target::Cpu& cpu = test_cpu()) {
  SCOPED_TRACE(directives);
  const Line made = compile(text, directives, cpu);
  std::string checked;
  const auto check = [&](std::string_view pass, const kernel::Kernel& kernel) {
    std::string printed = kernel::print(kernel);
    if (printed == checked)
      return;
    checked = std::move(printed);
    for (const auto& params : sizes) {
      const std::string what = difference(made.program, kernel, params);
      EXPECT_EQ(what, "") << "after " << pass << "\n" << checked;
      if (!what.empty())
        return;
    }
  };
  check("from_schedule", made.kernel);
  kernel::optimise(made.kernel, cpu, check);
  kernel::optimise_for_text(made.kernel, check);
}

} // namespace kawara::line
