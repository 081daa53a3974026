#include "driver/check/wide_interpretation.h"

#include "program/interpret/interpret.h"
#include "program/program.h"

#include <regex>

namespace kawara::driver {
namespace {

/// Types stand behind a colon where something is declared, and before a bracket where a value is
/// converted.
std::string in_f64(const std::string& text) {
  static const std::regex declared(R"(: (f32|f16|bf16|f8e4m3|f8e5m2)\b)");
  static const std::regex converted(R"(\b(f32|f16|bf16|f8e4m3|f8e5m2)\()");
  return std::regex_replace(std::regex_replace(text, declared, ": f64"), converted, "f64(");
}

program::Array in_f64(const program::Array& array) {
  if (!scalar::is_float(array.elem()))
    return array;
  program::Array wide(scalar::Elem::F64, array.shape());
  for (int64_t k = 0; k < array.elements(); ++k)
    wide.set_double(k, array.get_double(k));
  return wide;
}

} // namespace

Result<program::Arrays, Diagnostic> interpret_in_f64(const program::Program& program,
                                                     const std::vector<int64_t>& sizes,
                                                     const program::Arrays& inputs) {
  auto wide = program::parse(make_source("f64.kw", in_f64(program::print(program))));
  if (!wide)
    return fail(std::move(wide).error().front());
  program::Arrays given;
  for (const auto& [name, array] : inputs)
    given.emplace(name, in_f64(array));
  return program::interpret(*wide, sizes, std::move(given));
}

} // namespace kawara::driver
