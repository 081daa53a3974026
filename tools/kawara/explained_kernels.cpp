#include "kawara/explained_facts.h"

#include "driver/request.h"
#include "estimate/machines/limit.h"
#include "estimate/roofline.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::tools {
namespace {

using driver::KernelStep;

Parsed<KnownProgram> looked_at(const std::string& text,
                               const std::optional<program::Numerics>& numerics,
                               const Figures& figures) {
  driver::Request request;
  request.text = make_source("kernel.kw", text);
  request.numerics = numerics;
  request = driver::with_default_sizes(std::move(request));
  KAWARA_TRY(program::Program program, driver::program_of(request));
  KAWARA_TRY(std::vector<int64_t> sizes, driver::all_sizes(program, request));
  auto work = estimate::count(program, sizes);
  if (!work)
    return fail(Diagnostics{std::move(work).error()});
  auto what = explain::characteristics(program, sizes);
  if (!what)
    return fail(Diagnostics{std::move(what).error()});
  KnownProgram made{
      std::move(program), std::move(sizes), *std::move(work), *std::move(what), 0, ""};
  if (figures.is_processor()) {
    const estimate::Roof roof = estimate::roof_over(made.work, figures.machine, figures.threads);
    const double arithmetic = estimate::operations_of(made.work) / roof.peak_flops;
    const double memory = made.work.compulsory_bytes / roof.bandwidth_bytes;
    made.roof_seconds = std::max(arithmetic, memory);
    made.bound = memory > arithmetic ? roof.level : "arithmetic";
  } else {
    const estimate::Limit limit = estimate::limit_on(*figures.file, made.work, figures.threads);
    made.roof_seconds = limit.seconds();
    made.bound = limit.is_memory_bound() ? "memory" : "arithmetic";
  }
  return made;
}

/// "MatMul + Add"
std::string operators_text(const graph::Graph& graph, const driver::KernelGroup& group) {
  std::vector<std::string> ops;
  for (const size_t node : group.nodes)
    ops.push_back(graph.nodes[node].op);
  return join(ops, " + ");
}

/// A kernel that has run just before.
struct Before {
  std::string name;
  std::map<graph::ValueId, double> bytes;
  double all = 0;
};

class KernelCounter {
public:
  KernelCounter(const PlannedGraph& planned, bool is_after, KnownPrograms& programs,
                explain::ModelFacts& facts)
      : planned_(planned), is_after_(is_after), programs_(programs), facts_(facts) {}

  void run() {
    for (const driver::Plan* plan : planned_.plans)
      for (const driver::Step& step : plan->steps) {
        if (const auto* kernel = std::get_if<KernelStep>(&step))
          one(*plan, *kernel);
        else if (!std::holds_alternative<driver::ViewStep>(step))
          before_.reset();
      }
    for (auto& [key, pair] : pairs_)
      order_[pair.first] = std::move(pair.second);
    for (auto& [at, pair] : order_)
      facts_.pairs.push_back(std::move(pair));
  }

private:
  void one(const driver::Plan& plan, const KernelStep& step) {
    const KnownProgram* known = programs_.known(text_of(plan, step));
    if (known == nullptr)
      return before_.reset();
    const driver::KernelGroup& group = plan.groups[step.group];
    explain::Totals& totals = is_after_ ? facts_.after : facts_.before;
    ++totals.kernels;
    totals.operations += known->what.operations;
    totals.bytes += known->what.moved;
    totals.seconds += known->roof_seconds;
    const graph::Node& node = planned_.graph.nodes[group.nodes.front()];
    if (!is_after_)
      facts_.operators.push_back({node.name, node.op, known->what.operations, known->what.sums,
                                  known->what.accesses, known->what.moved, known->roof_seconds});
    Before now{operators_text(planned_.graph, group), bytes_by_value(*known, step),
               known->what.unique};
    if (before_)
      add_pair(*before_, now);
    before_ = std::move(now);
  }

  void add_pair(const Before& first, const Before& second) {
    double shared = 0;
    for (const auto& [value, bytes] : first.bytes)
      if (const auto at = second.bytes.find(value); at != second.bytes.end())
        shared += std::min(bytes, at->second);
    const explain::Overlap overlap = explain::overlap_of(first.all, second.all, shared);
    const std::string key =
        fmt::format("{}\n{}\n{} {} {}", first.name, second.name, first.all, second.all, shared);
    const auto [at, is_new] = pairs_.try_emplace(
        key, pairs_.size(), explain::PairReport{is_after_, first.name, second.name, 0, overlap});
    ++at->second.second.times;
  }

  const PlannedGraph& planned_;
  bool is_after_;
  KnownPrograms& programs_;
  explain::ModelFacts& facts_;
  std::optional<Before> before_;
  std::map<std::string, std::pair<size_t, explain::PairReport>> pairs_; ///< with their order
  std::map<size_t, explain::PairReport> order_;
};

} // namespace

const Parsed<KnownProgram>& KnownPrograms::find(const std::string& text) {
  const auto at = programs_.find(text);
  return at != programs_.end()
             ? at->second
             : programs_.emplace(text, looked_at(text, numerics_, figures_)).first->second;
}

const KnownProgram* KnownPrograms::known(const std::string& text) {
  const Parsed<KnownProgram>& found = find(text);
  return found ? &*found : nullptr;
}

const std::string& text_of(const driver::Plan& plan, const KernelStep& step) {
  return plan.groups[step.group].program;
}

std::map<graph::ValueId, double> bytes_by_value(const KnownProgram& known, const KernelStep& step) {
  std::map<graph::ValueId, double> out;
  size_t operand = 0, result = 0;
  std::vector<graph::ValueId> values;
  for (const program::Tensor& tensor : known.program.tensors) {
    graph::ValueId value = graph::kAbsent;
    if (tensor.role == program::Role::Input && operand < step.operands.size())
      value = step.operands[operand++];
    else if (tensor.role != program::Role::Temp && result < step.results.size())
      value = step.results[result++];
    values.push_back(value);
  }
  for (const explain::Touched& each : known.what.tensors) {
    const auto bytes =
        static_cast<double>(scalar::bytes_of(known.program.tensors[each.tensor].elem));
    if (values[each.tensor] != graph::kAbsent)
      out[values[each.tensor]] += each.elements * bytes;
    // Where a result takes over an operand's memory, both are these elements.
    if (known.program.tensors[each.tensor].role == program::Role::Inout &&
        step.replaced != graph::kAbsent)
      out[step.replaced] += each.elements * bytes;
  }
  return out;
}

std::map<std::string, std::string> kernel_ids(const PlannedGraph& planned) {
  std::map<std::string, std::string> ids;
  for (const driver::Plan* plan : planned.plans)
    for (const driver::Step& step : plan->steps)
      if (const auto* kernel = std::get_if<KernelStep>(&step))
        ids.try_emplace(text_of(*plan, *kernel), "k" + std::to_string(ids.size()));
  return ids;
}

void add_kernels(const PlannedGraph& planned, bool is_after, KnownPrograms& programs,
                 explain::ModelFacts& facts) {
  KernelCounter(planned, is_after, programs, facts).run();
}

} // namespace kawara::tools
