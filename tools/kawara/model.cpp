#include "kawara/model.h"

#include "estimate/operator_cost.h"
#include "graph/onnx/export.h"
#include "graph/onnx/opset.h"
#include "graph/rewrite/rewrite.h"
#include "kawara/onnxruntime.h"
#include "run/cpu/threads.h"
#include "run/file.h"
#include "run/measure.h"
#include "run/npy.h"
#include "support/text.h"
#include "tune/tuned.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>

namespace kawara::tools {
namespace {

using run::Datum;
using run::Tensor;

/// A middle-sized processor: what is shown does not depend on the machine.
constexpr estimate::Roof kShownRoof{100e9, 20e9};

Diagnostic bad_input(const std::string& text) {
  Diagnostic d;
  d.code = "K0434";
  d.headline = "`--input " + text + "` does not name a tensor and a file";
  d.help.push_back({"for example", "--input x=x.npy", false});
  return d;
}

struct ValueRange {
  double low = 0, high = 0, mean = 0;
};

ValueRange range_of(const Tensor& tensor) {
  ValueRange s;
  for (int64_t k = 0; k < tensor.cells(); ++k) {
    const double v = tensor.get_double(k);
    s.low = k == 0 || v < s.low || v != v ? v : s.low; // NaN stays
    s.high = k == 0 || v > s.high || v != v ? v : s.high;
    s.mean += v / static_cast<double>(tensor.cells());
  }
  return s;
}

Result<Done, Diagnostic> write_outputs(const std::string& folder,
                                       const std::vector<Datum>& results) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (size_t k = 0; k < results.size(); ++k)
    if (results[k].tensor) {
      KAWARA_TRY(
          [[maybe_unused]] const Done done,
          run::write_npy_tensor(fmt::format("{}/output_{}.npy", folder, k), results[k].tensor));
    }
  return Done{};
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
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
  model_options.runs_once = options.more_sizes.empty();
  KAWARA_TRY(driver::Model model, driver::load_model_to_run(options.file, model_options));
  use_tuned(model, common);
  KAWARA_TRY(const auto inputs, read_model_inputs(model, options.inputs, options.symbols));
  ModelRun run;
  KAWARA_TRY(run.results, model.run(inputs));
  run.first_seconds = seconds_since(begin);
  run.compile_seconds = model.compile_seconds();
  run.kernels = model.kernels();
  run.block_bytes = model.block_bytes();
  for (const graph::ValueId id : model.graph().outputs)
    run.names.push_back(model.graph().values[id].name);
  run.from_cache = model.from_cache();
  run.measure_more = [&] { return measure_steps(model, inputs, options, run.results); };
  run.run_again = [&] { return static_cast<bool>(model.run(inputs)); };
  return show_run(options, run);
}

} // namespace

Result<std::map<std::string, Datum>, Diagnostic>
read_model_inputs(const driver::Model& model, const std::vector<std::string>& bindings,
                  const std::map<std::string, int64_t>& symbols) {
  if (auto problem = model.check_symbols(symbols))
    return fail(*std::move(problem));
  const graph::Graph& graph = model.graph();
  KAWARA_TRY(auto given, read_bindings(bindings, [&](const std::string& name) {
               std::optional<graph::DataType> declared;
               for (const graph::ValueId id : graph.inputs)
                 if (graph.values[id].name == name)
                   declared = graph.values[id].type.elem;
               return declared;
             }));
  return model.pattern_inputs(std::move(given), symbols);
}

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
  return std::filesystem::path(path).extension() == ".kwx";
}

bool is_model(const std::string& path) {
  return std::filesystem::path(path).extension() == ".onnx" || is_compiled_model(path);
}

Result<std::map<std::string, Datum>, Diagnostic>
read_bindings(const std::vector<std::string>& bindings, const DeclaredType& declared) {
  std::map<std::string, Datum> inputs;
  for (const std::string& binding : bindings) {
    const size_t equals = binding.rfind('=');
    if (equals == std::string::npos || equals == 0)
      return fail(bad_input(binding));
    const std::string name = binding.substr(0, equals);
    KAWARA_TRY(Tensor tensor, run::read_npy_tensor(binding.substr(equals + 1), declared(name)));
    inputs[name] = {std::move(tensor), false, {}};
  }
  return inputs;
}

Result<Done, Diagnostic> show_run(const ModelOptions& options, const ModelRun& run) {
  nlohmann::json json{
      {"ok", true}, {"kernels", run.kernels}, {"first_result_ms", run.first_seconds * 1e3}};
  if (is_compiled_model(options.file))
    json["load_ms"] = run.load_seconds * 1e3;
  std::string text;
  for (size_t k = 0; k < run.results.size(); ++k) {
    const std::string& name = run.names[k];
    if (!run.results[k].tensor) {
      text += fmt::format("{}: a sequence of {}\n", printable(name), run.results[k].items.size());
      continue;
    }
    const Tensor& tensor = run.results[k].tensor;
    const ValueRange s = range_of(tensor);
    json["outputs"].push_back({{"name", name},
                               {"type", graph::name_of(tensor.type())},
                               {"shape", tensor.shape()},
                               {"min", s.low},
                               {"max", s.high},
                               {"mean", s.mean}});
    text += fmt::format("{}: {}{}  min {:.6g}  max {:.6g}  mean {:.6g}\n", printable(name),
                        graph::name_of(tensor.type()), graph::text_of(tensor.shape()), s.low,
                        s.high, s.mean);
  }
  if (!options.output_dir.empty()) {
    KAWARA_TRY([[maybe_unused]] const Done done, write_outputs(options.output_dir, run.results));
  }
  if (options.time) {
    bool is_fine = true;
    const run::Timing timing = run::measure([&] { is_fine = run.run_again() && is_fine; }, {});
    json["median_ms"] = timing.median * 1e3;
    json["spread"] = timing.spread;
    json["compile_ms"] = run.compile_seconds * 1e3;
    json["block_bytes"] = run.block_bytes;
    text += "time: " + run::to_string(timing) + "\n";
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
    KAWARA_TRY(const auto more, run.measure_more());
    text += more.first;
    json.update(nlohmann::json::parse(more.second));
    json["from_cache"] = run.from_cache;
  }
  fmt::print("{}", options.json ? json.dump(2) + "\n" : text);
  return Done{};
}

Result<std::map<std::string, int64_t>, Diagnostic>
programs_of_model(const std::string& path, const std::vector<std::string>& bindings,
                  const std::map<std::string, int64_t>& symbols, const GraphFlags& flags) {
  driver::ModelOptions options = model_options_of(flags);
  options.cache_folder.clear();
  options.progress = nullptr;
  KAWARA_TRY(driver::Model model, driver::load_model(path, options));
  KAWARA_TRY(const auto inputs, read_model_inputs(model, bindings, symbols));
  KAWARA_TRY([[maybe_unused]] const auto results, model.run(inputs));
  return model.programs();
}

int run_model(ModelOptions options, const CommonOptions& common) {
  auto symbols = sizes_of(common);
  if (!symbols)
    return report(symbols.error(), common);
  options.symbols = *std::move(symbols);
  const auto done = run_all(options, common);
  return done ? kOk : report({done.error()}, common);
}

int show_model(const CommonOptions& common, const std::string& stage, const GraphFlags& flags,
               const std::string& onnx) {
  if ((stage == "cuda" || stage == "resources") && !is_compiled_model(common.file)) {
    const auto text = gpu_text_of_model(common, stage, flags);
    if (!text)
      return report({text.error()}, common);
    fmt::print("{}", *text);
    return kOk;
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
  const auto model = driver::load_model(common.file, options);
  if (!model)
    return report({model.error()}, common);
  const auto finish = [&](const graph::Graph& shown) {
    if (onnx.empty()) {
      fmt::print("{}", graph::print(shown));
      return kOk;
    }
    const auto graph = graph::with_opset(shown, graph::needed_opset(shown));
    if (!graph)
      return report({graph.error()}, common);
    fmt::print("{}", graph::print(*graph));
    const auto written = graph::write_onnx(*graph, onnx);
    return written ? kOk : report({written.error()}, common);
  };
  if (stage != "rewrite") {
    for (const auto& pass : model->passes())
      fmt::print("# {}: {} nodes, {} before\n", pass.name, pass.after, pass.before);
    for (const std::string& note : model->notes())
      fmt::print("# {}\n", printable(note));
    return finish(model->graph());
  }
  const auto rewritten = rewrite::rewrite(model->graph(), estimate::operator_cost(kShownRoof), {},
                                          rewrite::Numerics::Rounding);
  if (!rewritten)
    return report({rewritten.error()}, common);
  fmt::print("{}\n", rewrite::print(rewritten->statistics));
  return finish(rewritten->graph);
}

} // namespace kawara::tools
