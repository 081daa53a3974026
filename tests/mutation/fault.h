#pragma once

#include "kernel/kernel.h"

#include <optional>
#include <string>
#include <vector>

namespace kawara::mutation {

/// A kernel with one fault in it, and what was done.
struct Faulty {
  kernel::Kernel kernel;
  std::string what; ///< "hi - 1 of loop i"
};

/// A statement's own line of the listing, without what is inside it.
std::string statement_line(const kernel::Kernel&, const kernel::Stmt&);

/// Kinds of faults, such as a pass with a bug would make.
const std::vector<std::string>& kinds_of_faults();
/// Those of them that concern what threads of a launch wait for.
const std::vector<std::string>& kinds_of_waits();
/// Whether threads wait for each other, or for copies and products that they began.
bool has_waits(const kernel::Kernel&);

/// `kernel` with a fault of that kind at a place that `seed` chooses; nothing where there is no
/// such place.
std::optional<Faulty> with_fault(const kernel::Kernel&, const std::string& kind, uint64_t seed);

} // namespace kawara::mutation
