#include "driver/plan/plan.h"

#include "driver/plan/control_flow.h"
#include "driver/plan/in_place.h"
#include "driver/plan/plan_groups.h"
#include "driver/plan/plan_memory.h"
#include "driver/plan/release_constants.h"
#include "driver/plan/unknown_operators.h"
#include "estimate/count.h"
#include "graph/attributes.h"
#include "graph/errors.h"
#include "program/interpret/interpret.h"
#include "program/operators/registry.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace kawara::driver {
namespace {

using graph::Node;
using program::operators::Definition;
using program::operators::Operand;

std::string type_text(graph::DataType type, const Shape& shape) {
  return std::string(graph::name_of(type)) + graph::text_of(shape);
}

/// Interprets a program that takes longer to compile than to interpret; false when it is none, or
/// stops.
bool interpret_small(const std::string& text, const std::vector<Tensor>& operands,
                     std::vector<Tensor>& results) {
  constexpr int64_t kMostElements = 20'000;
  int64_t elements = 0;
  for (const auto* tensors : {&operands, &std::as_const(results)})
    for (const Tensor& tensor : *tensors)
      elements += tensor.elements();
  const auto program = program::parse(make_source("operator.kw", text));
  if (elements > kMostElements || !program)
    return false;
  const auto work = estimate::count(*program, {});
  constexpr double kMostInstances = 100'000;
  double instances = 0;
  if (work)
    for (const estimate::StatementWork& statement : work->statements)
      instances += statement.instances;
  if (!work || instances > kMostInstances)
    return false;
  program::Arrays arrays;
  size_t next = 0;
  for (const program::Tensor& tensor : program->tensors) {
    if (tensor.role != program::Role::Input)
      continue;
    std::vector<int64_t> shape;
    for (const scalar::Expr& extent : tensor.shape)
      shape.push_back(scalar::constant_of(extent).value_or(0));
    program::Array array(tensor.elem, shape);
    std::memcpy(array.data(), operands[next++].data(), array.bytes());
    arrays.emplace(tensor.name, std::move(array));
  }
  const auto out = program::interpret(*program, {}, std::move(arrays));
  if (!out)
    return false;
  for (size_t k = 0; k < results.size(); ++k) {
    const program::Array& array = out->at("Y" + std::to_string(k));
    std::memcpy(results[k].data(), array.data(), array.bytes());
  }
  return true;
}

class Planner {
public:
  Planner(const graph::Graph& graph, Kernels& kernels, const PlanOptions& options,
          const std::vector<const Plan*>& siblings, std::unique_ptr<Plan> plan)
      : graph_(graph), kernels_(kernels), options_(options), siblings_(siblings),
        plan_(std::move(plan)) {}

  Result<std::unique_ptr<Plan>, Diagnostic> run() {
    for (plan_->end = plan_->begin; plan_->end < graph_.nodes.size(); ++plan_->end) {
      KAWARA_TRY(const bool goes_on, add(graph_.nodes[plan_->end], plan_->end));
      if (!goes_on)
        break;
    }
    group_steps(graph_, *plan_, drafts_, options_);
    if (options_.in_place)
      place_in_place(graph_, *plan_);
    else
      place_values(graph_, *plan_);
    if (options_.compiles) {
      KAWARA_TRY([[maybe_unused]] const Done done, compile_all());
    }
    if (options_.compiles && options_.gives_back)
      plan_->used_up = used_up_by_steps(graph_, *plan_);
    return std::move(plan_);
  }

private:
  Info& info(ValueId id) { return plan_->infos[id]; }

  std::vector<std::string> operand_texts(const Node& node) {
    std::vector<std::string> texts;
    for (const ValueId id : node.inputs)
      texts.push_back(id == graph::kAbsent || info(id).is_nothing ? "-"
                      : info(id).is_sequence                      ? "a sequence"
                                             : type_text(info(id).type, info(id).shape));
    return texts;
  }

  std::vector<Operand> operands(const Node& node) {
    std::vector<Operand> out;
    for (const ValueId id : node.inputs) {
      Operand operand;
      operand.is_present = id != graph::kAbsent;
      if (operand.is_present) {
        operand.type = info(id).type;
        operand.shape = info(id).shape;
        operand.value = info(id).constant ? &info(id).constant : nullptr;
        operand.is_weight = static_cast<bool>(info(id).constant);
      }
      out.push_back(std::move(operand));
    }
    return out;
  }

  bool is_constant(const Node& node) {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      return id == graph::kAbsent || static_cast<bool>(info(id).constant);
    });
  }
  /// Run-time functions know what to do with sequences and with what an empty optional holds;
  /// programs do not.
  bool has_more_than_tensors(const Node& node) {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      return id != graph::kAbsent && (info(id).is_sequence || info(id).is_nothing);
    });
  }

  /// Adds one node; false when the plan must stop here (before the node if values are asked for).
  Result<bool, Diagnostic> add(const Node& node, size_t index) {
    const auto* op = node.domain.empty() ? program::operators::find_operator(node.op) : nullptr;
    if (op && !has_more_than_tensors(node))
      return add_defined(node, *op);
    const run::Function* function = node.domain.empty() ? run::find_function(node.op) : nullptr;
    if (op && !function)
      return fail(refused(node, operand_texts(node),
                          "it takes tensors only: no sequences, and nothing that has no value"));
    if (!function && !is_control_flow(node))
      return fail(unknown_operators(graph_));
    return add_call(node, index, function);
  }

  Result<bool, Diagnostic> add_call(const Node& node, size_t index, const run::Function* function) {
    if (function && is_constant(node) && !has_more_than_tensors(node)) {
      KAWARA_TRY(const std::vector<Datum> results, call_function(graph_, node, constants(node)));
      bool is_plain = true;
      for (const Datum& datum : results)
        is_plain = is_plain && !datum.is_sequence;
      if (is_plain) {
        for (size_t k = 0; k < node.outputs.size() && k < results.size(); ++k)
          set_constant(node.outputs[k], results[k].tensor);
        return true;
      }
    }
    drafts_.call = CallStep{index};
    for (const ValueId id : node.outputs)
      if (id != graph::kAbsent)
        plan_->asked.push_back(id);
    ++plan_->end;
    return false;
  }

  std::vector<Datum> constants(const Node& node) {
    std::vector<Datum> data;
    for (const ValueId id : node.inputs)
      data.push_back(id == graph::kAbsent ? Datum{} : Datum{info(id).constant, false, {}});
    return data;
  }

  void set_constant(ValueId id, Tensor tensor) {
    if (id == graph::kAbsent)
      return;
    Info& into = info(id);
    into.is_known = true;
    into.type = tensor.type();
    into.shape = tensor.shape();
    into.constant = std::move(tensor);
  }

  Result<bool, Diagnostic> add_defined(const Node& node, const program::operators::Operator& op) {
    const auto version = graph_.opsets.find("");
    Definition definition(node, version == graph_.opsets.end() ? 1 : version->second,
                          operands(node));
    op.rule(definition);
    if (definition.is_declined())
      return add_call(node, plan_->end, run::find_function(node.op));
    if (definition.refusal())
      return fail(refused(node, operand_texts(node), *definition.refusal()));
    if (const auto wanted = definition.wanted()) {
      plan_->asked = {node.inputs[*wanted]};
      plan_->asks_for_elements = true;
      return false;
    }
    if (auto problem = graph::unread_attribute(node, definition.opset(), definition.reads()))
      return fail(*std::move(problem));
    const auto& given = definition.constants();
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == graph::kAbsent)
        continue;
      if (k < given.size() && given[k]) {
        set_constant(node.outputs[k], given[k]);
        continue;
      }
      if (k >= definition.results().size())
        return fail(refused(node, operand_texts(node), fmt::format("output {} is not known", k)));
      Info& into = info(node.outputs[k]);
      into.is_known = true;
      into.type = definition.results()[k].type;
      into.shape = definition.results()[k].shape;
      if (graph::elements_of(into.shape) == 0)
        set_constant(node.outputs[k], Tensor(into.type, into.shape));
    }
    const bool is_done = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return id == graph::kAbsent || static_cast<bool>(info(id).constant);
    });
    if (is_done)
      return true;
    if (definition.view())
      add_view(node, *definition.view());
    if (definition.is_program())
      return add_program(node, definition);
    return true;
  }

  void add_view(const Node& node, size_t operand) {
    const ValueId from = node.inputs[operand], to = node.outputs[0];
    if (to == graph::kAbsent)
      return;
    if (info(from).constant)
      info(to).constant = info(from).constant.with_type(info(to).type).with_shape(info(to).shape);
    else
      drafts_.views.push_back(ViewStep{from, to});
  }

  Diagnostic not_compiled(const Node& node, const Diagnostics& errors) {
    const Diagnostic& why = errors.front();
    return refused(node, operand_texts(node),
                   "its program is refused: " + why.code + ", " + why.headline);
  }

  Result<bool, Diagnostic> add_program(const Node& node, const Definition& definition) {
    KernelStep step;
    bool all_constant = true;
    for (const size_t k : definition.used_operands()) {
      step.operands.push_back(node.inputs[k]);
      all_constant = all_constant && static_cast<bool>(info(node.inputs[k]).constant);
    }
    for (size_t k = 0; k < definition.results().size(); ++k)
      step.results.push_back(k < node.outputs.size() ? node.outputs[k] : graph::kAbsent);
    if (all_constant && is_constant(node))
      return fold(node, definition, step);
    // No operand is made inside a result of the graph: that takes a program, which may make some of
    // them on the way.
    const bool is_result =
        std::count(graph_.outputs.begin(), graph_.outputs.end(), node.outputs[0]) > 0;
    const bool is_join = node.op == "Concat" && !is_result && is_contiguous_join(node);
    auto program = program::parse(make_source("operator.kw", definition.text()));
    if (!program) // of types that it has no formula for
      return fail(refused(node, operand_texts(node), program.error().front().headline));
    drafts_.kernels.push_back(
        {plan_->end, definition.text(), *std::move(program), step.operands, step.results, is_join});
    return true;
  }

  /// Do the operands of a Concat lie one after the other in its result?
  bool is_contiguous_join(const Node& node) {
    const Shape& shape = info(node.outputs[0]).shape;
    const auto at = node.attributes.find("axis");
    const auto* axis = at == node.attributes.end() ? nullptr : std::get_if<int64_t>(&at->second);
    const int64_t first = !axis       ? 1
                          : *axis < 0 ? *axis + static_cast<int64_t>(shape.size())
                                      : *axis;
    return program::operators::product(shape, 0, static_cast<size_t>(first)) == 1 &&
           std::count(node.inputs.begin(), node.inputs.end(), graph::kAbsent) == 0;
  }

  /// Tells which groups are those of other plans for other sizes.
  void relate_sizes() {
    for (const Plan* sibling : siblings_) {
      std::map<std::vector<size_t>, const std::string*> texts;
      for (const KernelGroup& group : sibling->groups)
        texts[group.nodes] = &group.program;
      for (const KernelGroup& group : plan_->groups)
        if (const auto at = texts.find(group.nodes); at != texts.end())
          kernels_.relate(*at->second, group.program);
    }
  }

  /// Gives all kernel steps their code.
  Result<Done, Diagnostic> compile_all() {
    relate_sizes();
    std::vector<std::string> texts;
    for (const KernelGroup& group : plan_->groups) {
      texts.push_back(group.program);
      kernels_.call(group.program, name_of(group, graph_));
    }
    kernels_.prepare(texts);
    for (Step& any : plan_->steps) {
      auto* step = std::get_if<KernelStep>(&any);
      if (!step)
        continue;
      const KernelGroup& group = plan_->groups[step->group];
      auto code = kernels_.compile(group.program);
      if (!code)
        return fail(not_compiled(graph_.nodes[group.nodes.front()], code.error()));
      // What is prepared from constants belongs to those that read them.
      std::vector<const void*> constants;
      for (const ValueId id : step->operands)
        if (info(id).constant)
          constants.push_back(info(id).constant.data());
      step->code = constants.empty() ? code->code : kernels_.with_constants(code->code, constants);
      step->params = code->params;
    }
    return Done{};
  }

  /// Runs a program whose operands are all known.
  Result<bool, Diagnostic> fold(const Node& node, const Definition& definition,
                                const KernelStep& step) {
    std::vector<Tensor> operands, results;
    for (const ValueId id : step.operands)
      operands.push_back(info(id).constant);
    for (const program::operators::Output& output : definition.results())
      results.emplace_back(output.type, output.shape);
    if (!interpret_small(definition.text(), operands, results)) {
      kernels_.call(definition.text(), "constants");
      auto code = kernels_.compile(definition.text());
      if (!code)
        return fail(not_compiled(node, code.error()));
      std::vector<void*> pointers;
      for (std::vector<Tensor>* tensors : {&operands, &results})
        for (Tensor& tensor : *tensors)
          pointers.push_back(tensor.data());
      const auto done = code->code->call(pointers, code->params);
      if (!done)
        return fail(done.error());
    }
    for (size_t k = 0; k < results.size() && k < node.outputs.size(); ++k)
      set_constant(node.outputs[k], results[k]);
    return true;
  }

  const graph::Graph& graph_;
  Kernels& kernels_;
  const PlanOptions& options_;
  const std::vector<const Plan*>& siblings_;
  std::unique_ptr<Plan> plan_;
  Drafts drafts_;
};

} // namespace

Diagnostic refused(const graph::Node& node, const std::vector<std::string>& operands,
                   const std::string& why) {
  return graph::model_error(
      "K0511",
      fmt::format("node `{}` ({}) cannot be run on these inputs", node.name, printable(node.op)),
      fmt::format("Its inputs are {}:\n{}.", operands.empty() ? "none" : join(operands, ", "), why),
      "");
}

std::string text_of(const Datum& datum) {
  if (datum.is_sequence)
    return fmt::format("a sequence of {}", datum.items.size());
  return datum.tensor ? type_text(datum.tensor.type(), datum.tensor.shape()) : "-";
}

Result<std::unique_ptr<Plan>, Diagnostic> make_plan(const graph::Graph& graph, size_t begin,
                                                    std::vector<Info> infos, Kernels& kernels,
                                                    const PlanOptions& options,
                                                    const std::vector<const Plan*>& siblings) {
  auto plan = std::make_unique<Plan>();
  plan->begin = begin;
  plan->infos = std::move(infos);
  return Planner(graph, kernels, options, siblings, std::move(plan)).run();
}

} // namespace kawara::driver
