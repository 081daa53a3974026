#include "explain/what_if.h"

#include "estimate/machines/limit.h"
#include "estimate/traffic.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

namespace kawara::explain {
namespace {

using Json = nlohmann::ordered_json;

/// Operations by type, each with the place of its peak among the machine's.
template <class Machine> Json types_json(const estimate::Work& work, const Machine& machine) {
  Json types = Json::array();
  for (const auto& [elem, count] : work.types)
    types.push_back({{"type", scalar::name_of(elem)},
                     {"operations", count},
                     {"peak", &estimate::peak_for(machine, elem) - machine.peaks.data()}});
  return types;
}

Json arithmetic_json(const estimate::ArithmeticTime& time) {
  Json json{{"scaled", time.scaled}};
  for (const estimate::ArithmeticTime::Wait& wait : time.waits)
    json["waits"].push_back(
        {{"times", wait.times}, {"of", arithmetic_json(wait.body)}, {"least", wait.least}});
  return json;
}

template <class Machine> Json roof_json(const estimate::Work& work, const Machine& machine) {
  return {{"types", types_json(work, machine)},
          {"compulsory_bytes", work.compulsory_bytes},
          {"unit", estimate::unit_of(work)}};
}

/// Sizes of a cache from which on a call needs other bytes from behind it, 0 first.
std::vector<estimate::Capacity> steps_of(const estimate::CostNotes& notes, int64_t line) {
  std::vector<estimate::Capacity> steps{{0, line}};
  if (const auto at = notes.fits.find(line); at != notes.fits.end())
    for (const double bytes : at->second)
      if (const auto size = static_cast<int64_t>(std::ceil(bytes)); size > steps.back().bytes)
        steps.push_back({size, line});
  return steps;
}

estimate::Pace pace_of(const estimate::Machine& machine) {
  estimate::Pace pace{estimate::find_peak(machine, scalar::Elem::F32)->flops.one,
                      static_cast<double>(machine.vector_bytes) / 4,
                      machine.add_seconds,
                      1,
                      {}};
  for (const estimate::Peak& peak : machine.peaks)
    if (!peak.instruction.empty())
      pace.instructions[peak.elem] = peak.flops.one;
  return pace;
}

/// The last of `capacities` are `steps`, the first the registers.
Json part_json(const estimate::PartCost& part, const std::vector<estimate::Capacity>& capacities) {
  Json json{{"arithmetic", arithmetic_json(part.arithmetic)},
            {"shared", std::set<double>(part.trips.begin(), part.trips.end())},
            {"forks", part.forks},
            {"into_registers", part.bytes.front()}};
  json["into_cache"] = Json::array();
  for (size_t k = 1; k < capacities.size(); ++k)
    if (k == 1 || part.bytes[k] != json["into_cache"].back()[1].get<double>())
      json["into_cache"].push_back(Json::array({capacities[k].bytes, part.bytes[k]}));
  return json;
}

Json rate_json(const estimate::Rate& rate) {
  return {{"one_core", rate.one}, {"all_cores", rate.all}};
}

} // namespace

std::string machine_json(const std::string& text) {
  return Json::parse(text, nullptr, true, /*ignore_comments=*/true).dump();
}

std::string machine_json(const estimate::Machine& machine) {
  Json json{{"name", machine.cpu},
            {"kind", "cpu"},
            {"cores", machine.threads},
            {"vector_bytes", machine.vector_bytes},
            {"register_bytes", machine.register_bytes},
            {"add_seconds", machine.add_seconds},
            {"fork_seconds", machine.fork_seconds}};
  const char* source = machine.is_measured ? "measured" : "from the processor's description";
  for (const estimate::Peak& peak : machine.peaks) {
    Json entry{{"type", scalar::name_of(peak.elem)},
               {"unit", peak.instruction.empty() ? "vector" : "matrix"}};
    if (!peak.instruction.empty())
      entry["instruction"] = peak.instruction;
    entry.update(rate_json(peak.flops));
    entry["source"] = source;
    json["peaks"].push_back(std::move(entry));
  }
  json["levels"] = Json::array();
  for (const estimate::Level& level : machine.levels) {
    Json entry{{"name", level.name}, {"bytes", level.bytes}, {"line_bytes", machine.line_bytes}};
    entry.update(rate_json(level.triad));
    entry["source"] = source;
    if (level.bytes > 0)
      json["levels"].push_back(std::move(entry));
    else
      json["memory"] = std::move(entry);
  }
  return json.dump();
}

std::string work_json(const estimate::Work& work, const kernel::Kernel& kernel,
                      std::span<const int64_t> sizes, const estimate::Machine& machine,
                      int64_t most_threads) {
  const estimate::Pace pace = pace_of(machine);
  std::vector<estimate::Capacity> capacities{{machine.register_bytes, 4}};
  estimate::CostNotes notes;
  capacities.push_back({0, machine.line_bytes});
  estimate::part_costs(kernel, sizes, capacities, pace, &notes);
  capacities.pop_back();
  for (const estimate::Capacity& step : steps_of(notes, machine.line_bytes))
    capacities.push_back(step);
  Json json = roof_json(work, machine);
  json["most_threads"] = most_threads;
  json["parts"] = Json::array();
  for (const estimate::PartCost& part :
       estimate::part_costs(kernel, sizes, capacities, pace, &notes))
    json["parts"].push_back(part_json(part, capacities));
  return json.dump();
}

std::string work_json(const estimate::Work& work, const estimate::Machine& machine,
                      int64_t most_threads) {
  Json json = roof_json(work, machine);
  json["most_threads"] = most_threads;
  return json.dump();
}

std::string work_json(const estimate::Work& work, const estimate::MachineFile& machine) {
  return roof_json(work, machine).dump();
}

} // namespace kawara::explain
