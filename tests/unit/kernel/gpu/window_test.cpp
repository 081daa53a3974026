// Convolutions whose windows TMA brings (Buffer::window).

#include "unit/kernel/gpu/gpu_line.h"

#include "kernel/walk.h"

#include <fmt/format.h>

#include <array>

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::Line;

constexpr uint32_t kPlaces = 4; ///< the buffer W

struct Convolution {
  int64_t images, height, width, channels, filters, rows, columns, stride, dilation, before, after;
  int64_t runs_on = 1; ///< elements of a row whose channels a place has
  int64_t out(int64_t extent, int64_t taps) const {
    return (extent + before + after - (taps - 1) * dilation - 1) / stride + 1;
  }
};

std::string side(const Convolution& v, const std::string& o, const std::string& k) {
  return fmt::format("{} * {} + {} * {} - {}", v.stride, o, v.dilation, k, v.before);
}

/// The program that operators write, with a bias and relu.
std::string text_of(const Convolution& v) {
  const int64_t down = v.out(v.height, v.rows), right = v.out(v.width - v.runs_on + 1, v.columns),
                places = v.images * down * right, deep = v.channels * v.runs_on;
  const std::string y = side(v, "y", "r"), x = side(v, "x", "s");
  std::string text =
      fmt::format("input X: bf16[{}, {}, {}, {}], F: bf16[{}, {}, {}, {}], b: bf16[{}]\noutput Y: "
                  "bf16[{}, {}]\n"
                  "temp W: bf16[{}, {}, {}, {}], T: f32[{}, {}]\n",
                  v.images, v.height, v.width, v.channels, v.rows, v.columns, v.filters, deep,
                  v.filters, places, v.filters, places, v.rows, v.columns, deep, places, v.filters);
  std::string indent;
  for (const auto& [name, extent] : std::vector<std::pair<std::string, int64_t>>{{"n", v.images},
                                                                                 {"y", down},
                                                                                 {"x", right},
                                                                                 {"r", v.rows},
                                                                                 {"s", v.columns},
                                                                                 {"c", deep}}) {
    text += fmt::format("{}for {} in range({}):\n", indent, name, extent);
    indent += "  ";
  }
  const std::string element = fmt::format("W[(n * {} + y) * {} + x, r, s, c]", down, right);
  const std::string from =
      v.runs_on == 1 ? fmt::format("X[n, {}, {}, c]", y, x)
                     : fmt::format("X[n, {}, {} + c // {}, c % {}]", y, x, v.channels, v.channels);
  if (v.before + v.after == 0)
    text += fmt::format("{}{} = {}\n", indent, element, from);
  else
    text += fmt::format("{0}if {1} >= 0 and {1} < {2} and {3} >= 0 and {3} < {4}:\n{0}  {5} = {6}\n"
                        "{0}else:\n{0}  {5} = 0\n",
                        indent, y, v.height, x, v.width, element, from);
  return text + fmt::format(
                    "T[q, m] = sum((r in range({}), s in range({}), c in range({})), W[q, r, s, c] "
                    "* F[r, s, m, c])\nY[q, m] = max(T[q, m] + b[m], 0)\n",
                    v.rows, v.columns, deep);
}

/// Orders to bring places of a window.
int64_t walks_of(const Kernel& kernel) {
  int64_t found = 0;
  visit(kernel.body, [&](const Stmt& stmt) {
    const auto* async_op = std::get_if<AsyncOp>(&stmt);
    const auto* load = async_op != nullptr ? std::get_if<BulkLoad>(&async_op->what) : nullptr;
    found += load != nullptr && load->walk ? 1 : 0;
  });
  return found;
}

void expect_right_window(const Line& line) {
  EXPECT_EQ(line.broken, std::vector<std::string>{});
  const auto worst = gpu_line::difference(line, {}, 3);
  ASSERT_TRUE(worst) << worst.error() << "\n" << print(line.kernel);
  EXPECT_LE(*worst, 1e-2) << print(line.kernel);
}

TEST(Windows, default_schedules_bring_them_from_the_image) {
  for (const Convolution& v : {Convolution{2, 5, 6, 64, 72, 3, 3, 1, 1, 1, 1},
                               Convolution{3, 7, 7, 40, 64, 3, 3, 2, 1, 1, 1},
                               Convolution{1, 9, 8, 24, 16, 3, 2, 1, 2, 2, 2},
                               Convolution{2, 8, 7, 72, 64, 1, 1, 2, 1, 0, 0},
                               Convolution{2, 6, 9, 16, 24, 3, 1, 1, 1, 0, 0, 4}}) {
    SCOPED_TRACE(text_of(v));
    const Line line = compile(text_of(v), "auto", {});
    EXPECT_EQ(walks_of(line.kernel), 1) << print(line.kernel);
    EXPECT_FALSE(used_buffers(line.kernel).contains(kPlaces));
    expect_right_window(line);
  }
}

/// Channels in groups, each with filters of its own: `each` of both.
std::string grouped(int64_t groups, int64_t each, int64_t rows) {
  const int64_t side = 7 - rows;
  return fmt::format(
      "input X: bf16[2, 6, 6, {0}], F: bf16[{3}, {3}, {1}, {2}, {2}], b: bf16[{1}, {2}]\n"
      "output Y: bf16[{5}, {1}, {2}]\n"
      "temp W: bf16[{5}, {3}, {3}, {1}, {2}], T: f32[{5}, {1}, {2}]\n"
      "for n in range(2):\n  for y in range({4}):\n    for x in range({4}):\n"
      "      for r in range({3}):\n        for s in range({3}):\n"
      "          for g in range({1}):\n            for c in range({2}):\n"
      "              W[(n * {4} + y) * {4} + x, r, s, g, c] = X[n, y + r, x + s, {2} * g + c]\n"
      "T[q, g, m] = sum((r, s, c), W[q, r, s, g, c] * F[r, s, g, m, c])\n"
      "Y[q, g, m] = max(T[q, g, m] + b[g, m], 0)\n",
      groups * each, groups, each, rows, side, 2 * side * side);
}

TEST(Windows, groups_of_whole_lines_are_brought_from_the_image) {
  for (const auto& [groups, each, rows] :
       std::vector<std::array<int64_t, 3>>{{3, 64, 3}, {2, 128, 3}, {2, 192, 2}}) {
    const std::string text = grouped(groups, each, rows);
    SCOPED_TRACE(text);
    const Line line = compile(text, "auto", {});
    EXPECT_EQ(walks_of(line.kernel), 1) << print(line.kernel);
    EXPECT_FALSE(used_buffers(line.kernel).contains(kPlaces));
    expect_right_window(line);
  }
}

/// What TMA brings beyond 40 channels belongs to the next group: the windows are copied.
TEST(Windows, other_groups_are_copied) {
  for (const int64_t each : {40, 72}) {
    const Line line = compile(grouped(3, each, 3), "auto", {});
    EXPECT_EQ(walks_of(line.kernel), 0) << print(line.kernel);
    EXPECT_TRUE(used_buffers(line.kernel).contains(kPlaces));
    EXPECT_TRUE(has_async_op(line.kernel.body)) << print(line.kernel);
    expect_right_window(line);
  }
}

TEST(Windows, groups_read_without_tensor_cores_are_of_the_image_too) {
  const Line line = compile(grouped(2, 64, 2), "inline(S0); bind(S1.q, block.x)", {});
  EXPECT_FALSE(used_buffers(line.kernel).contains(kPlaces));
  expect_right_window(line);
}

TEST(Windows, dimensions_of_extent_1_may_be_missing) {
  const std::string text = "input X: bf16[6, 9, 16], F: bf16[3, 24, 64], b: bf16[24]\n"
                           "output Y: bf16[24, 24]\ntemp W: bf16[24, 3, 64], T: f32[24, 24]\n"
                           "for y in range(4):\n  for x in range(6):\n    for r in range(3):\n"
                           "      for c in range(64):\n"
                           "        W[y * 6 + x, r, c] = X[y + r, x + c // 16, c % 16]\n"
                           "T[q, m] = sum((r, c), W[q, r, c] * F[r, m, c])\nY[q, m] = T[q, m]\n";
  const Line line = compile(text, "auto", {});
  EXPECT_EQ(walks_of(line.kernel), 1) << print(line.kernel);
  expect_right_window(line);
}

TEST(Windows, inlined_without_tensor_cores_read_the_image_too) {
  for (const Convolution& v : {Convolution{2, 5, 4, 3, 4, 3, 3, 1, 1, 1, 1},
                               Convolution{1, 4, 6, 2, 3, 2, 1, 1, 1, 0, 0, 2}}) {
    const Line line = compile(text_of(v), "inline(S0); bind(S2.q, block.x)", {});
    EXPECT_FALSE(used_buffers(line.kernel).contains(kPlaces));
    expect_right_window(line);
  }
}

TEST(Windows, zeros_in_other_places_are_not_a_window) {
  std::string text = text_of({1, 6, 6, 64, 64, 3, 3, 1, 1, 1, 1});
  const size_t at = text.find(">= 0");
  text.replace(at, 4, ">= 1");
  const Line line = compile(text, "auto", {});
  EXPECT_EQ(walks_of(line.kernel), 0);
  EXPECT_TRUE(used_buffers(line.kernel).contains(kPlaces));
  EXPECT_THROW(compile(text, "inline(S0)", {}), std::runtime_error);
}

} // namespace
} // namespace kawara::kernel
