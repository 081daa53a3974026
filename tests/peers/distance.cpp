#include "peers/distance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kawara::peers {
namespace {

constexpr double kRoundings = 4; ///< units in the last place that an element may be off on its own
constexpr double kMoved = 8;     ///< times what noise moves it by
constexpr int kTrials = 24;

/// Nothing is rounded here.
bool is_exact(const std::string& op) {
  static const std::set<std::string> kOps = {
      "CastLike",    "GlobalMaxPool",  "Less",      "Greater",         "Equal",
      "LessOrEqual", "GreaterOrEqual", "ArgMax",    "ArgMin",          "Hardmax",
      "IsNaN",       "IsInf",          "NonZero",   "Unique",          "OneHot",
      "Shape",       "Size",           "MaxUnpool", "ConstantOfShape", "EyeLike"};
  return keeps_digits(op) || kOps.contains(op);
}

/// Results depend on one element of each operand: only they are rounded.
bool is_by_elements(const std::string& op) {
  static const std::set<std::string> kOps = {"Add",
                                             "Sub",
                                             "Mul",
                                             "Div",
                                             "Pow",
                                             "Mod",
                                             "Sqrt",
                                             "Exp",
                                             "Log",
                                             "Sin",
                                             "Cos",
                                             "Tan",
                                             "Asin",
                                             "Acos",
                                             "Atan",
                                             "Sinh",
                                             "Cosh",
                                             "Tanh",
                                             "Asinh",
                                             "Acosh",
                                             "Atanh",
                                             "Erf",
                                             "Elu",
                                             "Celu",
                                             "Selu",
                                             "Gelu",
                                             "Mish",
                                             "Softplus",
                                             "Sigmoid",
                                             "Softsign",
                                             "Reciprocal",
                                             "LeakyRelu",
                                             "PRelu",
                                             "Swish",
                                             "Shrink",
                                             "ThresholdedRelu",
                                             "Range",
                                             "QuantizeLinear",
                                             "DequantizeLinear"};
  return kOps.count(op) > 0;
}

/// The other operands say where elements are, and are no terms of sums.
bool is_placed(const std::string& op) {
  static const std::set<std::string> kOps = {"Resize", "Upsample", "GridSample", "RoiAlign",
                                             "NonMaxSuppression"};
  return kOps.count(op) > 0;
}

double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  return std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : INFINITY;
}

double integer_difference(int64_t a, int64_t b) {
  return a == b ? 0 : std::max(1.0, std::abs(static_cast<double>(a) - static_cast<double>(b)));
}

double difference_at(const Tensor& a, const Tensor& b, int64_t k) {
  return graph::is_float(a.type()) ? difference(a.get_double(k), b.get_double(k))
                                   : integer_difference(a.get_int(k), b.get_int(k));
}

std::string form_of(const Tensor& tensor) {
  return tensor ? fmt::format("{}{}", graph::name_of(tensor.type()), graph::text_of(tensor.shape()))
                : "nothing";
}

} // namespace

double unit_at(DataType type, double x) {
  const double size = std::isfinite(x) ? std::abs(x) : 0;
  switch (type) {
  case DataType::F64:
    return size * 0x1p-52 + 0x1p-1074;
  case DataType::F16:
    return size * 0x1p-10 + 0x1p-24;
  case DataType::BF16:
    return size * 0x1p-7 + 0x1p-133;
  default:
    return size * 0x1p-23 + 0x1p-149;
  }
}

std::vector<ElementDifference> differences(const std::vector<Datum>& got,
                                           const std::vector<Datum>& expected, const Spread& spread,
                                           std::string& form, double part) {
  std::vector<ElementDifference> all;
  for (size_t n = 0; n < expected.size(); ++n) {
    const Tensor &a = got[n].tensor, &b = expected[n].tensor;
    if (!a || a.type() != b.type() || a.shape() != b.shape()) {
      form = fmt::format("output {} is {} instead of {}", n, form_of(a), form_of(b));
      continue;
    }
    for (int64_t k = 0; k < b.elements(); ++k) {
      const double own =
          graph::is_float(b.type()) ? kRoundings * unit_at(b.type(), b.get_double(k)) : 0;
      const double moved = n < spread.size() && static_cast<size_t>(k) < spread[n].size()
                               ? spread[n][static_cast<size_t>(k)]
                               : 0;
      const double most = own + (graph::is_float(b.type()) ? kMoved : 1) * moved;
      if (difference_at(a, b, k) > part * most)
        all.push_back({n, k});
    }
  }
  return all;
}

std::vector<ValueId> session_inputs(const Graph& graph, const graph::Node& node) {
  std::vector<ValueId> all;
  for (const ValueId id : node.inputs)
    if (id != kAbsent && std::count(all.begin(), all.end(), id) == 0 &&
        (graph.initializers.count(id) == 0 || graph::is_float(graph.initializers.at(id).type())))
      all.push_back(id);
  return all;
}

std::unique_ptr<NodeChain> NodeChain::open(const Graph& graph, const Peer& peer) {
  auto chain = std::unique_ptr<NodeChain>(new NodeChain(graph));
  // Types and shapes of the values are taken from a run as it goes, so that sessions are made on
  // the first one.
  for (const graph::Node& node : graph.nodes) {
    Graph alone;
    alone.opsets = graph.opsets;
    alone.name = "node";
    alone.values = graph.values;
    alone.nodes = {node};
    for (const ValueId id : node.inputs)
      if (id != kAbsent && graph.initializers.count(id) > 0 &&
          !graph::is_float(graph.initializers.at(id).type()))
        alone.initializers[id] = graph.initializers.at(id);
    alone.inputs = session_inputs(graph, node);
    for (const ValueId id : alone.inputs)
      if (graph.initializers.count(id) > 0)
        alone.values[id].type = {graph::ValueType::Kind::Tensor, graph.initializers.at(id).type(),
                                 graph::dims_of(graph.initializers.at(id).shape())};
    for (const ValueId id : node.outputs)
      if (id != kAbsent)
        alone.outputs.push_back(id);
    auto session = peer.session(alone);
    if (!session)
      return nullptr;
    chain->sessions_.push_back(*std::move(session));
  }
  return chain;
}

std::vector<Datum> NodeChain::run(const std::vector<Datum>& inputs, const Noise& noise) const {
  std::vector<Datum> data(graph_.values.size());
  for (size_t k = 0; k < graph_.inputs.size(); ++k)
    data[graph_.inputs[k]] = inputs[k];
  for (const auto& [id, tensor] : graph_.initializers)
    data[id].tensor = tensor;
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const graph::Node& node = graph_.nodes[n];
    const bool has_noise = noise && !is_exact(node.op);
    std::vector<Datum> reads;
    for (const ValueId id : session_inputs(graph_, node)) {
      reads.push_back(data[id]);
      if (has_noise && !is_by_elements(node.op) && (!is_placed(node.op) || reads.size() == 1))
        noise(reads.back().tensor, 1);
    }
    auto made = sessions_[n]->run(reads);
    if (!made)
      return {};
    size_t next = 0;
    for (const ValueId id : node.outputs) {
      if (id == kAbsent)
        continue;
      data[id] = (*made)[next++];
      if (has_noise)
        noise(data[id].tensor, 2);
    }
  }
  return data;
}

std::vector<Datum> NodeChain::run(const std::vector<Datum>& inputs) const {
  return run(inputs, nullptr);
}

Spread NodeChain::spread(const std::vector<Datum>& inputs) const {
  const auto base = run(inputs, nullptr);
  Spread all;
  if (base.empty())
    return all;
  for (const ValueId id : graph_.outputs)
    all.emplace_back(static_cast<size_t>(base[id].tensor.elements()), 0.0);
  std::mt19937_64 random(1);
  const Noise noise = [&](Tensor& tensor, double units) {
    if (!graph::is_float(tensor.type()))
      return;
    Tensor moved(tensor.type(), tensor.shape());
    for (int64_t k = 0; k < tensor.elements(); ++k) {
      const double element = tensor.get_double(k);
      const double by = static_cast<double>(random() % 3) - 1;
      moved.set_double(k, element == 0 ? element
                                       : element + by * units * unit_at(tensor.type(), element));
      if (std::isfinite(element) && !std::isfinite(moved.get_double(k)))
        moved.set_double(k, element);
    }
    tensor = moved;
  };
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto moved = run(inputs, noise);
    for (size_t n = 0; n < graph_.outputs.size() && !moved.empty(); ++n) {
      const Tensor &a = moved[graph_.outputs[n]].tensor, &b = base[graph_.outputs[n]].tensor;
      for (size_t k = 0; k < all[n].size() && a.shape() == b.shape(); ++k)
        all[n][k] = std::max(all[n][k], difference_at(a, b, static_cast<int64_t>(k)));
    }
  }
  return all;
}

} // namespace kawara::peers
