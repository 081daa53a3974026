#include "rules/sample.h"

#include "graph/rewrite/match.h"
#include "graph/rewrite/to_graph.h"
#include "rules/evaluate.h"
#include "support/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kawara::rules {
namespace {

using namespace rewrite;
using Integers = std::vector<int64_t>;

struct Random {
  uint64_t state;
  int64_t below(int64_t count) {
    state = hash_mix(state, 1);
    return static_cast<int64_t>(state % static_cast<uint64_t>(count));
  }
  bool is(int percent) { return below(100) < percent; }
};

/// One attempt: variables get shapes and attributes as the left sides are built.
class Attempt {
public:
  explicit Attempt(uint64_t seed) : random_{seed} {
    for (int64_t& extent : palette_)
      extent = 1 + random_.below(3);
  }

  std::optional<Sample> run(const Rule& rule) {
    std::vector<ClassId> roots;
    for (const Pattern& side : rule.left) {
      const auto id = side_of(side, rule.text.find("Conv(") == std::string::npos ? 3 : 4);
      if (!id)
        return std::nullopt;
      roots.push_back(*id);
    }
    if (!holds(terms_.egraph, rule, binding_))
      return std::nullopt;
    for (size_t k = 0; k < rule.right.size(); ++k) {
      const auto id = add_side(terms_.egraph, rule.right[k], binding_, DataType::F32);
      if (!id || terms_.egraph.at(*id).type != terms_.egraph.at(roots[k]).type)
        return std::nullopt;
      roots.push_back(*id);
    }
    for (size_t k = 0; k < roots.size(); ++k) {
      const auto id = static_cast<graph::ValueId>(source_.values.size());
      source_.values.push_back({fmt::format("side_{}", k), {}});
      source_.outputs.push_back(id);
      terms_.classes[id] = roots[k];
    }
    source_.opsets[""] = 17;
    Choice choice;
    choice.node.assign(terms_.egraph.classes().back() + size_t{1}, 0);
    return Sample{graph_from_terms(source_, terms_, choice), rule.right.size()};
  }

private:
  std::optional<ClassId> side_of(const Pattern& pattern, int64_t most_rank) {
    if (pattern.kind == Pattern::Kind::Number)
      return add_side(terms_.egraph, pattern, binding_, DataType::F32);
    if (pattern.kind == Pattern::Kind::Variable)
      return variable(pattern.name, most_rank);
    const bool slides = pattern.name == "Conv" || pattern.name == "MaxPool";
    std::vector<ClassId> operands;
    for (const Pattern& operand : pattern.operands) {
      const auto id = side_of(operand, slides ? 4 : most_rank);
      if (!id)
        return std::nullopt;
      operands.push_back(*id);
    }
    const auto& first = terms_.egraph.at(operands[0]).type;
    if (!choose_attributes(pattern, first->shape))
      return std::nullopt;
    Pattern flat = pattern; // operands are there already
    Binding binding = binding_;
    for (size_t k = 0; k < operands.size(); ++k) {
      flat.operands[k] = Pattern{};
      flat.operands[k].name = "operand" + std::to_string(k);
      binding.tensors[flat.operands[k].name] = operands[k];
    }
    const auto id = add_side(terms_.egraph, flat, binding, DataType::F32);
    if (id && !pattern.as.empty())
      binding_.tensors[pattern.as] = *id;
    return id;
  }

  ClassId variable(const std::string& name, int64_t most_rank) {
    const auto known = binding_.tensors.find(name);
    if (known != binding_.tensors.end())
      return known->second;
    const int64_t rank =
        most_rank == 4 && random_.is(60) ? 4 : random_.below(std::min<int64_t>(most_rank, 3) + 1);
    Shape shape;
    for (int64_t k = 4 - rank; k < 4; ++k)
      shape.push_back(random_.is(65)   ? palette_[static_cast<size_t>(k)]
                      : random_.is(60) ? 1
                                       : 1 + random_.below(3));
    const auto id = static_cast<graph::ValueId>(source_.values.size());
    graph::ValueType type;
    type.elem = DataType::F32;
    type.shape.emplace();
    for (const int64_t extent : shape)
      type.shape->push_back({extent, ""});
    source_.values.push_back({name, type});
    source_.inputs.push_back(id);
    const ClassId made = terms_.egraph.add_opaque(value_name(id), {}, Type{DataType::F32, shape},
                                                  true, std::nullopt);
    terms_.classes[id] = made;
    return binding_.tensors.emplace(name, made).first->second;
  }

  bool choose_attributes(const Pattern& pattern, const Shape& shape) {
    if (!pattern.rest.empty() && binding_.rests.count(pattern.rest) == 0) {
      Attrs others;
      for (const std::string_view name : find_operator_info(pattern.name)->attributes)
        if (std::none_of(pattern.attributes.begin(), pattern.attributes.end(),
                         [&](const auto& given) { return given.name == name; }))
          others[std::string(name)] = any(pattern.name, std::string(name), shape);
      binding_.rests[pattern.rest] = others;
    }
    for (const AttributePattern& attribute : pattern.attributes)
      if (attribute.value.kind == Formula::Kind::Variable &&
          binding_.attributes.count(attribute.value.name) == 0)
        binding_.attributes[attribute.value.name] = any(pattern.name, attribute.name, shape);
    return true;
  }

  Attr any(const std::string& op, const std::string& name, const Shape& shape) {
    const auto rank = static_cast<int64_t>(shape.size());
    if (name == "axis")
      return random_.below(std::max<int64_t>(rank, 1));
    if (name == "keepdims")
      return random_.below(2);
    if (name == "group")
      return 1 + random_.below(2);
    if (name == "perm") {
      Integers order(shape.size());
      std::iota(order.begin(), order.end(), 0);
      for (int64_t k = rank; k > 1; --k)
        std::swap(order[static_cast<size_t>(k - 1)], order[static_cast<size_t>(random_.below(k))]);
      return order;
    }
    Integers list;
    if (name == "axes") {
      for (int64_t k = 0; k < rank; ++k)
        if (random_.is(50))
          list.push_back(k);
      return list;
    }
    if (name == "shape")
      return any_shape(op, shape);
    if (name == "starts" || name == "counts" || name == "steps") {
      for (const int64_t extent : shape)
        list.push_back(name == "starts"   ? random_.below(std::max<int64_t>(extent, 1))
                       : name == "counts" ? 1 + random_.below(std::max<int64_t>(extent, 1))
                                          : 1 + random_.below(10) / 9);
      return list;
    }
    const auto spatial = static_cast<size_t>(std::max<int64_t>(0, rank - 2));
    if (name == "pads")
      for (size_t k = 0; k < 2 * spatial; ++k)
        list.push_back(random_.below(2));
    if (name == "kernel_shape" || name == "strides" || name == "dilations")
      for (size_t k = 0; k < spatial; ++k)
        list.push_back(1 + random_.below(2));
    if (!list.empty())
      return list;
    return 0.25 * static_cast<double>(1 + random_.below(4)); // numbers
  }

  Attr any_shape(const std::string& op, Shape shape) {
    if (op == "Expand") {
      for (int64_t& extent : shape)
        extent = extent == 1 ? 1 + random_.below(3) : extent;
      if (random_.is(50))
        shape.insert(shape.begin(), 2);
      return shape;
    }
    switch (random_.below(4)) {
    case 0:
      std::reverse(shape.begin(), shape.end());
      return shape;
    case 1:
      shape.insert(shape.begin(), 1);
      return shape;
    case 2:
      return Integers{std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>())};
    default:
      return shape;
    }
  }

  Random random_;
  Terms terms_;
  Binding binding_;
  graph::Graph source_;
  int64_t palette_[4] = {};
};

bool needs_positive(const std::string& text) {
  for (const char* word : {"Log(", "Sqrt(", "Pow(", "Div(", "Reciprocal(", "BatchNorm"})
    if (text.find(word) != std::string::npos)
      return true;
  return false;
}

/// Empty when equal within the contract.
std::string difference(const Tensor& a, const Tensor& b, bool is_exact) {
  if (a.shape() != b.shape())
    return "shapes differ";
  double largest = 0;
  for (int64_t k = 0; k < a.elements(); ++k)
    largest = std::max(largest, std::abs(a.get_double(k)));
  for (int64_t k = 0; k < a.elements(); ++k) {
    const double x = a.get_double(k), y = b.get_double(k);
    const bool is_same = x == y || (std::isnan(x) && std::isnan(y)) ||
                         (!is_exact && std::abs(x - y) <= 1e-4 * largest + 1e-6);
    if (!is_same)
      return fmt::format("element {}: {} and {}", k, x, y);
  }
  return "";
}

} // namespace

std::optional<Sample> sample(const Rule& rule, uint64_t seed, int attempts) {
  for (int k = 0; k < attempts; ++k)
    if (auto found = Attempt(hash_mix(seed, static_cast<uint64_t>(k))).run(rule))
      return found;
  return std::nullopt;
}

std::map<graph::ValueId, Tensor> random_inputs(const graph::Graph& graph, uint64_t seed,
                                               bool positive) {
  Random random{seed};
  std::map<graph::ValueId, Tensor> inputs;
  for (const graph::ValueId id : graph.inputs) {
    const graph::ValueType& type = graph.values[id].type;
    Shape shape;
    for (const graph::Dim& dim : *type.shape)
      shape.push_back(*dim.size);
    Tensor tensor(*type.elem, shape);
    for (int64_t k = 0; k < tensor.elements(); ++k)
      tensor.set_double(
          k, 0.125 * static_cast<double>(positive ? 1 + random.below(16) : random.below(33) - 16));
    inputs.emplace(id, std::move(tensor));
  }
  return inputs;
}

NumericCheck check_numerically(const Rule& rule, int samples, uint64_t seed) {
  NumericCheck check;
  for (int k = 0; k < samples; ++k) {
    const uint64_t own = hash_mix(seed, static_cast<uint64_t>(k));
    const auto found = sample(rule, own);
    if (!found) {
      check.failure = "no instance was found";
      return check;
    }
    const auto results =
        evaluate(found->graph, random_inputs(found->graph, own, needs_positive(rule.text)));
    for (size_t side = 0; side < found->sides; ++side) {
      check.failure =
          difference(results[side], results[side + found->sides], rule.needs == Numerics::Exact);
      if (!check.failure.empty()) {
        check.failure += "\n" + graph::print(found->graph);
        return check;
      }
    }
    ++check.agreed;
  }
  return check;
}

} // namespace kawara::rules
