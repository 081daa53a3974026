#include "kernel/gpu/pad_shared.h"

#include "unit/kernel/gpu/gpu_line.h"

namespace kawara::kernel {
namespace {

/// Rows of `depth` elements that are no multiple of a step: copies of several rows follow each
/// other in shared memory, and are stored by position.
std::string product_along(int64_t rows, int64_t columns, int64_t depth) {
  const auto number = [](int64_t n) { return std::to_string(n); };
  return "input X: f32[" + number(rows) + ", " + number(depth) + "], W: f32[" + number(columns) +
         ", " + number(depth) + "], b: f32[" + number(columns) + "]\noutput Y: f32[" +
         number(rows) + ", " + number(columns) + "]\ntemp T: f32[" + number(rows) + ", " +
         number(columns) +
         "]\nT[i, j] = sum(k, X[i, k] * W[j, k])\n"
         "Y[i, j] = max(0, min(1, 0.2 * (T[i, j] + b[j]) + 0.5))\n";
}

TEST(PadShared, PositionsMoveWithTheRows) {
  for (const int64_t rows : {2, 3, 4, 5})
    gpu_line::expect_same(product_along(rows, 104, 26), "auto", {});
  gpu_line::expect_same(product_along(5, 96, 40), "auto", {});
}

TEST(PadShared, PositionsMoveWithTheRowsOfTheLeftOperand) {
  gpu_line::expect_same("input X: f32[40, 48], W: f32[21, 40], b: f32[21]\n"
                        "output Y: f32[21, 48]\n"
                        "temp T: f32[21, 48]\n"
                        "T[i, j] = sum(k, W[i, k] * X[k, j])\n"
                        "Y[i, j] = T[i, j] + b[i]\n",
                        "auto", {});
}

/// `threads` threads store a vector of 4 each, one behind the other, and read a column.
Kernel stored_by_position(int64_t threads, const scalar::Expr& first) {
  Kernel kernel;
  kernel.name = "k";
  Buffer shared;
  shared.name = "S";
  shared.elem = scalar::Elem::F32;
  shared.shape = {scalar::int_lit(threads), scalar::int_lit(16)};
  shared.scope = Scope::Shared;
  kernel.buffers.push_back(shared);
  const scalar::Type four{scalar::Elem::F32, 4};
  kernel.body.emplace_back(
      Store{0, {scalar::ramp(first, 1, 4)}, ReduceOp::None, scalar::zero_of(four)});
  kernel.body.emplace_back(Store{0,
                                 {scalar::var(0), scalar::int_lit(0)},
                                 ReduceOp::None,
                                 scalar::zero_of({scalar::Elem::F32, 1})});
  return kernel;
}

std::string first_position(const Kernel& kernel) {
  const auto& store = std::get<Store>(kernel.body.front());
  return scalar::to_string(store.index[0], names_of(kernel));
}

TEST(PadShared, VectorsThatMayGoOnInTheNextRowStay) {
  Kernel unknown;
  unknown.variables = {{"x", scalar::kIndex}};
  Launch launch;
  launch.thread_vars = {0, 1, 2};
  launch.threads = {32, 1, 1};
  const auto padded = [&](const scalar::Expr& first) {
    Kernel kernel = stored_by_position(32, first);
    for (const char* name : {"x", "y", "z"})
      add_variable(kernel, name, scalar::kIndex);
    return pad_shared(std::move(kernel), launch);
  };
  const Kernel whole = padded(scalar::var(0) * scalar::int_lit(4));
  EXPECT_EQ(scalar::constant_of(whole.buffers[0].shape[1]), 17);
  EXPECT_NE(first_position(whole).find("// 4"), std::string::npos) << first_position(whole);
  const Kernel split = padded(scalar::var(0) * scalar::int_lit(2));
  EXPECT_EQ(scalar::constant_of(split.buffers[0].shape[1]), 16);
}

} // namespace
} // namespace kawara::kernel
