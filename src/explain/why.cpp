#include "explain/why.h"

#include "estimate/predict.h"
#include "kernel/from_schedule/from_schedule.h"
#include "kernel/memory/prepare.h"
#include "schedule/text/flatten.h"
#include "support/text.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace kawara::explain {

using poly::StmtId;
using schedule::Attempt;
using schedule::Directive;

namespace {

std::vector<Directive> flat(const std::vector<Directive>& list) {
  std::vector<Directive> members;
  schedule::flatten(list, members);
  return members;
}

/// The top nests of what the attempt made that hold its statements, or copies that it makes.
schedule::Schedule nests_of(const Attempt& attempt) {
  schedule::Schedule part = *attempt.made;
  const size_t known = attempt.before.scop.statements.size();
  std::erase_if(part.order.body, [&](const poly::TreeNode& node) {
    const std::vector<StmtId> below = poly::statements_below(node);
    return std::none_of(below.begin(), below.end(), [&](StmtId id) {
      const auto& own = attempt.statements;
      return id.value >= known || std::find(own.begin(), own.end(), id) != own.end();
    });
  });
  return part;
}

Candidate candidate_of(const Attempt& attempt, const schedule::Environment& environment,
                       const std::optional<Prices>& prices) {
  Candidate made{attempt.rule, schedule::print(attempt.plan), std::nullopt, "", false, ""};
  if (!attempt.made) {
    const Diagnostic why = schedule::explain(attempt.before, *attempt.refusal, environment);
    made.refusal = why.headline;
    if (!why.body.empty())
      made.refusal += ". " + why.body.front();
    std::replace(made.refusal.begin(), made.refusal.end(), '\n', ' ');
    return made;
  }
  if (!prices)
    return made;
  const kernel::Kernel kernel =
      kernel::prepare(kernel::kernel_from_schedule(nests_of(attempt), false));
  const estimate::Prediction cost =
      estimate::predict({}, kernel, prices->sizes, prices->machine, prices->threads);
  made.seconds = cost.seconds;
  made.bound = cost.bound;
  return made;
}

std::string names_of(const Attempt& attempt) {
  std::vector<std::string> names;
  for (const StmtId id : attempt.statements)
    names.push_back(attempt.before.scop[id].text.name);
  return join(names, ", ");
}

/// As the program has it; of a statement that is not among its first `written`, what it writes.
std::string text_of(const poly::Scop& scop, StmtId id, size_t written) {
  const program::Statement& own = scop[id].text;
  if (id.value >= written || scop.source == nullptr || own.where.is_nowhere())
    return "writes " + scop.tensors[own.tensor].name;
  const std::string_view all = scop.source->text;
  return std::string(all.substr(own.where.begin, own.where.end - own.where.begin));
}

/// The fastest first; what was refused last.
bool comes_before(const Candidate& a, const Candidate& b) {
  if (a.refusal.empty() != b.refusal.empty())
    return a.refusal.empty();
  return a.seconds && b.seconds && *a.seconds < *b.seconds;
}

std::string time_of(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.4g} us", seconds * 1e6)
                        : fmt::format("{:.4g} ms", seconds * 1e3);
}

} // namespace

std::vector<Considered> considered(const std::vector<Attempt>& attempts,
                                   const std::vector<Directive>& chosen,
                                   const schedule::Environment& environment,
                                   const std::optional<Prices>& prices) {
  const std::vector<Directive> steps = flat(chosen);
  const size_t written = attempts.empty() ? 0 : attempts.front().before.scop.statements.size();
  std::map<std::string, size_t> longest; ///< plan among the steps, by statements
  std::vector<Considered> all;
  for (const Attempt& attempt : attempts) {
    const std::string names = names_of(attempt);
    auto at = std::find_if(all.begin(), all.end(),
                           [&](const Considered& c) { return c.statements == names; });
    if (at == all.end()) {
      all.push_back({names, text_of(attempt.before.scop, attempt.statements.front(), written), {}});
      at = all.end() - 1;
    }
    const std::string directives = schedule::print(attempt.plan);
    const bool is_known =
        std::any_of(at->candidates.begin(), at->candidates.end(),
                    [&](const Candidate& other) { return other.directives == directives; });
    if (is_known)
      continue;
    at->candidates.push_back(candidate_of(attempt, environment, prices));
    const std::vector<Directive> plan = flat(attempt.plan);
    if (attempt.made && plan.size() > longest[names] &&
        std::search(steps.begin(), steps.end(), plan.begin(), plan.end()) != steps.end()) {
      // A part of what was taken is another candidate.
      for (Candidate& other : at->candidates)
        other.is_chosen = false;
      at->candidates.back().is_chosen = true;
      longest[names] = plan.size();
    }
  }
  for (Considered& each : all)
    std::stable_sort(each.candidates.begin(), each.candidates.end(), comes_before);
  return all;
}

std::string why_text(const std::vector<Considered>& all) {
  std::string text;
  for (const Considered& nest : all) {
    text += fmt::format("{}{}: {}\n", text.empty() ? "" : "\n", nest.statements, nest.text);
    for (const Candidate& c : nest.candidates) {
      if (!c.refusal.empty()) {
        text += fmt::format("    {:<36} refused: {}\n", c.rule, c.refusal);
        continue;
      }
      text += fmt::format("  {} {:<36}", c.is_chosen ? "*" : " ", c.rule);
      if (c.seconds)
        text += fmt::format(" {:>12}  {}", time_of(*c.seconds), c.bound);
      while (text.back() == ' ')
        text.pop_back();
      text += "\n";
    }
  }
  return text.empty()
             ? "nothing was considered: no loop can run in another order, in lanes or on "
               "threads, or `-s` has no `auto`;\n`kawara check FILE -s 'parallel(i)'` shows "
               "which two iterations of a loop `i` need each other\n"
             : text;
}

std::string why_json(const std::vector<Considered>& all) {
  nlohmann::json nests = nlohmann::json::array();
  for (const Considered& nest : all) {
    nlohmann::json candidates = nlohmann::json::array();
    for (const Candidate& c : nest.candidates) {
      nlohmann::json entry{{"rule", c.rule}, {"directives", c.directives}, {"chosen", c.is_chosen}};
      if (c.seconds) {
        entry["seconds"] = *c.seconds;
        entry["bound"] = c.bound;
      }
      if (!c.refusal.empty())
        entry["refused"] = c.refusal;
      candidates.push_back(std::move(entry));
    }
    nests.push_back({{"statements", nest.statements},
                     {"text", nest.text},
                     {"candidates", std::move(candidates)}});
  }
  // Names need not be UTF-8.
  return nlohmann::json{{"ok", true}, {"nests", std::move(nests)}}.dump(
      2, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace kawara::explain
