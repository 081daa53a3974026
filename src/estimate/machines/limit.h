#pragma once

#include "estimate/count.h"
#include "estimate/machines/machine_file.h"

namespace kawara::estimate {

/// What no schedule can beat on a machine: all operations at their peaks, and each byte that must
/// move moved once.
struct Limit {
  double arithmetic_seconds = 0, memory_seconds = 0;
  double seconds() const;
  bool is_memory_bound() const { return memory_seconds > arithmetic_seconds; }
};

/// Operations of a type run at the higher of the machine's peaks for it; those of a type that it
/// has none for, at that of the next wider one of the same kind, else of any type. `cores` of the
/// machine are used.
Limit limit_on(const MachineFile&, const Work&, int64_t cores);

/// The peak that `limit_on` takes for a type.
const MachineFile::Peak& peak_for(const MachineFile&, scalar::Elem);

std::string print(const Limit&, const Work&, const MachineFile&);
std::string to_json(const Limit&, const Work&, const MachineFile&);

} // namespace kawara::estimate
