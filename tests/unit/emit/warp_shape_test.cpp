#include "emit/cuda/warp_shape.h"

#include "emit/cuda/cuda_from_kernel.h"
#include "unit/kernel/gpu/gpu_line.h"

#include <set>

namespace kawara::emit {
namespace {

/// Sums and products of numbers, from left to right within each, with brackets.
class Arithmetic {
public:
  explicit Arithmetic(const std::string& text) : text_(text) {}
  int64_t sum() {
    int64_t value = product();
    while (take("+"))
      value += product();
    return value;
  }

private:
  int64_t product() {
    int64_t value = factor();
    while (true) {
      if (take("*"))
        value *= factor();
      else if (take("/"))
        value /= factor();
      else if (take("%"))
        value %= factor();
      else
        return value;
    }
  }
  int64_t factor() {
    if (take("(")) {
      const int64_t value = sum();
      take(")");
      return value;
    }
    take("");
    size_t used = 0;
    const int64_t value = std::stoll(text_.substr(at_), &used);
    at_ += used;
    return value;
  }
  bool take(const std::string& word) {
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
    const bool is_there = !word.empty() && text_.compare(at_, word.size(), word) == 0;
    at_ += is_there ? word.size() : 0;
    return is_there;
  }

  std::string text_;
  size_t at_ = 0;
};

int64_t value_of(std::string text, int64_t x, int64_t y) {
  for (const auto& [name, value] : {std::pair("threadIdx.x", x), std::pair("threadIdx.y", y)})
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name))
      text.replace(at, std::string(name).size(), std::to_string(value));
  return Arithmetic(text).sum();
}

TEST(WarpShape, WarpsAreRectanglesAndTogetherTheBlock) {
  const WarpShape shape;
  for (const auto& [across, down] : {std::pair(16, 8), std::pair(32, 4), std::pair(16, 16)}) {
    const std::string column = number_in_warps(shape, across, true),
                      row = number_in_warps(shape, across, false);
    std::set<std::pair<int64_t, int64_t>> all;
    std::vector<std::set<int64_t>> rows(across * down / 32), columns(across * down / 32);
    for (int64_t t = 0; t < across * down; ++t) {
      const int64_t x = value_of(column, t % across, t / across),
                    y = value_of(row, t % across, t / across);
      EXPECT_TRUE(x >= 0 && x < across && y >= 0 && y < down);
      all.insert({y, x});
      rows[t / 32].insert(y);
      columns[t / 32].insert(x);
    }
    EXPECT_EQ(all.size(), static_cast<size_t>(across * down));
    for (size_t w = 0; w < rows.size(); ++w) {
      EXPECT_EQ(rows[w].size(), 4U);
      EXPECT_EQ(columns[w].size(), 8U);
    }
  }
}

TEST(WarpShape, IsForProductsAlone) {
  const auto text_of = [](const std::string& program, const gpu_line::Sizes& sizes) {
    return cuda_from_kernel(gpu_line::compile(program, "auto", sizes).kernel).text;
  };
  const std::string column = " = " + number_in_warps({}, 16, true) + ";";
  const std::string product = text_of(gpu_line::kGemm, {{"M", 512}, {"N", 512}, {"K", 64}});
  EXPECT_NE(product.find(column), std::string::npos) << product;
  EXPECT_NE(product.find(" % 8;"), std::string::npos) << product;
  for (const auto& [program, sizes] :
       {std::pair(gpu_line::kSoftmax, gpu_line::Sizes{{"M", 64}, {"N", 2048}}),
        std::pair(gpu_line::kTranspose, gpu_line::Sizes{{"M", 64}, {"N", 96}})})
    EXPECT_EQ(text_of(program, sizes).find(" % 8;"), std::string::npos);
}

} // namespace
} // namespace kawara::emit
