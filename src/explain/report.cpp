#include "explain/report.h"

#include "explain/words.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::explain {
namespace {

using estimate::operations_of;

constexpr size_t kMostNests = 2, kMostCandidates = 2, kMostDuplicates = 1;

const LevelReport& memory_of(const Report& report) { return report.levels.back(); }

/// Bytes that come from the level: counted where they were, else predicted.
double bytes_from(const LevelReport& level) { return level.simulated.value_or(level.predicted); }

std::string times_least(const LevelReport& level) {
  if (!level.least || *level.least <= 0)
    return "-";
  return fmt::format("{:.2f}x", bytes_from(level) / *level.least);
}

std::string numbers(const Report& report) {
  const estimate::Prediction& p = report.prediction;
  const double operations = operations_of(p.work);
  const std::string unit = estimate::unit_of(p.work);
  const LevelReport& memory = memory_of(report);
  std::string text =
      fmt::format("  {:<22}{}\n", report.is_limit ? "time, at best" : "time", duration(p.seconds));
  text += fmt::format("  {:<22}{}/s, {} of the roof\n", "speed",
                      amount(operations / std::max(p.seconds, 1e-30), unit.c_str()),
                      percent(report.roof_seconds / std::max(p.seconds, 1e-30)));
  text += fmt::format("  {:<22}{}{}\n", "bytes from memory", amount(bytes_from(memory), "B"),
                      memory.least && *memory.least > 0
                          ? fmt::format(", {} the least of any order", times_least(memory))
                          : std::string());
  text += fmt::format("  {:<22}{}\n", "bytes per " + unit,
                      operations > 0 ? fmt::format("{:.4g}", bytes_from(memory) / operations)
                                     : std::string("no operations"));
  return text +
         fmt::format("  {:<22}{}\n", "energy",
                     report.energy ? joules(report.energy->joules()) : std::string("not known"));
}

std::string limits(const Report& report) {
  const estimate::Prediction& p = report.prediction;
  double longest = std::max(p.arithmetic_seconds, p.fork_seconds);
  for (const LevelReport& level : report.levels)
    longest = std::max(longest, level.seconds);
  std::string text = "\nWhat limits it\n";
  const auto row = [&](const std::string& name, double seconds) {
    const std::string length = bar(longest > 0 ? seconds / longest : 0);
    text += fmt::format("  {:<14}{:>10}{}{}\n", name, duration(seconds), length.empty() ? "" : "  ",
                        length);
  };
  row("arithmetic", p.arithmetic_seconds);
  for (const LevelReport& level : report.levels)
    row(level.name, level.seconds);
  if (p.threads > 1 && p.fork_seconds > 0)
    row("threads", p.fork_seconds);
  return text;
}

std::string bytes_table(const Report& report) {
  std::string text = fmt::format(
      "\nWhere the bytes come from\n  {:<14}{:>11}{:>11}{:>11}{:>9}\n", "", "predicted",
      report.simulated_label.empty() ? "" : report.simulated_label, "at least", "ratio");
  for (const LevelReport& level : report.levels)
    text +=
        fmt::format("  {:<14}{:>11}{:>11}{:>11}{:>9}\n", level.name, amount(level.predicted, "B"),
                    level.simulated ? amount(*level.simulated, "B") : "-",
                    level.least ? amount(*level.least, "B") : "-", times_least(level));
  return text;
}

std::string energy_lines(const estimate::Energy& energy) {
  std::vector<const estimate::EnergyPart*> parts;
  for (const estimate::EnergyPart& part : energy.parts)
    parts.push_back(&part);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto* a, const auto* b) { return a->joules.value > b->joules.value; });
  constexpr size_t kMostParts = 2;
  std::string text = "\nWhere the energy goes\n";
  for (size_t k = 0; k < std::min(parts.size(), kMostParts); ++k)
    text += fmt::format("  {:<26}{:>9}  {}\n", parts[k]->name, amount(parts[k]->joules.value, "J"),
                        bar(parts[k]->joules.value / std::max(energy.joules().value, 1e-30)));
  return text;
}

std::string why_lines(const std::vector<Considered>& nests) {
  std::string text = "\nWhy this schedule\n";
  for (size_t n = 0; n < std::min(nests.size(), kMostNests); ++n) {
    text += fmt::format("  {}: {}\n", nests[n].statements, printable(nests[n].text));
    size_t shown = 0;
    for (const Candidate& c : nests[n].candidates) {
      if (shown >= kMostCandidates || !c.refusal.empty())
        continue;
      // The one that was taken is never left out for a faster one.
      const bool is_chosen_left =
          shown + 1 == kMostCandidates && !c.is_chosen &&
          std::any_of(&c, nests[n].candidates.data() + nests[n].candidates.size(),
                      [](const Candidate& other) { return other.is_chosen; });
      if (is_chosen_left)
        continue;
      ++shown;
      text += fmt::format("  {} {:<34}{:>10}  {}\n", c.is_chosen ? "*" : " ", printable(c.rule),
                          c.seconds ? duration(*c.seconds) : "", c.bound);
    }
  }
  if (nests.size() > kMostNests)
    text += fmt::format("  and {} more: kawara show --stage why\n", nests.size() - kMostNests);
  return text;
}

std::string duplicate_lines(const std::vector<estimate::Duplicates>& all) {
  std::string text;
  for (size_t k = 0; k < std::min(all.size(), kMostDuplicates); ++k)
    text += fmt::format("{} reads each element of {} {:.3f} times: as a matrix its windows would "
                        "take {} for {}\n",
                        all[k].statement, printable(all[k].tensor), all[k].loads.factor(),
                        amount(all[k].loads.loads, "elements"),
                        amount(all[k].loads.elements, "elements"));
  return text;
}

std::string threads_text(int64_t threads) {
  return threads == 1 ? "1 thread" : fmt::format("{} threads", threads);
}

} // namespace

std::string verdict(const Report& report) {
  const estimate::Prediction& p = report.prediction;
  const std::string bound = p.bound.empty() ? "nothing" : p.bound;
  if (report.is_limit)
    return fmt::format("{} takes {} on {} at best: {} sets the limit.", report.title,
                       duration(p.seconds), report.machine, bound);
  return fmt::format("{} takes about {} with {}, {} of the roof: {} sets the pace.", report.title,
                     duration(p.seconds), threads_text(p.threads),
                     percent(report.roof_seconds / std::max(p.seconds, 1e-30)), bound);
}

std::string print(const Report& report) {
  std::string text = verdict(report) + "\n" + numbers(report) + limits(report);
  text += bytes_table(report);
  if (report.energy)
    text += energy_lines(*report.energy);
  if (!report.nests.empty())
    text += why_lines(report.nests);
  if (!report.duplicates.empty())
    text += duplicate_lines(report.duplicates);
  if (!report.missing.empty())
    text += missing_lines(report.missing);
  return text + fmt::format("{}Figures of {}, {}.\n", report.missing.empty() ? "\n" : "",
                            report.machine, report.figures);
}

} // namespace kawara::explain
