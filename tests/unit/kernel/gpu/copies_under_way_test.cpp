#include "kernel/interpret/copies_under_way.h"

#include "kernel/walk.h"
#include "unit/kernel/gpu/gpu_line.h"

namespace kawara::kernel {
namespace {

TEST(CopiesUnderWay, AreThereWhenTheirThreadHasWaited) {
  CopiesUnderWay copies;
  copies.begin(3, {1, 0});
  copies.commit(3);
  copies.begin(3, {1, 1});
  copies.begin(4, {1, 2});
  copies.commit(3);
  copies.await(3, 1);
  EXPECT_FALSE(copies.has({1, 0}));
  EXPECT_TRUE(copies.has({1, 1}));
  copies.await(3, 0);
  EXPECT_FALSE(copies.has({1, 1}));
  copies.await(4, 0); // its group is still open
  EXPECT_TRUE(copies.has({1, 2}));
}

/// What the interpreter says of a product whose operands come ahead, with its waits changed.
std::string with_waits(const std::function<Block(Await)>& change) {
  static const gpu_line::Line line = gpu_line::compile("input X: f32[40, 48], W: f32[21, 40]\n"
                                                       "output Y: f32[21, 48]\n"
                                                       "Y[i, j] = sum(k, W[i, k] * X[k, j])\n",
                                                       "auto", {});
  gpu_line::Line changed = line;
  bool has_copies = false;
  changed.kernel.body = rewrite(line.kernel.body, [&](Stmt stmt) {
    if (const auto* store = std::get_if<Store>(&stmt))
      has_copies = has_copies || store->is_async;
    const auto* wait = std::get_if<Await>(&stmt);
    return wait != nullptr ? change(*wait) : block_of(std::move(stmt));
  });
  EXPECT_TRUE(has_copies);
  const auto found = gpu_line::difference(changed, {}, 1);
  return found ? "" : found.error();
}

TEST(CopiesUnderWay, WaitsThatAreTooShortAreFound) {
  EXPECT_EQ(with_waits([](Await wait) { return block_of(wait); }), "");
  const std::string none = with_waits([](Await) { return Block(); });
  EXPECT_NE(none.find("while a copy to it is under way"), std::string::npos) << none;
  const std::string less = with_waits([](Await wait) { return block_of(Await{wait.pending + 1}); });
  EXPECT_NE(less.find("while a copy to it is under way"), std::string::npos) << less;
}

} // namespace
} // namespace kawara::kernel
