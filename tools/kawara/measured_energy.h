#pragma once

#include "program/interpret/values.h"
#include "run/energy_counter.h"
#include "support/diagnostic.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <string>

namespace kawara::tools {

/// What calls of a program took in energy: on its inputs, and with 0 for every float, where fewer
/// wires change. Or why that is not known.
struct EnergyOfCalls {
  std::string missing;
  run::MeasuredEnergy on_inputs, on_zeros;
};

/// The time of calls on these inputs.
using TimeOn =
    std::function<Parsed<run::Timing>(const program::Arrays&, const run::MeasureOptions&)>;

Parsed<EnergyOfCalls>
energy_of_calls(Result<std::unique_ptr<run::EnergyCounter>, std::string> counter,
                const program::Arrays& inputs, const TimeOn&);

/// Lines for people; `operations` of one call.
std::string print(const EnergyOfCalls&, double operations);
nlohmann::json to_json(const EnergyOfCalls&, double operations);

} // namespace kawara::tools
