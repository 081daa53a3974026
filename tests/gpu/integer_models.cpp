#include "operator_model.h"

namespace kawara::operator_models {
namespace {

using Types = std::vector<DataType>;

const Types kSigned = {DataType::I8, DataType::I16, DataType::I32, DataType::I64};
const Types kUnsigned = {DataType::U8, DataType::U16, DataType::U32, DataType::U64};

DataType any_integer(Maker& m) { return m.one_of(m.chance(50) ? kSigned : kUnsigned); }

Shape integer_shape(Maker& m) { return {m.between(1, 5), m.channels(), m.between(1, 7)}; }

/// Sums, products, extremes, orders, choices: of numbers from the whole type, so that results wrap.
void integer_pairs(Maker& m) {
  const DataType type = any_integer(m);
  const Shape shape = integer_shape(m);
  const Made a = m.whole_input(shape, type), b = m.whole_input(shape, type, false);
  const auto op = m.one_of(std::vector<std::string>{"Add", "Sub", "Mul", "Max", "Min", "Div", "Mod",
                                                    "Less", "LessOrEqual", "Greater",
                                                    "GreaterOrEqual", "Equal", "Where"});
  if (op == "Where") {
    const Made is_less = m.add("Less", {a.id, b.id}, {}, shape, DataType::Bool);
    return m.output(m.add("Where", {is_less.id, b.id, a.id}, {}, shape, type));
  }
  const bool is_test = op == "Equal" || op.starts_with("Less") || op.starts_with("Greater");
  Made result = m.add(op, {a.id, b.id}, {}, shape, is_test ? DataType::Bool : type);
  if (!is_test && m.chance(50)) // what is computed with a result that wrapped
    result = m.add(m.chance(50) ? "Max" : "Min", {result.id, a.id}, {}, shape, type);
  m.output(result);
}

void integer_functions(Maker& m) {
  const bool is_signed = m.chance(60);
  const DataType type = m.one_of(is_signed ? kSigned : kUnsigned);
  const Shape shape = integer_shape(m);
  const Made x = m.whole_input(shape, type);
  switch (m.pick(is_signed ? 5 : 4)) {
  case 0:
    return m.output(m.add("Abs", {x.id}, {}, shape, type));
  case 1:
    return m.output(m.add("Sign", {x.id}, {}, shape, type));
  case 2: {
    const Made low = m.whole_input({}, type), high = m.whole_input({}, type);
    return m.output(m.add("Clip", {x.id, low.id, high.id}, {}, shape, type));
  }
  case 3: {
    const DataType to = any_integer(m);
    int64_t number = 1;
    while (graph::data_type_with_number(number) != to)
      ++number;
    return m.output(m.add("Cast", {x.id}, {{"to", number}}, shape, to));
  }
  default:
    return m.output(m.add("Neg", {x.id}, {}, shape, type));
  }
}

void integer_rows(Maker& m) {
  const DataType type = m.one_of(Types{DataType::I8, DataType::U8, DataType::I32, DataType::U32,
                                       DataType::I64, DataType::U64});
  const Shape shape = integer_shape(m);
  const int64_t axis = m.pick(3);
  const Made x = m.whole_input(shape, type);
  Shape kept = shape;
  kept[static_cast<size_t>(axis)] = 1;
  if (m.chance(30))
    return m.output(
        m.add(m.chance(50) ? "ArgMax" : "ArgMin", {x.id}, {{"axis", axis}}, kept, DataType::I64));
  const auto op =
      m.one_of(std::vector<std::string>{"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"});
  if (op == "ReduceSum")
    return m.output(m.add(op, {x.id, m.integers({axis})}, {}, kept, type));
  m.output(m.add(op, {x.id}, {{"axes", std::vector<int64_t>{axis}}}, kept, type));
}

} // namespace

std::vector<Family> integer_families() {
  return {{"integer_pairs", integer_pairs},
          {"integer_functions", integer_functions},
          {"integer_rows", integer_rows}};
}

} // namespace kawara::operator_models
