#pragma once

#include "peers/distance.h"

namespace kawara::peers {

/// An element that Kawara and ONNX Runtime compute differently from the same operands.
struct NodeCase {
  const graph::Node& node;
  int64_t opset = 0;
  std::vector<Tensor> operands; ///< those left out are empty
  std::vector<Datum> got, expected;
  size_t output = 0;
  int64_t element = 0; ///< -1: it is the type or the shape that differs

  bool is_form() const { return element < 0; }
  bool is(const std::set<std::string>& ops) const { return ops.count(node.op) > 0; }
  const Tensor& ours() const { return got[output].tensor; }
  const Tensor& theirs() const { return expected[output].tensor; }
  double our_element() const { return ours().get_double(element); }
  double their_element() const { return theirs().get_double(element); }
  double run_in_subprocess() const; ///< infinite unless both are finite
  int64_t integer(const std::string& attribute, int64_t otherwise) const;
  std::string word(const std::string& attribute, const std::string& otherwise) const;
  bool has(size_t operand) const { return operand < operands.size() && operands[operand]; }
};

/// A kind of difference that is known, and why it is none of Kawara's faults.
struct Explanation {
  std::string_view name;
  std::string_view why;
  bool (*holds)(const NodeCase&);
};
/// Where ONNX Runtime is less exact, overflows elsewhere, or loses a NaN.
std::vector<Explanation> explained_numbers();
/// Where ONNX Runtime does not do what the standard says, or the standard says nothing.
std::vector<Explanation> explained_meanings();
std::vector<Explanation> explanations();
/// The first that holds; null where none does.
const Explanation* explanation_of(const NodeCase&);

bool has_nan(const Tensor&);
bool has_infinity(const Tensor&);
double largest_finite(const Tensor&); ///< the largest absolute value; 0 of none

} // namespace kawara::peers
