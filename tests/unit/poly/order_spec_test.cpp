#include "poly/order_spec.h"

#include <gtest/gtest.h>

namespace kawara::poly {
namespace {

/// for `outer`: { for `inner`: S0 }
Order nest(const std::string& outer, const std::string& inner) {
  Order order;
  const LoopId a = add_loop(order, outer, {}), b = add_loop(order, inner, {});
  order.body = {TreeNode{a, {TreeNode{b, {TreeNode{StmtId{0}, {}}}}}}};
  return order;
}

TEST(OrderSpec, NamesDifferAlongAPath) {
  EXPECT_TRUE(spec(nest("i", "j")).empty());
  EXPECT_EQ(spec(nest("i", "i")),
            std::vector<std::string>{"loop i is inside another of that name"});
}

TEST(OrderSpec, SiblingsMayHaveOneName) {
  Order order = nest("i", "j");
  const LoopId other = add_loop(order, "i", {});
  order.body.push_back(TreeNode{other, {TreeNode{StmtId{1}, {}}}});
  EXPECT_TRUE(spec(order).empty());
}

TEST(OrderSpec, EverythingStandsInTheTreeOnce) {
  Order order = nest("i", "j");
  order.body.push_back(order.body[0]);
  EXPECT_EQ(spec(order), (std::vector<std::string>{"loop i stands in the tree twice",
                                                   "loop j stands in the tree twice",
                                                   "statement 0 stands in the tree twice"}));
}

} // namespace
} // namespace kawara::poly
