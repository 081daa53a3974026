#pragma once

#include "kernel/passes.h"
#include "program/program.h"
#include "schedule/schedule.h"

#include <map>
#include <string>
#include <vector>

namespace kawara::corpus {

/// One way to compile a program: what tests over everything that Kawara compiles run through.
struct Subject {
  std::string name; ///< says where it comes from; unique
  std::string text;
  std::string directives; ///< empty: source order
  std::string target; ///< as --target has it; always by name, so that every machine tests the same
  std::map<std::string, int64_t> sizes = {}; ///< fixed ones
};

/// Programs of examples/, in source order, under `auto` for several processors with sizes open and
/// fixed, and for a GPU.
std::vector<Subject> examples();
/// examples/schedules.
std::vector<Subject> schedules();
/// What the commands in tests/golden compile.
std::vector<Subject> stories();
/// The programs of the suites that bench/ races with, at small sizes that no tile divides.
std::vector<Subject> suites();
/// Fused programs of small nets made of the layers that the zoo has, for processors and GPUs.
std::vector<Subject> nets();
std::vector<Subject> all();
/// Fused programs of a net of the zoo, by name, or of an ONNX file, for processors and GPUs.
std::vector<Subject> programs_of(const std::string& model);

/// A subject up to its loops.
struct Made {
  program::Program program;
  schedule::Environment environment;
  schedule::Schedule schedule;
  kernel::Kernel loops; ///< as generated, before the passes
};

/// Nothing where it is refused, as stories about refusals are.
std::optional<Made> made(const Subject&);
/// The kernel after all passes.
kernel::Kernel finished(const Made&, const kernel::PassOptions&);

} // namespace kawara::corpus
