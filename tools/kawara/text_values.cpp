#include "kawara/text_values.h"

#include "run/file.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

namespace kawara::tools {
namespace {

template <class Number> std::optional<Number> whole_number(std::string_view text) {
  if (text.starts_with('+'))
    text.remove_prefix(1);
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return number;
}

std::optional<scalar::Value> condition_from(std::string_view text) {
  if (text == "true" || text == "True" || text == "1")
    return scalar::int_value(1);
  if (text == "false" || text == "False" || text == "0")
    return scalar::int_value(0);
  return std::nullopt;
}

/// Also "2.0" and "1e3": many programs write tables so.
std::optional<scalar::Value> integer_from(std::string_view text, scalar::Elem elem) {
  if (elem == scalar::Elem::U64)
    if (const auto number = whole_number<uint64_t>(text))
      return scalar::int_value(static_cast<int64_t>(*number));
  std::optional<int64_t> number = whole_number<int64_t>(text);
  constexpr double kExact = 9007199254740992.0; // 2^53
  if (const auto real = whole_number<double>(text);
      !number && real && std::floor(*real) == *real && std::abs(*real) <= kExact)
    number = static_cast<int64_t>(*real);
  const bool fits = number && scalar::wrap_to(elem, *number) == *number &&
                    (*number >= 0 || !scalar::is_unsigned(elem));
  return fits ? std::optional(scalar::int_value(*number)) : std::nullopt;
}

std::optional<scalar::Value> element_from(std::string_view text, scalar::Elem elem) {
  if (elem == scalar::Elem::Bool)
    return condition_from(text);
  if (!scalar::is_float(elem))
    return integer_from(text, elem);
  const auto number = whole_number<double>(text);
  return number ? std::optional(scalar::float_value(*number)) : std::nullopt;
}

std::string shown_element(std::string_view element) {
  constexpr size_t kMost = 40;
  return printable(std::string(element.substr(0, kMost))) + (element.size() > kMost ? "..." : "");
}

Diagnostic unfit_value(const std::string& name, std::string headline, const std::string& why) {
  Diagnostic d;
  d.code = "K0455";
  d.headline = std::move(headline);
  d.body.push_back(why);
  d.help.push_back({"give a file", "--input " + printable(name) + "=FILE.npy", false});
  return d;
}

Diagnostic bad_table(const std::string& headline, const std::string& why, const std::string& help) {
  return run::file_error("K0456", headline, why, help);
}

/// Lines without their ends; blank lines at the end of the file do not count.
std::vector<std::string_view> lines_of(const std::string& text) {
  std::vector<std::string_view> lines = split(text, '\n');
  for (std::string_view& line : lines)
    line = trim(line);
  while (!lines.empty() && lines.back().empty())
    lines.pop_back();
  return lines;
}

std::vector<int64_t> shape_of_table(size_t rows, size_t columns, const DeclaredInput& declared) {
  const auto r = static_cast<int64_t>(rows), c = static_cast<int64_t>(columns);
  const size_t rank = declared.rank.value_or(2);
  if (rank == 0 && r * c == 1)
    return {};
  if (rank == 1 && (r <= 1 || c == 1))
    return {r * c};
  return {r, c};
}

} // namespace

DeclaredInput declared_input(const program::Program& program, const program::Tensor& tensor) {
  std::vector<std::string> sizes;
  for (const scalar::Expr& size : tensor.shape)
    sizes.push_back(scalar::to_string(size, program::names_of(program)));
  return {tensor.elem, tensor.shape.size(),
          std::all_of(tensor.shape.begin(), tensor.shape.end(),
                      [](const scalar::Expr& size) { return scalar::constant_of(size) == 1; }),
          std::string(scalar::name_of(tensor.elem)) +
              (sizes.empty() ? "" : "[" + join(sizes, ", ") + "]")};
}

std::optional<DeclaredInput> declared_input(const graph::ValueType& type) {
  const auto elem = type.elem ? scalar::elem_from_name(graph::name_of(*type.elem)) : std::nullopt;
  if (!elem || type.kind != graph::ValueType::Kind::Tensor)
    return std::nullopt;
  DeclaredInput declared{*elem, std::nullopt, true, graph::text_of(type)};
  if (type.shape) {
    declared.rank = type.shape->size();
    declared.is_one_element = std::all_of(type.shape->begin(), type.shape->end(),
                                          [](const graph::Dim& dim) { return dim.size == 1; });
  }
  return declared;
}

bool is_value(std::string_view text) {
  std::error_code ignored;
  return (whole_number<double>(text) || text == "true" || text == "false") &&
         !std::filesystem::exists(text, ignored);
}

Result<program::Array, Diagnostic>
array_from_value(const std::string& name, const std::string& text, const DeclaredInput& declared) {
  if (!declared.is_one_element)
    return fail(
        unfit_value(name,
                    fmt::format("`--input {}={}` gives one number for {}", printable(name),
                                shown_element(text), declared.text),
                    "A number is for an input of one element; others are read from a .npy, .npz "
                    "or .csv file."));
  const auto value = element_from(text, declared.elem);
  if (!value)
    return fail(
        unfit_value(name,
                    fmt::format("`--input {}={}` is no value of the type {}", printable(name),
                                shown_element(text), scalar::name_of(declared.elem)),
                    fmt::format("The input is declared as {}.", declared.text)));
  program::Array array(declared.elem, std::vector<int64_t>(declared.rank.value_or(0), 1));
  array.set(0, *value);
  return array;
}

Result<program::Array, Diagnostic> array_from_csv(const std::string& name, const std::string& path,
                                                  const DeclaredInput& declared) {
  if (declared.rank.value_or(0) > 2)
    return fail(
        bad_table(fmt::format("`{}` is no table", printable(name)),
                  fmt::format("A .csv file holds at most two dimensions, and the input is {}.",
                              declared.text),
                  "give a .npy file"));
  KAWARA_TRY(const std::string text, run::read_file(path));
  const std::vector<std::string_view> lines = lines_of(text);
  const size_t columns =
      lines.empty() ? 0
                    : static_cast<size_t>(std::count(lines[0].begin(), lines[0].end(), ',')) + 1;
  if (declared.rank == 1 && lines.size() > 1 && columns > 1)
    return fail(
        bad_table(fmt::format("`{}` has {} lines of {} elements, not one line or one column", path,
                              lines.size(), columns),
                  fmt::format("The input `{}` is declared as {}.", printable(name), declared.text),
                  "give a table of one row or one column"));
  program::Array array(declared.elem, shape_of_table(lines.size(), columns, declared));
  int64_t at = 0;
  for (size_t row = 0; row < lines.size(); ++row) {
    const std::vector<std::string_view> elements = split(lines[row], ',');
    if (elements.size() != columns)
      return fail(bad_table(fmt::format("`{}`, line {}: {} elements, not {}", path, row + 1,
                                        elements.size(), columns),
                            "All lines of a table have as many elements as the first.",
                            "give each line as many"));
    for (size_t column = 0; column < columns; ++column) {
      const auto value = element_from(trim(elements[column]), declared.elem);
      if (!value)
        return fail(bad_table(
            fmt::format("`{}`, line {}, column {}: `{}` is no value of the type {}", path, row + 1,
                        column + 1, shown_element(trim(elements[column])),
                        scalar::name_of(declared.elem)),
            fmt::format("The input `{}` is declared as {}. A table holds numbers with commas "
                        "between them, and no names of columns.",
                        printable(name), declared.text),
            "correct the element"));
      array.set(at++, *value);
    }
  }
  return array;
}

graph::Tensor tensor_from_array(const program::Array& array, graph::DataType type) {
  graph::Tensor tensor(type, array.shape());
  std::memcpy(tensor.data(), array.data(), array.bytes());
  return tensor;
}

} // namespace kawara::tools
