#pragma once

#include "compiled_c.h"
#include "driver/session.h"

#include <map>
#include <string>
#include <vector>

namespace kawara::run_test {

using Sizes = std::map<std::string, int64_t>;

/// A program of examples/, by its path there without the ending: "gemm", "polybench/lu".
struct Example {
  std::string path;
  SourcePtr source;
  program::Program program; ///< sizes open
};

Example example_at(const std::string& path);
Example example_of(const std::string& name, const std::string& text); ///< of the test itself
std::vector<std::string> example_paths();                             ///< all of them, sorted
std::vector<std::string> schedule_names(); ///< examples/schedules/, without the ending, sorted

/// Small sizes. MINI and ODD from sizes.json for PolyBench; the others by the number of parameters.
Sizes sizes_of(const Example&, const std::string& set);
/// One and a bit of the tiles that the schedules in examples/schedules ask for.
Sizes sizes_for_schedules(const Example&);

std::vector<int64_t> values_of(const Example&, const Sizes&);
/// Inputs with which the numbers of this example stay tame.
program::Arrays inputs_of(const Example&, const Sizes&);
/// What the interpreter makes of them.
program::Arrays expected_of(const Example&, const Sizes&, const program::Arrays& inputs);

/// Directives from text (empty: source order), for open sizes or for the given ones.
driver::Request request_of(const Example&, const std::string& directives, const Sizes& = {});
driver::Compiled compile(const driver::Request&);
/// As for another processor, for this one.
driver::Compiled compile(const driver::Request&, const schedule::Environment&);

program::Arrays run_compiled(const driver::Compiled&, const std::vector<int64_t>& sizes,
                             const program::Arrays& inputs);
/// `function` of a library made from `kernel`.
program::Arrays run_c(const Example&, const bench::CLibrary&, const std::string& function,
                      const kernel::Kernel&, const std::vector<int64_t>& sizes,
                      const program::Arrays& inputs);

/// A test failure with the worst element when `got` is further from `expected` than the contract
/// allows.
void expect_near(const Example&, const Sizes&, const std::string& what, program::Arrays got,
                 program::Arrays expected);

std::string text_of_file(const std::string& path_in_examples);

} // namespace kawara::run_test
