#include "oracle/moment.h"

#include "support/check.h"

#include <map>

namespace kawara::oracle {

using poly::Order;
using poly::TreeNode;

namespace {

bool descend(const std::vector<TreeNode>& body, uint32_t statement, Path& path) {
  for (size_t at = 0; at < body.size(); ++at) {
    const TreeNode& node = body[at];
    path.positions.push_back(static_cast<int64_t>(at));
    if (!node.is_loop() && node.statement().value == statement)
      return true;
    if (node.is_loop()) {
      path.loops.push_back(node.loop());
      if (descend(node.body, statement, path))
        return true;
      path.loops.pop_back();
    }
    path.positions.pop_back();
  }
  return false;
}

Moment moment_on(const Path& path, const std::vector<scalar::Expr>& rows, const Instance& instance,
                 const std::vector<int64_t>& params) {
  KAWARA_CHECK(rows.size() == path.loops.size(), "one row for each loop around the statement");
  Moment moment{path.positions[0]};
  for (size_t k = 0; k < rows.size(); ++k) {
    moment.push_back(value_of(rows[k], instance.iters, params));
    moment.push_back(path.positions[k + 1]);
  }
  return moment;
}

} // namespace

Path path_in(const Order& order, uint32_t statement) {
  Path path;
  const bool found = descend(order.body, statement, path);
  KAWARA_CHECK(found, "statement " + std::to_string(statement) + " is in the tree");
  return path;
}

std::vector<Moment> moments_of(const Order& order, const std::vector<Instance>& instances,
                               const std::vector<int64_t>& params) {
  std::map<uint32_t, Path> paths;
  std::vector<Moment> moments;
  moments.reserve(instances.size());
  for (const Instance& instance : instances) {
    auto at = paths.find(instance.statement);
    if (at == paths.end())
      at = paths.emplace(instance.statement, path_in(order, instance.statement)).first;
    moments.push_back(moment_on(at->second, order.rows[instance.statement], instance, params));
  }
  return moments;
}

} // namespace kawara::oracle
