#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kawara::tools {

/// What can be shown of an array or tensor.
struct ShownElements {
  std::string type; ///< "f32"
  std::vector<int64_t> shape;
  std::function<std::string(int64_t)>
      element; ///< text of the kth element, row by row, short enough to read
  std::function<std::string(int64_t)>
      exact; ///< with all digits that tell it apart from others of its type
  std::function<double(int64_t)> number;

  int64_t elements() const;
};

/// Up to so many elements are printed one by one.
inline constexpr int64_t kFewElements = 64;

/// "s: f32 = 3.5", "y: i64[3] = [1, 2, 3]", rows below each other for more dimensions; of more than
/// `most` elements
/// "C: f32[64, 64]  min -1  max 2  mean 0.5". Ends with a line feed.
std::string shown(const std::string& name, const ShownElements&, int64_t most = kFewElements);

/// Rows of numbers separated by commas; a row for each element of one dimension. At most two
/// dimensions.
std::string csv_of(const ShownElements&);

} // namespace kawara::tools
