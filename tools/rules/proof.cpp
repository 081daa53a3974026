#include "rules/proof.h"

#include "graph/rewrite/formula.h"
#include "graph/rewrite/term.h"
#include "rules/symbolic_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace kawara::rules {
namespace {

using rewrite::Formula;
using rewrite::Pattern;
using rewrite::Rule;

/// Runs through all sequences of choices, the last one fastest.
class Choices {
public:
  size_t choose(size_t count) {
    if (next_ == taken_.size())
      taken_.push_back({0, count});
    return taken_[next_++].first;
  }
  /// False after the last sequence.
  bool advance() {
    taken_.resize(next_);
    next_ = 0;
    while (!taken_.empty() && taken_.back().first + 1 >= taken_.back().second)
      taken_.pop_back();
    if (taken_.empty())
      return false;
    ++taken_.back().first;
    return true;
  }

private:
  std::vector<std::pair<size_t, size_t>> taken_;
  size_t next_ = 0;
};

/// What variables stand for in one instance.
struct Instance {
  std::map<std::string, SymbolicTensor> tensors;
  std::map<std::string, SymbolicAttribute> attributes;
  std::map<std::string, SymbolicAttributes> rests;
};

/// Formulas over symbols.
struct SymbolDomain {
  using Int = z3::expr;
  using Truth = z3::expr;
  using Other = z3::expr;
  using Value = rewrite::FormulaValue<SymbolDomain>;
  z3::context& context;
  const Instance& instance;

  Int integer(int64_t value) const { return context.int_val(value); }
  std::optional<int64_t> number(const Int& value) const {
    const z3::expr plain = value.simplify();
    return plain.is_numeral() ? std::optional(plain.get_numeral_int64()) : std::nullopt;
  }
  std::optional<Int> add(const Int& a, const Int& b) const { return (a + b).simplify(); }
  std::optional<Int> subtract(const Int& a, const Int& b) const { return (a - b).simplify(); }
  std::optional<Int> multiply(const Int& a, const Int& b) const { return (a * b).simplify(); }
  Truth equal(const Int& a, const Int& b) const { return a == b; }
  Truth less(const Int& a, const Int& b) const { return a < b; }
  Truth both(const Truth& a, const Truth& b) const { return a && b; }
  Truth either(const Truth& a, const Truth& b) const { return a || b; }
  Truth negate(const Truth& a) const { return !a; }
  Truth constant(bool value) const { return context.bool_val(value); }
  std::optional<Exprs> extents(const std::string& name) const {
    const auto at = instance.tensors.find(name);
    return at == instance.tensors.end() ? std::nullopt : std::optional(at->second.extents);
  }
  // Where a value comes from does not change what it is.
  std::optional<Truth> is_constant(const std::string&) const { return context.bool_val(true); }
  std::optional<Truth> is_float(const std::string&) const { return context.bool_val(true); }
  std::optional<Value> attribute(const std::string& name) const {
    const auto at = instance.attributes.find(name);
    if (at == instance.attributes.end())
      return std::nullopt;
    switch (at->second.kind) {
    case SymbolicAttribute::Kind::Integer:
      return Value{Value::Kind::Integer, at->second.values, {}, {}};
    case SymbolicAttribute::Kind::List:
      return Value{Value::Kind::List, at->second.values, {}, {}};
    case SymbolicAttribute::Kind::Real:
      return Value{Value::Kind::Other, {}, {}, at->second.values[0]};
    }
    return std::nullopt;
  }
};

class InstanceProof {
public:
  InstanceProof(const Rule& rule, Choices& choices, z3::context& context, unsigned timeout_ms)
      : rule_(rule), choices_(choices),
        prover_(context,
                rule.needs == rewrite::Numerics::Exact ? Arithmetic::Uninterpreted
                                                       : Arithmetic::Real,
                timeout_ms),
        operators_(prover_, [this](size_t count) { return choices_.choose(count); }) {}

  /// Throws NoInstance.
  bool run() {
    std::vector<SymbolicTensor> left, right;
    for (const Pattern& side : rule_.left)
      left.push_back(tensor(side, true, plain_ranks()));
    if (assume_conditions() < rule_.conditions.size())
      throw NoInstance{};
    for (const Pattern& side : rule_.right)
      right.push_back(tensor(side, false, plain_ranks()));
    for (size_t k = 0; k < left.size(); ++k) {
      if (left[k].rank() != right[k].rank())
        throw NoInstance{};
      for (size_t d = 0; d < left[k].rank(); ++d)
        prover_.assume(left[k].extents[d] == right[k].extents[d]);
    }
    if (prover_.is_contradiction())
      throw NoInstance{};
    for (size_t k = 0; k < left.size(); ++k) {
      const Exprs index = operators_.generic_index(left[k].extents);
      if (!prover_.is_equal(left[k].at({index, left[k].extents}),
                            right[k].at({index, right[k].extents})))
        return false;
    }
    return true;
  }

  std::string text() const {
    std::string all;
    for (const auto& [name, tensor] : instance_.tensors)
      all += fmt::format("{}{} of rank {}", all.empty() ? "" : ", ", name, tensor.rank());
    for (const auto& [name, attribute] : instance_.attributes) {
      all += ", " + name + " =";
      for (const z3::expr& value : attribute.values)
        all += " " + value.to_string();
    }
    return all;
  }

private:
  using Ranks = std::vector<size_t>;

  z3::expr extent(const std::string& name) {
    const z3::expr fresh = prover_.fresh_integer(name);
    prover_.assume(fresh >= 1);
    return fresh;
  }

  /// Assumes the conditions whose variables are bound, and says how many these are. Done as soon as
  /// possible: it saves cases that cannot be.
  size_t assume_conditions() {
    size_t known = 0;
    for (const Formula& condition : rule_.conditions) {
      SymbolDomain domain{prover_.context(), instance_};
      const auto truth = rewrite::FormulaEvaluator<SymbolDomain>(domain).truth(condition);
      if (!truth)
        continue;
      ++known;
      const z3::expr plain = truth->simplify();
      if (plain.is_false())
        throw NoInstance{};
      if (!plain.is_true())
        prover_.assume(plain);
    }
    if (known > 0 && prover_.is_contradiction())
      throw NoInstance{};
    return known;
  }

  /// Ranks where no operator asks for others. Broadcasting treats every dimension alike and for
  /// itself, so rules of several operands are tried on few.
  Ranks plain_ranks() const {
    std::set<std::string> names;
    for (const Pattern& side : rule_.left)
      add_variables(side, names);
    if (rule_.text.find("Conv(") != std::string::npos)
      return {0, 3, 4};
    return names.size() > 2 ? Ranks{0, 1} : names.size() == 2 ? Ranks{0, 1, 2} : Ranks{0, 1, 2, 3};
  }
  static void add_variables(const Pattern& pattern, std::set<std::string>& names) {
    if (pattern.kind == Pattern::Kind::Variable)
      names.insert(pattern.name);
    for (const Pattern& operand : pattern.operands)
      add_variables(operand, names);
  }

  /// Ranks that the operands of an operator may have.
  static Ranks ranks_of(const std::string& op, size_t operand, const Ranks& otherwise) {
    if (op == "Conv")
      return operand == 2 ? Ranks{1} : Ranks{4};
    if (op == "MaxPool")
      return {4};
    if (op == "BatchNormalization")
      return operand > 0 ? Ranks{1} : Ranks{2, 4};
    if (op == "MatMul")
      return {2, 3};
    if (op == "Concat" || op == "Softmax" || op.rfind("Reduce", 0) == 0)
      return {1, 2, 3};
    if (op == "Expand")
      return {0, 1, 2};
    if (op == "Transpose" || op == "Slice" || op == "Reshape")
      return otherwise == Ranks{4} ? otherwise : Ranks{1, 2, 3};
    Ranks ranks = otherwise;
    // A number beside a matrix.
    if (rewrite::find_operator_info(op)->kind == rewrite::Kind::Binary && ranks[0] != 0)
      ranks.insert(ranks.begin(), 0);
    return ranks;
  }

  SymbolicTensor tensor(const Pattern& pattern, bool is_left, const Ranks& ranks) {
    if (pattern.kind == Pattern::Kind::Variable) {
      const auto known = instance_.tensors.find(pattern.name);
      if (known != instance_.tensors.end())
        return known->second;
      const size_t rank = ranks[choices_.choose(ranks.size())];
      Exprs extents;
      for (size_t k = 0; k < rank; ++k)
        extents.push_back(extent(pattern.name + std::to_string(k)));
      const auto made =
          instance_.tensors.emplace(pattern.name, operators_.unknown("T_" + pattern.name, extents));
      assume_conditions();
      return made.first->second;
    }
    if (pattern.kind == Pattern::Kind::Number) {
      if (!pattern.name.empty())
        return operators_.number(instance_.attributes.at(pattern.name).values[0]);
      const SymbolicValue value = prover_.number(pattern.number);
      return operators_.number(prover_.expression(value));
    }
    std::vector<SymbolicTensor> operands;
    for (size_t k = 0; k < pattern.operands.size(); ++k)
      operands.push_back(tensor(pattern.operands[k], is_left, ranks_of(pattern.name, k, ranks)));
    const SymbolicAttributes attributes = attributes_of(pattern, operands, is_left);
    SymbolicTensor result = operators_.apply(pattern.name, attributes, std::move(operands));
    if (!pattern.as.empty())
      instance_.tensors.insert_or_assign(pattern.as, result);
    return result;
  }

  SymbolicAttribute computed(const Formula& formula) {
    SymbolDomain domain{prover_.context(), instance_};
    const auto value = rewrite::FormulaEvaluator<SymbolDomain>(domain).value(formula);
    using Kind = SymbolDomain::Value::Kind;
    if (!value || value->kind == Kind::Truth)
      throw NoInstance{};
    if (value->kind == Kind::Other)
      return {SymbolicAttribute::Kind::Real, {*value->other}};
    return {value->kind == Kind::List ? SymbolicAttribute::Kind::List
                                      : SymbolicAttribute::Kind::Integer,
            value->integers};
  }

  SymbolicAttributes attributes_of(const Pattern& pattern,
                                   const std::vector<SymbolicTensor>& operands, bool is_left) {
    SymbolicAttributes all;
    if (!pattern.rest.empty()) {
      const auto known = instance_.rests.find(pattern.rest);
      if (known != instance_.rests.end()) {
        all = known->second;
      } else {
        for (const std::string_view name : rewrite::find_operator_info(pattern.name)->attributes)
          if (std::none_of(pattern.attributes.begin(), pattern.attributes.end(),
                           [&](const auto& given) { return given.name == name; }))
            all.emplace(name, any(pattern.name, std::string(name), operands[0]));
        instance_.rests.emplace(pattern.rest, all);
      }
    }
    for (const rewrite::AttributePattern& attribute : pattern.attributes) {
      const bool is_new = is_left && attribute.value.kind == Formula::Kind::Variable &&
                          instance_.attributes.count(attribute.value.name) == 0;
      if (is_new)
        instance_.attributes.emplace(attribute.value.name,
                                     any(pattern.name, attribute.name, operands[0]));
      all.insert_or_assign(attribute.name, computed(attribute.value));
    }
    return all;
  }

  SymbolicAttribute integer(int64_t value) {
    return {SymbolicAttribute::Kind::Integer, {prover_.context().int_val(value)}};
  }
  SymbolicAttribute list(const std::vector<int64_t>& numbers) {
    SymbolicAttribute result{SymbolicAttribute::Kind::List, {}};
    for (const int64_t number : numbers)
      result.values.push_back(prover_.context().int_val(number));
    return result;
  }

  /// Some value that an attribute of this name may have for an operand.
  SymbolicAttribute any(const std::string& op, const std::string& name, const SymbolicTensor& x) {
    const size_t rank = x.rank();
    if (name == "perm") {
      std::vector<int64_t> order(rank);
      std::iota(order.begin(), order.end(), 0);
      std::vector<std::vector<int64_t>> all;
      do
        all.push_back(order);
      while (std::next_permutation(order.begin(), order.end()));
      return list(all[choices_.choose(all.size())]);
    }
    if (name == "axis")
      return rank == 0 ? throw NoInstance{} : integer(static_cast<int64_t>(choices_.choose(rank)));
    if (name == "keepdims")
      return integer(static_cast<int64_t>(choices_.choose(2)));
    if (name == "group")
      return integer(static_cast<int64_t>(choices_.choose(2)) + 1);
    if (name == "axes") {
      if (rank == 0)
        throw NoInstance{};
      const size_t chosen = choices_.choose((size_t{1} << rank) - 1) + 1;
      std::vector<int64_t> axes;
      for (size_t k = 0; k < rank; ++k)
        if ((chosen >> k & 1) != 0)
          axes.push_back(static_cast<int64_t>(k));
      return list(axes);
    }
    return any_of_extents(op, name, rank);
  }

  SymbolicAttribute any_of_extents(const std::string& op, const std::string& name, size_t rank) {
    const bool slides = op == "Conv" || op == "MaxPool";
    if (name == "steps" || name == "strides" || name == "dilations") {
      const auto step = static_cast<int64_t>(choices_.choose(2)) + 1;
      return list(std::vector<int64_t>(slides ? rank - 2 : rank, step));
    }
    SymbolicAttribute result{SymbolicAttribute::Kind::List, {}};
    size_t count = rank;
    if (name == "pads")
      count = 2 * (rank - 2);
    else if (name == "kernel_shape")
      count = rank - 2;
    else if (name == "shape")
      count =
          op == "Expand" ? std::max<size_t>(rank, 1) + choices_.choose(2) : choices_.choose(3) + 1;
    else if (name != "starts" && name != "counts")
      return {SymbolicAttribute::Kind::Real, {prover_.fresh_real(name)}};
    for (size_t k = 0; k < count; ++k) {
      result.values.push_back(prover_.fresh_integer(name));
      prover_.assume(result.values.back() >= (name == "pads" || name == "starts" ? 0 : 1));
    }
    return result;
  }

  const Rule& rule_;
  Choices& choices_;
  Prover prover_;
  SymbolicOperators operators_;
  Instance instance_;
};

} // namespace

Verdict prove(const Rule& rule, unsigned timeout_ms, int most_cases) {
  Verdict verdict;
  Choices choices;
  do {
    z3::context context;
    InstanceProof proof(rule, choices, context, timeout_ms);
    ++verdict.cases;
    try {
      if (!proof.run()) {
        verdict.failure = proof.text();
        return verdict;
      }
      ++verdict.instances;
    } catch (const NoInstance&) {
      continue;
    }
  } while (choices.advance() && verdict.cases < most_cases);
  verdict.is_proved = verdict.instances > 0 && verdict.cases < most_cases;
  if (!verdict.is_proved)
    verdict.failure = verdict.instances == 0 ? "no instance" : "too many cases";
  return verdict;
}

} // namespace kawara::rules
