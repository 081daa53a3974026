#include "estimate/predict.h"

#include "estimate/replayed.h"
#include "estimate/traffic.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace kawara::estimate {
namespace {

std::string duration(double seconds) {
  return seconds >= 1      ? fmt::format("{:.3f} s", seconds)
         : seconds >= 1e-3 ? fmt::format("{:.3f} ms", seconds * 1e3)
                           : fmt::format("{:.2f} us", seconds * 1e6);
}

std::string source_of(const Machine& machine) {
  return machine.is_measured ? "measured" : "described";
}

} // namespace

Prediction predict(const Work& work, const kernel::Kernel& kernel, std::span<const int64_t> params,
                   const Machine& machine, int64_t threads) {
  std::vector<Capacity> capacities{{machine.register_bytes, 4}};
  for (const Level& level : machine.levels)
    if (level.bytes > 0)
      capacities.push_back({level.bytes, machine.line_bytes});
  Pace pace{find_peak(machine, scalar::Elem::F32)->flops.one,
            static_cast<double>(machine.vector_bytes) / 4,
            machine.add_seconds,
            threads,
            {}};
  for (const Peak& peak : machine.peaks)
    if (!peak.instruction.empty())
      pace.instructions[peak.elem] = peak.flops.one;
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
      const double seconds = part.bytes[k] / rate_with(machine.levels[k].triad, part.parallel);
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
  const std::string unit = unit_of(p.work);
  const double operations = operations_of(p.work), bytes = p.work.compulsory_bytes;
  std::string text = fmt::format("{} in {} statements, {} must move at least\n", quantities(p.work),
                                 p.work.statements.size(), quantity(bytes, "B"));
  if (operations > 0 && bytes > 0)
    text += fmt::format("intensity {:.3g} {unit}/byte, {:.3g} byte/{unit}\n", operations / bytes,
                        bytes / operations, fmt::arg("unit", unit));
  text += fmt::format("{:<12}{:>12}{:>14}{:>14}{:>14}\n", "from", "bytes", unit + "/byte",
                      "byte/" + unit, "takes");
  for (const LevelTraffic& level : p.levels)
    text += fmt::format("{:<12}{:>12}{:>14}{:>14}{:>14}\n", level.name, quantity(level.bytes, "B"),
                        level.bytes > 0 ? fmt::format("{:.3g}", operations / level.bytes) : "-",
                        operations > 0 ? fmt::format("{:.3g}", level.bytes / operations) : "-",
                        duration(level.seconds));
  text += fmt::format("{:<12}{:>54}\n", "arithmetic", duration(p.arithmetic_seconds));
  if (p.threads > 1)
    text += fmt::format("{:<12}{:>54}\n", "threads", duration(p.fork_seconds));
  const std::string figures =
      machine.file.empty() ? source_of(machine) + " figures" : "figures of " + machine.file;
  return text + fmt::format("predicted {} with {} {}, bound by {} ({})\n", duration(p.seconds),
                            p.threads, p.threads == 1 ? "thread" : "threads",
                            p.bound.empty() ? "nothing" : p.bound, figures);
}

std::string to_json(const Prediction& p, const Machine& machine, const Replayed* replayed) {
  nlohmann::ordered_json json{{"ok", true},
                              {"flops", p.work.flops},
                              {"int_ops", p.work.int_ops},
                              {"compulsory_bytes", p.work.compulsory_bytes},
                              {"threads", p.threads},
                              {"figures", machine.file.empty() ? source_of(machine) : machine.file},
                              {"arithmetic_ms", p.arithmetic_seconds * 1e3},
                              {"fork_ms", p.fork_seconds * 1e3},
                              {"predicted_ms", p.seconds * 1e3},
                              {"bound", p.bound}};
  json["operations"] = nlohmann::ordered_json::array();
  for (const auto& [elem, count] : p.work.types)
    json["operations"].push_back(nlohmann::ordered_json{
        {"type", scalar::name_of(elem)},
        {"count", count},
        {"peak", rate_with(peak_for(machine, elem).flops, static_cast<double>(p.threads))}});
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
