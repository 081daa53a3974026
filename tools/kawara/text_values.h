#pragma once

#include "graph/graph.h"
#include "program/interpret/values.h"
#include "program/program.h"
#include "support/diagnostic.h"

#include <optional>
#include <string>
#include <string_view>

namespace kawara::tools {

/// What is declared of an input, as far as reading text needs it.
struct DeclaredInput {
  scalar::Elem elem = scalar::Elem::F32;
  std::optional<size_t> rank;  ///< none: any
  bool is_one_element = false; ///< no dimension is larger than 1, for any sizes
  std::string text;            ///< "f32[M, N]"
};
DeclaredInput declared_input(const program::Program&, const program::Tensor&);
/// Nothing for sequences, and for a type that Kawara has no numbers for.
std::optional<DeclaredInput> declared_input(const graph::ValueType&);

/// Is what stands after `NAME=` a value, not the name of a file?
bool is_value(std::string_view text);

/// The number in `text`, as the only element of an input. Refuses an input of several elements, and
/// what its type does not hold (K0455).
Result<program::Array, Diagnostic> array_from_value(const std::string& name,
                                                    const std::string& text, const DeclaredInput&);

/// The table in a file of lines with commas between elements, as `--output` writes it: a line is a
/// row, and an input of one dimension is a line or a column. Refuses a file that cannot be read
/// (K0420), an input of more dimensions, an element that is no number of the type, and rows of
/// different lengths (K0456).
Result<program::Array, Diagnostic> array_from_csv(const std::string& name, const std::string& path,
                                                  const DeclaredInput&);

/// The same elements as a tensor of a model.
graph::Tensor tensor_from_array(const program::Array&, graph::DataType);

} // namespace kawara::tools
