#include "program/operators/broadcast.h"
#include "program/operators/registry.h"

#include <array>

namespace kawara::program::operators {
namespace {
namespace of_unary {

/// An element-wise function of one operand: `formula` over {0}, the operand's value, and up to two
/// attributes {1} and {2} with their standard values.
struct Function {
  std::string_view name;
  const char* formula;
  const char* first = nullptr;
  double first_value = 0;
  const char* second = nullptr;
  double second_value = 0;
};

/// max(x, 0) + log(1 + e), e = exp(-|x|). The quotient makes up for the digits of e that 1 + e has
/// lost; where none is left, e is the logarithm.
#define KAWARA_SOFTPLUS                                                                            \
  "(max({0}, 0) + select(1 + exp(-abs({0})) == 1, exp(-abs({0})), log(1 + exp(-abs({0}))) * "      \
  "(exp(-abs({0})) / (1 + exp(-abs({0})) - 1))))"

constexpr Function kFunctions[] = {
    {"Abs", "abs({0})"},
    {"Ceil", "ceil({0})"},
    {"Celu", "max({0}, 0) + min(0, {1} * (exp({0} / {1}) - 1))", "alpha", 1.0},
    {"Cos", "cos({0})"},
    {"Elu", "select({0} >= 0, {0}, {1} * (exp({0}) - 1))", "alpha", 1.0},
    {"Erf", "erf({0})"},
    {"Exp", "exp({0})"},
    {"Floor", "floor({0})"},
    {"HardSigmoid", "max(0, min(1, {0} * {1} + {2}))", "alpha", 0.2, "beta", 0.5},
    {"HardSwish", "{0} * max(0, min(1, {0} / 6 + 0.5))"},
    {"LeakyRelu", "select({0} < 0, {0} * {1}, {0})", "alpha", 0.01},
    {"Log", "log({0})"},
    {"Mish", "{0} * tanh(" KAWARA_SOFTPLUS ")"},
    {"Neg", "-{0}"},
    {"Reciprocal", "1 / {0}"},
    {"Relu", "max({0}, 0)"},
    {"Round", "round({0})"},
    {"Selu", "{2} * select({0} > 0, {0}, {1} * (exp({0}) - 1))", "alpha", 1.67326319217681884765625,
     "gamma", 1.05070102214813232421875},
    {"Shrink", "select({0} < -{1}, {0} + {2}, select({0} > {1}, {0} - {2}, 0))", "lambd", 0.5,
     "bias", 0.0},
    {"Sigmoid", "sigmoid({0})"},
    {"Sign", "select({0} > 0, 1, select({0} < 0, -1, select({0} == 0, 0, {0})))"},
    {"Sin", "sin({0})"},
    {"Softplus", KAWARA_SOFTPLUS},
    {"Softsign", "{0} / (1 + abs({0}))"},
    {"Sqrt", "sqrt({0})"},
    {"Tanh", "tanh({0})"},
    {"ThresholdedRelu", "select({0} > {1}, {0}, 0)", "alpha", 1.0},
};
#undef KAWARA_SOFTPLUS

void apply_function(Definition& d) {
  for (const Function& f : kFunctions) {
    if (f.name != d.node().op)
      continue;
    if (!d.need(0))
      return;
    Elementwise x(d, 1);
    if (d.type(0) == DataType::U64 && f.name == "Abs")
      return x.store(d.type(0), x[0]);
    if (d.type(0) == DataType::U64 && f.name == "Sign")
      return x.store(d.type(0), "select(" + x[0] + " == 0, 0, 1)");
    const double first = f.first ? d.real(f.first, f.first_value) : 0;
    const double second = f.second ? d.real(f.second, f.second_value) : 0;
    x.store(d.type(0), fmt::format(fmt::runtime(f.formula), x[0], literal(first), literal(second)));
  }
}

void gelu(Definition& d) {
  Elementwise x(d, 1);
  const std::string approximate = d.word("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    d.refuse("attribute `approximate` must be \"none\" or \"tanh\", not \"" + approximate + "\"");
  x.store(d.type(0), (approximate == "tanh" ? "gelu_tanh(" : "gelu(") + x[0] + ")");
}

void swish(Definition& d) {
  if (!d.need(0))
    return;
  Elementwise x(d, 1);
  const double alpha = d.real("alpha", 1.0);
  x.store(d.type(0), alpha == 1 ? "silu(" + x[0] + ")"
                                : fmt::format("{0} * sigmoid({0} * {1})", x[0], literal(alpha)));
}

void logical_not(Definition& d) {
  Elementwise x(d, 1);
  x.store(DataType::Bool, "not " + x[0]);
}

void is_nan(Definition& d) {
  Elementwise x(d, 1);
  x.store(DataType::Bool, x[0] + " != " + x[0]);
}

void is_inf(Definition& d) {
  Elementwise x(d, 1);
  const bool negative = d.integer("detect_negative", 1) != 0;
  const bool positive = d.integer("detect_positive", 1) != 0;
  if (!negative && !positive)
    return x.store(DataType::Bool, x[0] + " != " + x[0] + " and " + x[0] + " == " + x[0]);
  std::string test = positive ? x[0] + " == inf" : "";
  if (negative)
    test += (test.empty() ? "" : " or ") + x[0] + " == (-inf)";
  x.store(DataType::Bool, test);
}

void cast_to(Definition& d, DataType to) {
  const DataType from = d.type(0);
  if (from == to)
    return d.output(to, d.shape(0)), d.view(0);
  Elementwise x(d, 1);
  if (from == DataType::U64 && graph::is_float(to)) // both halves of 32 bits are exact
    return x.store(to, fmt::format("f64({0} // 4294967296 % 4294967296) * 4294967296.0 + "
                                   "f64({0} % 4294967296)",
                                   x[0]));
  if (graph::is_float(from) && to == DataType::U64)
    return x.store(to, fmt::format("select({0} >= 9223372036854775808.0, i64({0} - "
                                   "9223372036854775808.0) + (-9223372036854775807 - 1), i64({0}))",
                                   x[0]));
  if (to == DataType::Bool)
    return x.store(to, x[0] + " != 0");
  // Programs convert to a narrow float in one step from what they compute in.
  x.store(to, x[0]);
}

void cast(Definition& d) {
  if (!d.need(0))
    return;
  const int64_t number = d.integer("to", 0);
  const auto to = graph::data_type_with_number(number);
  if (!to)
    return d.refuse(
        fmt::format("there is no conversion to the element type with ONNX's number {}", number));
  cast_to(d, *to);
}

void cast_like(Definition& d) {
  if (d.need(0) && d.need(1))
    cast_to(d, d.type(1));
}

/// Bounds by inputs 1 and 2, or, before version 11, by attributes.
/// A bound of Clip: an operand or an attribute. What is known is written out: against a number, and
/// no NaN, processors compare in one instruction.
std::string bound_of(Definition& d, size_t operand, const char* attribute) {
  if (!d.has(operand))
    return literal(d.real(attribute, 0));
  const Tensor* known = d.operand(operand).value;
  if (known != nullptr && known->elements() == 1 && graph::is_float(known->type()))
    return literal(known->get_double(0));
  return d.element(operand, "");
}

void clip(Definition& d) {
  if (!d.need(0))
    return;
  Elementwise x(d, 1);
  std::string value = x[0];
  for (size_t k : {size_t{1}, size_t{2}}) {
    if (d.has(k) && product(d.shape(k)) != 1)
      d.refuse(fmt::format("input {} must be one number, not {}", k, graph::text_of(d.shape(k))));
    if (d.has(k))
      d.declare_operand(k, {});
  }
  const bool has_low = d.has(1) || d.has_attribute("min");
  const bool has_high = d.has(2) || d.has_attribute("max");
  value = Definition::ordered(d.type(0), value);
  if (has_low)
    value = "max(" + value + ", " + Definition::ordered(d.type(0), bound_of(d, 1, "min")) + ")";
  if (has_high)
    value = "min(" + value + ", " + Definition::ordered(d.type(0), bound_of(d, 2, "max")) + ")";
  if (!has_low && !has_high)
    return d.output(d.type(0), d.shape(0)), d.view(0);
  x.store(d.type(0), Definition::ordered(d.type(0), value));
}

constexpr Operator kOthers[] = {{"Cast", cast},       {"CastLike", cast_like}, {"Clip", clip},
                                {"Gelu", gelu},       {"IsInf", is_inf},       {"IsNaN", is_nan},
                                {"Not", logical_not}, {"Swish", swish}};

constexpr auto all_operators() {
  std::array<Operator, std::size(kFunctions) + std::size(kOthers)> all{};
  size_t k = 0;
  for (const Function& f : kFunctions)
    all[k++] = {f.name, apply_function};
  for (const Operator& op : kOthers)
    all[k++] = op;
  return all;
}
constexpr auto kAll = all_operators();

} // namespace of_unary
} // namespace

std::span<const Operator> unary_operators() { return of_unary::kAll; }

} // namespace kawara::program::operators
