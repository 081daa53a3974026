#include "driver/model/runner.h"

#include "driver/plan/call_shapes.h"
#include "driver/plan/control_flow.h"
#include "driver/plan/release_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace kawara::driver {
namespace {

Info info_of(const Datum& datum) {
  Info info;
  info.is_known = true;
  info.is_sequence = datum.is_sequence;
  info.is_nothing = !datum.is_sequence && !datum.tensor;
  if (!datum.is_sequence && datum.tensor) {
    info.type = datum.tensor.type();
    info.shape = datum.tensor.shape();
  }
  return info;
}

/// What a plan depends on: types and shapes, or elements.
void add_key(std::string& key, const Datum& datum, bool with_elements) {
  const auto add = [&](const Tensor& tensor) {
    key += static_cast<char>('a' + static_cast<int>(tensor.type()));
    for (const int64_t extent : tensor.shape())
      key += std::to_string(extent) + ",";
    if (with_elements)
      key.append(reinterpret_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.bytes()));
    key += ';';
  };
  if (datum.is_sequence)
    key += "[]";
  else if (!datum.tensor)
    key += "-;";
  else
    add(datum.tensor);
}

/// The plan for a key. Where ever new cases come, old plans make room.
std::unique_ptr<Plan>& slot(std::map<std::string, std::unique_ptr<Plan>>& plans,
                            const std::string& key) {
  constexpr size_t most = 256;
  if (plans.size() >= most && plans.count(key) == 0)
    plans.clear();
  return plans[key];
}

} // namespace

Result<std::vector<Datum>, Diagnostic> Runner::run(std::vector<Datum> inputs,
                                                   std::vector<Datum> captured) {
  std::vector<Datum> data(graph_.values.size());
  std::string key;
  for (size_t k = 0; k < inputs.size(); ++k) {
    add_key(key, inputs[k], false);
    data[graph_.inputs[k]] = std::move(inputs[k]);
  }
  for (size_t k = 0; k < captured.size(); ++k) {
    add_key(key, captured[k], false);
    data[graph_.captures[k].inner] = std::move(captured[k]);
  }
  std::unique_ptr<Plan>* plan = &slot(plans_, key);
  if (!*plan) {
    KAWARA_TRY(*plan, make(0, first_infos(data)));
  }
  path_.clear();
  while (true) {
    path_.push_back(plan->get());
    KAWARA_TRY([[maybe_unused]] const Done done, run(**plan, data));
    if ((*plan)->asked.empty())
      break;
    std::string next;
    for (const ValueId id : (*plan)->asked)
      add_key(next, data[id], (*plan)->asks_for_elements);
    std::unique_ptr<Plan>& follower = slot((*plan)->next, next);
    if (!follower) {
      KAWARA_TRY(follower, make((*plan)->end, next_infos(**plan, data)));
    }
    plan = &follower;
  }
  return results(**plan, data);
}

Result<Done, Diagnostic> Runner::plan(const std::vector<Datum>& inputs, bool in_place) {
  std::vector<Datum> data(graph_.values.size());
  for (size_t k = 0; k < inputs.size(); ++k)
    data[graph_.inputs[k]] = inputs[k];
  PlanOptions options = options_;
  options.compiles = false;
  options.in_place = options.in_place && in_place;
  drafted_.clear();
  path_.clear();
  size_t begin = 0;
  std::optional<std::vector<Info>> infos = first_infos(data);
  while (infos) {
    KAWARA_TRY(auto draft, make_plan(graph_, begin, *std::move(infos), kernels_, options));
    begin = draft->end;
    infos = infos_after_call(graph_, *draft);
    drafted_.push_back(std::move(draft));
  }
  if (drafted_.back()->asked.empty())
    return Done{};
  drafted_.clear();
  KAWARA_TRY([[maybe_unused]] const auto results, run(inputs, {}));
  return Done{};
}

std::vector<const Plan*> Runner::planned() const {
  if (drafted_.empty())
    return path_;
  std::vector<const Plan*> plans;
  for (const auto& draft : drafted_)
    plans.push_back(draft.get());
  return plans;
}

bool Runner::is_draft(const Plan* plan) const {
  return std::any_of(drafted_.begin(), drafted_.end(),
                     [&](const auto& draft) { return draft.get() == plan; });
}

void Runner::release_block() {
  block_.reset();
  block_bytes_ = 0;
}

int64_t Runner::block_bytes() const {
  int64_t bytes = 0;
  for (const Plan* plan : plans())
    bytes = std::max(bytes, plan->block_bytes);
  return bytes;
}

std::vector<const Plan*> Runner::plans() const {
  std::vector<const Plan*> all;
  for (const auto& draft : drafted_)
    all.push_back(draft.get());
  for (const auto& [key, plan] : plans_)
    if (plan)
      all.push_back(plan.get());
  for (size_t k = 0; k < all.size(); ++k)
    for (const auto& [key, next] : all[k]->next)
      if (next)
        all.push_back(next.get());
  return all;
}

Result<std::unique_ptr<Plan>, Diagnostic> Runner::make(size_t begin, std::vector<Info> infos) {
  if (begin < given_back_until_) {
    KAWARA_TRY([[maybe_unused]] const Done done, restore_());
    given_back_until_ = 0;
  }
  return make_plan(graph_, begin, std::move(infos), kernels_, options_, siblings(begin));
}

/// Some plans that begin at this node, for other shapes.
std::vector<const Plan*> Runner::siblings(size_t begin) const {
  constexpr size_t kMostSiblings = 4;
  std::vector<const Plan*> found;
  for (const Plan* plan : plans())
    if (!is_draft(plan) && plan->begin == begin && found.size() < kMostSiblings)
      found.push_back(plan);
  return found;
}

std::vector<Info> Runner::first_infos(const std::vector<Datum>& data) const {
  std::vector<Info> infos(graph_.values.size());
  for (const ValueId id : graph_.inputs)
    infos[id] = info_of(data[id]);
  for (const graph::Capture& capture : graph_.captures)
    infos[capture.inner] = info_of(data[capture.inner]);
  for (const auto& [id, tensor] : graph_.initializers) {
    infos[id] = info_of({tensor, false, {}});
    infos[id].constant = tensor;
  }
  return infos;
}

std::vector<Info> Runner::next_infos(const Plan& plan, const std::vector<Datum>& data) const {
  std::vector<Info> infos = plan.infos;
  for (const ValueId id : plan.asked) {
    infos[id] = info_of(data[id]);
    if (plan.asks_for_elements && !data[id].is_sequence)
      infos[id].constant = run::copy_of(data[id].tensor);
  }
  return infos;
}

Result<Done, Diagnostic> Runner::run(Plan& plan, std::vector<Datum>& data) {
  for (size_t id = 0; id < plan.infos.size(); ++id)
    if (plan.infos[id].constant)
      data[id] = {plan.infos[id].constant, false, {}};
  if (block_bytes_ < plan.block_bytes) {
    block_ = graph::make_memory(plan.block_bytes);
    block_bytes_ = plan.block_bytes;
  }
  plan.block = block_;
  for (size_t k = 0; k < plan.steps.size(); ++k) {
    const auto begin =
        times_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{};
    KAWARA_TRY([[maybe_unused]] const Done done, run_step(plan, plan.steps[k], data));
    if (k < plan.used_up.size() && !plan.used_up[k].empty()) {
      std::for_each(plan.used_up[k].begin(), plan.used_up[k].end(), release);
      given_back_until_ = std::max(given_back_until_, plan.end);
    }
    if (times_)
      times_->push_back(
          {&plan, k,
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()});
  }
  plan.block.reset();
  plan.used_up.clear();
  return Done{};
}

/// Elements of a value that a step is about to write: its place in the plan's block, or memory of
/// its own.
Tensor Runner::memory_of(const Plan& plan, ValueId id) {
  const Info& info = plan.infos[id];
  const auto at = plan.places.find(id);
  if (at != plan.places.end())
    return Tensor(info.type, info.shape,
                  std::shared_ptr<std::byte>(plan.block, plan.block.get() + at->second.offset));
  const auto elements = graph::elements_of(info.shape);
  return elements
             ? Tensor(info.type, info.shape, results_.take(*elements * graph::bytes_of(info.type)))
             : Tensor(info.type, info.shape);
}

Result<Done, Diagnostic> Runner::run_step(Plan& plan, const Step& step, std::vector<Datum>& data) {
  if (const auto* view = std::get_if<ViewStep>(&step)) {
    const Info& info = plan.infos[view->result];
    data[view->result] = {
        data[view->operand].tensor.with_type(info.type).with_shape(info.shape), false, {}};
    return Done{};
  }
  if (const auto* kernel = std::get_if<KernelStep>(&step))
    return run(plan, *kernel, data);
  if (const auto* join = std::get_if<JoinStep>(&step)) {
    Tensor whole = memory_of(plan, join->result);
    std::byte* to = whole.data();
    for (const ValueId id : join->operands) {
      const Tensor& part = data[id].tensor;
      if (part.data() != to)
        std::memcpy(to, part.data(), static_cast<size_t>(part.bytes()));
      to += part.bytes();
    }
    data[join->result] = {std::move(whole), false, {}};
    return Done{};
  }
  return call(graph_.nodes[std::get<CallStep>(step).node], data);
}

Result<Done, Diagnostic> Runner::run(Plan& plan, const KernelStep& step, std::vector<Datum>& data) {
  std::vector<void*> pointers;
  size_t operand = 0, result = 0;
  std::vector<std::shared_ptr<std::byte>> unused;
  for (const emit::BufferInfo& argument : step.code->signature().arguments) {
    if (argument.name[0] == 'X') {
      pointers.push_back(data[step.operands[operand++]].tensor.data());
      continue;
    }
    const ValueId id = step.results[result++];
    if (id == graph::kAbsent) { // computed, though nobody reads it
      const auto bytes = emit::bytes_of(argument, step.params);
      unused.push_back(results_.take(bytes.value_or(0)));
      pointers.push_back(unused.back().get());
      continue;
    }
    data[id] = {memory_of(plan, id), false, {}};
    pointers.push_back(data[id].tensor.data());
  }
  return step.code->call(pointers, step.params);
}

Result<Done, Diagnostic> Runner::call(const graph::Node& node, std::vector<Datum>& data) {
  std::vector<Datum> inputs;
  for (const ValueId id : node.inputs)
    inputs.push_back(id == graph::kAbsent ? Datum{} : data[id]);
  const RunGraph run_inner = [&](const graph::GraphPtr& inner, std::vector<Datum> arguments) {
    std::vector<Datum> captured;
    for (const graph::Capture& capture : inner->captures)
      captured.push_back(data[capture.outer]);
    auto& runner = inner_[inner.get()];
    if (!runner) {
      PlanOptions options = options_;
      options.gives_back = false; // constants of subgraphs are small
      runner = std::make_unique<Runner>(*inner, kernels_, options);
    }
    return runner->run(std::move(arguments), std::move(captured));
  };
  KAWARA_TRY(std::vector<Datum> results,
             is_control_flow(node) ? run_control_flow(graph_, node, std::move(inputs), run_inner)
                                   : call_function(graph_, node, std::move(inputs)));
  if (results.size() < node.outputs.size())
    return fail(refused(
        node, {}, fmt::format("it gives {} results, not {}", results.size(), node.outputs.size())));
  for (size_t k = 0; k < node.outputs.size(); ++k)
    if (node.outputs[k] != graph::kAbsent)
      data[node.outputs[k]] = std::move(results[k]);
  return Done{};
}

/// Results own their elements: a later call must not change them.
std::vector<Datum> Runner::results(const Plan& plan, const std::vector<Datum>& data) const {
  std::vector<Datum> out;
  for (const ValueId id : graph_.outputs) {
    Datum datum = data[id];
    if (datum.tensor && (plan.infos[id].constant || is_given(datum.tensor, data)))
      datum.tensor = run::copy_of(datum.tensor);
    out.push_back(std::move(datum));
  }
  return out;
}

/// Are these the elements of an input or of a captured value, perhaps under another shape?
bool Runner::is_given(const Tensor& tensor, const std::vector<Datum>& data) const {
  const auto has_elements = [&](ValueId id) { return data[id].tensor.data() == tensor.data(); };
  return std::any_of(graph_.inputs.begin(), graph_.inputs.end(), has_elements) ||
         std::any_of(graph_.captures.begin(), graph_.captures.end(),
                     [&](const graph::Capture& capture) { return has_elements(capture.inner); });
}

} // namespace kawara::driver
