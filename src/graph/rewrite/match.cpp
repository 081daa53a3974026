#include "graph/rewrite/match.h"

#include "graph/rewrite/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

namespace kawara::rewrite {
namespace {

using Integers = std::vector<int64_t>;

/// Formulas over what an e-graph knows: numbers, and symbols that can only be compared.
struct NumberDomain {
  using Int = int64_t;
  using Truth = bool;
  using Other = Attr;
  using Value = FormulaValue<NumberDomain>;
  const EGraph& egraph;
  const Binding& binding;

  Int integer(int64_t value) const { return value; }
  std::optional<int64_t> number(Int value) const {
    return is_symbol(value) ? std::nullopt : std::optional(value);
  }
  std::optional<Int> add(Int a, Int b) const {
    // Nothing added to a symbol leaves it as it is.
    if (a == 0 || b == 0)
      return a + b;
    return is_symbol(a) || is_symbol(b) ? std::nullopt : std::optional(a + b);
  }
  std::optional<Int> subtract(Int a, Int b) const {
    if (a == b)
      return 0;
    return is_symbol(a) || is_symbol(b) ? std::nullopt : std::optional(a - b);
  }
  std::optional<Int> multiply(Int a, Int b) const {
    if (a == 1 || b == 1)
      return a == 1 ? b : a;
    return is_symbol(a) || is_symbol(b) ? std::nullopt : std::optional(a * b);
  }
  Truth equal(Int a, Int b) const { return a == b; }
  Truth equal(const Attr& a, const Attr& b) const { return a == b; }
  Truth less(Int a, Int b) const { return !is_symbol(a) && !is_symbol(b) && a < b; }
  Truth both(Truth a, Truth b) const { return a && b; }
  Truth either(Truth a, Truth b) const { return a || b; }
  Truth negate(Truth a) const { return !a; }
  Truth constant(bool value) const { return value; }
  std::optional<Integers> extents(const std::string& name) const {
    const auto at = binding.tensors.find(name);
    if (at == binding.tensors.end() || !egraph.at(at->second).type)
      return std::nullopt;
    return egraph.at(at->second).type->shape;
  }
  std::optional<Truth> is_constant(const std::string& name) const {
    const auto at = binding.tensors.find(name);
    return at == binding.tensors.end() ? std::nullopt
                                       : std::optional(egraph.at(at->second).is_constant);
  }
  std::optional<Truth> is_float(const std::string& name) const {
    const auto at = binding.tensors.find(name);
    if (at == binding.tensors.end() || !egraph.at(at->second).type)
      return std::nullopt;
    return graph::is_float(egraph.at(at->second).type->elem);
  }
  std::optional<Value> attribute(const std::string& name) const {
    const auto at = binding.attributes.find(name);
    if (at == binding.attributes.end())
      return std::nullopt;
    return value_of(at->second);
  }

  static Value value_of(const Attr& attribute) {
    if (const auto* integer = std::get_if<int64_t>(&attribute))
      return {Value::Kind::Integer, {*integer}, {}, {}};
    if (const auto* list = std::get_if<Integers>(&attribute))
      return {Value::Kind::List, *list, {}, {}};
    return {Value::Kind::Other, {}, {}, attribute};
  }
  static std::optional<Attr> attr_of(const Value& value) {
    if (value.kind == Value::Kind::Integer)
      return value.integers[0];
    if (value.kind == Value::Kind::List)
      return value.integers;
    return value.other;
  }
};

std::optional<Attr> computed(const EGraph& egraph, const Binding& binding, const Formula& formula) {
  NumberDomain domain{egraph, binding};
  const auto value = FormulaEvaluator<NumberDomain>(domain).value(formula);
  return value ? NumberDomain::attr_of(*value) : std::nullopt;
}

/// Proofs are about extents of at least 1; tensors without elements are left alone.
bool is_empty(const Type& type) {
  return std::find(type.shape.begin(), type.shape.end(), 0) != type.shape.end();
}

class Matcher {
public:
  Matcher(const EGraph& egraph, size_t limit) : egraph_(egraph), limit_(limit) {}

  /// Calls for every way to match.
  void match(const Pattern& pattern, ClassId id, const Binding& binding,
             const std::function<void(const Binding&)>& then) {
    id = egraph_.find(id);
    const EClass& values = egraph_.at(id);
    if (!values.type || found_ >= limit_ || is_empty(*values.type))
      return;
    if (pattern.kind == Pattern::Kind::Number) {
      // x - 0 is x; x - -0 makes 0 of -0.
      if (values.number && *values.number == pattern.number &&
          std::signbit(*values.number) == std::signbit(pattern.number))
        then(binding);
      return;
    }
    if (pattern.kind == Pattern::Kind::Variable)
      return match_variable(pattern, id, binding, then);
    const auto op = egraph_.op_of(pattern.name);
    if (!op)
      return;
    Binding named = binding;
    if (!pattern.as.empty())
      named.tensors.emplace(pattern.as, id);
    for (const ENode& node : values.nodes)
      if (node.op == *op && node.operands.size() == pattern.operands.size())
        match_node(pattern, node, named, then);
  }

  bool is_full() const { return found_ >= limit_; }
  void count() { ++found_; }

private:
  void match_variable(const Pattern& pattern, ClassId id, const Binding& binding,
                      const std::function<void(const Binding&)>& then) {
    const auto at = binding.tensors.find(pattern.name);
    if (at != binding.tensors.end()) {
      if (egraph_.find(at->second) == id)
        then(binding);
      return;
    }
    Binding more = binding;
    more.tensors.emplace(pattern.name, id);
    then(more);
  }

  void match_node(const Pattern& pattern, const ENode& node, const Binding& binding,
                  const std::function<void(const Binding&)>& then) {
    Binding more = binding;
    // Formulas of attributes may need operands; plain variables come first, then operands.
    if (!match_attributes(pattern, node, more, true))
      return;
    const auto finish = [&](const Binding& bound) {
      Binding all = bound;
      if (match_attributes(pattern, node, all, false))
        then(all);
    };
    match_operands(pattern, node, 0, more, finish);
    const OperatorInfo* info = find_operator_info(pattern.name);
    if (info->is_commutative && node.operands[0] != node.operands[1]) {
      ENode swapped = node;
      std::swap(swapped.operands[0], swapped.operands[1]);
      match_operands(pattern, swapped, 0, more, finish);
    }
  }

  void match_operands(const Pattern& pattern, const ENode& node, size_t k, const Binding& binding,
                      const std::function<void(const Binding&)>& then) {
    if (k == pattern.operands.size())
      return then(binding);
    match(pattern.operands[k], node.operands[k], binding,
          [&](const Binding& bound) { match_operands(pattern, node, k + 1, bound, then); });
  }

  bool match_attributes(const Pattern& pattern, const ENode& node, Binding& binding,
                        bool only_variables) {
    const Attrs& given = egraph_.attributes(node.attributes);
    for (const AttributePattern& attribute : pattern.attributes) {
      const auto at = given.find(attribute.name);
      if (at == given.end())
        return false;
      const bool is_variable = attribute.value.kind == Formula::Kind::Variable;
      if (is_variable != only_variables)
        continue;
      if (is_variable) {
        const auto [bound, is_new] = binding.attributes.emplace(attribute.value.name, at->second);
        if (!is_new && bound->second != at->second)
          return false;
      } else if (computed(egraph_, binding, attribute.value) != at->second) {
        return false;
      }
    }
    if (!only_variables || pattern.rest.empty())
      return true;
    Attrs others = given;
    for (const AttributePattern& attribute : pattern.attributes)
      others.erase(attribute.name);
    const auto [bound, is_new] = binding.rests.emplace(pattern.rest, others);
    return is_new || bound->second == others;
  }

  const EGraph& egraph_;
  size_t limit_;
  size_t found_ = 0;
};

/// Does a pattern compute, or only move elements?
bool only_moves(const Pattern& pattern) {
  if (pattern.kind == Pattern::Kind::Number)
    return false;
  if (pattern.kind == Pattern::Kind::Operator &&
      find_operator_info(pattern.name)->kind != Kind::Move)
    return false;
  return std::all_of(pattern.operands.begin(), pattern.operands.end(), only_moves);
}

} // namespace

std::vector<Binding> bindings(const EGraph& egraph, const Pattern& pattern, ClassId root,
                              const Binding& given, size_t limit) {
  std::vector<Binding> found;
  Matcher matcher(egraph, limit);
  matcher.match(pattern, root, given, [&](const Binding& binding) {
    if (!matcher.is_full())
      found.push_back(binding);
    matcher.count();
  });
  return found;
}

bool holds(const EGraph& egraph, const Rule& rule, const Binding& binding) {
  NumberDomain domain{egraph, binding};
  for (const Formula& condition : rule.conditions)
    if (!FormulaEvaluator<NumberDomain>(domain).truth(condition).value_or(false))
      return false;
  return true;
}

std::vector<Match> matches(const EGraph& egraph, const Rule& rule, size_t limit) {
  std::vector<Match> found;
  std::vector<OpId> ops;
  for (const Pattern& side : rule.left) {
    const auto op = egraph.op_of(side.name);
    if (!op)
      return found;
    ops.push_back(*op);
  }
  // Proofs are about real numbers, and operators need not exist for other types: there elements
  // only move.
  const bool any_type = std::all_of(rule.left.begin(), rule.left.end(), only_moves) &&
                        std::all_of(rule.right.begin(), rule.right.end(), only_moves);
  for (const ClassId first : egraph.with_op(ops[0])) {
    const Type* type = egraph.at(first).type ? &*egraph.at(first).type : nullptr;
    if (!type || (!any_type && !graph::is_float(type->elem)))
      continue;
    for (const Binding& binding : bindings(egraph, rule.left[0], first, {}, limit)) {
      if (rule.left.size() == 1) {
        if (holds(egraph, rule, binding))
          found.push_back({{first}, binding});
      } else {
        for (const ClassId second : egraph.with_op(ops[1]))
          if (second > first)
            for (const Binding& both : bindings(egraph, rule.left[1], second, binding, limit))
              if (holds(egraph, rule, both))
                found.push_back({{first, second}, both});
      }
      if (found.size() >= limit)
        return found;
    }
  }
  return found;
}

std::optional<ClassId> add_side(EGraph& egraph, const Pattern& pattern, const Binding& binding,
                                DataType elem) {
  if (pattern.kind == Pattern::Kind::Variable)
    return egraph.find(binding.tensors.at(pattern.name));
  if (pattern.kind == Pattern::Kind::Number) {
    double value = pattern.number;
    if (!pattern.name.empty()) {
      const auto* real = std::get_if<double>(&binding.attributes.at(pattern.name));
      if (!real)
        return std::nullopt;
      value = *real;
    }
    return egraph.add_opaque(number_name(elem, value), {}, Type{elem, {}}, true, value);
  }
  std::vector<ClassId> operands;
  for (const Pattern& operand : pattern.operands) {
    const auto id = add_side(egraph, operand, binding, elem);
    if (!id)
      return std::nullopt;
    operands.push_back(*id);
  }
  Attrs attributes;
  if (!pattern.rest.empty())
    attributes = binding.rests.at(pattern.rest);
  for (const AttributePattern& attribute : pattern.attributes) {
    auto value = computed(egraph, binding, attribute.value);
    if (!value)
      return std::nullopt;
    attributes[attribute.name] = std::move(*value);
  }
  return egraph.add(pattern.name, attributes, std::move(operands));
}

std::string number_name(DataType elem, double value) {
  return fmt::format("number:{}:{:.17g}", static_cast<int>(elem), value);
}

std::optional<std::pair<DataType, double>> number_from_name(const std::string& name) {
  if (name.rfind("number:", 0) != 0)
    return std::nullopt;
  char* end = nullptr;
  const auto elem = static_cast<DataType>(std::strtol(name.c_str() + 7, &end, 10));
  return std::pair{elem, std::strtod(end + 1, nullptr)};
}

} // namespace kawara::rewrite
