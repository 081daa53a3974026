#include "kawara/command.h"
#include "kawara/waiting.h"

#include "graph/onnx/export.h"
#include "graph/zoo/zoo.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace kawara::tools {
namespace {

struct ZooOptions : CommonOptions {
  std::string name, output;
  graph::zoo::Choices choices;
  bool is_split = false;
};

int list_zoo(const ZooOptions& options) {
  nlohmann::json all = nlohmann::json::array();
  if (!options.json)
    fmt::print("{:14} {:>11} {:>9} {:>8}  {}\n", "name", "weights", "file", "GFLOP", "what");
  for (const graph::zoo::Entry& entry : graph::zoo::entries()) {
    if (options.json)
      all.push_back({{"name", entry.name},
                     {"what", entry.what},
                     {"weights", entry.parameters},
                     {"flops", entry.flops}});
    else
      fmt::print("{:14} {:>9.1f} M {:>6.0f} MB {:>8.2f}  {}\n", entry.name,
                 static_cast<double>(entry.parameters) * 1e-6,
                 static_cast<double>(entry.parameters) * 4e-6, entry.flops * 1e-9, entry.what);
  }
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"ok", true}, {"nets", all}}.dump(2));
  return kOk;
}

Result<Done, Diagnostic> write_net(const ZooOptions& options) {
  const std::string path = options.output.empty() ? options.name + ".onnx" : options.output;
  const Waiting waiting("making up weights and writing them");
  KAWARA_TRY(const graph::Graph net, graph::zoo::make(options.name, options.choices));
  graph::ExportOptions how;
  if (options.is_split)
    how.external_file = std::filesystem::path(path).filename().string() + ".data";
  KAWARA_TRY([[maybe_unused]] const Done done, graph::write_onnx(net, path, how));
  clear_waiting_line();
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"ok", true}, {"file", path}}.dump(2));
  else
    fmt::print("{}: {} nodes, {} weights\n", path, net.nodes.size(), net.initializers.size());
  return Done{};
}

} // namespace

void add_zoo(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ZooOptions>();
  CLI::App* command = app.add_subcommand(
      "zoo", "write a well-known net with pseudo-random weights as an ONNX file, or list them");
  command->add_option("NAME", options->name, "resnet50, bert-base, ...; none: list the nets");
  command->add_option("-o,--output", options->output, "file to write; NAME.onnx when not given");
  command->add_option("--batch", options->choices.batch, "images or sequences at once (1)");
  command->add_option("--seq", options->choices.sequence, "tokens (128)");
  command->add_option("--past", options->choices.past,
                      "tokens in the cache of gpt2-decode (any number: a symbol)");
  command->add_flag("--split", options->is_split, "put the weights into a file beside the model");
  command->add_flag("--json", options->json, "machine-readable output");
  add_examples(*command, {"kawara zoo", "kawara zoo resnet50 -o resnet50.onnx",
                          "kawara zoo gpt2-decode --past 256"});
  command->callback([options, &exit_code] {
    if (options->name.empty()) {
      exit_code = list_zoo(*options);
      return;
    }
    const auto done = write_net(*options);
    exit_code = done ? kOk : report({done.error()}, *options);
  });
}

} // namespace kawara::tools
