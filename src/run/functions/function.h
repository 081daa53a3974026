#pragma once

#include "graph/graph.h"
#include "support/result.h"

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace kawara::run {

using graph::DataType;
using graph::Shape;
using graph::Tensor;

/// What a value of a model is while it runs: a tensor, a list of tensors, or nothing (an optional
/// that is left out).
struct Datum {
  Tensor tensor;
  bool is_sequence = false;
  std::vector<Tensor> items; ///< of a sequence
};

/// Memory for a result that does not overlap any operand; none where there is no wish.
struct Place {
  std::byte* memory = nullptr;
  int64_t bytes = 0;
};

/// One application of an operator to values. Absent inputs are tensors without elements.
struct FunctionCall {
  const graph::Node& node;
  int64_t opset = 0;
  std::vector<Datum> inputs;
  std::set<std::string>* reads =
      nullptr;                    ///< gets the names of attributes that the function looks at
  std::vector<Place> places = {}; ///< where results are to lie, by output

  /// A tensor for a result of which every element will be written: in its place, if it has just so
  /// many bytes.
  Tensor result(size_t output, DataType type, const Shape& shape) const;
  /// The same with the elements of another tensor.
  Tensor result_like(size_t output, const Tensor&) const;

  bool has(size_t k) const {
    return k < inputs.size() && (inputs[k].is_sequence || static_cast<bool>(inputs[k].tensor));
  }
  const Tensor& tensor(size_t k) const { return inputs[k].tensor; }
  /// The attribute as it is written; null where it is left out.
  const graph::Attribute* attribute(const std::string& name) const;
  int64_t integer(const std::string& name, int64_t otherwise) const;
  double real(const std::string& name, double otherwise) const;
  std::string word(const std::string& name, const std::string& otherwise) const;
  /// Why an attribute that names one of a few ways names none of these; nothing when it does, or is
  /// left out.
  std::optional<std::string> unknown_word(const std::string& name,
                                          const std::vector<std::string>& known) const;
  std::vector<int64_t> integers(const std::string& name) const;
  std::vector<double> reals(const std::string& name) const;
};

/// The outputs, or a sentence that says why there are none.
using Outputs = Result<std::vector<Datum>, std::string>;

/// An operator whose result depends on its input's values in a way that no program of affine
/// indices can express. `needed` inputs must be present.
struct Function {
  std::string_view name;
  size_t needed;
  Outputs (*call)(const FunctionCall&);
};

/// The function of a standard operator; null when there is none.
const Function* find_function(std::string_view name);
std::vector<std::string> function_names();

// One list per family.
std::span<const Function> fourier_functions();
std::span<const Function> gather_functions();
std::span<const Function> number_functions();
std::span<const Function> random_functions();
std::span<const Function> ranking_functions();
std::span<const Function> resize_functions();
std::span<const Function> rotate_functions();
std::span<const Function> sample_functions();
std::span<const Function> search_functions();
std::span<const Function> sequence_functions();

/// `axis` counted from the front, or -1 when it is outside.
inline int64_t axis_of(int64_t axis, int64_t rank) {
  return axis < -rank || axis >= rank ? -1 : axis < 0 ? axis + rank : axis;
}
inline std::vector<Datum> one(Tensor tensor) { return {Datum{std::move(tensor), false, {}}}; }
/// A tensor with elements of its own.
Tensor copy_of(const Tensor&);

} // namespace kawara::run
