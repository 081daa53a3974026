#include "kawara/arrays.h"
#include "kawara/command.h"
#include "kawara/model.h"
#include "kawara/spread.h"
#include "kawara/usable.h"
#include "kawara/waiting.h"

#include "driver/check/wide_interpretation.h"
#include "driver/gpu/gpu.h"
#include "driver/session.h"
#include "program/interpret/interpret.h"
#include "run/npz.h"
#include "support/text.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace kawara::tools {
namespace {

struct RunOptions : CommonOptions {
  std::vector<std::string> inputs, outputs; ///< NAME=file.npy, or all.npz
  std::vector<std::string> printed;         ///< outputs to print whole
  // Models only.
  std::vector<std::string> shapes;
  std::string output_dir;
  GraphFlags graph;
  bool check = false, time = false;

  ModelOptions of_model() const {
    ModelOptions model;
    model.file = file;
    model.given = {inputs, shapes, {}};
    model.outputs = outputs;
    model.printed = printed;
    model.output_dir = output_dir;
    model.time = time;
    model.check = check;
    model.graph = graph;
    return model;
  }
};

std::vector<std::string> names_of(const program::Arrays& results) {
  std::vector<std::string> names;
  for (const auto& [name, array] : results)
    names.push_back(name);
  return names;
}

/// Refuses files that could not be written after the work is done.
Diagnostics check_outputs(const std::vector<std::string>& bindings) {
  Diagnostics errors;
  for (const std::string& text : bindings)
    if (const auto checked = check_output_file(text); !checked)
      errors.push_back(checked.error());
  return errors;
}

Diagnostics write_outputs(const std::vector<std::string>& bindings,
                          const program::Arrays& results) {
  Diagnostics errors;
  for (const std::string& text : bindings) {
    if (text.ends_with(".npz") && text.find('=') == std::string::npos) {
      if (auto written = run::write_npz(text, results); !written)
        errors.push_back(std::move(written).error());
      continue;
    }
    const auto binding = binding_of("--output", text, Names::OfProgram, names_of(results));
    if (!binding) {
      errors.push_back(binding.error());
      continue;
    }
    const auto at = results.find(binding->first);
    if (at == results.end()) {
      errors.push_back(unknown_output(binding->first, Names::OfProgram, names_of(results)));
      continue;
    }
    if (auto written = write_array(binding->first, binding->second, at->second); !written)
      errors.push_back(std::move(written).error());
  }
  return errors;
}

Diagnostic mismatch(const driver::Difference& d, double tolerance, program::Numerics numerics) {
  std::string element;
  for (const int64_t c : d.element)
    element += (element.empty() ? "" : ", ") + std::to_string(c);
  Diagnostic out;
  out.code = "K0436";
  out.headline = "the compiled result differs from the interpreter's";
  const std::string where = d.tensor + (element.empty() ? "" : "[" + element + "]");
  const bool is_exact = std::isfinite(d.got) && std::isfinite(d.expected) && std::isinf(d.worst);
  out.body.push_back(
      fmt::format("{} is {:.{}g}, the interpreter says {:.{}g}:\n", where, d.got, is_exact ? 17 : 9,
                  d.expected, is_exact ? 17 : 9) +
      (is_exact ? "no rounding decides it, so it must be the same."
                : fmt::format("a difference of {:.3g}, more than {:.3g}.", d.worst, tolerance)));
  if (is_exact || numerics == program::Numerics::Exact) {
    out.body.push_back("This is a bug in Kawara; please report it with the command and its files.");
    return out;
  }
  out.body.push_back(
      "Either the program magnifies rounding, which the numerics contract leaves\nopen, "
      "or this is a bug in Kawara.");
  out.help.push_back({"rule rounding out", "--numerics exact", false});
  return out;
}

/// What a finished run says, in both forms.
class Report {
public:
  explicit Report(const RunOptions& options) : options_(options) {}

  /// In the order of their declarations.
  void results(const program::Program& program, const program::Arrays& results) {
    for (const program::Tensor& tensor : program.tensors) {
      const auto at = results.find(tensor.name);
      if (at == results.end())
        continue;
      const program::Array& array = at->second;
      const ShownElements elements = elements_of(array);
      const Summary s = summary_of(array.elements(), elements.number);
      json_["outputs"][tensor.name] = {
          {"shape", array.shape()}, {"min", s.low}, {"max", s.high}, {"mean", s.mean}};
      if (s.nans > 0)
        json_["outputs"][tensor.name]["nan"] = s.nans;
      text_ += shown(tensor.name, elements, is_printed(tensor.name) ? INT64_MAX : kFewElements);
    }
  }
  void checked(double worst, double tolerance) {
    json_["check"] = {{"worst", worst}, {"tolerance", tolerance}};
    text_ +=
        fmt::format("check: same as the interpreter (largest difference {:.3g}, allowed {:.3g})\n",
                    worst, tolerance);
  }
  /// As far from the interpreter as from what is right only by the interpreter's own roundings.
  void checked_in_f64(double worst, double from_interpreter, double tolerance) {
    json_["check"] = {
        {"worst", worst}, {"tolerance", tolerance}, {"interpreter_differs_by", from_interpreter}};
    text_ += fmt::format(
        "check: same as the interpreter in f64 (largest difference {:.3g}, allowed {:.3g}); in the "
        "types of the\nprogram the interpreter, which adds one by one, is {:.3g} off\n",
        worst, tolerance, from_interpreter);
  }
  void timed(const run::Timing& timing, run::RanOn ran_on) {
    json_["median_ms"] = timing.median * 1e3;
    json_["spread"] = timing.spread;
    text_ += "time: " + run::to_string(timing) + "\n" + spread_note(timing, ran_on);
  }
  void print() {
    json_["ok"] = true;
    if (options_.json)
      fmt::print("{}\n", json_.dump(2));
    else
      fmt::print("{}", text_);
  }

private:
  bool is_printed(const std::string& name) const {
    return std::find(options_.printed.begin(), options_.printed.end(), name) !=
           options_.printed.end();
  }

  const RunOptions& options_;
  nlohmann::json json_;
  std::string text_;
};

Parsed<Done> check_result(const program::Program& program, const std::vector<int64_t>& sizes,
                          const program::Arrays& inputs, const program::Arrays& results,
                          Report& report) {
  auto expected = while_waiting("interpreting for --check",
                                [&] { return program::interpret(program, sizes, inputs); });
  if (!expected)
    return fail(Diagnostics{std::move(expected).error()});
  double tolerance = driver::tolerance_of(program, sizes);
  const driver::Freedom freedom = driver::freedom_of(program);
  const driver::Difference difference = driver::compare(results, *expected, freedom);
  if (!(difference.worst <= tolerance) && tolerance > 0)
    if (auto moved = while_waiting("interpreting again for --check", [&] {
          return program::interpret(program, sizes, driver::perturbed_by_one_ulp(inputs));
        }))
      tolerance = std::max(tolerance, driver::tolerance_from_rounding(
                                          driver::compare(*moved, *expected, freedom).worst));
  if (!(difference.worst <= tolerance)) {
    // Long sums in a narrow type are right within their bound, and may still be further off than
    // what was compiled, which adds them up in parts.
    const auto exact = while_waiting("interpreting in f64 for --check", [&] {
      return driver::interpret_in_f64(program, sizes, inputs);
    });
    const double own =
        tolerance > 0 && exact ? driver::compare(results, *exact, freedom).worst : INFINITY;
    if (!(own <= tolerance))
      return fail(Diagnostics{mismatch(difference, tolerance, program.numerics)});
    report.checked_in_f64(own, difference.worst, tolerance);
    return Done{};
  }
  report.checked(difference.worst, tolerance);
  return Done{};
}

/// Runs what was compiled, for a processor or a GPU.
template <class CompiledCode>
Parsed<Done> finish(const RunOptions& options, const CompiledCode& compiled,
                    const std::vector<int64_t>& sizes, const program::Arrays& inputs,
                    Report& report) {
  warn(compiled.front.warnings, options);
  auto called = while_waiting("running", [&] { return driver::call(compiled, sizes, inputs); });
  // What went wrong in a kernel, the interpreter can say where.
  if (!called && options.check)
    if (auto found = program::interpret(compiled.front.program, sizes, inputs); !found)
      return fail(Diagnostics{std::move(found).error()});
  KAWARA_TRY(const program::Arrays results, std::move(called));
  for (const std::string& name : options.printed)
    if (!results.contains(name))
      return fail(Diagnostics{unknown_output(name, Names::OfProgram, names_of(results))});
  while_waiting("summing up", [&] { report.results(compiled.front.program, results); });
  if (options.check) {
    // Of a convolution in Winograd's form the direct sum is what it must be.
    KAWARA_TRY(driver::Request direct, request_of(options));
    direct = driver::with_default_sizes(std::move(direct));
    direct.winograd = 1;
    KAWARA_TRY(const program::Program program, driver::program_of(direct));
    KAWARA_TRY([[maybe_unused]] const Done done,
               check_result(program, sizes, inputs, results, report));
  }
  if (options.time) {
    KAWARA_TRY(const run::Timing timing, while_waiting("measuring", [&] {
                 return driver::time_calls(compiled, sizes, inputs, {});
               }));
    report.timed(timing, std::is_same_v<CompiledCode, driver::CompiledForGpu>
                             ? run::RanOn::Gpu
                             : run::RanOn::Processor);
  }
  if (Diagnostics errors = write_outputs(options.outputs, results); !errors.empty())
    return fail(std::move(errors));
  return Done{};
}

Parsed<Done> run_all(const RunOptions& options, Trace& trace, Report& report) {
  KAWARA_TRY(driver::Request request, request_of(options));
  KAWARA_TRY(const schedule::Environment environment, environment_to_run_on(options));
  KAWARA_TRY(program::Arrays given, read_arrays_of(request, options.inputs));
  request = driver::with_default_sizes(std::move(request));
  use_tuned(request, options);
  KAWARA_TRY(const program::Program program, driver::program_of(request));
  KAWARA_TRY(const std::vector<int64_t> sizes, driver::all_sizes(program, request));
  KAWARA_TRY(const program::Arrays inputs, while_waiting("filling inputs", [&] {
               return driver::inputs_for(program, sizes, std::move(given));
             }));
  if (environment.gpu) {
    KAWARA_TRY(const driver::CompiledForGpu compiled, while_waiting("compiling", [&] {
                 return driver::compile_for_gpu(request, environment, trace);
               }));
    return finish(options, compiled, sizes, inputs, report);
  }
  KAWARA_TRY(const driver::Compiled compiled, while_waiting("compiling", [&] {
               return driver::compile(request, environment, trace);
             }));
  return finish(options, compiled, sizes, inputs, report);
}

int run_program(const RunOptions& options, const CLI::App& command) {
  if (const auto refused = refused_option(command, kind_of(options)))
    return report({*refused}, options);
  if (const auto refused = refused_database(options))
    return report({*refused}, options);
  if (const Diagnostics errors = check_outputs(options.outputs); !errors.empty())
    return report(errors, options);
  if (is_model(options.file))
    return run_model(options.of_model(), options);
  Trace trace(trace_options(options));
  Report result(options);
  const auto done = run_all(options, trace, result);
  show_times(trace, options);
  if (!done)
    return report(done.error(), options);
  result.print();
  return kOk;
}

} // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "compile a program or a model and run it on this machine");
  add_common(*command, *options, DefaultSchedule::Auto);
  command->add_option(
      "--input", options->inputs,
      "NAME=file.npy, .npz or .csv, without NAME= for the only input, NAME=2.5 for an input of one "
      "element, or all.npz with "
      "members of these names; sizes are taken from them; a fixed pattern for the others");
  command->add_option("--output", options->outputs,
                      "NAME=file.npy, .npz or .csv to write, without NAME= for the only output, or "
                      "all.npz for all of them");
  command->add_option("--print", options->printed,
                      "output to print whole; small ones are without it");
  add_database(*command, *options);
  command->add_option("--output-dir", options->output_dir,
                      "of a model: where to write output_0.npy, output_1.npy, ...");
  add_graph_flags(*command, options->graph);
  add_shapes(*command, options->shapes);
  command->add_flag(
      "--check", options->check,
      "compare with the reference interpreter, slow for large sizes; a model on a GPU "
      "with the processor");
  command->add_flag("--time", options->time, "also measure the time of a call");
  add_examples(*command,
               {"kawara run examples/gemm.kw -p M=64,N=64,K=64 --check",
                "kawara run examples/gemm.kw -p M=512,N=512,K=512 -s auto --time --output C=c.npy",
                "kawara run model.onnx -p batch=2 --check --output y=y.npy"});
  command->callback(
      [options, command, &exit_code] { exit_code = run_program(*options, *command); });
}

} // namespace kawara::tools
