#include "kawara/explained_facts.h"
#include "kawara/waiting.h"

#include "driver/plan/graph_reads.h"
#include "estimate/energy/energy.h"
#include "program/fusion/compose.h"
#include "program/fusion/mapping.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::tools {
namespace {

namespace fusion = program::fusion;

using driver::KernelStep;
using driver::Plan;
using explain::EdgeReport;
using explain::FusionVerdict;
using graph::ValueId;

/// Different programs of two nodes of which the judge is asked; each takes up to a second or so.
constexpr size_t kMostAsked = 160;
/// Operations on sets for each question.
constexpr unsigned long kQuota = poly::kDefaultQuota / 20;

/// A node in a kernel of its own.
struct Alone {
  const Plan* plan = nullptr;
  const KernelStep* step = nullptr; ///< null: a function, or a join
};

class EdgeReporter {
public:
  EdgeReporter(const PlannedGraph& fused, const PlannedGraph& apart, KnownPrograms& programs,
               const Figures& figures, const schedule::Environment& environment,
               explain::ModelFacts& facts)
      : graph_(fused.graph), programs_(programs), figures_(figures), environment_(environment),
        facts_(facts) {
    environment_.quota = std::min(environment_.quota, kQuota);
    environment_.notes = nullptr;
    for (const Plan* plan : apart.plans)
      for (const driver::Step& step : plan->steps)
        std::visit([&](const auto& each) { find(*plan, each); }, step);
    for (const ValueId id : graph_.outputs)
      outputs_.insert(root(id));
    const auto ids = kernel_ids(fused);
    for (const Plan* plan : fused.plans)
      find_groups(*plan, ids);
  }

  void run() {
    for (const auto& [node, alone] : nodes_)
      add_node(node, alone);
    Waiting waiting("asking the judge about fusion");
    // What is apart first: of that, the answer is news.
    for (const bool is_fused : {false, true})
      for (const auto& [node, alone] : nodes_)
        for (const ValueId value : reads_.at(node))
          if (const auto maker = makers_.find(value); maker != makers_.end())
            if (is_one_kernel(maker->second, node) == is_fused) {
              facts_.edges.push_back(edge(maker->second, node, value));
              waiting.say(
                  fmt::format("asking the judge about fusion, {} edges", facts_.edges.size()));
            }
  }

private:
  void find(const Plan& plan, const KernelStep& step) {
    const size_t node = plan.groups[step.group].nodes.front();
    nodes_[node] = {&plan, &step};
    for (const ValueId value : step.operands)
      read(node, value, plan);
    for (const ValueId value : step.results)
      make(node, value);
  }
  void find(const Plan& plan, const driver::JoinStep& step) {
    nodes_[step.node] = {&plan, nullptr};
    for (const ValueId value : step.operands)
      read(step.node, value, plan);
    make(step.node, step.result);
  }
  void find(const Plan& plan, const driver::CallStep& step) {
    nodes_[step.node] = {&plan, nullptr};
    driver::for_each_read(graph_.nodes[step.node],
                          [&](ValueId value) { read(step.node, value, plan); });
    for (const ValueId value : graph_.nodes[step.node].outputs)
      make(step.node, value);
  }
  void find(const Plan&, const driver::ViewStep& step) { roots_[step.result] = root(step.operand); }

  ValueId root(ValueId value) const {
    const auto at = roots_.find(value);
    return at == roots_.end() ? value : at->second;
  }
  void make(size_t node, ValueId value) {
    if (value != graph::kAbsent)
      makers_[value] = node;
  }
  void read(size_t node, ValueId view, const Plan& plan) {
    const ValueId value = root(view);
    std::vector<ValueId>& all = reads_[node];
    if (std::find(all.begin(), all.end(), value) != all.end())
      return;
    all.push_back(value);
    readers_[value].push_back(node);
    infos_[value] = &plan.infos[value];
  }

  /// Which kernel each node is in when the model runs, what that stores, and why others are apart.
  void find_groups(const Plan& plan, const std::map<std::string, std::string>& ids) {
    for (const driver::Step& step : plan.steps)
      if (const auto* kernel = std::get_if<KernelStep>(&step)) {
        for (const size_t node : plan.groups[kernel->group].nodes) {
          kernel_of_[node] = ids.at(text_of(plan, *kernel));
          step_of_[node] = kernel;
        }
        stored_.insert(kernel->results.begin(), kernel->results.end());
      }
    for (const driver::GroupBorder& border : plan.borders)
      borders_[{border.from, border.to}] = border.why;
  }
  bool is_one_kernel(size_t from, size_t to) const {
    const auto a = step_of_.find(from), b = step_of_.find(to);
    return a != step_of_.end() && b != step_of_.end() && a->second == b->second;
  }

  static std::string id_of(size_t node) { return "n" + std::to_string(node); }

  void add_node(size_t number, const Alone& alone) {
    const graph::Node& node = graph_.nodes[number];
    explain::NodeReport made{id_of(number), node.name, node.op, "", 0, 0, false};
    if (const auto at = kernel_of_.find(number); at != kernel_of_.end())
      made.kernel = at->second;
    const KnownProgram* known =
        alone.step == nullptr ? nullptr : programs_.known(text_of(*alone.plan, *alone.step));
    if (known != nullptr) {
      made.operations = known->what.operations;
      made.bytes = known->what.moved;
      made.is_known = true;
    }
    facts_.nodes.push_back(std::move(made));
    reads_[number]; // nodes without inputs have none
  }

  EdgeReport edge(size_t from, size_t to, ValueId value) {
    EdgeReport made;
    made.from = id_of(from);
    made.to = id_of(to);
    made.tensor = graph_.values[value].name;
    const driver::Info& info = *infos_.at(value);
    made.type = std::string(graph::name_of(info.type));
    made.shape = graph::text_of(info.shape);
    made.bytes = static_cast<double>(graph::elements_of(info.shape).value_or(0) *
                                     graph::bytes_of(info.type));
    made.is_fused = is_one_kernel(from, to);
    made.price = price_of(made.bytes, moved(value, from, to, made.is_fused) * made.bytes);
    made.reason = reason(from, to, made.is_fused);
    made.verdict = asked(from, to, value);
    return made;
  }

  /// How often the tensor is not moved: its reader's load, and its maker's store where nobody else
  /// needs that; the store counts at the first of its readers.
  double moved(ValueId value, size_t from, size_t to, bool is_fused) const {
    if (is_fused)
      return stored_.count(value) == 0 && first_reader(value, from) == to ? 2 : 1;
    return readers_.at(value).size() == 1 && outputs_.count(value) == 0 ? 2 : 1;
  }
  size_t first_reader(ValueId value, size_t from) const {
    for (const size_t reader : readers_.at(value))
      if (is_one_kernel(from, reader))
        return reader;
    return from;
  }

  /// Of bytes that come from and go to the nearest cache that holds a tensor of that size.
  explain::Price price_of(double tensor, double bytes) const {
    explain::Price out{bytes, 0, std::nullopt};
    std::string level = "memory";
    double rate = 0;
    if (figures_.is_processor()) {
      const auto& levels = figures_.machine.levels;
      const auto at = std::find_if(levels.begin(), levels.end(), [&](const estimate::Level& each) {
        return each.bytes == 0 || static_cast<double>(each.bytes) >= tensor;
      });
      const estimate::Level& found = at == levels.end() ? levels.back() : *at;
      level = found.name;
      rate = estimate::rate_with(found.triad, static_cast<double>(figures_.threads));
    } else {
      rate = figures_.file->memory.bandwidth.all_cores;
    }
    out.seconds = rate > 0 ? bytes / rate : 0;
    if (figures_.file && figures_.file->energy)
      out.joules =
          estimate::energy_of(*figures_.file->energy, {{}, {{level, bytes}}, 0, 0}).joules();
    return out;
  }

  std::string reason(size_t from, size_t to, bool is_fused) const {
    const std::string &maker = graph_.nodes[from].op, &reader = graph_.nodes[to].op;
    if (is_fused)
      return fmt::format("{} followed by {}: elements are used where they are made",
                         fusion::name_of(fusion::mapping_of(maker)),
                         fusion::name_of(fusion::mapping_of(reader)));
    if (const auto at = borders_.find({from, to}); at != borders_.end())
      return at->second;
    for (const size_t node : {from, to})
      if (nodes_.at(node).step == nullptr)
        return no_kernel(node);
    return "other kernels must run between them";
  }
  std::string no_kernel(size_t node) const {
    return graph_.nodes[node].op + " is no kernel: a function, or a copy";
  }

  /// The judge's answer; programs that are the same but for names are asked once.
  FusionVerdict asked(size_t from, size_t to, ValueId value) {
    const Alone &maker = nodes_.at(from), &reader = nodes_.at(to);
    for (const auto& [node, alone] : {std::pair(from, maker), std::pair(to, reader)})
      if (alone.step == nullptr)
        return {FusionVerdict::Answer::NotAsked, "", no_kernel(node)};
    auto first = part_of(maker), second = part_of(reader);
    if (!first || !second)
      return {FusionVerdict::Answer::NotAsked, "", "a program of theirs cannot be counted"};
    std::set<ValueId> needed(reader.step->results.begin(), reader.step->results.end());
    needed.insert(maker.step->results.begin(), maker.step->results.end());
    if (readers_.at(value).size() == 1 && outputs_.count(value) == 0)
      needed.erase(value);
    const auto both = fusion::joined({*std::move(first), *std::move(second)}, needed);
    if (!both)
      return {FusionVerdict::Answer::NotAsked, "", both.error()};
    const auto name = both->names.find(value);
    if (name == both->names.end())
      return {FusionVerdict::Answer::NotAsked, "", "the value lies behind a view of another type"};
    const std::string key = name->second + "\n" + both->text;
    if (const auto known = answers_.find(key); known != answers_.end())
      return known->second;
    if (answers_.size() >= kMostAsked)
      return {FusionVerdict::Answer::NotAsked, "",
              fmt::format("the judge is asked about {} pairs at most", kMostAsked)};
    const auto program = program::parse(make_source("joined.kw", both->text));
    if (!program)
      return {FusionVerdict::Answer::NotAsked, "", program.error().front().headline};
    return answers_.emplace(key, explain::judged_fusion(*program, name->second, environment_))
        .first->second;
  }

  std::optional<fusion::Part> part_of(const Alone& alone) {
    const KnownProgram* known = programs_.known(text_of(*alone.plan, *alone.step));
    if (known == nullptr)
      return std::nullopt;
    fusion::Part part{known->program, {}};
    size_t operand = 0, result = 0;
    for (const program::Tensor& tensor : part.program.tensors)
      if (tensor.role == program::Role::Input)
        part.values.push_back(root(alone.step->operands[operand++]));
      else
        part.values.push_back(tensor.role == program::Role::Temp ? fusion::kNoValue
                                                                 : alone.step->results[result++]);
    return part;
  }

  const graph::Graph& graph_;
  KnownPrograms& programs_;
  const Figures& figures_;
  schedule::Environment environment_;
  explain::ModelFacts& facts_;
  std::map<size_t, Alone> nodes_;
  std::map<ValueId, ValueId> roots_;               ///< of views
  std::map<ValueId, size_t> makers_;               ///< nodes
  std::map<ValueId, std::vector<size_t>> readers_; ///< nodes
  std::map<size_t, std::vector<ValueId>> reads_;   ///< by node
  std::map<ValueId, const driver::Info*> infos_;
  std::set<ValueId> outputs_, stored_;
  std::map<size_t, std::string> kernel_of_;
  std::map<size_t, const KernelStep*> step_of_;
  std::map<std::pair<size_t, size_t>, std::string> borders_;
  std::map<std::string, FusionVerdict> answers_;
};

} // namespace

void add_edges(const PlannedGraph& fused, const PlannedGraph& apart, KnownPrograms& programs,
               const Figures& figures, const schedule::Environment& environment,
               explain::ModelFacts& facts) {
  EdgeReporter(fused, apart, programs, figures, environment, facts).run();
}

} // namespace kawara::tools
