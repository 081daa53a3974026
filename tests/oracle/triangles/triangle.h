#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kawara::oracle {

/// (constant + sums of factors * loops and parameters) // divisor, rounded down.
struct Linear {
  int64_t constant = 0;
  std::vector<int64_t> loops;  ///< factor of each loop, by its number; may be shorter
  std::vector<int64_t> params; ///< likewise
  int64_t divisor = 1;
};

/// What a statement computes.
struct TriangleValue {
  enum class Kind : uint8_t { Load, Number, Loop, Add, Subtract, Multiply, Max, Min };
  Kind kind = Kind::Number;
  size_t tensor = 0; ///< of a load
  std::vector<Linear> index;
  int64_t number = 0; ///< a literal, or which loop
  std::vector<TriangleValue> operands;
};

/// A loop or a statement.
struct TriangleNode {
  bool is_loop = false;
  size_t loop = 0;            ///< its number
  std::string name;           ///< what it is called in the text
  std::vector<Linear> lo, hi; ///< from the greatest of `lo` to the smallest of `hi`
  int64_t step = 1;
  std::vector<TriangleNode> body;

  size_t tensor = 0; ///< that the statement writes
  std::vector<Linear> index;
  std::string op; ///< =, +=, -=, *=, max=, min=
  TriangleValue value;
};

struct TriangleTensor {
  std::string name, role, elem;
  std::vector<Linear> shape; ///< in the parameters
};

/// A program of loops whose bounds depend on each other.
struct Triangle {
  std::vector<std::string> params;
  std::vector<std::vector<int64_t>>
      sizes; ///< of the parameters, to be tried; one empty list without parameters
  std::vector<TriangleTensor> tensors;
  std::vector<TriangleNode> body;
  std::vector<std::string> loops; ///< names, by number
  std::string numerics;           ///< empty: the default
};

/// Drawn by the seed: products, updates and nests of several statements, over triangles, trapezoids
/// and bands.
Triangle random_triangle(uint64_t seed);

/// The program as `.kw` text.
std::string text_of(const Triangle&);

} // namespace kawara::oracle
