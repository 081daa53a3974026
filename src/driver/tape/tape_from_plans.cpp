#include "driver/tape/tape.h"

#include "driver/plan/control_flow.h"
#include "graph/errors.h"
#include "program/program.h"
#include "support/check.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::driver {
namespace {

constexpr int64_t kBlockAlignment = 64;
/// Bytes behind every buffer that code may read, though not use.
constexpr int64_t kBlockSlack = 64;

Diagnostic cannot_record(const graph::Node& node, const std::string& why) {
  return graph::model_error("K0563",
                            fmt::format("a model with node `{}` ({}) cannot be compiled to a file",
                                        node.name, printable(node.op)),
                            why, "run the ONNX file itself");
}

/// What a kernel is called with.
struct Argument {
  bool is_input = true;
  int64_t bytes = 0;
};

std::vector<Argument> arguments_of(const run::Executable& code,
                                   const std::vector<int64_t>& params) {
  std::vector<Argument> arguments;
  for (const emit::BufferInfo& info : code.signature().arguments)
    arguments.push_back({info.name[0] == 'X', emit::bytes_of(info, params).value_or(0)});
  return arguments;
}

/// The same of a group's program, which has no parameters.
std::vector<Argument> arguments_of(const std::string& text) {
  std::vector<Argument> arguments;
  const auto program = program::parse(make_source("group.kw", text));
  KAWARA_CHECK(program, "the program of a group does not parse");
  for (const program::Tensor& tensor : program->tensors) {
    if (tensor.role == program::Role::Temp)
      continue;
    int64_t bytes = scalar::bytes_of(tensor.elem);
    for (const scalar::Expr& extent : tensor.shape)
      bytes *= scalar::constant_of(extent).value_or(0);
    arguments.push_back({tensor.role == program::Role::Input, bytes});
  }
  return arguments;
}

class Recorder {
public:
  explicit Recorder(const graph::Graph& graph) : graph_(graph), slots_(graph.values.size()) {}

  Result<Tape, Diagnostic> record(const std::vector<const Plan*>& plans) {
    tape_.name = graph_.name;
    for (size_t k = 0; k < graph_.inputs.size(); ++k) {
      const ValueId id = graph_.inputs[k];
      slots_[id] = Slot{Slot::Where::Input, static_cast<int64_t>(k)};
      const Info& info = plans.front()->infos[id];
      tape_.inputs.push_back({graph_.values[id].name, info.type, info.shape});
    }
    for (const Plan* plan : plans) {
      KAWARA_TRY([[maybe_unused]] const Done done, record(*plan));
    }
    // What a call at the very end leaves is known only afterwards.
    add_outputs(*plans.back());
    return std::move(tape_);
  }

private:
  /// More memory of the block.
  Slot reserve(int64_t bytes) {
    const Slot slot{Slot::Where::Block, tape_.block_bytes};
    tape_.block_bytes +=
        (bytes + kBlockSlack + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
    return slot;
  }

  Slot constant(const Tensor& tensor) {
    const auto known = constants_.find(tensor.data());
    if (known != constants_.end() && tape_.constants[known->second].bytes() == tensor.bytes())
      return {Slot::Where::Constant, static_cast<int64_t>(known->second)};
    constants_[tensor.data()] = tape_.constants.size();
    tape_.constants.push_back(tensor);
    return {Slot::Where::Constant, static_cast<int64_t>(tape_.constants.size()) - 1};
  }

  /// Where a value lies that a step of this plan reads.
  Slot slot_of(const Plan& plan, ValueId id) {
    if (plan.infos[id].constant)
      return constant(plan.infos[id].constant);
    return slots_[id].value_or(Slot{});
  }

  int64_t bytes_of_value(const Plan& plan, ValueId id) const {
    const Info& info = plan.infos[id];
    return graph::elements_of(info.shape).value_or(0) * graph::bytes_of(info.type);
  }

  /// Where a value that a step makes shall lie: in the caller's memory if it is a result.
  Slot place(const Plan& plan, ValueId id) {
    const auto output = std::find(graph_.outputs.begin(), graph_.outputs.end(), id);
    if (output != graph_.outputs.end())
      return {Slot::Where::Output, output - graph_.outputs.begin()};
    const auto at = plan.places.find(id);
    if (at != plan.places.end())
      return {Slot::Where::Block, base_ + at->second.offset};
    return reserve(bytes_of_value(plan, id));
  }

  Result<Done, Diagnostic> record(const Plan& plan) {
    base_ = tape_.block_bytes;
    reserve(plan.block_bytes);
    settle_call(plan);
    for (const Step& step : plan.steps) {
      if (const auto* view = std::get_if<ViewStep>(&step)) {
        slots_[view->result] = slot_of(plan, view->operand);
      } else if (const auto* kernel = std::get_if<KernelStep>(&step)) {
        record(plan, *kernel);
      } else if (const auto* join = std::get_if<JoinStep>(&step)) {
        record(plan, *join);
      } else {
        KAWARA_TRY([[maybe_unused]] const Done done,
                   record(plan, graph_.nodes[std::get<CallStep>(step).node]));
      }
    }
    if (plan.asks_for_elements)
      asked_ = plan.asked;
    return Done{};
  }

  void record(const Plan& plan, const KernelStep& step) {
    const KernelGroup& group = plan.groups[step.group];
    TapeKernel kernel{step.code, step.params, {}, name_of(group, graph_), group.program};
    const std::vector<Argument> arguments =
        step.code ? arguments_of(*step.code, step.params) : arguments_of(group.program);
    size_t operand = 0, result = 0;
    for (const Argument& argument : arguments) {
      if (argument.is_input) {
        kernel.arguments.push_back(slot_of(plan, step.operands[operand++]));
        continue;
      }
      const ValueId id = step.results[result++];
      const Slot slot = id == graph::kAbsent ? reserve(argument.bytes) : place(plan, id);
      if (id != graph::kAbsent)
        slots_[id] = slot;
      kernel.arguments.push_back(slot);
    }
    tape_.steps.emplace_back(std::move(kernel));
  }

  /// Operands that do not lie in their places yet are copied there.
  void record(const Plan& plan, const JoinStep& step) {
    const auto at = plan.places.find(step.result);
    Slot to = at == plan.places.end() ? reserve(bytes_of_value(plan, step.result))
                                      : Slot{Slot::Where::Block, base_ + at->second.offset};
    slots_[step.result] = to;
    for (const ValueId id : step.operands) {
      const Slot from = slot_of(plan, id);
      const int64_t bytes = bytes_of_value(plan, id);
      if (from.where != to.where || from.at != to.at)
        tape_.steps.emplace_back(TapeCopy{from, to, bytes});
      to.at += bytes;
    }
  }

  Result<Done, Diagnostic> record(const Plan& plan, const graph::Node& node) {
    if (is_control_flow(node))
      return fail(cannot_record(node, "What its subgraphs do is found out while it runs."));
    TapeCall call;
    call.node = node;
    const auto version = graph_.opsets.find("");
    call.opset = version == graph_.opsets.end() ? 1 : version->second;
    for (const ValueId id : node.inputs) {
      if (id == graph::kAbsent) {
        call.inputs.emplace_back();
        continue;
      }
      const Info& info = plan.infos[id];
      if (info.is_sequence)
        return fail(cannot_record(node, "It reads a sequence."));
      call.inputs.push_back(TapeTensor{slot_of(plan, id), info.type, info.shape});
    }
    call_ = tape_.steps.size();
    tape_.steps.emplace_back(std::move(call));
    pending_ = &node;
    return Done{};
  }

  /// The results of the call that the plan before ended with: this plan knows their types and
  /// shapes.
  void settle_call(const Plan& plan) {
    if (pending_) {
      auto& call = std::get<TapeCall>(tape_.steps[call_]);
      for (const ValueId id : pending_->outputs) {
        if (id == graph::kAbsent) {
          call.outputs.emplace_back();
          continue;
        }
        slots_[id] = place(plan, id);
        call.outputs.push_back(TapeTensor{*slots_[id], plan.infos[id].type, plan.infos[id].shape});
      }
      pending_ = nullptr;
    }
    for (const ValueId id : asked_) {
      const Tensor& elements = plan.infos[id].constant;
      tape_.steps.emplace_back(TapeGuard{slots_[id].value_or(Slot{}),
                                         std::string(reinterpret_cast<const char*>(elements.data()),
                                                     static_cast<size_t>(elements.bytes())),
                                         graph_.values[id].name});
    }
    asked_.clear();
  }

  /// Results that no step wrote where they belong are copied there.
  void add_outputs(const Plan& last) {
    for (size_t k = 0; k < graph_.outputs.size(); ++k) {
      const ValueId id = graph_.outputs[k];
      const Info& info = last.infos[id];
      tape_.outputs.push_back({graph_.values[id].name, info.type, info.shape});
      const Slot from = slot_of(last, id);
      const Slot to{Slot::Where::Output, static_cast<int64_t>(k)};
      if (from.where != to.where || from.at != to.at)
        tape_.steps.emplace_back(TapeCopy{from, to, bytes_of_value(last, id)});
    }
  }

  const graph::Graph& graph_;
  Tape tape_;
  std::vector<std::optional<Slot>> slots_; ///< by value
  std::map<const std::byte*, size_t> constants_;
  int64_t base_ = 0; ///< of the plan's block in the tape's
  const graph::Node* pending_ = nullptr;
  size_t call_ = 0;
  std::vector<ValueId> asked_;
};

} // namespace

Result<Tape, Diagnostic> tape_from_plans(const graph::Graph& graph,
                                         const std::vector<const Plan*>& plans) {
  for (const Plan* plan : plans)
    for (const graph::Node& node : graph.nodes)
      for (const ValueId id : node.outputs)
        if (id != graph::kAbsent && plan->infos[id].is_sequence)
          return fail(cannot_record(node, "It makes a sequence."));
  return Recorder(graph).record(plans);
}

} // namespace kawara::driver
