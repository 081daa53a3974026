#pragma once

#include "run/measure.h"
#include "support/diagnostic.h"
#include "support/result.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kawara::run {

/// What a part of this machine has taken in energy since some time in the past.
class EnergyCounter {
public:
  virtual ~EnergyCounter() = default;
  /// Who counts, and what is counted: "RAPL: package-0, dram".
  virtual std::string name() const = 0;
  virtual double joules() = 0; ///< never falls
};

/// RAPL's counters of the processors' packages, and of their memory where it is counted apart, as
/// Linux shows them below `folder`. Errors: why there is none, a sentence.
Result<std::unique_ptr<EnergyCounter>, std::string>
processor_counter(const std::string& folder = "/sys/class/powercap");

/// NVML's counter of the GPU at this place on the PCI bus, the whole board. Errors as above.
Result<std::unique_ptr<EnergyCounter>, std::string> gpu_counter(const std::string& pci_bus);

/// The energy of calls, measured over stretches of seconds: counters move in steps of up to a tenth
/// of a second.
struct MeasuredEnergy {
  std::string counter;
  std::vector<double> joules; ///< of one call, by stretch; all that was counted meanwhile
  double seconds = 0;         ///< of one call, the median
  double stretch_seconds = 0; ///< of the shortest stretch
  double idle_watts = 0;      ///< before the first call
  double median_joules() const;
  double watts() const;
};

/// Takes the times of calls with these options, as `measure` does.
using TakeTimes = std::function<Result<Timing, Diagnostic>(const MeasureOptions&)>;

/// Rests for two seconds, then runs three stretches of `seconds`.
Result<MeasuredEnergy, Diagnostic> measure_energy(EnergyCounter&, const TakeTimes&,
                                                  double seconds = 3);

} // namespace kawara::run
