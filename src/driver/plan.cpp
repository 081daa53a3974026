#include "driver/plan.h"

#include "driver/control_flow.h"
#include "driver/plan_memory.h"
#include "graph/errors.h"
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

Diagnostic unknown_operator(const Node& node) {
  std::vector<std::string> known = program::operators::operator_names();
  for (const auto& more : {run::function_names(), control_flow_names()})
    known.insert(known.end(), more.begin(), more.end());
  std::sort(known.begin(), known.end());
  const std::string domain = node.domain.empty() ? "" : printable(node.domain) + ".";
  Diagnostic d = graph::model_error(
      "K0510",
      fmt::format("node `{}` uses the operator `{}{}`, which Kawara does not know", node.name,
                  domain, printable(node.op)),
      node.domain.empty() ? "Kawara knows " + join(known, " ") + "."
                          : "Only operators of the ONNX standard itself are known.",
      "");
  if (const auto meant = closest(node.op, known); meant && node.domain.empty())
    d.help.push_back({"did you mean", *meant, false});
  return d;
}

class Planner {
public:
  Planner(const graph::Graph& graph, Kernels& kernels, std::unique_ptr<Plan> plan)
      : graph_(graph), kernels_(kernels), plan_(std::move(plan)) {}

  Result<std::unique_ptr<Plan>, Diagnostic> run() {
    for (plan_->end = plan_->begin; plan_->end < graph_.nodes.size(); ++plan_->end) {
      KAWARA_TRY(const bool goes_on, add(graph_.nodes[plan_->end], plan_->end));
      if (!goes_on)
        break;
    }
    KAWARA_TRY([[maybe_unused]] const Done done, compile_all());
    place_values(graph_, *plan_);
    return std::move(plan_);
  }

private:
  Info& info(ValueId id) { return plan_->infos[id]; }

  std::vector<std::string> operand_texts(const Node& node) {
    std::vector<std::string> texts;
    for (const ValueId id : node.inputs)
      texts.push_back(id == graph::kAbsent   ? "-"
                      : info(id).is_sequence ? "a sequence"
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
  bool has_sequence(const Node& node) {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId id) { return id != graph::kAbsent && info(id).is_sequence; });
  }

  /// Adds one node; false when the plan must stop here (before the node if values are asked for).
  Result<bool, Diagnostic> add(const Node& node, size_t index) {
    const auto* op = node.domain.empty() ? program::operators::find_operator(node.op) : nullptr;
    if (op && !has_sequence(node))
      return add_defined(node, *op);
    const run::Function* function = node.domain.empty() ? run::find_function(node.op) : nullptr;
    if (op && !function)
      return fail(refused(node, operand_texts(node), "it does not take sequences"));
    if (!function && !is_control_flow(node))
      return fail(unknown_operator(node));
    return add_call(node, index, function);
  }

  Result<bool, Diagnostic> add_call(const Node& node, size_t index, const run::Function* function) {
    if (function && is_constant(node) && !has_sequence(node)) {
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
    plan_->steps.push_back(CallStep{index});
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
    if (definition.refusal())
      return fail(refused(node, operand_texts(node), *definition.refusal()));
    if (const auto wanted = definition.wanted()) {
      plan_->asked = {node.inputs[*wanted]};
      plan_->asks_for_cells = true;
      return false;
    }
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
      if (graph::cells_of(into.shape) == 0)
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
      plan_->steps.push_back(ViewStep{from, to});
  }

  Diagnostic not_compiled(const Node& node, const Diagnostics& errors) {
    const Diagnostic& why = errors.front();
    return refused(node, operand_texts(node),
                   "its program is refused: " + why.code + ", " + why.headline);
  }

  Result<bool, Diagnostic> add_program(const Node& node, const Definition& definition) {
    KernelStep step;
    bool has_constants = false, all_constant = true;
    for (const size_t k : definition.used_operands()) {
      step.operands.push_back(node.inputs[k]);
      const bool is_constant_operand = static_cast<bool>(info(node.inputs[k]).constant);
      has_constants = has_constants || is_constant_operand;
      all_constant = all_constant && is_constant_operand;
    }
    for (size_t k = 0; k < definition.results().size(); ++k)
      step.results.push_back(k < node.outputs.size() ? node.outputs[k] : graph::kAbsent);
    if (all_constant && is_constant(node))
      return fold(node, definition, step);
    pending_.push_back({plan_->steps.size(), &node, definition.text(), has_constants});
    plan_->steps.push_back(std::move(step));
    return true;
  }

  /// Gives all kernel steps their code.
  Result<Done, Diagnostic> compile_all() {
    std::vector<std::string> texts;
    for (const Pending& pending : pending_)
      texts.push_back(pending.text);
    kernels_.prepare(texts);
    for (const Pending& pending : pending_) {
      auto code = kernels_.compile(pending.text);
      if (!code)
        return fail(not_compiled(*pending.node, code.error()));
      // What is prepared from constants belongs to one node.
      std::get<KernelStep>(plan_->steps[pending.step]).code =
          pending.has_constants ? std::make_shared<const run::Executable>((*code)->twin()) : *code;
    }
    return Done{};
  }

  /// Runs a program whose operands are all known.
  Result<bool, Diagnostic> fold(const Node& node, const Definition& definition,
                                const KernelStep& step) {
    auto code = kernels_.compile(definition.text());
    if (!code)
      return fail(not_compiled(node, code.error()));
    std::vector<void*> pointers;
    for (const ValueId id : step.operands)
      pointers.push_back(info(id).constant.data());
    std::vector<Tensor> results;
    for (const program::operators::Output& output : definition.results()) {
      results.emplace_back(output.type, output.shape);
      pointers.push_back(results.back().data());
    }
    const auto done = (*code)->call(pointers, {});
    if (!done)
      return fail(done.error());
    for (size_t k = 0; k < results.size() && k < node.outputs.size(); ++k)
      set_constant(node.outputs[k], results[k]);
    return true;
  }

  /// A kernel step that waits for its code.
  struct Pending {
    size_t step;
    const Node* node;
    std::string text;
    bool has_constants;
  };

  const graph::Graph& graph_;
  Kernels& kernels_;
  std::unique_ptr<Plan> plan_;
  std::vector<Pending> pending_;
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
                                                    std::vector<Info> infos, Kernels& kernels) {
  auto plan = std::make_unique<Plan>();
  plan->begin = begin;
  plan->infos = std::move(infos);
  return Planner(graph, kernels, std::move(plan)).run();
}

} // namespace kawara::driver
