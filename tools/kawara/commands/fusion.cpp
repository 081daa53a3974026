#include "kawara/model.h"
#include "kawara/usable.h"
#include "kawara/waiting.h"

#include "driver/gpu/gpu_programs.h"
#include "driver/tape/launches.h"
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

std::string megabytes(int64_t bytes) {
  return fmt::format("{:.2f} MB", static_cast<double>(bytes) * 1e-6);
}

/// What a run starts, kernels that only move elements first.
std::string launches_text(const driver::Launches& launches) {
  std::string text = fmt::format(
      "\nLaunches: {}, {} of which only move elements: {} of {}; {} between launches{}\n",
      launches.steps, launches.movements, megabytes(launches.moved_bytes),
      megabytes(launches.bytes), megabytes(launches.block_bytes),
      launches.calls == 0 ? "" : fmt::format("; functions: {}", launches.calls));
  for (const bool is_movement : {true, false})
    for (const driver::LaunchKind& kind : launches.kinds)
      if (kind.is_movement == is_movement)
        text += fmt::format("{:>6}  {:>12}  {:<4}  {}\n", kind.times, megabytes(kind.bytes),
                            kind.is_call       ? "call"
                            : kind.is_movement ? "move"
                                               : "",
                            printable(kind.name));
  return text;
}

nlohmann::json json_of(const driver::Launches& launches) {
  nlohmann::json json{{"steps", launches.steps},
                      {"movements", launches.movements},
                      {"calls", launches.calls},
                      {"bytes", launches.bytes},
                      {"moved_bytes", launches.moved_bytes},
                      {"block_bytes", launches.block_bytes},
                      {"kinds", nlohmann::json::array()}};
  for (const driver::LaunchKind& kind : launches.kinds)
    json["kinds"].push_back({{"name", kind.name},
                             {"times", kind.times},
                             {"movement", kind.is_movement},
                             {"call", kind.is_call},
                             {"bytes", kind.bytes}});
  return json;
}

Result<driver::Launches, Diagnostic>
launches_of(driver::Model& model, const std::map<std::string, run::Datum>& inputs, bool is_gpu) {
  auto tape = is_gpu ? driver::gpu_tape_of(model, inputs) : model.tape_of_programs(inputs);
  if (!tape)
    return fail(tape.error());
  return driver::launches_of(*tape);
}

Result<Done, Diagnostic> print_fusion(const FusionOptions& options) {
  if (const auto environment = environment_to_run_on(options); !environment)
    return fail(environment.error().front());
  const bool is_gpu = is_for_gpu(options.target);
  KAWARA_TRY(driver::Model model, while_waiting("reading the model", [&] {
               const driver::ModelOptions usual = model_options_of(options.graph);
               return driver::load_model(options.file,
                                         is_gpu ? driver::options_for_gpu(usual) : usual);
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
  // Subgraphs and sequences have no tape.
  const auto launches = launches_of(model, inputs, is_gpu);
  if (launches)
    json["launches"] = json_of(*launches);
  const std::string head =
      fmt::format("{} nodes in {} kernels; {} less memory traffic than with one kernel each\n\n"
                  "{:>4}  {:<12} {:>10}  operators\n",
                  nodes, groups, kilobytes(saved), "", "mapping", "saved");
  fmt::print("{}", options.json ? json.dump(2) + "\n"
                                : head + text + (whys.empty() ? "" : "\nNot fused:\n" + whys) +
                                      (places.empty() ? "" : "\nIn place:\n" + places) +
                                      (launches ? launches_text(*launches) : ""));
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
  command->add_option(
      "--target", options->target,
      "whose kernels: cpu (the default), or a GPU (cuda:sm_90a), which need not be there");
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
