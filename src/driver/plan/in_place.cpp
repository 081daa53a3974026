#include "driver/plan/in_place.h"

#include "driver/plan/plan_memory.h"
#include "poly/legality/in_place.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::driver {
namespace {

/// Numbers of the tensors in the program that are the step's operand and its result.
struct Pair {
  uint32_t operand = 0, result = 0;
};

Pair tensors_of(const program::Program& program, size_t operand) {
  Pair pair;
  for (uint32_t t = 0; t < program.tensors.size(); ++t)
    if (program.tensors[t].role == program::Role::Output)
      pair.result = t;
    else if (program.tensors[t].role == program::Role::Input && operand-- == 0)
      pair.operand = t;
  return pair;
}

class Sharing {
public:
  Sharing(const graph::Graph& graph, Plan& plan) : graph_(graph), plan_(plan) {}

  void run() {
    place_values(graph_, plan_);
    const int64_t apart = plan_.block_bytes;
    use_ = memory_use(graph_, plan_);
    while (!all_are_proved(needed())) // each time with fewer candidates
      ;
    for (const LastUse& use : chosen_)
      set(use, true);
    if (!chosen_.empty())
      place_values(graph_, plan_);
    const bool gains = plan_.block_bytes < apart;
    for (const LastUse& use : chosen_)
      gains ? finish(use) : set(use, false);
    if (!gains && !chosen_.empty())
      place_values(graph_, plan_);
    plan_.bytes_in_place = apart - plan_.block_bytes;
  }

private:
  KernelStep& step_of(const LastUse& use) { return std::get<KernelStep>(plan_.steps[use.step]); }
  void set(const LastUse& use, bool is_on) {
    KernelStep& step = step_of(use);
    step.replaced = is_on ? step.operands[use.operand] : graph::kAbsent;
  }

  /// One operand of each step at which more memory is in use than can be reached at the others.
  std::vector<LastUse> needed() {
    std::map<size_t, LastUse> by_step;
    for (const LastUse& use : use_.last_uses)
      by_step.emplace(use.step, use);
    int64_t least = 0;
    for (size_t k = 0; k < use_.bytes_at.size(); ++k) {
      const auto at = by_step.find(k);
      least = std::max(least, use_.bytes_at[k] - (at == by_step.end() ? 0 : at->second.bytes));
    }
    std::vector<LastUse> out;
    for (const auto& [step, use] : by_step)
      if (use_.bytes_at[step] > least)
        out.push_back(use);
    return out;
  }

  /// Takes those that cannot be from the candidates, with the reason.
  bool all_are_proved(const std::vector<LastUse>& wanted) {
    chosen_.clear();
    for (const LastUse& use : wanted) {
      const Made& made = made_for(use);
      if (made) {
        chosen_.push_back(use);
        continue;
      }
      note(use, false, made.error());
      std::erase_if(use_.last_uses, [&](const LastUse& other) {
        return other.step == use.step && other.operand == use.operand;
      });
    }
    return chosen_.size() == wanted.size();
  }

  using Made = Result<program::Program, std::string>;
  /// Groups with the same program are proved once.
  const Made& made_for(const LastUse& use) {
    const std::string& text = plan_.groups[step_of(use).group].program;
    const auto known = made_.find({text, use.operand});
    if (known != made_.end())
      return known->second;
    const auto program = program::parse(make_source("group.kw", text));
    KAWARA_CHECK(program, "the program of a group does not parse");
    const Pair pair = tensors_of(*program, use.operand);
    return made_
        .emplace(std::pair(text, use.operand), poly::in_place(*program, pair.operand, pair.result))
        .first->second;
  }

  void note(const LastUse& use, bool is_done, const std::string& why) {
    const KernelStep& step = step_of(use);
    plan_.in_place.push_back(
        {step.group, step.operands[use.operand], step.results.front(), is_done, why});
  }

  void finish(const LastUse& use) {
    note(use, true, "each element is read by the iteration that writes it");
    const std::string text = program::print(*made_for(use));
    KernelStep& step = step_of(use);
    step.operands.erase(step.operands.begin() + static_cast<std::ptrdiff_t>(use.operand));
    plan_.groups[step.group].program = text;
  }

  const graph::Graph& graph_;
  Plan& plan_;
  MemoryUse use_;
  std::vector<LastUse> chosen_;
  std::map<std::pair<std::string, size_t>, Made> made_;
};

} // namespace

void place_in_place(const graph::Graph& graph, Plan& plan) { Sharing(graph, plan).run(); }

} // namespace kawara::driver
