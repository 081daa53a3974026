#include "kawara/model.h"

#include "kawara/input_file.h"

#include "driver/check/check_model.h"
#include "estimate/operator_cost.h"
#include "graph/onnx/export.h"
#include "graph/onnx/opset.h"
#include "graph/rewrite/rewrite.h"
#include "kawara/arrays.h"
#include "kawara/onnxruntime.h"
#include "kawara/spread.h"
#include "kawara/waiting.h"
#include "run/cpu/threads.h"
#include "run/file.h"
#include "run/measure.h"
#include "run/npy.h"
#include "run/npz.h"
#include "support/text.h"
#include "tune/tuner/tuned.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace kawara::tools {
namespace {

using run::Datum;
using run::Tensor;

/// A middle-sized processor: what is shown does not depend on the machine.
const estimate::Roof kShownRoof{100e9, 20e9};

Result<Done, Diagnostic> write_outputs(const ModelOptions& options, const ModelRun& run) {
  const std::vector<Datum>& results = run.results;
  if (!options.output_dir.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.output_dir, error);
    for (size_t k = 0; k < results.size(); ++k)
      if (results[k].tensor) {
        KAWARA_TRY([[maybe_unused]] const Done done,
                   run::write_npy_tensor(fmt::format("{}/output_{}.npy", options.output_dir, k),
                                         results[k].tensor));
      }
  }
  for (const std::string& text : options.outputs) {
    if (text.ends_with(".npz") && text.find('=') == std::string::npos) {
      std::map<std::string, Tensor> all;
      for (size_t k = 0; k < results.size(); ++k)
        if (results[k].tensor)
          all.emplace(run.names[k], results[k].tensor);
      KAWARA_TRY([[maybe_unused]] const Done done, run::write_npz_tensors(text, all));
      continue;
    }
    KAWARA_TRY(const auto binding, binding_of("--output", text, Names::OfModel, run.names));
    const auto at = std::find(run.names.begin(), run.names.end(), binding.first);
    const auto k = static_cast<size_t>(at - run.names.begin());
    if (at == run.names.end() || !results[k].tensor)
      return fail(unknown_output(binding.first, Names::OfModel, run.names));
    const Tensor& tensor = results[k].tensor;
    KAWARA_TRY([[maybe_unused]] const Done done,
               write_tensor(binding.first, binding.second, tensor));
  }
  return Done{};
}

std::string interpreted_text(size_t done, size_t of) {
  return fmt::format("interpreted {} of {} nodes for --check", done, of);
}

/// Every output beside the reference's: lines and JSON.
Result<std::pair<std::string, std::string>, Diagnostic>
checked(const driver::Model& model, const ModelOptions& options,
        const std::map<std::string, Datum>& inputs, const std::vector<Datum>& results) {
  KAWARA_TRY(const graph::Graph written, driver::graph_from_file(options.file));
  driver::ModelResults made{
      inputs, results, {}, options.code.numerics, model_options_of(options.graph).floats};
  for (const auto& [program, uses] : model.programs())
    made.programs.push_back(program);
  const auto compare = [&] {
    Waiting waiting("interpreting for --check");
    return driver::check_model(
        written, made, [&](size_t done, size_t of) { waiting.say(interpreted_text(done, of)); });
  };
  KAWARA_TRY(const driver::ModelCheck check, compare());
  nlohmann::json json{{"allowed", check.allowed}};
  std::string text;
  for (const driver::OutputAgreement& each : check.outputs) {
    text += "check: " + driver::text_of(each) + "\n";
    json["outputs"].push_back({{"name", each.name},
                               {"worst", each.worst},
                               {"norm", each.norm},
                               {"differing", each.differing}});
  }
  text += fmt::format("check: as the reference says; rounding explains {:.1e}\n", check.allowed);
  return std::pair{text, nlohmann::json{{"check", json}}.dump()};
}

/// Tiles were asked for, and no program of the model could have them.
Diagnostic no_tiles(int64_t tile) {
  Diagnostic d;
  d.code = "K0258";
  d.headline = fmt::format("no convolution can be computed in tiles of {} x {}", tile, tile);
  d.body.push_back("The model has none by windows of 3 x 3 with stride 1.");
  return d;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// A result that is asked for and does not exist: said before the model is compiled.
std::optional<Diagnostic> unknown_result(const ModelOptions& options,
                                         const std::vector<std::string>& names) {
  std::vector<std::string> asked = options.printed;
  for (const std::string& text : options.outputs)
    if (const auto binding = binding_of("--output", text, Names::OfModel, names);
        binding && text.find('=') != std::string::npos)
      asked.push_back(binding->first);
  for (const std::string& name : asked)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return unknown_output(name, Names::OfModel, names);
  return std::nullopt;
}

Result<Done, Diagnostic> run_all(const ModelOptions& options, const CommonOptions& common) {
  if (is_compiled_model(options.file))
    return run_compiled_model(options);
  if (is_for_gpu(common.target))
    return run_on_gpu(options, common);
  if (const auto environment = environment_to_run_on(common); !environment)
    return fail(environment.error().front());
  if (!options.against.empty()) {
    KAWARA_TRY([[maybe_unused]] const Done done, require_onnxruntime(options.peers));
  }
  const auto begin = std::chrono::steady_clock::now();
  driver::ModelOptions model_options = model_options_of(options.graph);
  model_options.code = options.code;
  model_options.runs_once = options.more_sizes.empty();
  KAWARA_TRY(driver::Model model, while_waiting("reading the model", [&] {
               return driver::load_model_to_run(options.file, model_options);
             }));
  use_tuned(model, common);
  ModelRun run;
  for (const graph::ValueId id : model.graph().outputs)
    run.names.push_back(model.graph().values[id].name);
  if (auto unknown = unknown_result(options, run.names))
    return fail(*std::move(unknown));
  KAWARA_TRY(const auto inputs, read_model_inputs(model, options.given));
  KAWARA_TRY(run.results, while_waiting("running", [&] { return model.run(inputs); }));
  if (options.code.winograd > 1 && model.in_tiles() == 0)
    return fail(no_tiles(options.code.winograd));
  run.first_seconds = seconds_since(begin);
  run.compile_seconds = model.compile_seconds();
  run.kernels = model.kernels();
  run.block_bytes = model.block_bytes();
  run.from_cache = model.from_cache();
  if (options.check)
    run.check = [&] { return checked(model, options, inputs, run.results); };
  run.measure_more = [&] { return measure_steps(model, inputs, options, run.results); };
  run.run_again = [&] { return static_cast<bool>(model.run(inputs)); };
  KAWARA_TRY([[maybe_unused]] const Done done, show_run(options, run));
  show_notes(model.proof_notes());
  show_times(model.trace(), common);
  if (common.time_passes)
    fmt::print(stderr, "of {} kernels, {} came from the cache\n", model.kernels(),
               model.from_cache());
  return Done{};
}

} // namespace

driver::KnownSchedule tuned_schedules(const CommonOptions& common,
                                      const schedule::Environment& environment) {
  const std::string database = database_of(common);
  std::error_code ignored;
  if (database.empty() || !std::filesystem::exists(database, ignored))
    return {};
  return [database, environment](const driver::Request& request) {
    const auto tuned = tune::tuned_schedule(request, environment, run::default_threads(), database);
    return tuned ? tuned->directives : SourcePtr();
  };
}

void use_tuned(driver::Model& model, const CommonOptions& common) {
  if (auto known = tuned_schedules(common, driver::host_environment()))
    model.use(std::move(known));
}

bool is_compiled_model(const std::string& path) {
  return file_kind(path) == FileKind::CompiledModel;
}

bool is_model(const std::string& path) { return file_kind(path) != FileKind::Program; }

Result<Done, Diagnostic> show_run(const ModelOptions& options, const ModelRun& run) {
  nlohmann::json json{
      {"ok", true}, {"kernels", run.kernels}, {"first_result_ms", run.first_seconds * 1e3}};
  if (is_compiled_model(options.file))
    json["load_ms"] = run.load_seconds * 1e3;
  std::string text;
  for (const std::string& name : options.printed)
    if (std::find(run.names.begin(), run.names.end(), name) == run.names.end())
      return fail(unknown_output(name, Names::OfModel, run.names));
  for (size_t k = 0; k < run.results.size(); ++k) {
    const std::string& name = run.names[k];
    if (!run.results[k].tensor) {
      text += fmt::format("{}: a sequence of {}\n", printable(name), run.results[k].items.size());
      continue;
    }
    const Tensor& tensor = run.results[k].tensor;
    const ShownElements elements = elements_of(tensor);
    const Summary s = summary_of(tensor.elements(), elements.number);
    json["outputs"].push_back({{"name", name},
                               {"type", graph::name_of(tensor.type())},
                               {"shape", tensor.shape()},
                               {"min", s.low},
                               {"max", s.high},
                               {"mean", s.mean}});
    if (s.nans > 0)
      json["outputs"].back()["nan"] = s.nans;
    const bool is_printed =
        std::find(options.printed.begin(), options.printed.end(), name) != options.printed.end();
    text += shown(name, elements, is_printed ? INT64_MAX : kFewElements);
  }
  KAWARA_TRY([[maybe_unused]] const Done written, write_outputs(options, run));
  if (run.check) {
    KAWARA_TRY(const auto check, run.check());
    text += check.first;
    json.update(nlohmann::json::parse(check.second));
  }
  if (options.time) {
    bool is_fine = true;
    const run::Timing timing = while_waiting("measuring", [&] {
      return run::measure([&] { is_fine = run.run_again() && is_fine; }, {});
    });
    json["median_ms"] = timing.median * 1e3;
    json["spread"] = timing.spread;
    json["compile_ms"] = run.compile_seconds * 1e3;
    json["block_bytes"] = run.block_bytes;
    text += "time: " + run::to_string(timing) + "\n" + spread_note(timing);
    const double megabytes = static_cast<double>(run.block_bytes) * 1e-6;
    text +=
        is_compiled_model(options.file)
            ? fmt::format("first result after {:.0f} ms, ready after {:.1f} ms; {:.1f} MB between "
                          "steps\n",
                          run.first_seconds * 1e3, run.load_seconds * 1e3, megabytes)
            : fmt::format("first result after {:.0f} ms, of which {:.0f} ms to compile {} "
                          "kernels, {} of them from the cache; {:.1f} MB between nodes\n",
                          run.first_seconds * 1e3, run.compile_seconds * 1e3, run.kernels,
                          run.from_cache, megabytes);
  }
  if (run.measure_more && (options.time || run.always_more)) {
    KAWARA_TRY(const auto more, while_waiting("measuring each step", run.measure_more));
    text += more.first;
    json.update(nlohmann::json::parse(more.second));
    json["from_cache"] = run.from_cache;
  }
  fmt::print("{}", options.json ? json.dump(2) + "\n" : text);
  return Done{};
}

Result<std::map<std::string, int64_t>, Diagnostic>
programs_of_model(const std::string& path, const GivenInputs& given, const GraphFlags& flags,
                  const driver::CodeOptions& code) {
  driver::ModelOptions options = model_options_of(flags);
  options.code = code;
  options.cache_folder.clear();
  options.progress = nullptr;
  KAWARA_TRY(driver::Model model, driver::load_model(path, options));
  KAWARA_TRY(const auto inputs, read_model_inputs(model, given));
  KAWARA_TRY([[maybe_unused]] const auto results, model.run(inputs));
  return model.programs();
}

int run_model(ModelOptions options, const CommonOptions& common) {
  auto symbols = sizes_of(common);
  if (!symbols)
    return report(symbols.error(), common);
  options.given.symbols = *std::move(symbols);
  const auto code = code_options_of(common);
  if (!code)
    return report({code.error()}, common);
  options.code = *code;
  options.json = common.json;
  options.checks_data = common.verify;
  const auto done = run_all(options, common);
  return done ? kOk : report({done.error()}, common);
}

int show_model(const CommonOptions& common, const std::string& stage, const GraphFlags& flags,
               const GivenInputs& given, const std::string& onnx) {
  const auto print = [&](const std::string& text) {
    if (common.json)
      fmt::print("{}\n", nlohmann::json{{"ok", true}, {"stage", stage}, {"text", text}}.dump(2));
    else
      fmt::print("{}", text);
    return kOk;
  };
  if ((stage == "cuda" || stage == "resources") && !is_compiled_model(common.file)) {
    const auto text = gpu_text_of_model(common, stage, flags, given);
    return text ? print(*text) : report({text.error()}, common);
  }
  const bool is_known = stage == "graph" || stage == "optimised" || stage == "rewrite";
  if (!is_known || is_compiled_model(common.file)) {
    Diagnostic d;
    d.code = "K0438";
    d.headline = "`" + stage + "` is no stage of a model";
    d.body.push_back("An ONNX model can be shown at the stages graph, optimised and rewrite, for a "
                     "GPU also cuda\nand resources; a compiled one at none.");
    return report({d}, common);
  }
  driver::ModelOptions options = model_options_of(flags);
  options.optimises = stage == "optimised";
  const auto model =
      while_waiting("reading the model", [&] { return driver::load_model(common.file, options); });
  if (!model)
    return report({model.error()}, common);
  const auto finish = [&](const std::string& head, const graph::Graph& shown) {
    if (onnx.empty())
      return print(head + graph::print(shown));
    const auto graph = graph::with_opset(shown, graph::needed_opset(shown));
    if (!graph)
      return report({graph.error()}, common);
    print(head + graph::print(*graph));
    const auto written = graph::write_onnx(*graph, onnx);
    return written ? kOk : report({written.error()}, common);
  };
  if (stage != "rewrite") {
    std::string head;
    for (const auto& pass : model->passes())
      head += fmt::format("# {}: {} nodes, {} before\n", pass.name, pass.after, pass.before);
    for (const std::string& note : model->notes())
      head += fmt::format("# {}\n", printable(note));
    return finish(head, model->graph());
  }
  const auto rewritten = rewrite::rewrite(model->graph(), estimate::operator_cost(kShownRoof), {},
                                          rewrite::Numerics::Rounding);
  if (!rewritten)
    return report({rewritten.error()}, common);
  return finish(rewrite::print(rewritten->statistics) + "\n", rewritten->graph);
}

} // namespace kawara::tools
