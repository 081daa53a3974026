#include "explain/report.h"

#include "explain/words.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace kawara::explain {
namespace {

double seconds_of(const KernelReport& kernel) {
  return kernel.seconds.value_or(kernel.least_seconds) * static_cast<double>(kernel.times);
}

double all_seconds(const ModelReport& report) {
  double sum = 0;
  for (const KernelReport& kernel : report.kernels)
    sum += seconds_of(kernel);
  return sum;
}

/// What the steps took, if they ran.
std::string measured_text(const ModelFacts& facts) {
  if (!facts.is_measured)
    return "";
  double seconds = facts.between_seconds;
  for (const StepReport& step : facts.steps)
    seconds += step.seconds.value_or(0);
  return ", " + duration(seconds) + " when it ran";
}

std::string numbers(const ModelReport& report) {
  const double all = all_seconds(report);
  double operations = 0, bytes = 0, least = 0;
  estimate::Band energy;
  for (const KernelReport& kernel : report.kernels) {
    const auto times = static_cast<double>(kernel.times);
    operations += kernel.operations * times;
    bytes += kernel.bytes * times;
    least += kernel.least_seconds * times;
    if (kernel.joules)
      energy += *kernel.joules * times;
  }
  return fmt::format("  {:<22}{}\n  {:<22}{}/s, {} of the roof\n  {:<22}{}\n  {:<22}{:.4g}\n"
                     "  {:<22}{}\n",
                     "time", duration(all) + measured_text(report.facts), "speed",
                     amount(operations / std::max(all, 1e-30), "OP"),
                     percent(least / std::max(all, 1e-30)), "bytes of tensors", amount(bytes, "B"),
                     "bytes per OP", operations > 0 ? bytes / operations : 0.0, "energy",
                     energy.value > 0 ? joules(energy) : std::string("not known"));
}

std::string shortened(const std::string& name, size_t width) {
  std::string text = printable(name);
  if (text.size() >= width)
    text = text.substr(0, width - 4) + "...";
  return text;
}

std::string kernels_table(const ModelReport& report) {
  constexpr size_t kMostKernels = 14, kNameWidth = 30;
  const double all = all_seconds(report);
  std::string text =
      fmt::format("\nKernels that take longest\n  {:<{}}{:>6}{:>11}{:>8}  {:<12}{:>9}\n", "",
                  kNameWidth, "calls", "time", "share", "bound by", "OP/byte");
  for (size_t k = 0; k < std::min(report.kernels.size(), kMostKernels); ++k) {
    const KernelReport& kernel = report.kernels[k];
    text += fmt::format("  {:<{}}{:>6}{:>11}{:>8}  {:<12}{:>9.3g}\n",
                        shortened(kernel.name, kNameWidth), kNameWidth, kernel.times,
                        (kernel.seconds ? "" : ">") + duration(seconds_of(kernel)),
                        percent(seconds_of(kernel) / std::max(all, 1e-30)), kernel.bound,
                        kernel.operations / std::max(kernel.bytes, 1.0));
  }
  if (report.kernels.size() > kMostKernels)
    text += fmt::format("  and {} more, in --json\n", report.kernels.size() - kMostKernels);
  return text;
}

std::string totals_line(const char* name, const Totals& totals) {
  return fmt::format("  {:<22}{:>4} kernels{:>11}{:>9.4g} OP/byte  at least {}\n", name,
                     totals.kernels, amount(totals.bytes, "B"),
                     totals.operations / std::max(totals.bytes, 1.0), duration(totals.seconds));
}

std::string price_text(const Price& price) {
  return amount(price.bytes, "B") + ", " + duration(price.seconds) +
         (price.joules ? ", " + amount(price.joules->value, "J") : "");
}

/// What one kernel for both would be made by.
std::string way(const FusionVerdict& verdict) {
  if (verdict.directives.empty())
    return verdict.witness;
  return fmt::format("`{}` is {}", verdict.directives, name_of(verdict.answer));
}

/// Values of the same size between the same operators that are apart for the same reason.
struct Apart {
  const EdgeReport* first = nullptr;
  int64_t times = 0;
  double bytes = 0; ///< of all
};

std::string op_of(const ModelFacts& facts, const std::string& id) {
  for (const NodeReport& node : facts.nodes)
    if (node.id == id)
      return printable(node.op);
  return id;
}

/// Those that cost most first.
std::vector<Apart> apart(const ModelFacts& facts) {
  std::map<std::string, Apart> kinds;
  for (const EdgeReport& edge : facts.edges) {
    if (edge.is_fused)
      continue;
    Apart& kind =
        kinds[fmt::format("{}\n{}\n{}\n{}\n{}", op_of(facts, edge.from), op_of(facts, edge.to),
                          edge.shape, edge.reason, edge.verdict.directives)];
    kind.first = kind.first == nullptr ? &edge : kind.first;
    ++kind.times;
    kind.bytes += edge.price.bytes;
  }
  std::vector<Apart> out;
  for (const auto& [key, kind] : kinds)
    out.push_back(kind);
  std::stable_sort(out.begin(), out.end(),
                   [](const Apart& a, const Apart& b) { return a.bytes > b.bytes; });
  return out;
}

std::string fusion_lines(const ModelFacts& facts) {
  constexpr size_t kMostKinds = 2, kReasonWidth = 96;
  const std::vector<Apart> kinds = apart(facts);
  const auto fused = std::count_if(facts.edges.begin(), facts.edges.end(),
                                   [](const EdgeReport& edge) { return edge.is_fused; });
  std::string text = "\nWhat fusion saves\n" + totals_line("each operator alone", facts.before) +
                     totals_line("as it runs", facts.after);
  text += fmt::format("  {:<22}{} in {} places\n", "saved", price_text(sum_of(facts.edges, true)),
                      fused);
  text += fmt::format("  {:<22}{} in {} places{}\n", "left", price_text(sum_of(facts.edges, false)),
                      static_cast<int64_t>(facts.edges.size()) - fused,
                      kinds.empty() ? "" : ", most of it");
  for (size_t k = 0; k < std::min(kinds.size(), kMostKinds); ++k) {
    const EdgeReport& edge = *kinds[k].first;
    text += fmt::format("  {} x {} -> {}, {}: {}\n    {}\n", kinds[k].times,
                        op_of(facts, edge.from), op_of(facts, edge.to), amount(kinds[k].bytes, "B"),
                        shortened(edge.reason, kReasonWidth),
                        shortened(way(edge.verdict), kReasonWidth));
  }
  return text;
}

} // namespace

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
  std::string text = verdict(report) + "\n" + numbers(report) + kernels_table(report);
  if (!report.facts.edges.empty())
    text += fusion_lines(report.facts);
  if (!report.missing.empty())
    text += missing_lines(report.missing);
  return text + fmt::format("\nFigures of {}, {}; `>`: of the roof, not of a schedule.\n",
                            report.machine, report.figures);
}

Price sum_of(const std::vector<EdgeReport>& edges, bool is_fused) {
  Price sum;
  for (const EdgeReport& edge : edges) {
    if (edge.is_fused != is_fused)
      continue;
    sum.bytes += edge.price.bytes;
    sum.seconds += edge.price.seconds;
    if (edge.price.joules) {
      sum.joules = sum.joules.value_or(estimate::Band{});
      *sum.joules += *edge.price.joules;
    }
  }
  return sum;
}

} // namespace kawara::explain
