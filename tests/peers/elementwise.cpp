#include "peers/maker.h"

#include <algorithm>

namespace kawara::peers {
namespace {

void add_function(Maker& m) {
  static const std::vector<std::string> kOps = {
      "Abs",  "Neg",  "Sign",  "Floor",    "Ceil",     "Round",     "Sqrt",       "Exp",
      "Log",  "Sin",  "Cos",   "Tan",      "Asin",     "Acos",      "Atan",       "Sinh",
      "Cosh", "Tanh", "Asinh", "Acosh",    "Atanh",    "Erf",       "Sigmoid",    "Softplus",
      "Relu", "Mish", "Gelu",  "Softsign", "Identity", "HardSwish", "Reciprocal", "IsNaN"};
  const std::string op = m.word(kOps);
  m.add(op, {m.floats(0, 4)});
}

void add_activation(Maker& m) {
  static const std::vector<std::string> kOps = {
      "Elu",         "Celu",   "Selu", "LeakyRelu", "ThresholdedRelu",
      "HardSigmoid", "Shrink", "Gelu", "Swish",     "IsInf"};
  const std::string op = m.word(kOps);
  Attributes attributes;
  const auto maybe = [&](const char* name, double low, double high) {
    if (m.chance(70))
      attributes[name] = m.real(low, high);
  };
  if (op == "Gelu") {
    if (m.chance(60))
      attributes["approximate"] = m.word({"none", "tanh"});
  } else if (op == "Shrink") {
    maybe("bias", -1, 1);
    maybe("lambd", 0, 2);
  } else if (op == "IsInf") {
    if (m.chance(50))
      attributes["detect_negative"] = m.pick(2);
    if (m.chance(50))
      attributes["detect_positive"] = m.pick(2);
  } else if (op == "Celu") {
    maybe("alpha", 0.5, 2);
  } else {
    maybe("alpha", op == "Swish" ? 0.5 : -1, 2);
    if (op == "Selu")
      maybe("gamma", 0.5, 2);
    if (op == "HardSigmoid")
      maybe("beta", -1, 1);
  }
  m.add(op, {op == "Shrink" && m.chance(40) ? m.anything(0, 4) : m.floats(0, 4)}, attributes);
}

void add_integer_function(Maker& m) {
  static const std::vector<std::string> kOps = {"Abs", "Neg", "Sign", "Relu", "Identity"};
  const DataType type = m.int_type();
  m.add(m.word(kOps),
        {m.operand([&](const Val& v) { return v.type() == type; }, type, m.shape(0, 4))});
}

Val other_operand(Maker& m, const Val& a) {
  const Shape shape = m.partner_shape(a.shape());
  return m.of(a.type(), shape);
}

void add_arithmetic(Maker& m) {
  const std::string op = m.word({"Add", "Sub", "Mul"});
  const Val a = m.anything(0, 4), b = other_operand(m, a);
  m.chance(30) ? m.add(op, {b, a}) : m.add(op, {a, b});
}

/// Integer divisors are not 0: that is an error in Kawara and anything in ONNX Runtime. Nor -1
/// under the lowest integer, at which x86-64 processors trap in ONNX Runtime.
Val divisor(Maker& m, DataType type, const Shape& shape) {
  if (graph::is_float(type))
    return m.of(type, shape);
  Val made = m.fresh(type, shape);
  Tensor tensor(type, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k) {
    const int64_t element = made.tensor.get_int(k);
#ifdef __x86_64__
    const bool is_bad = element == 0 || element == -1;
#else
    const bool is_bad = element == 0;
#endif
    tensor.set_int(k, is_bad ? 3 : element);
  }
  return m.chance(50) ? m.given(tensor) : m.constant(tensor);
}

void add_division(Maker& m) {
  const Val a = m.anything(0, 4);
  if (a.type() == DataType::Bool)
    return;
  const Val b = divisor(m, a.type(), m.partner_shape(a.shape()));
  if (m.chance(50)) {
    m.add("Div", {a, b});
    return;
  }
  Attributes attributes;
  if (graph::is_float(a.type()) || m.chance(40))
    attributes["fmod"] = int64_t{1};
  m.add("Mod", {a, b}, attributes);
}

void add_power(Maker& m) {
  const Val a = m.anything(0, 4);
  const DataType type = m.opset() < 12 || m.chance(60) ? a.type()
                        : m.chance(50)                 ? DataType::F32
                                                       : m.int_type();
  const Shape shape = m.partner_shape(a.shape());
  if (m.chance(50)) {
    static const std::vector<double> kExponents = {0, 1, 2, 3, 0.5, -1, -2, -0.5, 2.5, 7};
    m.add("Pow", {a, m.scalar(type, m.one_of(kExponents), m.chance(50) ? Shape{} : Shape{1})});
    return;
  }
  m.add("Pow", {a, m.of(type, shape)});
}

void add_several(Maker& m) {
  const std::string op = m.word({"Sum", "Mean", "Max", "Min", "Max", "Min"});
  const Val a = op == "Sum" || op == "Mean" || m.chance(60) ? m.floats(0, 4) : m.anything(0, 4);
  std::vector<Val> operands{a};
  for (int64_t more = m.between(0, 3); more > 0; --more) {
    Shape shape = a.shape();
    for (int64_t& extent : shape)
      if (m.chance(20))
        extent = 1;
    operands.push_back(m.of(a.type(), shape));
  }
  m.add(op, operands);
}

void add_comparison(Maker& m) {
  const std::string op = m.word({"Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"});
  Val a = m.anything(0, 4);
  if (!a.is_exact && m.chance(80))
    a = m.fresh(m.any_type(), m.shape(0, 4));
  m.add(op, {a, other_operand(m, a)});
}

void add_logic(Maker& m) {
  const auto is_bool = [](const Val& v) { return v.type() == DataType::Bool; };
  const Val a = m.operand(is_bool, DataType::Bool, m.shape(0, 4));
  if (m.chance(25)) {
    m.add("Not", {a});
    return;
  }
  m.add(m.word({"And", "Or", "Xor"}), {a, other_operand(m, a)});
}

void add_where(Maker& m) {
  const auto is_bool = [](const Val& v) { return v.type() == DataType::Bool; };
  const Val c = m.operand(is_bool, DataType::Bool, m.shape(0, 4));
  const DataType type = m.any_type();
  m.add("Where", {c, m.of(type, m.partner_shape(c.shape())),
                  m.of(type, m.chance(50) ? c.shape() : Shape{})});
}

void add_clip(Maker& m) {
  const Val a = m.chance(70) ? m.floats(0, 4) : m.anything(0, 4);
  const double low = m.real(-4, 1), high = m.real(-1, 5);
  if (m.opset() < 11) {
    m.add("Clip", {a}, {{"min", low}, {"max", high}});
    return;
  }
  const Val none;
  const auto bound = [&](double value) {
    return m.chance(20) ? none
           : graph::is_float(a.type()) && m.chance(15)
               ? m.fresh(a.type(), {})
               : m.scalar(a.type(), std::max(value, graph::is_float(a.type()) ? value : 0.0));
  };
  m.add("Clip", {a, bound(low), bound(high)});
}

void add_prelu(Maker& m) {
  const Val a = m.chance(80) ? m.floats(1, 4) : m.anything(1, 4);
  Shape slope = a.shape();
  for (int64_t& extent : slope)
    if (m.chance(40))
      extent = 1;
  if (m.chance(40))
    slope.erase(slope.begin());
  m.add("PRelu", {a, m.of(a.type(), slope)});
}

void add_cast(Maker& m) {
  static const std::vector<std::pair<DataType, int64_t>> kTypes = {
      {DataType::F32, 1},  {DataType::U8, 2},   {DataType::I8, 3},   {DataType::U16, 4},
      {DataType::I16, 5},  {DataType::I32, 6},  {DataType::I64, 7},  {DataType::Bool, 9},
      {DataType::F16, 10}, {DataType::F64, 11}, {DataType::U32, 12}, {DataType::U64, 13},
      {DataType::BF16, 16}};
  Val a = m.anything(0, 4);
  if (!a.is_exact && m.chance(80))
    a = m.fresh(m.any_type(), m.shape(0, 4));
  const auto [type, number] = m.one_of(kTypes);
  if (m.chance(80))
    m.add("Cast", {a}, {{"to", number}});
  else
    m.add("CastLike", {a, m.of(type, {2})});
}

void add_shift(Maker& m) {
  static const std::vector<DataType> kTypes = {DataType::U8, DataType::U16, DataType::U32,
                                               DataType::U64};
  const DataType type = m.one_of(kTypes);
  const Val a = m.operand([&](const Val& v) { return v.type() == type; }, type, m.shape(0, 3));
  // As many bits as the type has, or more, are undefined in C.
  Tensor by(type, a.shape());
  for (int64_t k = 0; k < by.elements(); ++k)
    by.set_int(k, m.pick(8 * graph::bytes_of(type)));
  m.add("BitShift", {a, m.chance(50) ? m.given(by) : m.constant(by)},
        {{"direction", m.word({"LEFT", "RIGHT"})}});
}

} // namespace

std::vector<Family> elementwise_families() {
  return {{"function", add_function, 6},
          {"activation", add_activation, 2},
          {"integer_function", add_integer_function, 1},
          {"arithmetic", add_arithmetic, 5},
          {"division", add_division, 2},
          {"power", add_power, 1},
          {"several", add_several, 2},
          {"comparison", add_comparison, 2},
          {"logic", add_logic, 1},
          {"where", add_where, 2},
          {"clip", add_clip, 2},
          {"prelu", add_prelu, 1},
          {"cast", add_cast, 3},
          {"shift", add_shift, 1}};
}

} // namespace kawara::peers
