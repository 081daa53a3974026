#include "check_sample.h"

#include "driver/check/reference.h"
#include "driver/model/evaluate_node.h"
#include "driver/model/rewriting.h"
#include "driver/model/runner.h"
#include "driver/tape/tape.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/optimise/channels_last.h"
#include "graph/optimise/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kawara::random_graphs {
namespace {

using graph::Graph;
using run::Datum;

/// Where two results differ by more than `tolerance`.
std::string difference_of(const Datum& got, const Datum& wanted, double tolerance) {
  const Tensor &a = got.tensor, &b = wanted.tensor;
  if (!a || a.type() != b.type() || a.shape() != b.shape())
    return fmt::format("{}{} instead of {}{}", graph::name_of(a.type()), graph::text_of(a.shape()),
                       graph::name_of(b.type()), graph::text_of(b.shape()));
  for (int64_t k = 0; k < b.elements(); ++k) {
    const double x = a.get_double(k), y = b.get_double(k);
    if (!(std::abs(x - y) <= 4 * tolerance + 1e-6 * std::abs(y)))
      return fmt::format("element {} is {} instead of {}, more than {} apart", k, x, y,
                         4 * tolerance);
  }
  return "";
}

std::string differences_of(const Sample& sample, const std::vector<Datum>& got,
                           const std::vector<Datum>& wanted) {
  for (size_t k = 0; k < got.size(); ++k)
    if (const std::string wrong = difference_of(got[k], wanted[k], sample.tolerances[k]);
        !wrong.empty())
      return fmt::format("output {} ({}): {}", k, sample.graph.values[sample.graph.outputs[k]].name,
                         wrong);
  return "";
}

Result<std::vector<Datum>, Diagnostic> played(driver::Tape tape, std::vector<Datum> inputs) {
  driver::Player player(std::move(tape));
  std::vector<Datum> results;
  std::vector<void*> reads, writes;
  for (Datum& input : inputs)
    reads.push_back(input.tensor.data());
  for (const driver::Port& port : player.tape().outputs) {
    results.push_back({Tensor(port.type, port.shape), false, {}});
    writes.push_back(results.back().tensor.data());
  }
  KAWARA_TRY([[maybe_unused]] const Done done, player.play(reads, writes));
  return results;
}

bool survives_a_file(const Graph& graph) {
  const auto bytes = graph::onnx_from_graph(graph);
  const auto again = bytes ? graph::graph_from_onnx(*bytes, "again", "")
                           : Result<Graph, Diagnostic>(fail(bytes.error()));
  return again && graph::print(*again) == graph::print(graph);
}

/// The nodes that outputs depend on.
void drop_dead_nodes(Graph& graph) {
  std::vector<bool> is_needed(graph.values.size(), false);
  for (const ValueId id : graph.outputs)
    is_needed[id] = true;
  std::vector<graph::Node> kept;
  for (size_t k = graph.nodes.size(); k-- > 0;) {
    const graph::Node& node = graph.nodes[k];
    if (std::none_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return id != graph::kAbsent && is_needed[id]; }))
      continue;
    for (const ValueId id : node.inputs)
      if (id != graph::kAbsent)
        is_needed[id] = true;
    kept.push_back(node);
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  std::erase_if(graph.initializers, [&](const auto& item) { return !is_needed[item.first]; });
}

void drop_unread_inputs(Sample& sample) {
  std::vector<bool> is_read(sample.graph.values.size(), false);
  for (const graph::Node& node : sample.graph.nodes)
    for (const ValueId id : node.inputs)
      if (id != graph::kAbsent)
        is_read[id] = true;
  for (size_t k = sample.graph.inputs.size(); k-- > 0;)
    if (!is_read[sample.graph.inputs[k]]) {
      sample.graph.inputs.erase(sample.graph.inputs.begin() + static_cast<int64_t>(k));
      sample.inputs.erase(sample.inputs.begin() + static_cast<int64_t>(k));
    }
}

Sample with_output(const Sample& sample, size_t k) {
  Sample smaller = sample;
  smaller.graph.outputs = {sample.graph.outputs[k]};
  smaller.tolerances = {sample.tolerances[k]};
  smaller.shapes = {sample.shapes[k]};
  drop_dead_nodes(smaller.graph);
  drop_unread_inputs(smaller);
  return smaller;
}

/// The sample with the results of a node given as inputs; nothing when a result is an output.
std::optional<Sample> with_cut(const Sample& sample, size_t node, const std::vector<Datum>& data) {
  Sample smaller = sample;
  Graph& graph = smaller.graph;
  for (const ValueId id : graph.nodes[node].outputs) {
    if (std::count(graph.outputs.begin(), graph.outputs.end(), id) > 0)
      return std::nullopt;
    graph.values[id].type = {graph::ValueType::Kind::Tensor, data[id].tensor.type(),
                             graph::dims_of(data[id].tensor.shape())};
    graph.inputs.push_back(id);
    smaller.inputs.push_back(data[id]);
  }
  graph.nodes.erase(graph.nodes.begin() + static_cast<int64_t>(node));
  drop_dead_nodes(graph);
  drop_unread_inputs(smaller);
  return smaller;
}

/// Two calls of the model, then its tape.
std::string mismatch_with(const Sample& sample, const std::vector<Datum>& wanted,
                          driver::Kernels& kernels, const driver::PlanOptions& options) {
  driver::Runner runner(sample.graph, kernels, options);
  for (int call = 0; call < 2; ++call) {
    const auto got = runner.run(sample.inputs, {});
    if (!got)
      return "the model refuses: " + render(got.error());
    if (std::string wrong = differences_of(sample, *got, wanted); !wrong.empty())
      return fmt::format("call {}: {}", call, wrong);
  }
  auto tape = driver::tape_from_plans(sample.graph, runner.path());
  if (!tape)
    return "no tape: " + render(tape.error());
  const auto got = played(*std::move(tape), sample.inputs);
  if (!got)
    return "the tape refuses: " + render(got.error());
  const std::string wrong = differences_of(sample, *got, wanted);
  return wrong.empty() ? "" : "tape: " + wrong;
}

/// The graph after all passes: with layouts chosen, proved rules, whole attention.
Sample after_all_passes(const Sample& sample, driver::Kernels& kernels) {
  Sample rewritten = sample;
  driver::GraphOptions options;
  options.attention = graph::optimise::AttentionUse::Always;
  rewritten.graph = driver::optimised_and_rewritten(sample.graph, target::detect_cpu(),
                                                    driver::evaluator(kernels), options)
                        .graph;
  return rewritten;
}

/// That with channels last wherever there is a convolution, in the form for processors; nothing
/// where there is none.
std::optional<Sample> with_channels_last(const Sample& sample) {
  constexpr int64_t kAny = 1;
  auto effect = graph::try_channels_last(sample.graph, graph::ChannelsLastForm::Padded, kAny);
  if (effect.convolutions == 0)
    return std::nullopt;
  Sample last = sample;
  last.graph = std::move(effect.graph);
  return last;
}

/// The same for the graphs that the optimiser makes of it, without and with rewriting.
std::string optimised_mismatch(const Sample& sample, const std::vector<Datum>& wanted,
                               driver::Kernels& kernels, Ways ways) {
  Sample optimised = sample;
  if (ways == Ways::All) {
    optimised.graph = graph::optimise::optimise(sample.graph, driver::evaluator(kernels)).graph;
    if (std::string wrong = mismatch_with(optimised, wanted, kernels, {}); !wrong.empty())
      return "optimised: " + wrong;
  }
  const Sample rewritten = after_all_passes(sample, kernels);
  if (const auto last = with_channels_last(rewritten))
    if (std::string wrong = mismatch_with(*last, wanted, kernels, {}); !wrong.empty())
      return "channels last: " + wrong;
  if (graph::print(rewritten.graph) == graph::print(optimised.graph))
    return "";
  const std::string wrong = mismatch_with(rewritten, wanted, kernels, {});
  return wrong.empty() ? "" : "rewritten: " + wrong;
}

} // namespace

std::string mismatch(const Sample& sample) {
  const auto wanted = driver::interpret(sample.graph, sample.inputs);
  if (!wanted)
    return "the reference refuses: " + render(wanted.error());
  for (size_t k = 0; k < wanted->size(); ++k)
    if ((*wanted)[k].tensor.shape() != sample.shapes[k])
      return fmt::format("output {} has the shape {}, should be {}", k,
                         graph::text_of((*wanted)[k].tensor.shape()),
                         graph::text_of(sample.shapes[k]));
  return survives_a_file(sample.graph) ? "" : "it does not come back from a file as it was";
}

std::string mismatch(const Sample& sample, driver::Kernels& kernels, Ways ways) {
  if (std::string wrong = mismatch(sample); !wrong.empty())
    return wrong;
  const auto wanted = driver::interpret(sample.graph, sample.inputs);
  if (ways == Ways::None) {
    const Sample rewritten = after_all_passes(sample, kernels);
    std::vector<std::pair<std::string, Sample>> forms{{"after all passes", rewritten}};
    if (auto last = with_channels_last(rewritten))
      forms.emplace_back("channels last", *std::move(last));
    for (const auto& [what, form] : forms) {
      const auto got = driver::interpret(form.graph, sample.inputs);
      if (!got)
        return what + ": the reference refuses: " + render(got.error());
      if (std::string wrong = differences_of(sample, *got, *wanted); !wrong.empty())
        return what + ", interpreted: " + wrong;
    }
    return "";
  }
  for (const bool fuses : {false, true}) {
    if (!fuses && ways == Ways::Few)
      continue;
    if (std::string wrong = mismatch_with(sample, *wanted, kernels, {.fuses = fuses});
        !wrong.empty())
      return (fuses ? "with fusion: " : "node by node: ") + wrong;
  }
  return optimised_mismatch(sample, *wanted, kernels, ways);
}

Sample shrunk(Sample sample, driver::Kernels& kernels) {
  for (size_t k = 0; k < sample.graph.outputs.size(); ++k)
    if (Sample smaller = with_output(sample, k); !mismatch(smaller, kernels).empty()) {
      sample = std::move(smaller);
      break;
    }
  const auto data = driver::interpret_all(sample.graph, sample.inputs);
  if (!data)
    return sample;
  for (bool is_smaller = true; is_smaller;) {
    is_smaller = false;
    for (size_t k = sample.graph.nodes.size(); k-- > 0 && !is_smaller;)
      if (auto smaller = with_cut(sample, k, *data);
          smaller && !mismatch(*smaller, kernels).empty()) {
        sample = *std::move(smaller);
        is_smaller = true;
      }
  }
  return sample;
}

} // namespace kawara::random_graphs
