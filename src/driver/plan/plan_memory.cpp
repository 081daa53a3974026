#include "driver/plan/plan_memory.h"

#include "driver/plan/graph_reads.h"

#include <algorithm>
#include <set>
#include <tuple>

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
  Placer(const graph::Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {}

  /// Of all values, and the bytes of the block.
  std::pair<std::map<ValueId, Place>, int64_t> places() {
    std::pair<std::map<ValueId, Place>, int64_t> out;
    std::vector<Use> uses = own_uses();
    out.second = assign(uses);
    for (const Use& use : uses)
      out.first[use.value] = Place{use.offset};
    for (const auto& [value, part] : parts_) {
      const Part at = whole_of(value);
      out.first[value] = Place{out.first.at(at.whole).offset + at.offset};
    }
    return out;
  }

  std::vector<Lifetime> lifetimes() {
    std::vector<Lifetime> out;
    for (const Use& use : own_uses())
      if (const auto at = plan_.places.find(use.value); at != plan_.places.end())
        out.push_back({use.value, at->second.offset, use.bytes, use.first, use.last});
    std::stable_sort(out.begin(), out.end(), [](const Lifetime& a, const Lifetime& b) {
      return std::pair(a.offset, a.first) < std::pair(b.offset, b.first);
    });
    return out;
  }

  MemoryUse memory_use() {
    MemoryUse out;
    out.bytes_at.resize(plan_.steps.size());
    for (const Use& use : own_uses())
      for (size_t k = use.first; k <= use.last; ++k)
        out.bytes_at[k] += use.bytes;
    std::set<ValueId> joined;
    for (const Step& step : plan_.steps)
      if (const auto* join = std::get_if<JoinStep>(&step)) {
        joined.insert(join->result);
        for (const ValueId id : join->operands)
          joined.insert(root(id));
      }
    const auto is_own = [&](ValueId id) {
      return uses_.count(id) && !kept_.count(id) && !joined.count(id);
    };
    for (size_t k = 0; k < plan_.steps.size(); ++k) {
      const auto* step = std::get_if<KernelStep>(&plan_.steps[k]);
      if (step == nullptr || step->results.size() != 1 || !is_own(step->results.front()))
        continue;
      for (size_t o = 0; o < step->operands.size(); ++o) {
        const ValueId id = root(step->operands[o]);
        const auto is_same = [&](ValueId other) { return root(other) == id; };
        if (is_own(id) && uses_.at(id).last == k && uses_.at(id).first < k &&
            uses_.at(id).bytes == uses_.at(step->results.front()).bytes &&
            std::count_if(step->operands.begin(), step->operands.end(), is_same) == 1)
          out.last_uses.push_back({k, o, uses_.at(id).bytes});
      }
    }
    return out;
  }

private:
  /// Of all values that do not lie within others.
  std::vector<Use> own_uses() {
    find_uses();
    std::vector<const JoinStep*> joins;
    for (const Step& step : plan_.steps)
      if (const auto* join = std::get_if<JoinStep>(&step))
        joins.push_back(join);
    for (const JoinStep* join : joins)
      place_parts(*join);
    for (size_t k = 0; k < joins.size(); ++k)
      place_within(*joins[k], {joins.begin() + static_cast<std::ptrdiff_t>(k) + 1, joins.end()});
    for (const Step& step : plan_.steps)
      if (const auto* kernel = std::get_if<KernelStep>(&step);
          kernel != nullptr && kernel->replaced != graph::kAbsent)
        parts_[kernel->results.front()] = {root(kernel->replaced), 0};
    for (const auto& [value, part] : parts_) {
      Use& whole = uses_.at(whole_of(value).whole);
      whole.first = std::min(whole.first, uses_.at(value).first);
      whole.last = std::max(whole.last, uses_.at(value).last);
    }
    std::vector<Use> uses;
    for (const auto& [value, use] : uses_)
      if (kept_.count(value) == 0 && parts_.count(value) == 0)
        uses.push_back(use);
    return uses;
  }

  void find_uses() {
    for (size_t k = 0; k < plan_.steps.size(); ++k)
      std::visit([&](const auto& step) { visit(step, k); }, plan_.steps[k]);
    for (size_t n = plan_.end; n < graph_.nodes.size(); ++n)
      for_each_read(graph_.nodes[n], [&](ValueId id) { keep(id); });
    for (const ValueId id : graph_.outputs)
      keep(id);
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

  void make(ValueId id, size_t step) {
    const Info& info = plan_.infos[id];
    const int64_t elements = graph::elements_of(info.shape).value_or(0);
    uses_[id] = {id, elements * graph::bytes_of(info.type) + kSlackBytes, step, step, 0};
  }
  void visit(const KernelStep& step, size_t k) {
    for (const ValueId id : step.operands)
      read(id, k);
    if (step.replaced != graph::kAbsent)
      read(step.replaced, k);
    for (const ValueId id : step.results)
      if (id != graph::kAbsent)
        make(id, k);
  }
  void visit(const JoinStep& step, size_t k) {
    for (const ValueId id : step.operands)
      read(id, k);
    make(step.result, k);
  }

  /// A value that lies within another.
  struct Part {
    ValueId whole;
    int64_t offset; ///< in bytes
  };

  Part whole_of(ValueId id) const {
    Part at{id, 0};
    for (auto next = parts_.find(id); next != parts_.end(); next = parts_.find(at.whole))
      at = {next->second.whole, at.offset + next->second.offset};
    return at;
  }

  /// Operands that this plan makes are made where the join wants them.
  void place_parts(const JoinStep& join) {
    if (kept_.count(join.result))
      return;
    int64_t offset = 0;
    for (const ValueId id : join.operands) {
      const bool is_own = uses_.count(id) && !kept_.count(id) && !parts_.count(id);
      if (is_own)
        parts_[id] = {join.result, offset};
      offset += joined_bytes(id);
    }
  }
  int64_t joined_bytes(ValueId id) const {
    const Info& info = plan_.infos[id];
    return graph::elements_of(info.shape).value_or(0) * graph::bytes_of(info.type);
  }

  /// A join whose operands, in their order, are among those of a later one is that part of it, as
  /// where each layer of a dense block reads the results of all layers before it.
  void place_within(const JoinStep& join, const std::vector<const JoinStep*>& later) {
    if (kept_.count(join.result) || parts_.count(join.result))
      return;
    for (const JoinStep* whole : later) {
      const auto at = std::search(whole->operands.begin(), whole->operands.end(),
                                  join.operands.begin(), join.operands.end());
      if (kept_.count(whole->result) || at == whole->operands.end())
        continue;
      int64_t offset = 0;
      for (auto before = whole->operands.begin(); before != at; ++before)
        offset += joined_bytes(*before);
      parts_[join.result] = {whole->result, offset};
      return;
    }
  }

  void visit(const ViewStep& step, size_t k) {
    read(step.operand, k);
    views_[step.result] = root(step.operand);
  }
  void visit(const CallStep& step, size_t k) {
    for_each_read(graph_.nodes[step.node], [&](ValueId id) { read(id, k); });
  }

  /// Largest first, each at the lowest place that is free while it is in use. Bytes of all.
  static int64_t assign(std::vector<Use>& uses) {
    int64_t block = 0;
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
      block = std::max(block, offset + uses[k].bytes);
    }
    return block;
  }

  const graph::Graph& graph_;
  const Plan& plan_;
  std::map<ValueId, Use> uses_;
  std::map<ValueId, ValueId> views_;
  std::set<ValueId> kept_;
  std::map<ValueId, Part> parts_;
};

} // namespace

void place_values(const graph::Graph& graph, Plan& plan) {
  std::tie(plan.places, plan.block_bytes) = Placer(graph, plan).places();
}

MemoryUse memory_use(const graph::Graph& graph, const Plan& plan) {
  return Placer(graph, plan).memory_use();
}

std::vector<Lifetime> lifetimes(const graph::Graph& graph, const Plan& plan) {
  return Placer(graph, plan).lifetimes();
}

} // namespace kawara::driver
