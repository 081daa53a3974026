#include "kawara/command.h"
#include "kawara/explained.h"
#include "kawara/usable.h"
#include "kawara/whole_file.h"

#include "explain/words.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace kawara::tools {
namespace {

int trace_command(ExplainOptions options) {
  options.only_steps = true;
  const auto made = explained_model(options);
  if (!made)
    return report(made.error(), options);
  const std::string path =
      options.output.empty()
          ? std::filesystem::path(options.file).replace_extension(".trace.json").string()
          : options.output;
  const explain::ModelFacts& facts = made->facts;
  if (const auto written = write_whole(path, explain::trace_json(made->title, facts)); !written)
    return report({written.error()}, options);
  double seconds = facts.between_seconds;
  for (const explain::StepReport& step : facts.steps)
    seconds += step.seconds.value_or(0);
  const char* label = facts.is_measured ? "measured" : "predicted";
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"ok", true},
                                      {"file", path},
                                      {"steps", facts.steps.size()},
                                      {"ms", seconds * 1e3},
                                      {"label", label},
                                      {"missing", made->missing}}
                           .dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return kOk;
  }
  fmt::print("{}: {} steps, {} {}\n", path, facts.steps.size(), explain::duration(seconds),
             facts.is_measured ? "when it ran" : "predicted");
  for (const std::string& missing : made->missing)
    fmt::print("Missing: {}\n", missing);
  return kOk;
}

} // namespace

void add_trace(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand(
      "trace", "write the steps of a model on a time line, for Perfetto or chrome://tracing");
  command->add_option("FILE", options->file, "model in .onnx form")->required();
  command->add_option("-o,--output", options->output, "file to write: FILE.trace.json by default");
  command->add_flag("--measure", options->measure, "run the model, and take the times of that");
  command->add_option("-p,--param", options->sizes, "size of a symbol in the inputs' shapes");
  command->add_option("--input", options->inputs, "input: NAME=file.npy; repeat");
  add_shapes(*command, options->shapes);
  add_graph_flags(*command, options->graph);
  add_machine_option(*command, options->machine);
  command->add_flag("--json", options->json, "print JSON");
  add_examples(*command, {"kawara trace model.onnx -o trace.json",
                          "kawara trace model.onnx --measure -o trace.json"});
  command->callback([options, command, &exit_code] {
    const auto refused = refused_option(*command, kind_of(*options));
    exit_code = refused ? report({*refused}, *options) : trace_command(*options);
  });
}

} // namespace kawara::tools
