#include "peers/judge.h"

#include "driver/check/agreement.h"
#include "driver/check/reference.h"
#include "driver/model/model.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "peers/explained.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kawara::peers {
namespace {

constexpr const char* kRegrouped = "regrouped sums";
constexpr const char* kUnlikeNodes = "unlike its nodes";
constexpr const char* kNarrowSums = "narrow sums";
constexpr const char* kAloneRefused = "alone it is refused";
constexpr const char* kAloneRight = "each node alone is right";

using Results = Result<std::vector<Datum>, Diagnostic>;

Diagnostic thrown(const std::string& what) {
  Diagnostic d;
  d.code = "throws";
  d.headline = what;
  return d;
}

/// As a file that somebody opens and runs.
Results kawara_results(const Graph& graph, const std::vector<Datum>& inputs,
                       program::Numerics numerics) {
  try {
    KAWARA_TRY(const std::string bytes, graph::onnx_from_graph(graph));
    KAWARA_TRY(Graph read, graph::graph_from_onnx(bytes, "random", ""));
    driver::ModelOptions options;
    options.code.numerics = numerics;
    driver::Model model(std::move(read), options);
    std::map<std::string, Datum> given;
    for (size_t k = 0; k < graph.inputs.size(); ++k)
      given[graph.values[graph.inputs[k]].name] = inputs[k];
    return model.run(given);
  } catch (const std::exception& error) {
    return fail(thrown(error.what()));
  }
}

std::string value_text(const Tensor& tensor, int64_t element) {
  if (!tensor || element >= tensor.elements())
    return "?";
  return graph::is_float(tensor.type()) ? fmt::format("{:.9g}", tensor.get_double(element))
                                        : fmt::format("{}", tensor.get_int(element));
}

std::string node_text(const NodeCase& c) {
  std::string operands, attributes;
  for (const Tensor& tensor : c.operands)
    operands += fmt::format("{}{}{}", operands.empty() ? "" : ", ",
                            tensor ? graph::name_of(tensor.type()) : "-",
                            tensor ? graph::text_of(tensor.shape()) : "");
  for (const auto& [name, value] : c.node.attributes)
    attributes += fmt::format(" {}={}", name, graph::text_of_attribute(value));
  return fmt::format("{}({}){} opset {}", c.node.op, operands, attributes, c.opset);
}

std::string case_text(const NodeCase& c) {
  std::string text = fmt::format("{}: output {} element {} is {} instead of {}", node_text(c),
                                 c.output, c.element, value_text(c.got[c.output].tensor, c.element),
                                 value_text(c.expected[c.output].tensor, c.element));
  for (const Tensor& tensor : c.operands)
    if (tensor && tensor.shape() == c.expected[c.output].tensor.shape())
      text += " of " + value_text(tensor, c.element);
  constexpr int64_t kShown = 48;
  for (size_t k = 0; k < c.operands.size(); ++k) {
    if (!c.operands[k])
      continue;
    text += fmt::format("; x{} =", k);
    for (int64_t at = 0; at < std::min(c.operands[k].elements(), kShown); ++at)
      text += " " + value_text(c.operands[k], at);
    text += c.operands[k].elements() > kShown ? " ..." : "";
  }
  return text;
}

/// Compares one node on ONNX Runtime's values.
class NodeJudge {
public:
  NodeJudge(const Graph& graph, const std::vector<Datum>& data, const Peer& peer,
            program::Numerics numerics)
      : graph_(graph), data_(data), peer_(peer), numerics_(numerics) {}

  std::set<std::string> classes; ///< that explain nodes
  std::set<size_t> explained;    ///< nodes
  std::string wrong;             ///< what is not explained

  void judge(size_t n) {
    const graph::Node& node = graph_.nodes[n];
    NodeCase c{node, graph_.opsets.at(""), {}, {}, {}, 0, 0};
    std::set<size_t> constants;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      c.operands.push_back(node.inputs[k] == kAbsent ? Tensor() : data_[node.inputs[k]].tensor);
      if (node.inputs[k] != kAbsent && graph_.initializers.count(node.inputs[k]) > 0)
        constants.insert(k);
    }
    const Graph alone = graph_of_node(node, c.operands, constants, c.opset);
    std::vector<Datum> inputs;
    std::set<ValueId> seen;
    for (size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] != kAbsent && constants.count(k) == 0 &&
          seen.insert(node.inputs[k]).second)
        inputs.push_back({c.operands[k], false, {}});
    for (const ValueId id : node.outputs)
      if (id != kAbsent)
        c.expected.push_back(data_[id]);
    const auto got = kawara_results(alone, inputs, numerics_);
    if (!got) {
      wrong = fmt::format("{}: {}: {} {}", node_text(c), kAloneRefused, got.error().code,
                          got.error().headline);
      return;
    }
    c.got = *got;
    compare(n, c, alone, inputs);
  }

private:
  void compare(size_t n, NodeCase& c, const Graph& alone, const std::vector<Datum>& inputs) {
    // What differs as far as it may can decide further on (an arc tangent of 1 or of a little
    // more): it is explained where it can be.
    constexpr double kNoticed = 0;
    std::string form;
    auto elements = differences(c.got, c.expected, {}, form, kNoticed);
    std::set<std::pair<size_t, int64_t>> bad;
    if (form.empty() && !elements.empty()) {
      const auto chain = NodeChain::open(alone, peer_);
      const Spread spread = chain ? chain->spread(inputs) : Spread();
      elements = differences(c.got, c.expected, spread, form, kNoticed);
      for (const ElementDifference& element : differences(c.got, c.expected, spread, form))
        bad.insert({element.output, element.element});
    }
    if (!form.empty()) {
      c.element = -1;
      if (const Explanation* why = explanation_of(c)) {
        classes.insert(std::string(why->name));
        explained.insert(n);
        return;
      }
      c.element = 0;
      wrong = case_text(c) + ": " + form;
      return;
    }
    for (const ElementDifference& element : elements) {
      c.output = element.output;
      c.element = element.element;
      if (const Explanation* why = explanation_of(c)) {
        classes.insert(std::string(why->name));
        explained.insert(n);
        continue;
      }
      if (bad.count({element.output, element.element}) == 0)
        continue;
      if (is_sum_of_halves(c)) {
        classes.insert(kNarrowSums);
        explained.insert(n);
        continue;
      }
      wrong = case_text(c);
      return;
    }
  }

  /// Some of ONNX Runtime's sums of f16 are rounded to f16 term by term. With the same numbers as
  /// f32 it comes to Kawara's result.
  bool is_sum_of_halves(const NodeCase& c) const {
    std::vector<Tensor> wide;
    std::vector<Datum> inputs;
    std::set<ValueId> seen;
    bool has_halves = false;
    for (size_t k = 0; k < c.operands.size(); ++k) {
      Tensor tensor = c.operands[k];
      if (tensor && (tensor.type() == DataType::F16 || tensor.type() == DataType::BF16)) {
        has_halves = true;
        tensor = Tensor(DataType::F32, c.operands[k].shape());
        for (int64_t at = 0; at < tensor.elements(); ++at)
          tensor.set_double(at, c.operands[k].get_double(at));
      }
      wide.push_back(tensor);
      if (tensor && seen.insert(c.node.inputs[k]).second)
        inputs.push_back({tensor, false, {}});
    }
    const auto session = has_halves
                             ? peer_.session(graph_of_node(c.node, wide, {}, c.opset))
                             : Result<std::unique_ptr<PeerSession>, Refusal>(fail(Refusal()));
    const auto made =
        session ? (*session)->run(inputs) : Result<std::vector<Datum>, Refusal>(fail(Refusal()));
    if (!made || c.output >= made->size() || (*made)[c.output].tensor.shape() != c.theirs().shape())
      return false;
    const double exact = (*made)[c.output].tensor.get_double(c.element);
    return std::abs(c.our_element() - exact) <= 2 * unit_at(c.theirs().type(), exact);
  }

  const Graph& graph_;
  const std::vector<Datum>& data_;
  const Peer& peer_;
  program::Numerics numerics_;
};

/// The sample with these nodes' results given.
Sample without(const Sample& sample, const std::set<size_t>& nodes,
               const std::vector<Datum>& data) {
  Sample smaller = sample;
  Graph& graph = smaller.graph;
  graph.nodes.clear();
  for (size_t n = 0; n < sample.graph.nodes.size(); ++n) {
    if (nodes.count(n) == 0) {
      graph.nodes.push_back(sample.graph.nodes[n]);
      continue;
    }
    for (const ValueId id : sample.graph.nodes[n].outputs) {
      if (id == kAbsent)
        continue;
      graph.values[id].type = {graph::ValueType::Kind::Tensor, data[id].tensor.type(),
                               graph::dims_of(data[id].tensor.shape())};
      graph.inputs.push_back(id);
      smaller.inputs.push_back(data[id]);
      std::erase(graph.outputs, id);
    }
  }
  std::set<ValueId> read;
  for (const graph::Node& node : graph.nodes)
    read.insert(node.inputs.begin(), node.inputs.end());
  for (size_t k = graph.inputs.size(); k-- > 0;)
    if (read.count(graph.inputs[k]) == 0) {
      graph.inputs.erase(graph.inputs.begin() + static_cast<int64_t>(k));
      smaller.inputs.erase(smaller.inputs.begin() + static_cast<int64_t>(k));
    }
  std::erase_if(graph.initializers, [&](const auto& item) { return read.count(item.first) == 0; });
  return smaller;
}

/// What is wrong with a whole graph: empty when nothing is.
struct Mismatch {
  std::string text;
  std::optional<Diagnostic> refused = std::nullopt;
  bool is_peers = false;    ///< ONNX Runtime refuses
  bool is_infinite = false; ///< every element that differs is infinite or NaN in one of the two
  bool is_by_nodes =
      false; ///< ONNX Runtime gives Kawara's results, too, when it runs the nodes one by one
};

Mismatch mismatch(const Sample& sample, const Peer& peer, program::Numerics numerics) {
  const auto session = peer.session(sample.graph);
  const auto expected = session ? (*session)->run(sample.inputs)
                                : Result<std::vector<Datum>, Refusal>(fail(session.error()));
  if (!expected)
    return {"ONNX Runtime refuses: " + expected.error(), std::nullopt, true, false};
  const auto got = kawara_results(sample.graph, sample.inputs, numerics);
  if (!got)
    return {"refused", got.error(), false, false};
  std::string form;
  auto elements = differences(*got, *expected, {}, form);
  bool is_by_nodes = false;
  if (form.empty() && !elements.empty())
    if (const auto chain = NodeChain::open(sample.graph, peer)) {
      const Spread spread = chain->spread(sample.inputs);
      elements = differences(*got, *expected, spread, form);
      const std::vector<Datum> data = chain->run(sample.inputs);
      std::vector<Datum> by_nodes;
      for (const ValueId id : sample.graph.outputs)
        by_nodes.push_back(data.empty() ? Datum{} : data[id]);
      std::string misfit;
      is_by_nodes =
          !data.empty() && differences(*got, by_nodes, spread, misfit).empty() && misfit.empty();
    }
  if (!form.empty())
    return {form};
  if (elements.empty())
    return {};
  const bool is_infinite =
      std::all_of(elements.begin(), elements.end(), [&](const ElementDifference& c) {
        return !std::isfinite((*got)[c.output].tensor.get_double(c.element)) ||
               !std::isfinite((*expected)[c.output].tensor.get_double(c.element));
      });
  const ElementDifference& first = elements.front();
  return {fmt::format("together: {} elements differ; output {} element {} is {} instead of {}",
                      elements.size(), first.output, first.element,
                      value_text((*got)[first.output].tensor, first.element),
                      value_text((*expected)[first.output].tensor, first.element)),
          std::nullopt, false, is_infinite, is_by_nodes};
}

/// ONNX Runtime comes to other results than its own nodes one by one, and Kawara to theirs. It has
/// no kernels for f16 and bf16 of many operators: it converts to f32 before such a node and back
/// after it, but not between two of them, so that results are not rounded as the graph says, and
/// what overflows does not.
bool is_unlike_its_nodes(const Mismatch& whole) { return whole.is_by_nodes; }

/// Sums of products are regrouped under `rounding` (docs/numerics.md, Models): what is infinite on
/// the way as it is written need not be so then. Holds only where the graph has two steps that can
/// be regrouped, nothing but infinities differs, and nothing does under `exact`, where graphs stay
/// as they are.
bool is_regrouped(const Sample& sample, const Mismatch& whole, const Peer& peer,
                  program::Numerics numerics) {
  static const std::set<std::string> kSteps = {
      "MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum", "BatchNormalization", "Mul",
      "Add",    "Sub",  "Div"};
  const auto steps =
      std::count_if(sample.graph.nodes.begin(), sample.graph.nodes.end(),
                    [](const graph::Node& node) { return kSteps.count(node.op) > 0; });
  return whole.is_infinite && steps >= 2 && numerics != program::Numerics::Exact &&
         mismatch(sample, peer, program::Numerics::Exact).text.empty();
}

/// Under `exact` every bit is the reference's.
std::string inexact(const Sample& sample) {
  const auto got = kawara_results(sample.graph, sample.inputs, program::Numerics::Exact);
  const auto expected = driver::interpret(sample.graph, sample.inputs);
  if (!got || !expected)
    return "";
  std::vector<std::string> names;
  for (const ValueId id : sample.graph.outputs)
    names.push_back(sample.graph.values[id].name);
  for (const auto& each : driver::agreement_of(names, *got, *expected))
    if (!driver::is_within(each, {}))
      return "under exact, against the reference: " + driver::text_of(each);
  return "";
}

Verdict refusal_of(const Diagnostic& refused) {
  std::string line = refused.headline;
  for (const std::string& more : refused.body)
    line += " | " + more;
  return {Outcome::Refused, {refused.code}, line};
}

/// Which nodes make the difference, and whether all is well without them.
Verdict judged_by_nodes(const Sample& sample, const Mismatch& whole, const Peer& peer,
                        program::Numerics numerics) {
  if (is_unlike_its_nodes(whole))
    return {Outcome::Explained, {kUnlikeNodes}, whole.text};
  const auto chain = NodeChain::open(sample.graph, peer);
  const auto data = chain ? chain->run(sample.inputs) : std::vector<Datum>();
  if (data.empty())
    return {Outcome::Wrong, {}, whole.text + " (its nodes alone are refused by ONNX Runtime)"};
  NodeJudge nodes(sample.graph, data, peer, numerics);
  for (size_t n = 0; n < sample.graph.nodes.size(); ++n) {
    nodes.judge(n);
    if (!nodes.wrong.empty())
      return {Outcome::Wrong, {}, nodes.wrong};
  }
  const Sample rest = without(sample, nodes.explained, data);
  const Mismatch left = nodes.explained.empty()      ? whole
                        : rest.graph.outputs.empty() ? Mismatch{}
                                                     : mismatch(rest, peer, numerics);
  std::vector<std::string> names(nodes.classes.begin(), nodes.classes.end());
  const bool is_unlike = is_unlike_its_nodes(left);
  if (left.refused)
    return refusal_of(*left.refused);
  if (!left.text.empty() && !is_unlike && !is_regrouped(rest, left, peer, numerics))
    return {
        Outcome::Wrong,
        {},
        (nodes.explained.empty() ? std::string(kAloneRight) + "; " : "without explained nodes: ") +
            left.text};
  if (!left.text.empty())
    names.push_back(is_unlike ? kUnlikeNodes : kRegrouped);
  return {Outcome::Explained, names, whole.text};
}

} // namespace

std::string reason_of(const std::string& name) {
  if (name == kRegrouped)
    return "sums of products are regrouped under rounding; what is infinite on the way need not be "
           "so";
  if (name == kUnlikeNodes)
    return "ONNX Runtime's nodes one by one give Kawara's result, its whole graph another (wide "
           "f16)";
  if (name == kNarrowSums)
    return "ONNX Runtime adds up in f16; in f32 it comes to Kawara's result";
  for (const Explanation& each : explanations())
    if (each.name == name)
      return std::string(each.why);
  return "";
}

Verdict judged(const Sample& sample, const Peer& peer, program::Numerics numerics) {
  const Mismatch whole = mismatch(sample, peer, numerics);
  if (whole.refused && whole.refused->code == "throws")
    return {Outcome::Wrong, {}, "throws: " + whole.refused->headline};
  if (whole.is_peers)
    return {Outcome::PeerRefused, {}, whole.text};
  if (numerics == program::Numerics::Exact && !whole.refused)
    if (std::string text = inexact(sample); !text.empty())
      return {Outcome::Wrong, {}, text};
  if (whole.text.empty())
    return {};
  // A value of another shape may have been refused: then the reason is further up.
  const Verdict verdict = judged_by_nodes(sample, whole, peer, numerics);
  const bool is_refused = verdict.text.find(kAloneRefused) != std::string::npos ||
                          verdict.text.find(kAloneRight) != std::string::npos;
  return whole.refused && verdict.outcome == Outcome::Wrong && is_refused
             ? refusal_of(*whole.refused)
             : verdict;
}

} // namespace kawara::peers
