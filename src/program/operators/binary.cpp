#include "program/operators/broadcast.h"
#include "program/operators/registry.h"

#include <array>

namespace kawara::program::operators {
namespace {
namespace of_binary {

/// An element-wise operation on two operands {0} and {1}.
struct Operation {
  std::string_view name;
  const char* formula;
  bool is_test; ///< gives a truth value
};

constexpr Operation kOperations[] = {
    {"Add", "{0} + {1}", false},
    {"And", "{0} and {1}", true},
    {"Equal", "{0} == {1}", true},
    {"Greater", "{0} > {1}", true},
    {"GreaterOrEqual", "{0} >= {1}", true},
    {"Less", "{0} < {1}", true},
    {"LessOrEqual", "{0} <= {1}", true},
    {"Mul", "{0} * {1}", false},
    {"Or", "{0} or {1}", true},
    {"Sub", "{0} - {1}", false},
    {"Xor", "({0} and not {1}) or ({1} and not {0})", true},
};

bool must_agree(Definition& d) {
  if (!d.need(0) || !d.need(1))
    return false;
  if (d.type(0) != d.type(1))
    d.refuse(fmt::format("its inputs have the different types {} and {}", graph::name_of(d.type(0)),
                         graph::name_of(d.type(1))));
  return d.type(0) == d.type(1);
}

/// Before version 7 the second operand could be aligned at an axis instead of the last dimension.
std::vector<Shape> aligned_shapes(Definition& d) {
  std::vector<Shape> shapes{d.shape(0), d.shape(1)};
  if (d.opset() >= 7)
    return shapes;
  const bool spreads = d.integer("broadcast", 0) != 0;
  if (!d.has_attribute("axis") || !spreads)
    return shapes;
  const int64_t axis = d.axis_of(d.integer("axis", 0), d.rank(0));
  while (axis + static_cast<int64_t>(shapes[1].size()) < d.rank(0))
    shapes[1].push_back(1);
  return shapes;
}

void apply_operation(Definition& d) {
  if (!must_agree(d))
    return;
  for (const Operation& f : kOperations) {
    if (f.name != d.node().op)
      continue;
    Elementwise x(d, 2, aligned_shapes(d));
    if (d.is_settled())
      return;
    const DataType order = f.is_test ? d.type(0) : DataType::I64;
    x.store(f.is_test ? DataType::Bool : d.type(0),
            fmt::format(fmt::runtime(f.formula), Definition::ordered(order, x[0]),
                        Definition::ordered(order, x[1])));
  }
}

/// Where `//` of integers, which rounds down, is one less than the quotient without its fraction.
std::string is_rounded_down(const std::string& a, const std::string& b) {
  return fmt::format("{0} % {1} != 0 and (({0} < 0 and {1} > 0) or ({0} > 0 and {1} < 0))", a, b);
}

/// Refuses a divisor that is known to have a zero. Others are looked at while they divide.
bool must_not_be_zero(Definition& d, size_t operand) {
  const Tensor* known = d.operand(operand).value;
  if (known == nullptr || graph::is_float(known->type()))
    return true;
  for (int64_t i = 0; i < known->elements(); ++i)
    if (known->get_int(i) == 0) {
      d.refuse("its divisor is 0");
      return false;
    }
  return true;
}

/// The logical half of u64, held in i64.
std::string unsigned_half(const std::string& a) {
  return fmt::format("({} // 2 + 9223372036854775807 + 1)", a);
}

/// Quotient of u64, held in i64: half of a large dividend is divided first.
std::string unsigned_quotient(const std::string& a, const std::string& b) {
  const std::string divisor = fmt::format("select({0} > 0, {0}, 1)", b);
  const std::string twice = fmt::format("({} // {} * 2)", unsigned_half(a), divisor);
  const std::string rest = fmt::format("({} - {} * {})", a, twice, b);
  const std::string of_small =
      fmt::format("select({0} >= 0, {0} // {1}, {2} + select({3} < 0 or {3} >= {4}, 1, 0))", a,
                  divisor, twice, rest, b);
  // A zero divides, so that somebody notices.
  return fmt::format("select({1} == 0, {0} // {1}, select({1} < 0, select({0} >= 0 or {0} < {1}, "
                     "0, 1), {2}))",
                     a, b, of_small);
}

void div(Definition& d) {
  if (!must_agree(d))
    return;
  Elementwise x(d, 2, aligned_shapes(d));
  if (d.is_settled() || !must_not_be_zero(d, 1))
    return;
  const std::string a = x[0], b = x[1];
  if (d.type(0) == DataType::U64)
    return x.store(d.type(0), unsigned_quotient(a, b));
  x.store(d.type(0), graph::is_float(d.type(0))
                         ? a + " / " + b
                         : fmt::format("{} // {} + select({}, 1, 0)", a, b, is_rounded_down(a, b)));
}

/// Rest of a division of u64, held in i64: half of a large dividend is divided first.
std::string unsigned_rest(const std::string& a, const std::string& b) {
  const std::string divisor = fmt::format("select({0} > 0, {0}, 1)", b);
  const std::string rest = fmt::format("({} - {} // {} * 2 * {})", a, unsigned_half(a), divisor, b);
  const std::string of_small =
      fmt::format("select({0} >= 0, {0} % {1}, select({2} < 0 or {2} >= {3}, {2} - "
                  "{3}, {2}))",
                  a, divisor, rest, b);
  // A zero divides, so that somebody notices.
  return fmt::format("select({1} == 0, {0} % {1}, select({1} < 0, select({0} >= 0 or {0} < {1}, "
                     "{0}, {0} - {1}), {2}))",
                     a, b, of_small);
}

void mod(Definition& d) {
  if (!must_agree(d))
    return;
  if (graph::is_float(d.type(0))) // no formula has all digits of a rest by a much smaller number
    return d.integer("fmod", 0) != 0 ? d.decline() : d.refuse("floats need the attribute fmod = 1");
  Elementwise x(d, 2);
  if (d.is_settled() || !must_not_be_zero(d, 1))
    return;
  const bool keeps_sign = d.integer("fmod", 0) != 0; // the same for what has none
  if (d.type(0) == DataType::U64)
    return x.store(d.type(0), unsigned_rest(x[0], x[1]));
  const std::string a = x[0], b = x[1];
  if (!keeps_sign) // the rest has the sign of the divisor
    return x.store(d.type(0), a + " % " + b);
  x.store(d.type(0), fmt::format("{0} % {1} - select({2}, {1}, 0)", a, b, is_rounded_down(a, b)));
}

/// Small powers need no function: squares, and of floats cubes, fourth powers and reciprocals. More
/// factors would round more than the function does.
std::optional<std::string> small_power(const Operand& exponent, const std::string& x,
                                       bool is_float) {
  if (exponent.value == nullptr || exponent.value->elements() != 1)
    return std::nullopt;
  const double power = exponent.value->get_double(0);
  if (power == 2.0)
    return fmt::format("{0} * {0}", x);
  if (is_float && power == 3.0)
    return fmt::format("{0} * {0} * {0}", x);
  if (is_float && power == 4.0)
    return fmt::format("({0} * {0}) * ({0} * {0})", x);
  if (is_float && power == -1.0)
    return fmt::format("1 / {0}", x);
  return std::nullopt;
}

void pow(Definition& d) {
  if (!d.need(0) || !d.need(1))
    return;
  if (d.type(0) == DataType::U64 || d.type(1) == DataType::U64)
    return d.refuse("u64 is not known here");
  Elementwise x(d, 2, aligned_shapes(d));
  if (d.is_settled())
    return;
  const bool is_float = graph::is_float(d.type(0));
  if (const auto product = small_power(d.operand(1), x[0], is_float))
    return x.store(d.type(0), *product);
  const char* wide = d.type(0) == DataType::F64 || !is_float ? "f64" : "f32";
  const std::string power = fmt::format("pow({0}({1}), {0}({2}))", wide, x[0], x[1]);
  x.store(d.type(0), is_float ? power : "i64(" + power + ")");
}

void prelu(Definition& d) {
  if (!d.need(0) || !d.need(1))
    return;
  std::vector<Shape> shapes{d.shape(0), d.shape(1)};
  // Before version 7 a slope per channel was one dimension.
  if (d.opset() < 7 && d.rank(1) == 1)
    for (int64_t k = 2; k < d.rank(0); ++k)
      shapes[1].push_back(1);
  Elementwise x(d, 2, shapes);
  if (!d.is_settled())
    x.store(d.type(0), fmt::format("select({0} < 0, {1} * {0}, {0})", x[0], x[1]));
}

/// Max, Mean, Min and Sum of any number of operands.
void fold_operands(Definition& d) {
  if (!d.need(0))
    return;
  Elementwise x(d, d.operands());
  if (d.is_settled())
    return;
  const std::string& op = d.node().op;
  const DataType order = op == "Max" || op == "Min" ? d.type(0) : DataType::I64;
  std::string value;
  for (size_t k = 0; k < d.operands(); ++k) {
    if (d.type(k) != d.type(0))
      d.refuse("its inputs have different types");
    const std::string next = Definition::ordered(order, x[k]);
    if (k == 0)
      value = next;
    else if (op == "Max" || op == "Min")
      value = (op == "Max" ? "max(" : "min(") + value + ", " + next + ")";
    else
      value += " + " + next;
  }
  if (op == "Mean")
    value = "(" + value + ") / " + std::to_string(d.operands());
  x.store(d.type(0), Definition::ordered(order, value));
}

void where(Definition& d) {
  if (!d.need(0) || !d.need(1) || !d.need(2))
    return;
  if (d.type(1) != d.type(2) || d.type(0) != DataType::Bool)
    return d.refuse("it needs a truth value and two inputs of one type");
  Elementwise x(d, 3);
  if (!d.is_settled())
    x.store(d.type(1), fmt::format("select({}, {}, {})", x[0], x[1], x[2]));
}

constexpr Operator kOthers[] = {
    {"Div", div},           {"Max", fold_operands}, {"Mean", fold_operands},
    {"Min", fold_operands}, {"Mod", mod},           {"PRelu", prelu},
    {"Pow", pow},           {"Sum", fold_operands}, {"Where", where}};

constexpr auto all_operators() {
  std::array<Operator, std::size(kOperations) + std::size(kOthers)> all{};
  size_t k = 0;
  for (const Operation& f : kOperations)
    all[k++] = {f.name, apply_operation};
  for (const Operator& op : kOthers)
    all[k++] = op;
  return all;
}
constexpr auto kAll = all_operators();

} // namespace of_binary
} // namespace

std::span<const Operator> binary_operators() { return of_binary::kAll; }

} // namespace kawara::program::operators
