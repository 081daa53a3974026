#pragma once

#include "peers/distance.h"

namespace kawara::peers {

/// A cell that Kawara and ONNX Runtime compute differently from the same operands.
struct NodeCase {
  const graph::Node& node;
  int64_t opset = 0;
  std::vector<Tensor> operands; ///< those left out are empty
  std::vector<Datum> got, expected;
  size_t output = 0;
  int64_t cell = 0;

  double got_cell() const { return got[output].tensor.get_double(cell); }
  double expected_cell() const { return expected[output].tensor.get_double(cell); }
};

/// A kind of difference that is known, and why it is none of Kawara's faults.
struct Explanation {
  std::string_view name;
  std::string_view why;
  bool (*holds)(const NodeCase&);
};
const std::vector<Explanation>& explanations();
/// The first that holds; null where none does.
const Explanation* explanation_of(const NodeCase&);

} // namespace kawara::peers
