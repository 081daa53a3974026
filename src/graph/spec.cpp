#include "graph/graph.h"

#include <fmt/format.h>

#include <set>

namespace kawara::graph {
namespace {

class Checker {
public:
  explicit Checker(const Graph& graph) : graph_(graph), is_made_(graph.values.size(), false) {}

  std::vector<std::string> check() {
    check_names();
    for (const ValueId id : graph_.inputs)
      make(id, "input");
    for (const Capture& capture : graph_.captures)
      make(capture.inner, "capture");
    for (const auto& [id, tensor] : graph_.initializers) {
      make(id, "initializer");
      if (!tensor)
        complain("initializer without elements");
    }
    for (const Node& node : graph_.nodes)
      check(node);
    for (const ValueId id : graph_.outputs)
      read(id, "the graph's outputs");
    return std::move(complaints_);
  }

private:
  void complain(std::string what) { complaints_.push_back(std::move(what)); }
  void check_names() {
    std::set<std::string> names;
    for (const Value& value : graph_.values)
      if (!names.insert(value.name).second)
        complain("two values are called " + value.name);
  }
  void make(ValueId id, const std::string& who) {
    if (id >= graph_.values.size())
      return complain(who + ": no such value");
    if (is_made_[id])
      complain(who + " makes " + graph_.values[id].name + ", which was made before");
    is_made_[id] = true;
  }
  void read(ValueId id, const std::string& who) {
    if (id >= graph_.values.size())
      return complain(who + ": no such value");
    if (!is_made_[id])
      complain(who + " reads " + graph_.values[id].name + " before it is made");
  }
  void check(const Node& node) {
    for (const ValueId id : node.inputs)
      if (id != kAbsent)
        read(id, node.name);
    for (const auto& [key, value] : node.attributes)
      if (const auto* inner = std::get_if<GraphPtr>(&value)) {
        for (const Capture& capture : (*inner)->captures)
          read(capture.outer, node.name + "." + key);
        for (std::string& more : spec(**inner))
          complain(node.name + "." + key + ": " + std::move(more));
      }
    for (const ValueId id : node.outputs)
      if (id != kAbsent)
        make(id, node.name);
  }

  const Graph& graph_;
  std::vector<bool> is_made_;
  std::vector<std::string> complaints_;
};

} // namespace

std::vector<std::string> spec(const Graph& graph) { return Checker(graph).check(); }

} // namespace kawara::graph
