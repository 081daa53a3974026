#include "explain/report.h"

#include "explain/words.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::explain {
namespace {

using estimate::operations_of;

constexpr size_t kMostNests = 2, kMostCandidates = 2, kMostDuplicates = 1, kMostMissing = 2;

std::string joules_text(const estimate::Band& band) {
  return fmt::format("{} ({} to {})", amount(band.value, "J"), amount(band.low, "J"),
                     amount(band.high, "J"));
}

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
  return text + fmt::format("  {:<22}{}\n", "energy",
                            report.energy ? joules_text(report.energy->joules())
                                          : std::string("not known"));
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

std::string missing_lines(const std::vector<std::string>& missing) {
  std::string text = "\n";
  for (size_t k = 0; k < std::min(missing.size(), kMostMissing); ++k)
    text += "Missing: " + missing[k] + "\n";
  if (missing.size() > kMostMissing)
    text += fmt::format("Missing: {} more things, in --json\n", missing.size() - kMostMissing);
  return text;
}

std::string threads_text(int64_t threads) {
  return threads == 1 ? "1 thread" : fmt::format("{} threads", threads);
}

double seconds_of(const KernelReport& kernel) {
  return kernel.seconds.value_or(kernel.least_seconds) * static_cast<double>(kernel.times);
}

double all_seconds(const ModelReport& report) {
  double sum = 0;
  for (const KernelReport& kernel : report.kernels)
    sum += seconds_of(kernel);
  return sum;
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

std::string verdict(const ModelReport& report) {
  if (report.kernels.empty())
    return fmt::format("{}: no kernel of it can be looked at.", report.title);
  const KernelReport& first = report.kernels.front();
  int64_t calls = 0;
  for (const KernelReport& kernel : report.kernels)
    calls += kernel.times;
  return fmt::format("{} takes about {} in {} calls of {} kernels; {} of it is {}, bound by {}.",
                     report.title, duration(all_seconds(report)), calls, report.kernels.size(),
                     percent(seconds_of(first) / std::max(all_seconds(report), 1e-30)),
                     printable(first.name), first.bound);
}

std::string print(const ModelReport& report) {
  constexpr size_t kMostKernels = 20, kNameWidth = 30;
  const double all = all_seconds(report);
  double operations = 0, bytes = 0, least = 0;
  estimate::Band joules;
  for (const KernelReport& kernel : report.kernels) {
    const auto times = static_cast<double>(kernel.times);
    operations += kernel.operations * times;
    bytes += kernel.bytes * times;
    least += kernel.least_seconds * times;
    if (kernel.joules)
      joules += *kernel.joules * times;
  }
  std::string text = verdict(report) + "\n";
  text +=
      fmt::format("  {:<22}{}\n  {:<22}{}/s, {} of the roof\n  {:<22}{}\n  {:<22}{:.4g}\n", "time",
                  duration(all), "speed", amount(operations / std::max(all, 1e-30), "OP"),
                  percent(least / std::max(all, 1e-30)), "bytes of tensors", amount(bytes, "B"),
                  "bytes per OP", operations > 0 ? bytes / operations : 0.0);
  text += fmt::format("  {:<22}{}\n", "energy",
                      joules.value > 0 ? joules_text(joules) : std::string("not known"));
  text += fmt::format("\nKernels that take longest\n  {:<{}}{:>6}{:>11}{:>8}  {:<12}{:>9}\n", "",
                      kNameWidth, "calls", "time", "share", "bound by", "OP/byte");
  for (size_t k = 0; k < std::min(report.kernels.size(), kMostKernels); ++k) {
    const KernelReport& kernel = report.kernels[k];
    std::string name = printable(kernel.name);
    if (name.size() >= kNameWidth)
      name = name.substr(0, kNameWidth - 4) + "...";
    text += fmt::format("  {:<{}}{:>6}{:>11}{:>8}  {:<12}{:>9.3g}\n", name, kNameWidth,
                        kernel.times, (kernel.seconds ? "" : ">") + duration(seconds_of(kernel)),
                        percent(seconds_of(kernel) / std::max(all, 1e-30)), kernel.bound,
                        kernel.operations / std::max(kernel.bytes, 1.0));
  }
  if (report.kernels.size() > kMostKernels)
    text += fmt::format("  and {} more, in --json\n", report.kernels.size() - kMostKernels);
  if (!report.missing.empty())
    text += missing_lines(report.missing);
  return text + fmt::format("\nFigures of {}, {}; `>`: of the roof, not of a schedule.\n",
                            report.machine, report.figures);
}

} // namespace kawara::explain
