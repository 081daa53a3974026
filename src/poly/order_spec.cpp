#include "poly/order_spec.h"

#include <set>

namespace kawara::poly {
namespace {

class Checker {
public:
  explicit Checker(const Order& order) : order_(order) { body(order.body); }

  std::vector<std::string> broken;

private:
  void body(const std::vector<TreeNode>& nodes) {
    for (const TreeNode& node : nodes) {
      if (!node.is_loop()) {
        if (!statements_.insert(node.statement()).second)
          broken.push_back("statement " + std::to_string(node.statement().value) +
                           " stands in the tree twice");
        continue;
      }
      const std::string& name = order_[node.loop()].name;
      if (!loops_.insert(node.loop()).second)
        broken.push_back("loop " + name + " stands in the tree twice");
      const bool is_new = around_.insert(name).second;
      if (!is_new)
        broken.push_back("loop " + name + " is inside another of that name");
      body(node.body);
      if (is_new)
        around_.erase(name);
    }
  }

  const Order& order_;
  std::set<std::string> around_;
  std::set<LoopId> loops_;
  std::set<StmtId> statements_;
};

} // namespace

std::vector<std::string> spec(const Order& order) { return Checker(order).broken; }

} // namespace kawara::poly
