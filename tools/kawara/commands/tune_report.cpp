#include "kawara/commands/tune.h"

#include "support/text.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace kawara::tools {
namespace {

std::string losses_text(const tune::Progress& progress) {
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : progress.outcomes)
    if (outcome != tune::Outcome::Measured)
      parts.push_back(fmt::format("{} {}", count, tune::name_of(outcome)));
  std::vector<std::string> codes;
  for (const auto& [code, count] : progress.refusals)
    codes.push_back(fmt::format("{} {}", count, code));
  if (progress.unfit > 0)
    parts.push_back(fmt::format("{} unfit before", progress.unfit));
  std::string text = parts.empty() ? "none lost" : join(parts, ", ");
  return codes.empty() ? text : text + " (" + join(codes, ", ") + ")";
}

void print_text(const tune::TuneReport& report) {
  const tune::Progress& progress = report.progress;
  fmt::print("tried {} candidate{} in {:.1f} s, {:.1f} a second; {}\n", progress.trials,
             progress.trials == 1 ? "" : "s", progress.seconds,
             static_cast<double>(progress.trials) / progress.seconds, losses_text(progress));
  if (progress.rank_accuracy)
    fmt::print("the model put {:.0f} of 100 pairs in the right order\n",
               *progress.rank_accuracy * 100);
  if (report.noise > 0.1)
    fmt::print("the machine was busy: times of the default differ by {:.0f} %\n",
               report.noise * 100);
  if (report.is_undecided) {
    fmt::print(
        "something seems {:.2f}x faster than the default, but other programs kept {:.1f} cores\n"
        "busy that both wanted, each time they were compared: the default stays.\n"
        "The same command, when the machine is quiet, takes up what was measured\n",
        1 / report.ratio.median, report.missing);
    return;
  }
  if (!report.best) {
    fmt::print("nothing is faster than the default beyond doubt: it stays\n");
    if (report.refuted > 0)
      fmt::print("({} seemed to be, in one process and not in another)\n", report.refuted);
    return;
  }
  fmt::print("{:.2f}x faster than the default: {} instead of {} ({:.2f}x to {:.2f}x)\n",
             1 / report.ratio.median, time_text(report.best->seconds),
             time_text(report.best->default_seconds), 1 / report.ratio.high, 1 / report.ratio.low);
  fmt::print("{}\n", report.best->directives);
  for (const tune::Effect& effect : report.effects)
    if (effect.outcome == tune::Outcome::Measured)
      fmt::print("  {:6.2f}x  slower without  {}\n", effect.slower, effect.directive);
    else
      fmt::print("  {:>7}  without  {}{}\n", tune::name_of(effect.outcome), effect.directive,
                 effect.reason.empty() ? "" : "  (" + effect.reason + ")");
}

void print_json(const tune::TuneReport& report) {
  nlohmann::json out{{"ok", true},
                     {"trials", report.progress.trials},
                     {"seconds", report.progress.seconds},
                     {"refusals", report.progress.refusals},
                     {"outcomes", nlohmann::json::object()},
                     {"unfit", report.progress.unfit},
                     {"noise", report.noise},
                     {"missing_cores", report.missing},
                     {"refuted", report.refuted},
                     {"is_undecided", report.is_undecided},
                     {"is_faster", report.best.has_value()}};
  for (const auto& [outcome, count] : report.progress.outcomes)
    out["outcomes"][std::string(tune::name_of(outcome))] = count;
  if (report.progress.rank_accuracy)
    out["rank_accuracy"] = *report.progress.rank_accuracy;
  if (report.best) {
    out["directives"] = report.best->directives;
    out["seconds_per_call"] = report.best->seconds;
    out["default_seconds_per_call"] = report.best->default_seconds;
    out["ratio"] = {report.ratio.low, report.ratio.median, report.ratio.high};
  }
  for (const auto& [seconds, trial] : report.curve)
    out["curve"].push_back(
        {{"seconds", seconds}, {"trial", trial + 1}, {"ratio", report.trials[trial].ratio}});
  for (const tune::Effect& effect : report.effects)
    out["effects"].push_back({{"directive", effect.directive},
                              {"outcome", tune::name_of(effect.outcome)},
                              {"reason", effect.reason},
                              {"slower", effect.slower}});
  fmt::print("{}\n", out.dump(2));
}

} // namespace

std::string time_text(double seconds) {
  return seconds >= 1      ? fmt::format("{:.3g} s", seconds)
         : seconds >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3)
                           : fmt::format("{:.3g} us", seconds * 1e6);
}

std::string progress_text(const tune::Progress& progress) {
  if (progress.comparisons > 0)
    return fmt::format("{} tried, comparing the fastest with the default at length",
                       progress.trials);
  const double speed = static_cast<double>(progress.trials) / std::max(progress.seconds, 1e-3);
  double left = progress.of_seconds > 0 ? progress.of_seconds - progress.seconds : 1e9;
  if (progress.of_trials > 0)
    left = std::min(left, static_cast<double>(progress.of_trials - progress.trials) / speed);
  return fmt::format("{} tried, {:.2f}x the default, {:.1f} a second, {:.0f} s left; {}",
                     progress.trials, 1 / progress.best, speed, std::max(left, 0.0),
                     losses_text(progress));
}

void print_report(const tune::TuneReport& report, bool as_json) {
  if (as_json)
    print_json(report);
  else
    print_text(report);
}

} // namespace kawara::tools
