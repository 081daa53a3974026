#pragma once

#include "tune/measure/task_bench.h"

#include <list>
#include <string>
#include <unordered_map>

namespace kawara::tune {

/// Proves candidates of one task. Lists of a search begin alike, so what the first directives of a
/// list make of the program is kept and taken up again; the judge is asked about the whole list
/// each time.
class Prover {
public:
  explicit Prover(const Reference& reference) : reference_(reference) {}

  /// The proved schedule, or what is wrong with the text (K023x), or the refusal in one line.
  Result<schedule::Schedule, Prepared> prove(const std::string& directives);

  int64_t taken_up() const { return taken_up_; } ///< directives that were not worked out again

private:
  struct Beginning {
    std::string text;
    schedule::Schedule made; ///< not proved: nothing but the judge may look at it
  };

  void keep(std::string text, schedule::Schedule made);

  const Reference& reference_;
  std::list<Beginning> recent_; ///< last used first
  std::unordered_map<std::string, std::list<Beginning>::iterator> known_;
  int64_t taken_up_ = 0;
};

} // namespace kawara::tune
