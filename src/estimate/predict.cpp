#include "estimate/predict.h"

#include "estimate/replay.h"
#include "estimate/traffic.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace kawara::estimate {
namespace {

/// As much as that many threads get.
double rate_for(const Rate& rate, double threads) {
  return threads <= 1 ? rate.one : std::min(rate.all, rate.one * threads);
}

std::string quantity(double value, const char* unit) {
  const auto [scale, prefix] = value >= 1e9   ? std::pair(1e-9, "G")
                               : value >= 1e6 ? std::pair(1e-6, "M")
                               : value >= 1e3 ? std::pair(1e-3, "k")
                                              : std::pair(1.0, "");
  return fmt::format("{:.4g} {}{}", value * scale, prefix, unit);
}

std::string duration(double seconds) {
  return seconds >= 1      ? fmt::format("{:.3f} s", seconds)
         : seconds >= 1e-3 ? fmt::format("{:.3f} ms", seconds * 1e3)
                           : fmt::format("{:.2f} us", seconds * 1e6);
}

const char* source_of(const Machine& machine) {
  return machine.is_measured ? "measured" : "described";
}

} // namespace

Prediction predict(const Work& work, const kernel::Kernel& kernel, std::span<const int64_t> params,
                   const Machine& machine, int64_t threads) {
  std::vector<Capacity> capacities{{machine.register_bytes, 4}};
  for (const Level& level : machine.levels)
    if (level.bytes > 0)
      capacities.push_back({level.bytes, machine.line_bytes});
  const Pace pace{find_peak(machine, scalar::Elem::F32)->flops.one,
                  static_cast<double>(machine.vector_bytes) / 4, machine.add_seconds, threads};
  Prediction result;
  result.work = work;
  result.threads = threads;
  for (const Level& level : machine.levels)
    result.levels.push_back({level.name, 0, 0});
  std::map<std::string, double> spent;
  for (const PartCost& part : part_costs(kernel, params, capacities, pace)) {
    const double arithmetic = part.seconds / part.parallel;
    double slowest = arithmetic;
    std::string bound = "arithmetic";
    for (size_t k = 0; k < result.levels.size(); ++k) {
      const double seconds = part.bytes[k] / rate_for(machine.levels[k].triad, part.parallel);
      result.levels[k].bytes += part.bytes[k];
      result.levels[k].seconds += seconds;
      if (seconds > slowest) {
        slowest = seconds;
        bound = result.levels[k].name;
      }
    }
    const double forks = threads > 1 ? part.forks * machine.fork_seconds : 0;
    result.arithmetic_seconds += arithmetic;
    result.fork_seconds += forks;
    result.seconds += slowest + forks;
    spent[bound] += slowest;
    spent["starting threads"] += forks;
  }
  for (const auto& [bound, seconds] : spent)
    if (result.bound.empty() || seconds > spent[result.bound])
      result.bound = bound;
  return result;
}

std::string print(const Prediction& p, const Machine& machine) {
  std::string text =
      fmt::format("{} in {} statements, {} must move at least\n", quantity(p.work.flops, "FLOP"),
                  p.work.statements.size(), quantity(p.work.compulsory_bytes, "B"));
  if (p.work.flops > 0 && p.work.compulsory_bytes > 0)
    text +=
        fmt::format("intensity {:.3g} FLOP/byte, {:.3g} byte/FLOP\n",
                    p.work.flops / p.work.compulsory_bytes, p.work.compulsory_bytes / p.work.flops);
  text += fmt::format("{:<12}{:>12}{:>14}{:>14}{:>14}\n", "from", "bytes", "FLOP/byte", "byte/FLOP",
                      "takes");
  for (const LevelTraffic& level : p.levels) {
    const double flops = p.work.flops;
    text += fmt::format("{:<12}{:>12}{:>14}{:>14}{:>14}\n", level.name, quantity(level.bytes, "B"),
                        level.bytes > 0 ? fmt::format("{:.3g}", flops / level.bytes) : "-",
                        flops > 0 ? fmt::format("{:.3g}", level.bytes / flops) : "-",
                        duration(level.seconds));
  }
  text += fmt::format("{:<12}{:>54}\n", "arithmetic", duration(p.arithmetic_seconds));
  if (p.threads > 1)
    text += fmt::format("{:<12}{:>54}\n", "threads", duration(p.fork_seconds));
  return text + fmt::format("predicted {} with {} {}, bound by {} ({} figures)\n",
                            duration(p.seconds), p.threads, p.threads == 1 ? "thread" : "threads",
                            p.bound.empty() ? "nothing" : p.bound, source_of(machine));
}

std::string to_json(const Prediction& p, const Machine& machine, const Replayed* replayed) {
  nlohmann::ordered_json json{{"ok", true},
                              {"flops", p.work.flops},
                              {"compulsory_bytes", p.work.compulsory_bytes},
                              {"threads", p.threads},
                              {"figures", source_of(machine)},
                              {"arithmetic_ms", p.arithmetic_seconds * 1e3},
                              {"fork_ms", p.fork_seconds * 1e3},
                              {"predicted_ms", p.seconds * 1e3},
                              {"bound", p.bound}};
  json["levels"] = nlohmann::ordered_json::array();
  for (const LevelTraffic& level : p.levels)
    json["levels"].push_back(nlohmann::ordered_json{
        {"from", level.name}, {"bytes", level.bytes}, {"ms", level.seconds * 1e3}});
  for (size_t k = 0; replayed != nullptr && k < replayed->levels.size(); ++k) {
    json["levels"][k]["replayed_read"] = replayed->levels[k].read;
    json["levels"][k]["replayed_written"] = replayed->levels[k].written;
  }
  return json.dump(2);
}

} // namespace kawara::estimate
