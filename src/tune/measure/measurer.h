#pragma once

#include "tune/measure/bench.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kawara::tune {

/// What measuring a candidate gave.
struct Measured {
  Outcome outcome = Outcome::Measured;
  std::string reason;
  Samples samples;
};

/// What the one who waits for measurements wants to say and to hear meanwhile. Both may be empty.
struct Watch {
  std::function<bool()> is_over;                       ///< begin no further candidate
  std::function<void(size_t, const Measured&)> answer; ///< called with each answer when it is there
};

/// Measures candidates of one task: in processes of this machine (pool.h), or of several (ranks.h).
class Measurer {
public:
  virtual ~Measurer() = default;
  /// An error is why no candidate can be tried.
  virtual Parsed<Done> start() = 0;
  /// One answer for each list of directives; those that were not begun have none.
  virtual std::vector<std::optional<Measured>> measure(const std::vector<std::string>& candidates,
                                                       const Effort&, const Watch& = {}) = 0;
};

} // namespace kawara::tune
