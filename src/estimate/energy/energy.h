#pragma once

#include "estimate/machines/machine_file.h"
#include "estimate/operations.h"

#include <string>
#include <vector>

namespace kawara::estimate {

/// A figure that is known to lie between two others.
struct Band {
  double low = 0, value = 0, high = 0;
  Band& operator+=(const Band& other);
  friend Band operator*(const Band& band, double factor) {
    return {band.low * factor, band.value * factor, band.high * factor};
  }
};
Band band_of(const Coefficient&);

/// What a call makes a machine do, as far as it takes energy.
struct Activity {
  OperationsByType operations;
  std::vector<std::pair<std::string, double>> bytes; ///< by the level that they come from
  double seconds = 0;                                ///< 0: not known
  int64_t vector_bytes = 0; ///< of one instruction's operand; 0: instructions are not counted
};

/// Energy of one kind of work.
struct EnergyPart {
  std::string name; ///< "f32 operations", "bytes from L2"
  double count = 0;
  Band joules;
};

struct Energy {
  std::vector<EnergyPart> parts;
  std::vector<std::string> missing; ///< work that the machine has no figure for
  Band joules() const;              ///< of all parts together
};

/// Each kind of work times its figure. A type without a figure of its own has that of the next
/// wider one of the same kind; matrix units come before vectors. A vector instruction does two
/// operations a lane and takes three operands from registers.
Energy energy_of(const EnergyFigures&, const Activity&);

/// A line for each part, the sum, and what a FLOP comes to.
std::string print(const Energy&, const std::string& machine, double operations);
/// An object: `parts`, `missing`, `joules`.
std::string to_json(const Energy&, const std::string& machine);

} // namespace kawara::estimate
