#include "kawara/command.h"
#include "kawara/commands/show_gpu.h"
#include "kawara/model.h"
#include "kawara/usable.h"
#include "kawara/waiting.h"

#include "driver/machine.h"
#include "driver/target_choice.h"
#include "emit/named_target.h"
#include "emit/unit.h"
#include "explain/dependences.h"
#include "explain/why.h"
#include "kernel/passes.h"
#include "poly/legality/dependences.h"
#include "poly/legality/shown_dependences.h"
#include "run/cpu/threads.h"
#include "run/file.h"
#include "schedule/text/draw.h"
#include "support/text.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace kawara::tools {
namespace {

const std::vector<std::string> kStages = {
    "program", "rewritten", "scop", "deps", "why",  "schedule", "tree", "loops",
    "kernel",  "c",         "llvm", "asm",  "cuda", "ptx",      "sass", "resources"};

Diagnostic for_processors(const std::string& stage) {
  Diagnostic d;
  d.code = "K0717";
  d.headline = "stage `" + stage + "` is for processors, not for a GPU";
  d.help.push_back({"the code of a GPU is", "--stage cuda", false});
  return d;
}

/// For the processor that the target names, else for this one.
Parsed<emit::EmitOptions> emit_options_for(const std::string& target,
                                           const schedule::Environment& environment) {
  emit::EmitOptions options;
  if (!driver::is_named_cpu(target))
    return options;
  options.target = emit::named_code_target(environment.cpu);
  if (!options.target)
    return fail(Diagnostics{no_code_here(target, "This build's LLVM makes no code for it.")});
  return options;
}

Parsed<std::string> text_at(const std::string& stage, const std::string& target,
                            const driver::Scheduled& front,
                            const schedule::Environment& environment, Trace& trace) {
  if (const auto& gpu = gpu_stages(); std::find(gpu.begin(), gpu.end(), stage) != gpu.end())
    return gpu_text_at(stage, front, environment, trace);
  if (stage == "program")
    return program::print(front.program);
  if (stage == "rewritten")
    return program::print(front.rewritten);
  if (stage == "scop")
    return poly::print(front.schedule.scop);
  if (stage == "deps") {
    const poly::Scop& scop = front.schedule.scop;
    const auto shown = poly::shown_dependences(scop);
    return (shown.is_exact ? "" : std::string(explain::kAllPairs) + "\n\n") +
           explain::dependence_text(poly::summaries(scop, shown.all));
  }
  if (stage == "schedule")
    return schedule::listing(front.schedule);
  if (stage == "tree")
    return schedule::draw_text(front.schedule.scop, front.schedule.order);
  if (stage == "loops")
    return kernel::print(driver::kernel_of(front, environment, trace));
  if (stage == "c")
    return driver::c_of(front, {}, trace).text;
  const kernel::Kernel kernel = driver::optimised_kernel_of(front, environment, trace);
  if (stage == "kernel")
    return kernel::print(kernel);
  if (environment.gpu)
    return fail(Diagnostics{for_processors(stage)});
  KAWARA_TRY(const emit::EmitOptions options, emit_options_for(target, environment));
  const emit::LlvmUnit unit =
      trace.stage("emit", [&] { return emit::module_from_kernel(kernel, options); });
  if (stage == "llvm")
    return unit.ir();
  auto assembly = unit.assembly();
  if (!assembly)
    return fail(Diagnostics{std::move(assembly).error()});
  return *std::move(assembly);
}

/// One directive a line: a file for `-s @file`.
Parsed<std::string> spelled_out_text(const driver::Scheduled& front, const driver::Request& request,
                                     const schedule::Environment& environment) {
  const auto directives = driver::spelled_out(front, request, environment);
  if (!directives)
    return fail(directives.error());
  std::string text;
  if (program::print(front.rewritten) != program::print(front.program))
    text += "# Of the program as `auto` writes it first: kawara show --stage rewritten\n";
  for (const schedule::Directive& directive : *directives)
    text += schedule::print(directive) + (directive == schedule::Directive(schedule::Auto{})
                                              ? "  # some of its steps have no directive\n"
                                              : "\n");
  return text;
}

Diagnostic unknown_stage(const std::string& name) {
  Diagnostic d;
  d.code = "K0438";
  d.headline = "no stage is called `" + name + "`";
  d.body.push_back("The stages, in the order of the line: " + join(kStages, ", ") + ".");
  const auto meant = closest(name, kStages);
  d.help.push_back(
      {meant ? "did you mean" : "for example", "--stage " + meant.value_or("schedule"), false});
  return d;
}

struct ShowOptions : CommonOptions {
  std::string stage, svg, onnx; ///< a stage that is not named is `schedule`, of a model `graph`
  GraphFlags flags;
  std::vector<std::string> shapes;
  bool is_spelled_out = false;
};

/// The first stages of a model are for no machine.
InputKind shown_kind(const ShowOptions& options) {
  const InputKind kind = kind_of(options);
  const bool is_model = kind == InputKind::Model || kind == InputKind::GpuModel;
  const bool is_gpu = options.stage == "cuda" || options.stage == "resources";
  return !is_model ? kind : is_gpu ? InputKind::GpuModel : InputKind::Model;
}

int show_graph(const ShowOptions& options) {
  const auto symbols = sizes_of(options);
  if (!symbols)
    return report(symbols.error(), options);
  return show_model(options, options.stage, options.flags, {{}, options.shapes, *symbols},
                    options.onnx);
}

/// Stages before any schedule are those of the text: `auto` may write a program another way first.
bool is_of_the_text(const std::string& stage) {
  return stage == "program" || stage == "scop" || stage == "deps";
}

/// What `auto` considered, with predicted costs: at the sizes that are given, else at those of
/// `estimate`.
int show_why(const ShowOptions& options, const driver::Request& request,
             schedule::Environment environment) {
  std::vector<schedule::Attempt> attempts;
  environment.notes = &attempts;
  Trace trace(trace_options(options));
  const auto front =
      while_waiting("proving", [&] { return driver::schedule(request, environment, trace); });
  if (!front)
    return report(front.error(), options);
  warn(front->warnings, options);
  environment.notes = nullptr;
  const auto steps = driver::spelled_out(*front, request, environment);
  if (!steps)
    return report(steps.error(), options);
  const auto sizes = driver::all_sizes(front->program, driver::with_default_sizes(request));
  const estimate::Machine machine = driver::known_machine(environment.cpu);
  std::optional<explain::Prices> prices;
  if (sizes && !environment.gpu)
    prices.emplace(explain::Prices{machine, *sizes,
                                   driver::is_named_cpu(options.target) ? environment.cpu.cores
                                                                        : run::default_threads()});
  const auto all = while_waiting(
      "pricing", [&] { return explain::considered(attempts, *steps, environment, prices); });
  if (!options.json && prices && !all.empty())
    fmt::print("# * is what `auto` takes; times are predictions for {} with {} thread{}\n\n",
               environment.cpu.name, prices->threads, prices->threads == 1 ? "" : "s");
  fmt::print("{}", options.json ? explain::why_json(all) + "\n" : explain::why_text(all));
  show_times(trace, options);
  return kOk;
}

int show(ShowOptions options, const CLI::App& command) {
  if (options.stage.empty())
    options.stage = is_model(options.file) ? "graph" : "schedule";
  if (is_of_the_text(options.stage))
    options.by_default = DefaultSchedule::Source;
  const std::string &stage = options.stage, &svg = options.svg;
  if (const auto refused = refused_option(command, shown_kind(options)))
    return report({*refused}, options);
  if (is_model(options.file))
    return show_graph(options);
  if (std::find(kStages.begin(), kStages.end(), stage) == kStages.end())
    return report({unknown_stage(stage)}, options);
  const auto request = request_of(options);
  if (!request)
    return report(request.error(), options);
  const auto environment = environment_of(options);
  if (!environment)
    return report(environment.error(), options);
  if (stage == "why")
    return show_why(options, *request, *environment);
  Trace trace(trace_options(options));
  const auto front =
      while_waiting("proving", [&] { return driver::schedule(*request, *environment, trace); });
  if (!front)
    return report(front.error(), options);
  warn(front->warnings, options);
  const auto shown = while_waiting("compiling", [&] {
    return options.is_spelled_out ? spelled_out_text(*front, *request, *environment)
                                  : text_at(stage, options.target, *front, *environment, trace);
  });
  if (!shown)
    return report(shown.error(), options);
  const std::string& text = *shown;
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"ok", true}, {"stage", stage}, {"text", text}}.dump(2));
  else
    fmt::print("{}", text);
  if (!svg.empty()) {
    const auto written =
        run::write_file(svg, schedule::draw_svg(front->schedule.scop, front->schedule.order));
    if (!written)
      return report({written.error()}, options);
  }
  show_times(trace, options);
  return kOk;
}

} // namespace

void add_show(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command =
      app.add_subcommand("show", "print what a stage of the line makes of a program");
  add_common(*command, *options, DefaultSchedule::Auto);
  command->add_option(
      "--stage", options->stage,
      "program, rewritten, scop, deps, why (what `auto` considered), schedule (the default), tree, "
      "loops, kernel, c, llvm or "
      "asm; for a GPU "
      "cuda, ptx, sass or resources; graph (the default), optimised or rewrite for a model");
  add_graph_flags(*command, options->flags);
  add_shapes(*command, options->shapes);
  command->add_flag("--spelled-out", options->is_spelled_out,
                    "print the directives that `auto` stands for, a line each, for -s @file");
  command->add_option("--svg", options->svg, "also write a picture of the loop tree to this file");
  command->add_option("--onnx", options->onnx, "also write the model's graph to this file");
  add_examples(*command, {"kawara show examples/gemm.kw --stage scop",
                          "kawara show examples/gemm.kw -s 'tile(i=64, j=64)' --stage tree",
                          "kawara show examples/gemm.kw --spelled-out",
                          "kawara show examples/gemm.kw -p M=512,N=512,K=512 --stage why",
                          "kawara show examples/gemm.kw -s auto --target cuda:sm_90a --stage cuda",
                          "kawara show examples/gemm.kw -s auto --target cpu:znver4 --stage asm",
                          "kawara show model.onnx --stage optimised --onnx small.onnx"});
  command->callback([options, command, &exit_code] { exit_code = show(*options, *command); });
}

} // namespace kawara::tools
