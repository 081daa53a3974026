#include "kawara/measured_energy.h"

#include "kawara/waiting.h"

#include "explain/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::tools {
namespace {

/// The same with 0 for every float. Integers stay: they may be indices.
program::Arrays with_zeros(program::Arrays arrays) {
  for (auto& [name, array] : arrays)
    if (scalar::is_float(array.elem()))
      array = program::Array(array.elem(), array.shape());
  return arrays;
}

double picojoules(const run::MeasuredEnergy& energy, double operations) {
  return energy.median_joules() / operations * 1e12;
}

std::string text_of(const run::MeasuredEnergy& energy, double operations) {
  const auto [low, high] = std::minmax_element(energy.joules.begin(), energy.joules.end());
  std::string text = fmt::format("{} a call, {} to {} in {} stretches of {:.1f} s, {:.1f} W",
                                 explain::amount(energy.median_joules(), "J"),
                                 explain::amount(*low, "J"), explain::amount(*high, "J"),
                                 energy.joules.size(), energy.stretch_seconds, energy.watts());
  if (operations > 0)
    text += fmt::format(", {:.3g} pJ an operation", picojoules(energy, operations));
  return text;
}

nlohmann::json json_of(const run::MeasuredEnergy& energy, double operations) {
  const auto [low, high] = std::minmax_element(energy.joules.begin(), energy.joules.end());
  return {{"joules", energy.median_joules()},
          {"low", *low},
          {"high", *high},
          {"watts", energy.watts()},
          {"idle_watts", energy.idle_watts},
          {"picojoules_per_operation",
           operations > 0 ? nlohmann::json(picojoules(energy, operations)) : nlohmann::json()},
          {"stretches", energy.joules.size()},
          {"stretch_seconds", energy.stretch_seconds},
          {"counter", energy.counter}};
}

} // namespace

Parsed<EnergyOfCalls>
energy_of_calls(Result<std::unique_ptr<run::EnergyCounter>, std::string> counter,
                const program::Arrays& inputs, const TimeOn& time_on) {
  EnergyOfCalls made;
  if (!counter) {
    made.missing = counter.error();
    return made;
  }
  const auto on = [&](const program::Arrays& arrays) -> Parsed<run::MeasuredEnergy> {
    auto measured = run::measure_energy(
        **counter, [&](const run::MeasureOptions& how) -> Result<run::Timing, Diagnostic> {
          auto timing = time_on(arrays, how);
          if (!timing)
            return fail(timing.error().front());
          return *std::move(timing);
        });
    if (!measured)
      return fail(Diagnostics{std::move(measured).error()});
    return *std::move(measured);
  };
  const Waiting waiting("measuring energy");
  KAWARA_TRY(made.on_inputs, on(inputs));
  KAWARA_TRY(made.on_zeros, on(with_zeros(inputs)));
  return made;
}

std::string print(const EnergyOfCalls& energy, double operations) {
  if (!energy.missing.empty())
    return fmt::format("energy: not measured; {}\n", energy.missing);
  return fmt::format("energy: {}\non zeros: {}\nat rest {:.1f} W, included; counter: {}\n",
                     text_of(energy.on_inputs, operations), text_of(energy.on_zeros, operations),
                     energy.on_inputs.idle_watts, energy.on_inputs.counter);
}

nlohmann::json to_json(const EnergyOfCalls& energy, double operations) {
  if (!energy.missing.empty())
    return {{"missing", energy.missing}};
  return {{"inputs", json_of(energy.on_inputs, operations)},
          {"zeros", json_of(energy.on_zeros, operations)}};
}

} // namespace kawara::tools
