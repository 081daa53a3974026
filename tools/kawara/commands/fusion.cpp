#include "kawara/model.h"
#include "kawara/usable.h"
#include "kawara/waiting.h"

#include "program/fusion/mapping.h"
#include "support/text.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace kawara::tools {
namespace {

struct FusionOptions : CommonOptions {
  GraphFlags graph;
  std::vector<std::string> inputs, shapes;
  bool texts = false;
};

std::string operators_of(const graph::Graph& graph, const driver::KernelGroup& group) {
  std::vector<std::string> ops;
  for (const size_t node : group.nodes)
    ops.push_back(graph.nodes[node].op);
  return join(ops, " + ");
}

nlohmann::json json_of(const graph::Graph& graph, const driver::KernelGroup& group) {
  std::vector<std::string> nodes;
  for (const size_t node : group.nodes)
    nodes.push_back(graph.nodes[node].name);
  return {{"nodes", nodes},
          {"operators", operators_of(graph, group)},
          {"mapping", program::fusion::name_of(group.mapping)},
          {"bytes_saved", group.bytes_saved},
          {"program", group.program}};
}

std::string kilobytes(int64_t bytes) {
  return fmt::format("{:.1f} kB", static_cast<double>(bytes) * 1e-3);
}

/// What lies where an operand ended, and what does not.
std::string in_place_text(const graph::Graph& graph, const driver::Plan& plan) {
  std::string text;
  for (const driver::InPlace& share : plan.in_place) {
    const driver::KernelGroup& group = plan.groups[share.group];
    text +=
        fmt::format("  {} ({}): {}{} {}: {}\n", printable(graph.nodes[group.nodes.front()].name),
                    operators_of(graph, group), printable(graph.values[share.result].name),
                    share.is_done ? " lies where" : " cannot lie where",
                    printable(graph.values[share.operand].name) + " ends", share.why);
  }
  if (plan.bytes_in_place > 0)
    text +=
        fmt::format("  {} of memory between kernels instead of {}\n", kilobytes(plan.block_bytes),
                    kilobytes(plan.block_bytes + plan.bytes_in_place));
  return text;
}

nlohmann::json json_of(const graph::Graph& graph, const driver::InPlace& share) {
  return {{"operand", graph.values[share.operand].name},
          {"result", graph.values[share.result].name},
          {"done", share.is_done},
          {"why", share.why}};
}

Result<Done, Diagnostic> print_fusion(const FusionOptions& options) {
  KAWARA_TRY(driver::Model model, while_waiting("reading the model", [&] {
               return driver::load_model(options.file, model_options_of(options.graph));
             }));
  const auto symbols = sizes_of(options);
  if (!symbols)
    return fail(symbols.error().front());
  KAWARA_TRY(const auto inputs,
             read_model_inputs(model, {options.inputs, options.shapes, *symbols}));
  KAWARA_TRY(const auto plans, while_waiting("planning", [&] { return model.plan(inputs); }));
  const graph::Graph& graph = model.graph();
  nlohmann::json json{{"ok", true},
                      {"groups", nlohmann::json::array()},
                      {"borders", nlohmann::json::array()},
                      {"in_place", nlohmann::json::array()}};
  std::string text, whys, places;
  int64_t saved = 0;
  size_t nodes = 0, groups = 0;
  for (const driver::Plan* plan : plans) {
    for (const driver::KernelGroup& group : plan->groups) {
      json["groups"].push_back(json_of(graph, group));
      text += fmt::format(
          "{:>4}  {:<12} {:>10}  {}: {}\n", groups++, program::fusion::name_of(group.mapping),
          group.nodes.size() > 1 ? kilobytes(group.bytes_saved) : "-",
          printable(graph.nodes[group.nodes.front()].name), operators_of(graph, group));
      if (options.texts)
        text += "\n" + group.program + "\n";
      saved += group.bytes_saved;
      nodes += group.nodes.size();
    }
    for (const driver::InPlace& share : plan->in_place)
      json["in_place"].push_back(json_of(graph, share));
    places += in_place_text(graph, *plan);
    for (const driver::GroupBorder& border : plan->borders) {
      const graph::Node &from = graph.nodes[border.from], &to = graph.nodes[border.to];
      json["borders"].push_back({{"from", from.name},
                                 {"to", to.name},
                                 {"value", graph.values[border.value].name},
                                 {"why", border.why}});
      whys += fmt::format("  {} ({}) -> {} ({}): {}\n", printable(from.name), from.op,
                          printable(to.name), to.op, border.why);
    }
  }
  json["bytes_saved"] = saved;
  const std::string head =
      fmt::format("{} nodes in {} kernels; {} less memory traffic than with one kernel each\n\n"
                  "{:>4}  {:<12} {:>10}  operators\n",
                  nodes, groups, kilobytes(saved), "", "mapping", "saved");
  fmt::print("{}", options.json ? json.dump(2) + "\n"
                                : head + text + (whys.empty() ? "" : "\nNot fused:\n" + whys) +
                                      (places.empty() ? "" : "\nIn place:\n" + places));
  return Done{};
}

} // namespace

void add_fusion(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<FusionOptions>();
  CLI::App* command = app.add_subcommand(
      "fusion", "show which nodes of a model share a kernel, and why others do not");
  command->add_option("FILE", options->file, "model in .onnx form")->required();
  command->add_option("-p,--param", options->sizes, "size of a symbol in the inputs' shapes");
  command->add_option("--input", options->inputs, "input: NAME=file.npy; repeat");
  add_shapes(*command, options->shapes);
  add_graph_flags(*command, options->graph);
  command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--programs", options->texts, "show the program of each group, too");
  add_examples(*command, {"kawara fusion model.onnx", "kawara fusion model.onnx --json"});
  command->callback([options, command, &exit_code] {
    if (const auto refused = refused_option(*command, kind_of(*options))) {
      exit_code = report({*refused}, *options);
      return;
    }
    const auto done = print_fusion(*options);
    exit_code = done ? kOk : report({done.error()}, *options);
  });
}

} // namespace kawara::tools
