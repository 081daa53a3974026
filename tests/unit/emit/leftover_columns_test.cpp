#include "emit/unit.h"

#include <gtest/gtest.h>

namespace kawara::emit {
namespace {

using scalar::Elem;
using scalar::Expr;
using scalar::int_lit;

constexpr int64_t kRows = 14, kSteps = 160, kColumns = 17, kCopies = 4;
constexpr scalar::Type kSingle{Elem::F32, 1}, kVector{Elem::F32, 16};

Expr columns(const Expr& first) { return scalar::ramp(first, 1, 16); }

/// A vector of columns of one row and the column beside it.
struct Row {
  uint32_t lanes = 0, last = 0;
};

/// Rows of a tile, four steps at once: `C[r, 0..16] += A[r, k] * B[k, 0..16]`.
kernel::Kernel tile_of_17_columns() {
  kernel::Kernel k;
  k.name = "tile";
  for (const auto& [name, elements] :
       {std::pair{"A", kRows * kSteps}, {"B", kSteps * kColumns}, {"C", kRows * kColumns}})
    k.buffers.push_back(
        {name, Elem::F32, {int_lit(elements)}, kernel::Scope::Argument, program::Role::Inout});
  std::vector<Row> rows;
  kernel::Block after;
  for (int64_t r = 0; r < kRows; ++r) {
    const Row row{add_variable(k, "lanes", kVector), add_variable(k, "last", kSingle)};
    const Expr first = columns(int_lit(r * kColumns)), last = int_lit(r * kColumns + 16);
    k.body.emplace_back(kernel::Define{row.lanes, scalar::load(2, {first}, kVector)});
    k.body.emplace_back(kernel::Define{row.last, scalar::load(2, {last}, kSingle)});
    after.emplace_back(
        kernel::Store{2, {first}, scalar::ReduceOp::None, scalar::var(row.lanes, kVector)});
    after.emplace_back(
        kernel::Store{2, {last}, scalar::ReduceOp::None, scalar::var(row.last, kSingle)});
    rows.push_back(row);
  }
  kernel::For loop;
  loop.var = add_variable(k, "k", scalar::kIndex);
  loop.lo = int_lit(0);
  loop.hi = int_lit(kSteps);
  loop.step = kCopies;
  for (int64_t copy = 0; copy < kCopies; ++copy)
    for (int64_t r = 0; r < kRows; ++r) {
      const auto& [lanes, last] = rows[static_cast<size_t>(r)];
      const Expr at = scalar::var(loop.var) + int_lit(copy), b = at * int_lit(kColumns);
      const Expr a = scalar::load(0, {at + int_lit(r * kSteps)}, kSingle);
      const Expr many = scalar::broadcast(a, 16) * scalar::load(1, {columns(b)}, kVector);
      const Expr one = a * scalar::load(1, {b + int_lit(16)}, kSingle);
      loop.body.emplace_back(kernel::Assign{lanes, scalar::var(lanes, kVector) + many});
      loop.body.emplace_back(kernel::Assign{last, scalar::var(last, kSingle) + one});
    }
  k.body.emplace_back(std::move(loop));
  k.body.insert(k.body.end(), after.begin(), after.end());
  return k;
}

/// A row's element is loaded once for its vector and its single column.
TEST(LeftoverColumns, GatherNothing) {
  EmitOptions options;
  options.opt_level = 3;
  options.target = CodeTarget{"x86_64-unknown-linux-gnu", "sapphirerapids", ""};
  const std::string code = *module_from_kernel(tile_of_17_columns(), options).assembly();
  EXPECT_NE(code.find("vfmadd"), std::string::npos);
  for (const char* instruction : {"gather", "vpermps", "vinsertps"})
    EXPECT_EQ(code.find(instruction), std::string::npos) << instruction;
}

/// Four rows of a recurrence whose last value is in a variable:
/// `for j: y[r, j] = x[r, j] + 0.5 * last_r; last_r = y[r, j]`.
kernel::Kernel rows_side_by_side() {
  constexpr int64_t kLength = 480, kSideBySide = 4;
  constexpr scalar::Type kDouble{Elem::F64, 1};
  kernel::Kernel k;
  k.name = "rows";
  for (const char* name : {"x", "y"})
    k.buffers.push_back({name,
                         Elem::F64,
                         {int_lit(kSideBySide * kLength)},
                         kernel::Scope::Argument,
                         program::Role::Inout});
  kernel::For loop;
  loop.var = add_variable(k, "j", scalar::kIndex);
  loop.lo = int_lit(0);
  loop.hi = int_lit(kLength);
  for (int64_t r = 0; r < kSideBySide; ++r) {
    const uint32_t last = add_variable(k, "last", kDouble);
    k.body.emplace_back(kernel::Define{last, scalar::float_lit(0, kDouble)});
    const Expr at = scalar::var(loop.var) + int_lit(r * kLength);
    const Expr value = scalar::load(0, {at}, kDouble) +
                       scalar::float_lit(0.5, kDouble) * scalar::var(last, kDouble);
    loop.body.emplace_back(kernel::Store{1, {at}, scalar::ReduceOp::None, value});
    loop.body.emplace_back(kernel::Assign{last, scalar::load(1, {at}, kDouble)});
  }
  k.body.emplace_back(std::move(loop));
  return k;
}

TEST(RowsSideBySide, GatherNothing) {
  EmitOptions options;
  options.opt_level = 3;
  options.target = CodeTarget{"x86_64-unknown-linux-gnu", "cascadelake", ""};
  const std::string code = *module_from_kernel(rows_side_by_side(), options).assembly();
  EXPECT_NE(code.find("vmovsd"), std::string::npos) << code; // element by element
  EXPECT_EQ(code.find("gather"), std::string::npos) << code;
}

} // namespace
} // namespace kawara::emit
