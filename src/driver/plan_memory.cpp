#include "driver/plan_memory.h"

#include <algorithm>
#include <set>

namespace kawara::driver {
namespace {

constexpr int64_t kAlignment = 64;
/// Bytes behind every buffer that code may read, though not use.
constexpr int64_t kSlackBytes = 64;

/// A block of memory that is in use from one step to another.
struct Use {
  ValueId value = 0;
  int64_t bytes = 0;
  size_t first = 0, last = 0;
  int64_t offset = 0;
};

class Placer {
public:
  Placer(const graph::Graph& graph, Plan& plan) : graph_(graph), plan_(plan) {}

  void place() {
    for (size_t k = 0; k < plan_.steps.size(); ++k)
      std::visit([&](const auto& step) { visit(step, k); }, plan_.steps[k]);
    for (size_t n = plan_.end; n < graph_.nodes.size(); ++n)
      for_each_read(graph_.nodes[n], [&](ValueId id) { keep(id); });
    for (const ValueId id : graph_.outputs)
      keep(id);
    std::vector<Use> uses;
    for (const auto& [value, use] : uses_)
      if (kept_.count(value) == 0)
        uses.push_back(use);
    assign(uses);
    for (const Use& use : uses)
      plan_.places[use.value] = Place{use.offset};
  }

private:
  template <class F> static void for_each_read(const graph::Node& node, F f) {
    for (const ValueId id : node.inputs)
      if (id != graph::kAbsent)
        f(id);
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* inner = std::get_if<graph::GraphPtr>(&attribute))
        for (const graph::Capture& capture : (*inner)->captures)
          f(capture.outer);
  }

  /// The value whose memory `id` shares.
  ValueId root(ValueId id) const {
    const auto at = views_.find(id);
    return at == views_.end() ? id : at->second;
  }
  void read(ValueId id, size_t step) {
    const auto at = uses_.find(root(id));
    if (at != uses_.end())
      at->second.last = step;
  }
  void keep(ValueId id) { kept_.insert(root(id)); }

  void visit(const KernelStep& step, size_t k) {
    for (const ValueId id : step.operands)
      read(id, k);
    for (const ValueId id : step.results) {
      if (id == graph::kAbsent)
        continue;
      const Info& info = plan_.infos[id];
      const int64_t cells = graph::cells_of(info.shape).value_or(0);
      uses_[id] = {id, cells * graph::bytes_of(info.type) + kSlackBytes, k, k, 0};
    }
  }
  void visit(const ViewStep& step, size_t k) {
    read(step.operand, k);
    views_[step.result] = root(step.operand);
  }
  void visit(const CallStep& step, size_t k) {
    for_each_read(graph_.nodes[step.node], [&](ValueId id) { read(id, k); });
  }

  /// Largest first, each at the lowest place that is free while it is in use.
  void assign(std::vector<Use>& uses) {
    std::stable_sort(uses.begin(), uses.end(),
                     [](const Use& a, const Use& b) { return a.bytes > b.bytes; });
    for (size_t k = 0; k < uses.size(); ++k) {
      std::vector<const Use*> others;
      for (size_t t = 0; t < k; ++t)
        if (uses[t].first <= uses[k].last && uses[k].first <= uses[t].last)
          others.push_back(&uses[t]);
      std::sort(others.begin(), others.end(),
                [](const Use* a, const Use* b) { return a->offset < b->offset; });
      int64_t offset = 0;
      for (const Use* other : others) {
        if (offset + uses[k].bytes <= other->offset)
          break;
        offset = std::max(offset, other->offset + other->bytes);
        offset = (offset + kAlignment - 1) / kAlignment * kAlignment;
      }
      uses[k].offset = offset;
      plan_.block_bytes = std::max(plan_.block_bytes, offset + uses[k].bytes);
    }
  }

  const graph::Graph& graph_;
  Plan& plan_;
  std::map<ValueId, Use> uses_;
  std::map<ValueId, ValueId> views_;
  std::set<ValueId> kept_;
};

} // namespace

void place_values(const graph::Graph& graph, Plan& plan) { Placer(graph, plan).place(); }

} // namespace kawara::driver
