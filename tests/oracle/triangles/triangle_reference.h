#pragma once

#include "oracle/triangles/triangle.h"

namespace kawara::oracle {

/// An element: its number, and how large the numbers were that it was made of.
struct TriangleElement {
  double value = 0;
  double size = 0;
};

/// All elements of a tensor, row by row.
struct TriangleArray {
  std::vector<int64_t> shape;
  std::vector<TriangleElement> elements;
};

/// Elements that a tensor has at these sizes, with small whole numbers that depend on the seed
/// (zeros for outputs and temps).
TriangleArray start_of(const Triangle&, size_t tensor, const std::vector<int64_t>& params,
                       uint64_t seed);

/// Runs the program as it is written, one iteration after the other; one array for each tensor.
/// Shares nothing with the compiler but the rules of docs/language.md. Throws std::runtime_error at
/// an access outside a tensor.
void run_as_written(const Triangle&, const std::vector<int64_t>& params,
                    std::vector<TriangleArray>& arrays);

} // namespace kawara::oracle
