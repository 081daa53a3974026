#pragma once

// From program text and directives to a finished kernel, beside the schedule that it has to run.

#include "kernel/from_schedule/from_schedule.h"
#include "kernel/passes.h"
#include "poly/scop.h"
#include "schedule/schedule.h"
#include "validate/validate.h"

#include <gtest/gtest.h>

namespace kawara::validate {

using kernel::Kernel;

struct Made {
  schedule::Schedule schedule;
  Kernel kernel; ///< after the last pass
};

inline Made made(const std::string& text, const std::string& directives, bool is_for_gpu = false) {
  auto program = program::parse(make_source("test.kw", text));
  if (!program)
    throw std::runtime_error(render(program.error()));
  auto scop = poly::scop_from_program(*program, poly::make_context());
  if (!scop)
    throw std::runtime_error(render(scop.error()));
  schedule::Environment environment{.cpu = *target::named_cpu("neoverse-n1")};
  if (is_for_gpu)
    environment.gpu = target::named_gpu("sm_90a");
  const schedule::Schedule source = schedule::initial_schedule(*std::move(scop));
  const auto list = schedule::parse_directives(make_source("test.sched", directives));
  auto applied = schedule::apply(source, *list, environment);
  if (!applied)
    throw std::runtime_error(render(schedule::explain(source, applied.error(), environment)));
  Kernel kernel = kernel::kernel_from_schedule(*applied, is_for_gpu);
  kernel = is_for_gpu ? kernel::optimise_for_gpu(std::move(kernel), *environment.gpu)
                      : kernel::optimise(std::move(kernel), environment.cpu);
  return {*std::move(applied), std::move(kernel)};
}

} // namespace kawara::validate
