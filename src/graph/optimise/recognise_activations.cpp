#include "graph/optimise/edit.h"
#include "graph/optimise/passes.h"

#include <cmath>

namespace kawara::graph::optimise {
namespace {

bool is_near(double a, double b) { return std::abs(a - b) <= 2e-4 * std::abs(b); }

/// A product written out: a number times values. Quotients by numbers count as products.
struct Factors {
  double number = 1;
  std::vector<ValueId> values;
  std::vector<size_t> nodes; ///< that make it
};

/// Opens products as long as only the product above reads them; the value itself is opened always.
void collect_factors(const Edit& edit, ValueId id, bool is_top, Factors& out) {
  if (const auto number = edit.number(id)) {
    out.number *= *number;
    return;
  }
  const auto at = edit.maker(id);
  const bool is_open = at && (is_top || edit.is_private(id)) && edit.node(*at).inputs.size() == 2;
  if (is_open && is_op(edit.node(*at), "Mul")) {
    out.nodes.push_back(*at);
    collect_factors(edit, edit.node(*at).inputs[0], false, out);
    collect_factors(edit, edit.node(*at).inputs[1], false, out);
    return;
  }
  if (is_open && is_op(edit.node(*at), "Div"))
    if (const auto number = edit.number(edit.node(*at).inputs[1])) {
      out.nodes.push_back(*at);
      out.number /= *number;
      collect_factors(edit, edit.node(*at).inputs[0], false, out);
      return;
    }
  out.values.push_back(id);
}

Factors factors_of(const Edit& edit, ValueId id, bool is_top = false) {
  Factors out;
  collect_factors(edit, id, is_top, out);
  return out;
}

/// The node that makes `id`, if it is `op` and only one node reads its result.
std::optional<size_t> private_maker(const Edit& edit, ValueId id, std::string_view op) {
  return edit.is_private(id) && edit.maker_named(id, op) ? edit.maker(id) : std::nullopt;
}

/// id = number + value: the value.
std::optional<ValueId> plus(const Edit& edit, size_t node, double number) {
  const auto& inputs = edit.node(node).inputs;
  for (const size_t k : {size_t{0}, size_t{1}})
    if (const auto given = edit.number(inputs[k]); given && is_near(*given, number))
      return inputs[1 - k];
  return std::nullopt;
}

struct Found {
  Node node;
  std::vector<size_t> nodes; ///< whose work it does
};

/// x * sigmoid(x), x * hard_sigmoid(x).
std::optional<Found> gated(const Edit& edit, const Factors& product) {
  if (product.values.size() != 2 || product.number != 1)
    return std::nullopt;
  for (const size_t k : {size_t{0}, size_t{1}}) {
    const ValueId x = product.values[k], gate = product.values[1 - k];
    for (const char* op : {"Sigmoid", "HardSigmoid"}) {
      const auto at = private_maker(edit, gate, op);
      if (!at || edit.node(*at).inputs[0] != x)
        continue;
      const bool is_hard = std::string_view(op) == "HardSigmoid";
      if (is_hard && (!is_near(real_of(edit.node(*at), "alpha", 0.2), 1.0 / 6) ||
                      !is_near(real_of(edit.node(*at), "beta", 0.5), 0.5)))
        continue;
      Found found{{"", is_hard ? "HardSwish" : "Swish", "", {x}, {}, {}}, product.nodes};
      found.nodes.push_back(*at);
      return found;
    }
  }
  return std::nullopt;
}

/// Bounds of a Clip that are numbers.
std::optional<std::pair<double, double>> bounds_of(const Edit& edit, const Node& clip) {
  if (version_of(edit.graph()) < 11)
    return std::pair{real_of(clip, "min", -INFINITY), real_of(clip, "max", INFINITY)};
  if (clip.inputs.size() != 3 || clip.inputs[1] == kAbsent || clip.inputs[2] == kAbsent)
    return std::nullopt;
  const auto low = edit.number(clip.inputs[1]), high = edit.number(clip.inputs[2]);
  return low && high ? std::optional(std::pair{*low, *high}) : std::nullopt;
}

/// clip(x + 3, 0, 6) / 6, and that times x.
std::optional<Found> hard(const Edit& edit, const Factors& product) {
  if (!is_near(product.number, 1.0 / 6) || product.values.empty() || product.values.size() > 2)
    return std::nullopt;
  for (size_t k = 0; k < product.values.size(); ++k) {
    const auto clip = private_maker(edit, product.values[k], "Clip");
    if (!clip || bounds_of(edit, edit.node(*clip)) != std::pair{0.0, 6.0})
      continue;
    const auto sum = private_maker(edit, edit.node(*clip).inputs[0], "Add");
    const auto x = sum ? plus(edit, *sum, 3) : std::nullopt;
    if (!x || (product.values.size() == 2 && product.values[1 - k] != *x))
      continue;
    Found found{{"", product.values.size() == 2 ? "HardSwish" : "HardSigmoid", "", {*x}, {}, {}},
                product.nodes};
    if (product.values.size() == 1)
      found.node.attributes = {{"alpha", 1.0 / 6}, {"beta", 0.5}};
    found.nodes.insert(found.nodes.end(), {*clip, *sum});
    return found;
  }
  return std::nullopt;
}

/// erf(x / sqrt(2)), or tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)); the nodes are added.
bool is_gelu_argument(const Edit& edit, ValueId id, ValueId x, bool& is_tanh,
                      std::vector<size_t>& nodes) {
  const auto erf = private_maker(edit, id, "Erf"), tanh = private_maker(edit, id, "Tanh");
  is_tanh = tanh.has_value();
  if (!erf && !tanh)
    return false;
  const size_t at = erf ? *erf : *tanh;
  nodes.push_back(at);
  const Factors inner = factors_of(edit, edit.node(at).inputs[0]);
  nodes.insert(nodes.end(), inner.nodes.begin(), inner.nodes.end());
  if (inner.values.size() != 1)
    return false;
  if (erf)
    return inner.values[0] == x && is_near(inner.number, std::sqrt(0.5));
  const auto sum = private_maker(edit, inner.values[0], "Add");
  if (!sum || !is_near(inner.number, std::sqrt(2 / M_PI)))
    return false;
  nodes.push_back(*sum);
  for (const size_t k : {size_t{0}, size_t{1}}) {
    if (edit.node(*sum).inputs[k] != x)
      continue;
    const Factors cube = factors_of(edit, edit.node(*sum).inputs[1 - k]);
    nodes.insert(nodes.end(), cube.nodes.begin(), cube.nodes.end());
    if (!is_near(cube.number, 0.044715))
      continue;
    if (cube.values == std::vector<ValueId>{x, x, x})
      return true;
    const auto power =
        cube.values.size() == 1 ? private_maker(edit, cube.values[0], "Pow") : std::nullopt;
    if (!power || edit.node(*power).inputs[0] != x || edit.number(edit.node(*power).inputs[1]) != 3)
      continue;
    nodes.push_back(*power);
    return true;
  }
  return false;
}

/// 0.5 * x * (1 + erf(...)).
std::optional<Found> gelu(const Edit& edit, const Factors& product) {
  if (product.values.size() != 2 || !is_near(product.number, 0.5))
    return std::nullopt;
  for (const size_t k : {size_t{0}, size_t{1}}) {
    const ValueId x = product.values[k];
    const auto sum = private_maker(edit, product.values[1 - k], "Add");
    const auto inner = sum ? plus(edit, *sum, 1) : std::nullopt;
    bool is_tanh = false;
    std::vector<size_t> nodes = product.nodes;
    if (!inner || !is_gelu_argument(edit, *inner, x, is_tanh, nodes))
      continue;
    nodes.push_back(*sum);
    Found found{{"", "Gelu", "", {x}, {}, {}}, std::move(nodes)};
    found.node.attributes["approximate"] = std::string(is_tanh ? "tanh" : "none");
    return found;
  }
  return std::nullopt;
}

/// A pattern that ends in node `n`.
std::optional<Found> activation_at(const Edit& edit, size_t n) {
  const Node& node = edit.node(n);
  if ((!is_op(node, "Mul") && !is_op(node, "Div")) || node.outputs.empty())
    return std::nullopt;
  const Factors product = factors_of(edit, node.outputs[0], true);
  if (auto found = gated(edit, product))
    return found;
  if (auto found = gelu(edit, product))
    return found;
  return hard(edit, product);
}

} // namespace

Graph recognise_activations(Graph graph, const Evaluate&) {
  Edit edit(std::move(graph));
  // From the end: what is largest is found first.
  for (size_t n = edit.nodes(); n-- > 0;) {
    if (edit.is_removed(n))
      continue;
    auto found = activation_at(edit, n);
    if (!found)
      continue;
    found->node.name = edit.node(n).name;
    found->node.outputs = edit.node(n).outputs;
    for (const size_t member : found->nodes)
      if (member != n && !edit.is_removed(member))
        edit.remove(member);
    edit.set(n, std::move(found->node));
  }
  return std::move(edit).done();
}

} // namespace kawara::graph::optimise
