#pragma once

#include "corpus/corpus.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kawara::mutation {

/// Sizes at which a subject is looked at, and how long that may take.
struct Scope {
  std::vector<std::vector<int64_t>> sizes;
  uint64_t seed = 1, instances = 4'000, rest = 200'000, steps = 1'000'000;
};

/// What found a fault; empty: did not.
struct Verdict {
  std::string passes;      ///< a pass behind the fault stopped
  std::string spec;        ///< kernel::spec
  std::string validator;   ///< the proof over integer sets
  std::string interpreter; ///< a check of kernel/interpret: bounds, races, elements nobody wrote
  std::string field;       ///< other results over a finite ring
  bool is_found() const { return !(passes + spec + validator + interpreter + field).empty(); }
};

/// A proof about the finished kernel; answers what is wrong with it.
using Validator =
    std::function<std::optional<std::string>(const corpus::Made&, const kernel::Kernel&)>;

/// What each check says of a finished kernel.
Verdict verdict_of(const corpus::Made&, const kernel::Kernel&, const Scope&, const Validator&);

/// What a fault that nothing found is, by floats at many more sizes, with threads and lanes in
/// several orders. Shares neither the ring nor the limits with the check that is measured.
enum class Effect : uint8_t {
  None,      ///< what differs between the kernels ran, and the results are those of the program
  Some,      ///< some result is another, or something is done that must not be done
  Unreached, ///< what differs ran at no size that can be afforded
};
Effect effect_of(const corpus::Made&, const kernel::Kernel& right, const kernel::Kernel& faulty,
                 uint64_t instances);

} // namespace kawara::mutation
