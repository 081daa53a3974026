#pragma once

#include "kernel/from_schedule/from_schedule.h"
#include "poly/scop.h"
#include "schedule/schedule.h"

#include <gtest/gtest.h>

namespace kawara::estimate {

struct Predicted {
  program::Program program;
  kernel::Kernel kernel;
};

/// A program and its loops after these directives, marks not yet applied.
inline Predicted loops_of(const std::string& text, const std::string& directives = "") {
  const auto program = program::parse(make_source("test.kw", text));
  EXPECT_TRUE(program) << render(program.error());
  const auto scop = poly::scop_from_program(*program, poly::make_context());
  const auto list = schedule::parse_directives(make_source("test.sched", directives));
  const auto schedule = schedule::apply(schedule::initial_schedule(*scop), *list,
                                        {.cpu = *target::named_cpu("neoverse-n1")});
  EXPECT_TRUE(schedule);
  return {*program, kernel::kernel_from_schedule(*schedule)};
}

} // namespace kawara::estimate
