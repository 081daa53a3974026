#include "rules/generate.h"

#include "graph/rewrite/from_graph.h"
#include "graph/rewrite/match.h"
#include "graph/rewrite/saturate.h"
#include "graph/rewrite/to_node.h"
#include "rules/evaluate.h"
#include "rules/proof.h"
#include "support/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace kawara::rules {
namespace {

using namespace rewrite;

/// A graph that was built: as a pattern, as a class of the e-graph, and its value.
struct Built {
  Pattern pattern;
  ClassId id = 0;
  int operators = 0;
  std::string value; ///< type, shape and elements
};

Pattern variable(const std::string& name) {
  Pattern pattern;
  pattern.name = name;
  return pattern;
}

Pattern applied(const std::string& op, std::vector<Pattern> operands,
                std::vector<AttributePattern> attributes) {
  Pattern pattern;
  pattern.kind = Pattern::Kind::Operator;
  pattern.name = op;
  pattern.operands = std::move(operands);
  pattern.attributes = std::move(attributes);
  return pattern;
}

Formula integer(int64_t value) { return {Formula::Kind::Integer, value, "", {}}; }
Formula list(const std::vector<int64_t>& values) {
  Formula formula{Formula::Kind::List, 0, "", {}};
  for (const int64_t value : values)
    formula.parts.push_back(integer(value));
  return formula;
}

/// The operators with the attributes that they are tried with.
std::vector<Pattern> menu(const std::vector<std::string>& operators) {
  std::vector<Pattern> all;
  const Pattern x = variable("x"), y = variable("y");
  for (const std::string& op : operators) {
    const OperatorInfo* info = find_operator_info(op);
    if (!info)
      continue;
    if (op == "Transpose")
      all.push_back(applied(op, {x}, {{"perm", list({1, 0})}}));
    else if (op == "Concat")
      for (const int64_t axis : {0, 1})
        all.push_back(applied(op, {x, y}, {{"axis", integer(axis)}}));
    else if (info->kind == Kind::Reduce)
      for (const int64_t axis : {0, 1})
        all.push_back(applied(op, {x}, {{"axes", list({axis})}, {"keepdims", integer(1)}}));
    else if (info->attributes.empty())
      all.push_back(applied(op, info->least == 1 ? std::vector{x} : std::vector{x, y}, {}));
  }
  return all;
}

void add_variables(const Pattern& pattern, std::vector<std::string>& names) {
  if (pattern.kind == Pattern::Kind::Variable &&
      std::find(names.begin(), names.end(), pattern.name) == names.end())
    names.push_back(pattern.name);
  for (const Pattern& operand : pattern.operands)
    add_variables(operand, names);
}

void rename(Pattern& pattern, const std::vector<std::string>& order) {
  if (pattern.kind == Pattern::Kind::Variable) {
    const auto at = std::find(order.begin(), order.end(), pattern.name) - order.begin();
    pattern.name = std::string(1, "xyzwuv"[at]);
  }
  for (Pattern& operand : pattern.operands)
    rename(operand, order);
}

class Generator {
public:
  explicit Generator(const GenerateOptions& options) : options_(options), known_(options.known) {}

  Generated run() {
    build_all();
    result_.terms = built_.size();
    say(fmt::format("{} graphs built and evaluated", built_.size()));
    saturate_known();
    judge_candidates();
    return std::move(result_);
  }

private:
  void say(const std::string& line) const {
    if (options_.progress)
      options_.progress(line);
  }

  void build_all() {
    graph_.opsets[""] = 17;
    for (int k = 0; k < options_.inputs; ++k)
      add_input(std::string(1, static_cast<char>('a' + k)));
    const std::vector<Pattern> operators = menu(options_.operators);
    for (int count = 1; count <= options_.most_operators; ++count) {
      const size_t size = built_.size();
      for (const Pattern& op : operators)
        for (size_t first = 0; first < size; ++first) {
          if (op.operands.size() == 1) {
            if (built_[first].operators + 1 == count)
              build(op, {first});
            continue;
          }
          for (size_t second = 0; second < size; ++second)
            if (built_[first].operators + built_[second].operators + 1 == count)
              build(op, {first, second});
        }
      say(fmt::format("{} operators: {} graphs", count, built_.size()));
    }
  }

  void add_input(const std::string& name) {
    const Shape shape{2, 2};
    const auto id = static_cast<graph::ValueId>(graph_.values.size());
    graph::ValueType type;
    type.elem = DataType::F64;
    type.shape = std::vector<graph::Dim>{{2, ""}, {2, ""}};
    graph_.values.push_back({name, type});
    graph_.inputs.push_back(id);
    Tensor tensor(DataType::F64, shape);
    for (int64_t k = 0; k < tensor.elements(); ++k) {
      state_ = hash_mix(state_ ^ options_.seed, static_cast<uint64_t>(k));
      tensor.set_double(k, static_cast<double>(static_cast<int64_t>(state_ % 41) - 20));
    }
    const ClassId made = terms_.egraph.add_opaque(value_name(id), {}, Type{DataType::F64, shape},
                                                  false, std::nullopt);
    terms_.classes[id] = made;
    binding_.tensors[name] = made;
    tensors_[made] = tensor;
    built_.push_back({variable(name), made, 0, text_of_value(tensor)});
  }

  static std::string text_of_value(const Tensor& tensor) {
    std::string text = graph::text_of(tensor.shape());
    for (int64_t k = 0; k < tensor.elements(); ++k)
      text += fmt::format(" {}", tensor.get_double(k));
    return text;
  }

  void build(const Pattern& op, const std::vector<size_t>& from) {
    if (built_.size() >= options_.most_terms)
      return;
    Pattern whole = op;
    for (size_t k = 0; k < from.size(); ++k)
      whole.operands[k] = built_[from[k]].pattern;
    const auto id = add_side(terms_.egraph, whole, binding_, DataType::F64);
    if (!id || !seen_.insert(*id).second)
      return;
    int operators = 1;
    for (const size_t k : from)
      operators += built_[k].operators;
    const Tensor value = computed(op, from, *id);
    tensors_[*id] = value;
    built_.push_back({std::move(whole), *id, operators, text_of_value(value)});
  }

  /// One node on values that are there.
  Tensor computed(const Pattern& op, const std::vector<size_t>& from, ClassId id) {
    graph::Graph small;
    small.opsets[""] = 17;
    std::map<graph::ValueId, Tensor> inputs;
    std::vector<graph::ValueId> operands;
    for (const size_t k : from) {
      const auto value = static_cast<graph::ValueId>(small.values.size());
      small.values.push_back({fmt::format("v{}", value), {}});
      small.inputs.push_back(value);
      operands.push_back(value);
      inputs.emplace(value, tensors_.at(built_[k].id));
    }
    const auto result = static_cast<graph::ValueId>(small.values.size());
    small.values.push_back({"result", {}});
    const ENode& node = terms_.egraph.at(id).nodes[0];
    graph::Node written =
        node_from_term(op.name, terms_.egraph.attributes(node.attributes), operands,
                       *terms_.egraph.at(id).type, 17, [&](Tensor tensor) {
                         const auto constant = static_cast<graph::ValueId>(small.values.size());
                         small.values.push_back({fmt::format("c{}", constant), {}});
                         small.initializers.emplace(constant, std::move(tensor));
                         return constant;
                       });
    written.outputs = {result};
    small.nodes.push_back(std::move(written));
    small.outputs = {result};
    return evaluate(small, inputs)[0];
  }

  void saturate_known() {
    Limits limits;
    limits.nodes = 4 * built_.size() + 2'000;
    limits.iterations = 3;
    limits.matches = 20'000;
    limits.joint_iterations = 0;
    saturate(terms_.egraph, known_, Numerics::Rounding, limits);
  }

  bool is_known(const Built& a, const Built& b) const {
    return terms_.egraph.find(a.id) == terms_.egraph.find(b.id);
  }

  /// Pairs of equal value, the smallest first.
  void judge_candidates() {
    std::map<std::string, std::vector<size_t>> by_value;
    for (size_t k = 0; k < built_.size(); ++k)
      by_value[built_[k].value].push_back(k);
    std::vector<std::pair<size_t, size_t>> pairs;
    for (const auto& [value, group] : by_value)
      for (size_t k = 1; k < group.size(); ++k)
        pairs.push_back({group[k], group[0]});
    std::stable_sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) {
      return built_[a.first].operators + built_[a.second].operators <
             built_[b.first].operators + built_[b.second].operators;
    });
    for (const auto& [more, less] : pairs)
      judge(built_[more], built_[less]);
  }

  void judge(const Built& from, const Built& to) {
    Rule rule;
    rule.left = {from.pattern};
    rule.right = {to.pattern};
    if (from.operators == 0)
      return;
    std::vector<std::string> names, right;
    add_variables(rule.left[0], names);
    add_variables(rule.right[0], right);
    for (const std::string& name : right)
      if (std::find(names.begin(), names.end(), name) == names.end())
        return; // equal by chance
    rename(rule.left[0], names);
    rename(rule.right[0], names);
    if (!judged_.insert(text_of(rule)).second)
      return;
    ++result_.candidates;
    if (is_known(from, to)) {
      ++result_.implied;
      return;
    }
    if (!prove_any(rule, names.size())) {
      ++result_.rejected;
      say("rejected  " + text_of(rule));
      return;
    }
    rule.name = fmt::format("generated_{}", result_.rules.size() + 1);
    say("proved    " + text_of(rule));
    known_.push_back(rule);
    result_.rules.push_back(std::move(rule));
    saturate_known();
  }

  /// First bit by bit and for all shapes, then with less.
  bool prove_any(Rule& rule, size_t variables) {
    const auto call = [](const char* f, std::vector<Formula> parts) {
      return Formula{Formula::Kind::Call, 0, f, std::move(parts)};
    };
    const auto name = [](size_t k) {
      return Formula{Formula::Kind::Variable, 0, std::string(1, "xyzwuv"[k]), {}};
    };
    std::vector<Formula> ranks, shapes;
    for (size_t k = 0; k < variables; ++k) {
      ranks.push_back(call("==", {call("rank", {name(k)}), integer(2)}));
      shapes.push_back(ranks.back());
      if (k > 0)
        shapes.push_back(call("==", {call("dims", {name(k)}), call("dims", {name(0)})}));
    }
    for (const auto& conditions : {ranks, shapes})
      for (const Numerics needs : {Numerics::Exact, Numerics::Rounding}) {
        rule.conditions = conditions;
        rule.needs = needs;
        if (prove(rule).is_proved)
          return true;
      }
    return false;
  }

  const GenerateOptions& options_;
  std::vector<Rule> known_;
  graph::Graph graph_;
  Terms terms_;
  Binding binding_;
  std::map<ClassId, Tensor> tensors_;
  std::vector<Built> built_;
  std::set<ClassId> seen_;
  std::set<std::string> judged_;
  uint64_t state_ = 7;
  Generated result_;
};

} // namespace

Generated generate(const GenerateOptions& options) { return Generator(options).run(); }

std::string print(const Generated& generated) {
  std::string text = fmt::format(
      "# {} graphs, {} candidates: {} implied, {} rejected, {} proved.\n", generated.terms,
      generated.candidates, generated.implied, generated.rejected, generated.rules.size());
  for (const Rule& rule : generated.rules)
    text += fmt::format("\nrule {} {}\n  {}\n", rule.name, name_of(rule.needs), text_of(rule));
  return text;
}

} // namespace kawara::rules
