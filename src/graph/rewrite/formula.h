#pragma once

#include "graph/rewrite/rule.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace kawara::rewrite {

/// A function that formulas may call, and how many arguments it takes.
struct FormulaFunction {
  std::string_view name;
  size_t arguments;
};
const FormulaFunction* find_formula_function(std::string_view name);

/// Value of a formula over a domain D: the numbers of the e-graph, or symbols of a proof.
template <class D> struct FormulaValue {
  enum class Kind : uint8_t { Integer, List, Truth, Other };
  Kind kind = Kind::Integer;
  std::vector<typename D::Int> integers; ///< one for Integer
  std::optional<typename D::Truth> truth;
  std::optional<typename D::Other> other; ///< reals and texts, which are only passed on
};

/// Computes formulas. A domain has the types Int, Truth and Other, and
///
///   Int integer(int64_t) · optional<int64_t> number(Int) · optional<Int> add, subtract, multiply
///   Truth equal(Int, Int), less(Int, Int), both(Truth, Truth), either, negate(Truth),
///     constant(bool)
///   optional<vector<Int>> extents(name) · optional<Truth> is_constant(name), is_float(name)
///   optional<FormulaValue> attribute(name)
///
/// Nothing comes back when a formula has no value: a position outside a list, sums of symbols.
template <class D> class FormulaEvaluator {
public:
  using Int = typename D::Int;
  using Truth = typename D::Truth;
  using Value = FormulaValue<D>;
  using Kind = typename Value::Kind;
  explicit FormulaEvaluator(D& domain) : domain_(domain) {}

  std::optional<Value> value(const Formula& formula) {
    switch (formula.kind) {
    case Formula::Kind::Integer:
      return integer(domain_.integer(formula.integer));
    case Formula::Kind::Variable:
      return domain_.attribute(formula.name);
    case Formula::Kind::List: {
      Value all{Kind::List, {}, {}, {}};
      for (const Formula& part : formula.parts) {
        const auto one = value(part);
        if (!one || one->kind != Kind::Integer)
          return std::nullopt;
        all.integers.push_back(one->integers[0]);
      }
      return all;
    }
    case Formula::Kind::Call:
      return call(formula);
    }
    return std::nullopt;
  }

  std::optional<Truth> truth(const Formula& formula) {
    const auto result = value(formula);
    return result && result->kind == Kind::Truth ? result->truth : std::nullopt;
  }

private:
  static Value integer(Int value) { return {Kind::Integer, {value}, {}, {}}; }
  static Value list(std::vector<Int> values) { return {Kind::List, std::move(values), {}, {}}; }
  static Value truth_value(Truth truth) { return {Kind::Truth, {}, truth, {}}; }
  Value list_of(const std::vector<int64_t>& numbers) {
    std::vector<Int> values;
    for (const int64_t number : numbers)
      values.push_back(domain_.integer(number));
    return list(std::move(values));
  }
  std::optional<std::vector<int64_t>> numbers(const Value& value) {
    std::vector<int64_t> all;
    for (const Int& one : value.integers) {
      const auto number = domain_.number(one);
      if (!number)
        return std::nullopt;
      all.push_back(*number);
    }
    return all;
  }

  std::optional<Value> call(const Formula& formula) {
    const std::string& f = formula.name;
    if (f == "rank" || f == "dims" || f == "dim" || f == "constant" || f == "float")
      return about_tensor(formula);
    std::vector<Value> arguments;
    for (const Formula& part : formula.parts) {
      auto one = value(part);
      if (!one)
        return std::nullopt;
      arguments.push_back(std::move(*one));
    }
    if (f == "+" || f == "-" || f == "*")
      return arithmetic(f[0], arguments[0], arguments[1]);
    if (f == "==" || f == "!=")
      return comparison(f == "==", arguments[0], arguments[1]);
    if (f == "<" || f == "<=")
      return order(f == "<", arguments[0], arguments[1]);
    if (f == "and" || f == "or")
      return logic(f == "and", arguments[0], arguments[1]);
    return on_lists(f, arguments);
  }

  std::optional<Value> about_tensor(const Formula& formula) {
    const std::string& tensor = formula.parts[0].name;
    if (formula.name == "constant" || formula.name == "float") {
      const auto truth =
          formula.name == "constant" ? domain_.is_constant(tensor) : domain_.is_float(tensor);
      return truth ? std::optional(truth_value(*truth)) : std::nullopt;
    }
    const auto extents = domain_.extents(tensor);
    if (!extents)
      return std::nullopt;
    if (formula.name == "rank")
      return integer(domain_.integer(static_cast<int64_t>(extents->size())));
    if (formula.name == "dims")
      return list(*extents);
    const auto at = value(formula.parts[1]);
    return at ? element(list(*extents), *at) : std::nullopt;
  }

  std::optional<Value> element(const Value& of, const Value& at) {
    const auto position = at.kind == Kind::Integer ? domain_.number(at.integers[0]) : std::nullopt;
    const auto size = static_cast<int64_t>(of.integers.size());
    if (!position || *position >= size || *position < -size)
      return std::nullopt;
    return integer(of.integers[static_cast<size_t>(*position < 0 ? *position + size : *position)]);
  }

  std::optional<Value> arithmetic(char op, const Value& a, const Value& b) {
    const bool is_list = a.kind == Kind::List || b.kind == Kind::List;
    const size_t size = std::max(a.integers.size(), b.integers.size());
    if (is_list && ((a.kind == Kind::List && a.integers.size() != size) ||
                    (b.kind == Kind::List && b.integers.size() != size)))
      return std::nullopt;
    if (a.kind > Kind::List || b.kind > Kind::List)
      return std::nullopt;
    std::vector<Int> results;
    for (size_t k = 0; k < size; ++k) {
      const Int &x = a.integers[a.kind == Kind::List ? k : 0],
                &y = b.integers[b.kind == Kind::List ? k : 0];
      const std::optional<Int> result = op == '+'   ? domain_.add(x, y)
                                        : op == '-' ? domain_.subtract(x, y)
                                                    : domain_.multiply(x, y);
      if (!result)
        return std::nullopt;
      results.push_back(*result);
    }
    return is_list ? list(std::move(results)) : integer(results[0]);
  }

  std::optional<Value> comparison(bool wants_equal, const Value& a, const Value& b) {
    if (a.kind != b.kind)
      return std::nullopt;
    Truth same = domain_.constant(a.integers.size() == b.integers.size());
    if (a.kind == Kind::Other)
      same = domain_.equal(*a.other, *b.other);
    for (size_t k = 0; k < a.integers.size() && a.integers.size() == b.integers.size(); ++k)
      same = domain_.both(same, domain_.equal(a.integers[k], b.integers[k]));
    return truth_value(wants_equal ? same : domain_.negate(same));
  }

  std::optional<Value> order(bool is_strict, const Value& a, const Value& b) {
    if (a.kind != Kind::Integer || b.kind != Kind::Integer)
      return std::nullopt;
    const Int &x = a.integers[0], &y = b.integers[0];
    return truth_value(is_strict ? domain_.less(x, y) : domain_.negate(domain_.less(y, x)));
  }

  std::optional<Value> logic(bool is_and, const Value& a, const Value& b) {
    if (a.kind != Kind::Truth || b.kind != Kind::Truth)
      return std::nullopt;
    return truth_value(is_and ? domain_.both(*a.truth, *b.truth)
                              : domain_.either(*a.truth, *b.truth));
  }

  std::optional<Value> on_lists(const std::string& f, const std::vector<Value>& arguments) {
    const Value& a = arguments[0];
    if (f == "size")
      return integer(domain_.integer(static_cast<int64_t>(a.integers.size())));
    if (f == "at")
      return element(a, arguments[1]);
    if (f == "join") {
      std::vector<Int> both = a.integers;
      both.insert(both.end(), arguments[1].integers.begin(), arguments[1].integers.end());
      return list(std::move(both));
    }
    if (f == "take")
      return take(a, arguments[1]);
    if (f == "set" || f == "fill" || f == "remove")
      return edited(f, arguments);
    const auto given = numbers(a);
    if (!given)
      return std::nullopt;
    if (f == "contains" || f == "disjoint") {
      const auto others = numbers(arguments[1]);
      if (!others)
        return std::nullopt;
      const bool meets = std::any_of(others->begin(), others->end(), [&](int64_t one) {
        return std::find(given->begin(), given->end(), one) != given->end();
      });
      return truth_value(domain_.constant(meets == (f == "contains")));
    }
    return reordered(f, *given);
  }

  std::optional<Value> take(const Value& from, const Value& positions) {
    Value result{Kind::List, {}, {}, {}};
    for (const Int& position : positions.integers) {
      const auto one = element(from, integer(position));
      if (!one)
        return std::nullopt;
      result.integers.push_back(one->integers[0]);
    }
    return result;
  }

  /// set(list, at, value) · fill(count, value) · remove(list, positions)
  std::optional<Value> edited(const std::string& f, const std::vector<Value>& arguments) {
    if (f == "fill") {
      const auto count = domain_.number(arguments[0].integers[0]);
      if (!count || *count < 0)
        return std::nullopt;
      return list(std::vector<Int>(static_cast<size_t>(*count), arguments[1].integers[0]));
    }
    std::vector<Int> values = arguments[0].integers;
    const auto at = numbers(arguments[1]);
    if (!at)
      return std::nullopt;
    for (const int64_t position : *at)
      if (position < 0 || position >= static_cast<int64_t>(values.size()))
        return std::nullopt;
    if (f == "set") {
      values[static_cast<size_t>((*at)[0])] = arguments[2].integers[0];
      return list(std::move(values));
    }
    std::vector<Int> kept;
    for (size_t k = 0; k < values.size(); ++k)
      if (std::find(at->begin(), at->end(), static_cast<int64_t>(k)) == at->end())
        kept.push_back(values[k]);
    return list(std::move(kept));
  }

  /// inverse(order) · sorted(list) · identity(count) · swap_last(count)
  std::optional<Value> reordered(const std::string& f, std::vector<int64_t> given) {
    const auto size = static_cast<int64_t>(given.size());
    if (f == "sorted") {
      std::sort(given.begin(), given.end());
      return list_of(given);
    }
    if (f == "inverse") {
      std::vector<int64_t> result(given.size(), -1);
      for (int64_t k = 0; k < size; ++k) {
        if (given[static_cast<size_t>(k)] < 0 || given[static_cast<size_t>(k)] >= size)
          return std::nullopt;
        result[static_cast<size_t>(given[static_cast<size_t>(k)])] = k;
      }
      return list_of(result);
    }
    const int64_t count = size == 1 ? given[0] : -1;
    if (count < 0 || (f == "swap_last" && count < 2))
      return std::nullopt;
    std::vector<int64_t> result;
    for (int64_t k = 0; k < count; ++k)
      result.push_back(k);
    if (f == "swap_last")
      std::swap(result[result.size() - 1], result[result.size() - 2]);
    return list_of(result);
  }

  D& domain_;
};

} // namespace kawara::rewrite
