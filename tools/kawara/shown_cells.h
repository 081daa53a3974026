#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kawara::tools {

/// What can be shown of an array or tensor.
struct ShownCells {
  std::string type; ///< "f32"
  std::vector<int64_t> shape;
  std::function<std::string(int64_t)>
      cell; ///< text of the kth cell, row by row, short enough to read
  std::function<std::string(int64_t)>
      exact; ///< with all digits that tell it apart from others of its type
  std::function<double(int64_t)> number;

  int64_t cells() const;
};

/// Up to so many cells are printed one by one.
inline constexpr int64_t kFewCells = 64;

/// "s: f32 = 3.5", "y: i64[3] = [1, 2, 3]", rows below each other for more dimensions; of more than `most` cells "C: f32[64, 64]  min -1
/// max 2  mean 0.5". Ends with a line feed.
std::string shown(const std::string& name, const ShownCells&, int64_t most = kFewCells);

/// Rows of numbers separated by commas; a row for each cell of one dimension. At most two dimensions.
std::string csv_of(const ShownCells&);

} // namespace kawara::tools
