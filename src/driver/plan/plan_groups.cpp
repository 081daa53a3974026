#include "driver/plan/plan_groups.h"

#include "driver/plan/graph_reads.h"
#include "program/fusion/partition.h"

#include <cctype>
#include <set>

namespace kawara::driver {
namespace {

namespace fusion = program::fusion;

class Grouper {
public:
  Grouper(const graph::Graph& graph, Plan& plan, const Drafts& drafts)
      : graph_(graph), plan_(plan), drafts_(drafts) {
    for (const ViewStep& view : drafts.views)
      if (plan.infos[view.operand].type == plan.infos[view.result].type)
        roots_[view.result] = root(view.operand);
  }

  void run(bool fuses) {
    for (size_t n = plan_.end; n < graph_.nodes.size(); ++n)
      for_each_read(graph_.nodes[n], [&](ValueId id) { need(id); });
    if (drafts_.call)
      for_each_read(graph_.nodes[drafts_.call->node], [&](ValueId id) { need(id); });
    for (const ValueId id : graph_.outputs)
      need(id);
    for (const ValueId id : plan_.asked)
      need(id);
    std::vector<fusion::Draft> kernels;
    for (const KernelDraft& draft : drafts_.kernels)
      kernels.push_back(draft_of(draft));
    const fusion::Partition parts =
        fuses ? fusion::partition(kernels, needed_) : fusion::run_in_subprocess(kernels);
    for (const fusion::Group& group : parts.groups)
      add(group);
    add_views();
    if (drafts_.call)
      plan_.steps.push_back(*drafts_.call);
    for (const fusion::Border& border : parts.borders)
      plan_.borders.push_back({drafts_.kernels[border.from].node, drafts_.kernels[border.to].node,
                               border.value, border.why});
  }

private:
  /// The value whose elements these are under another shape.
  ValueId root(ValueId id) const {
    const auto at = roots_.find(id);
    return at == roots_.end() ? id : at->second;
  }
  void need(ValueId id) {
    wanted_.insert(id);
    needed_.insert(root(id));
  }

  fusion::Draft draft_of(const KernelDraft& from) {
    const graph::Node& node = graph_.nodes[from.node];
    fusion::Draft draft{node.name, node.op, {}, from.text, from.is_join};
    draft.part.program = from.program;
    size_t operand = 0, result = 0;
    for (const program::Tensor& tensor : draft.part.program.tensors)
      if (tensor.role == program::Role::Input) {
        const ValueId id = root(from.operands[operand++]);
        // A view of another type is no root: its step must run before.
        wanted_.insert(id);
        draft.part.values.push_back(id);
      } else {
        draft.part.values.push_back(tensor.role == program::Role::Output ? from.results[result++]
                                                                         : fusion::kNoValue);
      }
    for (const ValueId id : from.results)
      unmade_.insert(id);
    return draft;
  }

  void add(const fusion::Group& group) {
    add_views();
    if (const KernelDraft& only = drafts_.kernels[group.members.front()]; only.is_join) {
      std::vector<ValueId> operands;
      for (const ValueId id : graph_.nodes[only.node].inputs)
        if (graph::elements_of(plan_.infos[id].shape) != 0)
          operands.push_back(root(id));
      plan_.steps.push_back(JoinStep{std::move(operands), only.results[0], only.node});
      unmade_.erase(only.results[0]);
      return;
    }
    KernelStep step;
    step.operands = group.operands;
    step.results = group.results;
    step.group = plan_.groups.size();
    KernelGroup info{{}, group.mapping, group.text, group.bytes_saved};
    for (const size_t member : group.members) {
      info.nodes.push_back(drafts_.kernels[member].node);
      for (const ValueId id : drafts_.kernels[member].results)
        unmade_.erase(id);
    }
    plan_.groups.push_back(std::move(info));
    plan_.steps.push_back(std::move(step));
  }

  /// Steps for views of what exists now, as far as somebody wants them.
  void add_views() {
    for (size_t v = 0; v < drafts_.views.size(); ++v) {
      const ViewStep& view = drafts_.views[v];
      if (done_views_.count(v) || unmade_.count(root(view.operand)))
        continue;
      done_views_.insert(v);
      if (wanted_.count(view.result))
        plan_.steps.push_back(ViewStep{root(view.operand), view.result});
    }
  }

  const graph::Graph& graph_;
  Plan& plan_;
  const Drafts& drafts_;
  std::map<ValueId, ValueId> roots_;
  std::set<ValueId> needed_; ///< roots of what others than kernels read
  std::set<ValueId> wanted_; ///< views that need a step
  std::set<ValueId> unmade_; ///< by kernels that come later
  std::set<size_t> done_views_;
};

} // namespace

void group_steps(const graph::Graph& graph, Plan& plan, const Drafts& drafts,
                 const PlanOptions& options) {
  Grouper(graph, plan, drafts).run(options.fuses);
}

std::string name_of(const KernelGroup& group, const graph::Graph& graph) {
  constexpr size_t kMost = 40;
  std::string name;
  for (const size_t node : group.nodes) {
    std::string op = name.empty() ? "" : "_";
    for (const char c : graph.nodes[node].op)
      op += static_cast<char>(std::isalnum(static_cast<unsigned char>(c)) != 0 ? std::tolower(c)
                                                                               : '_');
    if (name.size() + op.size() > kMost)
      break;
    name += op;
  }
  return name.empty() ? "group" : name;
}

} // namespace kawara::driver
