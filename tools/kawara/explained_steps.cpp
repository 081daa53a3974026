#include "kawara/explained_facts.h"

#include "driver/plan/graph_reads.h"
#include "driver/plan/plan_memory.h"

#include <algorithm>

namespace kawara::tools {
namespace {

using driver::Plan;
using explain::StepReport;

class StepReporter {
public:
  StepReporter(const PlannedGraph& planned, const std::vector<explain::KernelReport>& kernels,
               int64_t threads, explain::ModelFacts& facts)
      : graph_(planned.graph), ids_(kernel_ids(planned)), threads_(threads), facts_(facts) {
    for (const explain::KernelReport& kernel : kernels)
      kernels_[kernel.id] = &kernel;
  }

  void add(const Plan& plan) {
    numbers_.clear();
    for (const driver::Step& step : plan.steps) {
      numbers_.push_back(facts_.steps.size());
      std::visit([&](const auto& each) { one(plan, each); }, step);
    }
    add_memory(plan);
  }

private:
  std::string name_of(graph::ValueId value) const { return graph_.values[value].name; }

  void one(const Plan& plan, const driver::KernelStep& step) {
    StepReport made;
    const driver::KernelGroup& group = plan.groups[step.group];
    made.name = graph_.nodes[group.nodes.front()].name;
    made.kernel = ids_.at(group.program);
    made.threads = threads_;
    if (const auto at = kernels_.find(made.kernel); at != kernels_.end()) {
      made.seconds = at->second->seconds.value_or(at->second->least_seconds);
      made.is_of_roof = !at->second->seconds;
      made.bytes = at->second->bytes;
      made.operations = at->second->operations;
    }
    for (const graph::ValueId value : step.operands)
      made.reads.push_back(name_of(value));
    if (step.replaced != graph::kAbsent)
      made.reads.push_back(name_of(step.replaced));
    for (const graph::ValueId value : step.results)
      if (value != graph::kAbsent)
        made.writes.push_back(name_of(value));
    facts_.steps.push_back(std::move(made));
  }
  void one(const Plan&, const driver::ViewStep&) {}
  void one(const Plan&, const driver::JoinStep& step) {
    StepReport made;
    made.call = graph_.nodes[step.node].op;
    made.name = graph_.nodes[step.node].name;
    for (const graph::ValueId value : step.operands)
      made.reads.push_back(name_of(value));
    made.writes.push_back(name_of(step.result));
    facts_.steps.push_back(std::move(made));
  }
  void one(const Plan&, const driver::CallStep& step) {
    StepReport made;
    const graph::Node& node = graph_.nodes[step.node];
    made.call = node.op;
    made.name = node.name;
    driver::for_each_read(node,
                          [&](graph::ValueId value) { made.reads.push_back(name_of(value)); });
    for (const graph::ValueId value : node.outputs)
      if (value != graph::kAbsent)
        made.writes.push_back(name_of(value));
    facts_.steps.push_back(std::move(made));
  }

  /// The plan's block after those of the plans before it.
  void add_memory(const Plan& plan) {
    explain::Arena& arena = *facts_.arena;
    const int64_t base = arena.bytes;
    arena.bytes += plan.block_bytes;
    for (const driver::Lifetime& each : driver::lifetimes(graph_, plan)) {
      // A view has no step of its own: what is made for it is there from the next one on.
      const size_t first = numbers_[each.first], last = std::max(first, numbers_[each.last]);
      arena.tensors.push_back({name_of(each.value), base + each.offset, each.bytes, first, last});
      for (size_t step = first; step <= last && step < facts_.steps.size(); ++step) {
        facts_.steps[step].live_bytes += each.bytes;
        arena.most_live = std::max(arena.most_live, facts_.steps[step].live_bytes);
      }
    }
  }

  const graph::Graph& graph_;
  std::map<std::string, std::string> ids_;
  std::map<std::string, const explain::KernelReport*> kernels_; ///< by id
  int64_t threads_;
  explain::ModelFacts& facts_;
  std::vector<size_t> numbers_; ///< of the plan's steps among all that compute
};

} // namespace

void add_steps(const PlannedGraph& planned, const std::vector<explain::KernelReport>& kernels,
               int64_t threads, explain::ModelFacts& facts) {
  facts.arena = explain::Arena{};
  for (const auto& [value, tensor] : planned.graph.initializers)
    facts.arena->constants += tensor.bytes();
  StepReporter reporter(planned, kernels, threads, facts);
  for (const Plan* plan : planned.plans)
    reporter.add(*plan);
}

} // namespace kawara::tools
