#include "kernel/index/fold_divisions.h"

#include <gtest/gtest.h>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;
using scalar::param;
using scalar::var;

Expr div(const Expr& e, int64_t by) { return binary(BinaryOp::FloorDiv, e, int_lit(by)); }
Expr mod(const Expr& e, int64_t by) { return binary(BinaryOp::Mod, e, int_lit(by)); }
Expr smaller(const Expr& a, const Expr& b) { return binary(BinaryOp::Min, a, b); }

/// for a in range(0, N): for b in range(lo, hi): T[index(a, b)] = 1; folded, the index as text.
std::string folded(const Expr& lo, const Expr& hi,
                   const std::function<Expr(const Expr&, const Expr&)>& index) {
  Kernel k;
  k.params = {{"N", {}}};
  k.buffers = {{"T", scalar::Elem::F32, {param(0)}, Scope::Argument, program::Role::Output}};
  const uint32_t a = add_variable(k, "a", scalar::kIndex);
  const uint32_t b = add_variable(k, "b", scalar::kIndex);
  For outer, inner;
  outer.var = a;
  outer.lo = int_lit(0);
  outer.hi = param(0);
  inner.var = b;
  inner.lo = lo;
  inner.hi = hi;
  inner.body = block_of(Store{
      0, {index(var(a), var(b))}, ReduceOp::None, scalar::float_lit(1, {scalar::Elem::F32, 1})});
  outer.body = block_of(std::move(inner));
  k.body = block_of(std::move(outer));
  const std::string text = print(fold_divisions(std::move(k)));
  const size_t at = text.find("T[");
  return text.substr(at + 2, text.rfind("] =") - at - 2);
}

TEST(FoldDivisions, TakesTheLoopsOfATileApart) {
  const auto element = [](const Expr& a, const Expr& b) { return a * int_lit(32) + b; };
  EXPECT_EQ(folded(int_lit(0), int_lit(32), [&](auto a, auto b) { return div(element(a, b), 32); }),
            "a");
  EXPECT_EQ(folded(int_lit(0), int_lit(32), [&](auto a, auto b) { return mod(element(a, b), 32); }),
            "b");
  // A partial tile is shorter still.
  EXPECT_EQ(folded(int_lit(0), smaller(int_lit(32), param(0) - var(0) * int_lit(32)),
                   [&](auto a, auto b) { return mod(element(a, b), 32); }),
            "b");
}

TEST(FoldDivisions, KeepsWhatTheBoundsDoNotDecide) {
  const auto element = [](const Expr& a, const Expr& b) { return a * int_lit(32) + b; };
  // One value too many, and one too few.
  EXPECT_EQ(folded(int_lit(0), int_lit(33), [&](auto a, auto b) { return div(element(a, b), 32); }),
            "(a * 32 + b) // 32");
  EXPECT_EQ(
      folded(int_lit(-1), int_lit(32), [&](auto a, auto b) { return mod(element(a, b), 32); }),
      "(a * 32 + b) % 32");
  EXPECT_EQ(folded(int_lit(0), param(0), [&](auto, auto b) { return mod(b, 32); }), "b % 32");
}

TEST(FoldDivisions, MovesWholeMultiplesOutOfConstants) {
  // 3 <= b + 3 < 8
  EXPECT_EQ(folded(int_lit(0), int_lit(5),
                   [](auto a, auto b) { return div(a * int_lit(8) + b + int_lit(19), 8); }),
            "a + 2");
  EXPECT_EQ(folded(int_lit(0), int_lit(5),
                   [](auto a, auto b) { return mod(a * int_lit(8) + b + int_lit(19), 8); }),
            "b + 3");
  // -5 = -1 * 8 + 3: division rounds towards minus infinity.
  EXPECT_EQ(folded(int_lit(0), int_lit(5),
                   [](auto a, auto b) { return div(a * int_lit(8) + b - int_lit(5), 8); }),
            "a - 1");
}

TEST(FoldDivisions, WorksFromTheInsideOut) {
  // (16 a + b) % 64 stays, (16 a + b) % 16 inside of it does not.
  EXPECT_EQ(folded(int_lit(0), int_lit(16),
                   [](auto a, auto b) { return div(mod(a * int_lit(16) + b, 16), 4); }),
            "b // 4");
}

TEST(FoldDivisions, FoldsBoundsOfLoops) {
  Kernel k;
  k.params = {{"N", {}}};
  const uint32_t a = add_variable(k, "a", scalar::kIndex);
  const uint32_t b = add_variable(k, "b", scalar::kIndex);
  For outer, inner;
  outer.var = a;
  outer.lo = int_lit(0);
  outer.hi = int_lit(4);
  inner.var = b;
  inner.lo = div(var(a), 4);
  inner.hi = param(0);
  inner.body = block_of(Comment{"body"});
  outer.body = block_of(std::move(inner));
  k.body = block_of(std::move(outer));
  const std::string text = print(fold_divisions(std::move(k)));
  EXPECT_NE(text.find("for b in range(0, N):"), std::string::npos) << text;
}

} // namespace
} // namespace kawara::kernel
