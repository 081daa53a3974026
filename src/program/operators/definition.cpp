#include "program/operators/definition.h"

#include "support/text.h"

#include <algorithm>
#include <cmath>

namespace kawara::program::operators {
namespace {

const Operand kMissing{false, DataType::F32, {}, nullptr, false};

std::string declaration(const std::string& keyword, const std::string& name,
                        const std::string& type, const Shape& shape) {
  return keyword + " " + name + ": " + type + (shape.empty() ? "" : graph::text_of(shape)) + "\n";
}

bool is_word_end(const std::string& text, size_t at) {
  return at >= text.size() ||
         !(std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
}

} // namespace

bool Definition::wants(size_t output) const {
  return output < node_.outputs.size() && node_.outputs[output] != graph::kAbsent;
}

const graph::Attribute* Definition::attribute(const std::string& name) {
  reads_.insert(name);
  const auto at = node_.attributes.find(name);
  return at == node_.attributes.end() ? nullptr : &at->second;
}

template <class T>
std::optional<T> Definition::attribute_as(const std::string& name, const char* kind) {
  const graph::Attribute* given = attribute(name);
  if (!given)
    return std::nullopt;
  if (const T* value = std::get_if<T>(given))
    return *value;
  refuse(fmt::format("attribute `{}` must be {}, not {}", name, kind, graph::kind_of(*given)));
  return std::nullopt;
}

int64_t Definition::integer(const std::string& name, int64_t otherwise) {
  return attribute_as<int64_t>(name, "an integer").value_or(otherwise);
}

double Definition::real(const std::string& name, double otherwise) {
  // What the standard says to take is an f32, as in files.
  return attribute_as<double>(name, "a number").value_or(static_cast<float>(otherwise));
}

std::optional<DataType> Definition::data_type(const std::string& name, DataType otherwise) {
  if (!has_attribute(name))
    return otherwise;
  const int64_t number = integer(name, 0);
  const auto type = graph::data_type_with_number(number);
  if (!type)
    refuse(fmt::format("attribute `{}` is {}, and Kawara has no element type of that number", name,
                       number));
  return type;
}

std::string Definition::word(const std::string& name, const std::string& otherwise) {
  return attribute_as<std::string>(name, "a text").value_or(otherwise);
}

std::string Definition::word_of(const std::string& name, const std::string& otherwise,
                                const std::vector<std::string>& known) {
  std::string given = word(name, otherwise);
  if (std::find(known.begin(), known.end(), given) == known.end())
    refuse(fmt::format("attribute `{}` is `{}`; known are {}", name, printable(given),
                       join(known, ", ")));
  return given;
}

std::optional<std::vector<int64_t>> Definition::integers(const std::string& name) {
  return attribute_as<std::vector<int64_t>>(name, "a list of integers");
}

std::vector<double> Definition::reals(const std::string& name) {
  return attribute_as<std::vector<double>>(name, "a list of numbers")
      .value_or(std::vector<double>{});
}

std::vector<std::string> Definition::words(const std::string& name) {
  return attribute_as<std::vector<std::string>>(name, "a list of texts")
      .value_or(std::vector<std::string>{});
}

DataType Definition::type(size_t k) const { return has(k) ? operands_[k].type : kMissing.type; }
const Shape& Definition::shape(size_t k) const {
  return has(k) ? operands_[k].shape : kMissing.shape;
}

const Tensor* Definition::value(size_t k) {
  if (!need(k))
    return nullptr;
  if (!operands_[k].value && !is_settled())
    wanted_ = k;
  return operands_[k].value;
}

std::vector<int64_t> Definition::values(size_t k) {
  const Tensor* tensor = value(k);
  constexpr int64_t most = 1 << 16;
  std::vector<int64_t> out;
  if (!tensor)
    return out;
  if (graph::is_float(tensor->type()) || tensor->elements() > most) {
    refuse(fmt::format("input {} must be a short list of integers, not {}{}", k,
                       graph::name_of(tensor->type()), graph::text_of(tensor->shape())));
    return out;
  }
  for (int64_t i = 0; i < tensor->elements(); ++i)
    out.push_back(tensor->get_int(i));
  return out;
}

int64_t Definition::axis_of(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    refuse(fmt::format("axis {} is outside the {} dimensions of the tensor", axis, rank));
    return 0;
  }
  return axis < 0 ? axis + rank : axis;
}

bool Definition::need(size_t k) {
  if (!has(k))
    refuse(fmt::format("input {} is missing", k));
  return has(k);
}

void Definition::refuse(std::string why) {
  if (!is_settled())
    refusal_ = std::move(why);
}

void Definition::output(DataType type, Shape shape) {
  if (!graph::elements_of(shape))
    refuse("an output would have the shape " + graph::text_of(shape));
  results_.push_back({type, std::move(shape)});
}

void Definition::add_line(std::string text) { lines_.push_back(std::move(text)); }
void Definition::declare_operand(size_t k, Shape shape) { operand_shapes_[k] = std::move(shape); }
void Definition::declare_output(size_t k, Shape shape) { output_shapes_[k] = std::move(shape); }

void Definition::temp(const std::string& name, const std::string& type, const Shape& shape) {
  temps_.push_back(declaration("temp", name, type, shape));
}

std::string Definition::element(size_t k, const std::string& index) const {
  const std::string load = at("X" + std::to_string(k), index);
  switch (type(k)) {
  case DataType::U16:
    return "(i32(" + load + ") % 65536)";
  case DataType::U32:
    return "(i64(" + load + ") % 4294967296)";
  default:
    return load;
  }
}

std::string Definition::ordered(DataType type, const std::string& value) {
  return type == DataType::U64 ? "(" + value + " + (-9223372036854775807 - 1))" : value;
}

std::string Definition::stored(DataType type, const std::string& value) {
  // Elements of unsigned types have the signed type of equal size, whose largest value is half of
  // theirs: integers wrap, floats would not.
  const char* wide = type == DataType::U16 ? "i32" : type == DataType::U32 ? "i64" : nullptr;
  const std::string whole = wide ? fmt::format("{}({})", wide, value) : value;
  return type == DataType::Bool ? value : name_in_program(type) + "(" + whole + ")";
}

std::string Definition::saturated(DataType type, const std::string& value) {
  const bool is_wide = type == DataType::I16 || type == DataType::U16;
  const int64_t high = is_wide ? 65535 : 255;
  if (type != DataType::I8 && type != DataType::I16)
    return stored(type, fmt::format("max(0, min({}, {}))", high, value));
  // Counted from the lowest number on, so that it is what NaN, as an integer 0, comes to.
  const int64_t below = (high + 1) / 2;
  return stored(type, fmt::format("i32(max(0, min({}, {} + {}))) - {}", high, value, below, below));
}

bool Definition::mentions(const std::string& name) const {
  for (const std::string& text : lines_)
    for (size_t p = text.find(name); p != std::string::npos; p = text.find(name, p + 1))
      if (is_word_end(text, p + name.size()) && (p == 0 || is_word_end(text, p - 1)))
        return true;
  return false;
}

std::vector<size_t> Definition::used_operands() const {
  std::vector<size_t> used;
  for (size_t k = 0; k < operands_.size(); ++k)
    if (has(k) && mentions("X" + std::to_string(k)))
      used.push_back(k);
  return used;
}

std::string Definition::text() const {
  std::string text;
  for (const size_t k : used_operands()) {
    const auto at = operand_shapes_.find(k);
    text += declaration(operands_[k].is_weight ? "const" : "input", "X" + std::to_string(k),
                        name_in_program(operands_[k].type),
                        at == operand_shapes_.end() ? operands_[k].shape : at->second);
  }
  for (size_t k = 0; k < results_.size(); ++k) {
    const auto at = output_shapes_.find(k);
    text += declaration("output", "Y" + std::to_string(k), name_in_program(results_[k].type),
                        at == output_shapes_.end() ? results_[k].shape : at->second);
  }
  for (const std::string& temp : temps_)
    text += temp;
  for (const std::string& line : lines_)
    text += line + "\n";
  return text;
}

std::string indices(const std::string& prefix, size_t count) {
  std::vector<std::string> names;
  for (size_t k = 0; k < count; ++k)
    names.push_back(prefix + std::to_string(k));
  return join(names, ", ");
}

bool is_known_zero(const Definition& d, size_t operand) {
  const Tensor* tensor = d.operand(operand).value;
  if (tensor == nullptr || graph::is_float(tensor->type()))
    return false;
  for (int64_t i = 0; i < tensor->elements(); ++i)
    if (tensor->get_int(i) != 0)
      return false;
  return true;
}

std::string at(const std::string& name, const std::string& index) {
  return index.empty() ? name : name + "[" + index + "]";
}

std::string name_in_program(DataType type) {
  return std::string(scalar::name_of(graph::storage_of(type)));
}

std::string literal(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : "(-inf)";
  std::string text = fmt::format("{:.17g}", value);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return value < 0 || std::signbit(value) ? "(" + text + ")" : text;
}

int64_t product(const Shape& shape, size_t begin, size_t end) {
  int64_t elements = 1;
  for (size_t k = begin; k < end && k < shape.size(); ++k)
    elements *= shape[k];
  return elements;
}

} // namespace kawara::program::operators
