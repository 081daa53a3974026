#include "example.h"

#include "program/interpret/arguments.h"
#include "program/interpret/interpret.h"
#include "run/file.h"
#include "sound_inputs.h"
#include "support/check.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace kawara::run_test {
namespace {

namespace fs = std::filesystem;

template <class T> T must(Parsed<T> result) {
  KAWARA_CHECK(static_cast<bool>(result), render(result.error()));
  return *std::move(result);
}
template <class T> T must(Result<T, Diagnostic> result) {
  KAWARA_CHECK(static_cast<bool>(result), render(result.error()));
  return *std::move(result);
}

std::string stem_of(const std::string& path) { return fs::path(path).filename().string(); }

std::vector<std::string> stems_in(const std::string& folder, const std::string& ending) {
  std::vector<std::string> stems;
  for (const fs::directory_entry& entry : fs::directory_iterator(KAWARA_EXAMPLES "/" + folder))
    if (entry.path().extension() == ending)
      stems.push_back(entry.path().stem().string());
  std::sort(stems.begin(), stems.end());
  return stems;
}

} // namespace

std::string text_of_file(const std::string& path_in_examples) {
  return must(run::read_file(KAWARA_EXAMPLES "/" + path_in_examples));
}

Example example_at(const std::string& path) {
  Example example = example_of(stem_of(path), text_of_file(path + ".kw"));
  example.path = path;
  return example;
}

Example example_of(const std::string& name, const std::string& text) {
  SourcePtr source = make_source(name + ".kw", text);
  program::Program program = must(program::parse(source));
  return {name, std::move(source), std::move(program)};
}

std::vector<std::string> example_paths() {
  std::vector<std::string> paths = stems_in("", ".kw");
  for (const std::string& stem : stems_in("polybench", ".kw"))
    paths.push_back("polybench/" + stem);
  return paths;
}

std::vector<std::string> schedule_names() { return stems_in("schedules", ".sched"); }

Sizes sizes_of(const Example& example, const std::string& set) {
  if (example.path.rfind("polybench/", 0) == 0) {
    const auto all = nlohmann::json::parse(text_of_file("polybench/sizes.json"));
    return all.at(stem_of(example.path)).at(set).get<Sizes>();
  }
  const std::vector<int64_t> few =
      set == "MINI" ? std::vector<int64_t>{40, 33, 24} : std::vector<int64_t>{7, 11, 13};
  const std::vector<int64_t> many = set == "MINI" ? std::vector<int64_t>{2, 4, 8, 8, 6, 3, 3}
                                                  : std::vector<int64_t>{3, 5, 7, 9, 5, 3, 2};
  const auto& params = example.program.params;
  Sizes sizes;
  for (size_t p = 0; p < params.size(); ++p)
    sizes[params[p].name] = params.size() <= few.size() ? few[p] : many.at(p);
  return sizes;
}

Sizes sizes_for_schedules(const Example& example) {
  static const std::map<std::string, Sizes> kSizes = {
      {"add", {{"N", 2500}}},
      {"blur", {{"H", 70}, {"W", 37}}},
      {"conv2d", {{"L", 2}, {"C", 17}, {"H", 9}, {"W", 6}, {"K", 18}, {"R", 3}, {"S", 2}}},
      {"gemm", {{"M", 70}, {"N", 133}, {"K", 67}}},
      {"gemm_bf16", {{"M", 70}, {"N", 133}, {"K", 67}}},
      {"gemm_i8", {{"M", 70}, {"N", 133}, {"K", 67}}},
      {"gemm_relu", {{"M", 70}, {"N", 133}, {"K", 67}}},
      {"jacobi1d", {{"T", 37}, {"N", 300}}},
  };
  const auto at = kSizes.find(example.path);
  return at != kSizes.end() ? at->second : sizes_of(example, "MINI");
}

std::vector<int64_t> values_of(const Example& example, const Sizes& sizes) {
  std::vector<int64_t> values;
  for (const program::Param& p : example.program.params)
    values.push_back(sizes.at(p.name));
  return values;
}

program::Arrays inputs_of(const Example& example, const Sizes& sizes) {
  program::Arrays inputs = must(driver::inputs_for(example.program, values_of(example, sizes), {}));
  bench::make_sound(stem_of(example.path), inputs);
  return inputs;
}

program::Arrays expected_of(const Example& example, const Sizes& sizes,
                            const program::Arrays& inputs) {
  return must(program::interpret(example.program, values_of(example, sizes), inputs));
}

driver::Request request_of(const Example& example, const std::string& directives,
                           const Sizes& sizes) {
  return {example.source, directives.empty() ? nullptr : make_source("schedule", directives), sizes,
          example.program.numerics};
}

driver::Compiled compile(const driver::Request& request) {
  return compile(request, driver::host_environment());
}

driver::Compiled compile(const driver::Request& request, const schedule::Environment& environment) {
  Trace trace(TraceOptions{{}, true, 1, {}, {}, {}});
  return must(driver::compile(request, environment, trace));
}

program::Arrays run_compiled(const driver::Compiled& compiled, const std::vector<int64_t>& sizes,
                             const program::Arrays& inputs) {
  return must(driver::call(compiled, sizes, inputs));
}

program::Arrays run_c(const Example& example, const bench::CLibrary& library,
                      const std::string& function, const kernel::Kernel& kernel,
                      const std::vector<int64_t>& sizes, const program::Arrays& inputs) {
  const program::Program& program = example.program;
  auto arrays = must(program::bind_arguments(program, sizes, inputs));
  std::vector<void*> pointers;
  for (const emit::BufferInfo& argument : emit::signature_of(kernel).arguments)
    for (size_t t = 0; t < program.tensors.size(); ++t)
      if (program.tensors[t].name == argument.name)
        pointers.push_back(arrays[t].data());
  library.function(function)(pointers.data(), sizes.data());
  return program::results_of(program, std::move(arrays));
}

void expect_near(const Example& example, const Sizes& sizes, const std::string& what,
                 program::Arrays got, program::Arrays expected) {
  bench::drop_noise(stem_of(example.path), got);
  bench::drop_noise(stem_of(example.path), expected);
  const driver::Difference d = driver::compare(got, expected);
  const double tolerance = driver::tolerance_of(example.program, values_of(example, sizes));
  EXPECT_LE(d.worst, tolerance) << example.path << ", " << what << ": " << d.tensor
                                << program::shape_text(d.element) << " is " << d.got << ", not "
                                << d.expected;
}

} // namespace kawara::run_test
