#pragma once

#include "tune/record.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kawara::tune {

/// Whether a candidate may be timed, and if not why.
struct Prepared {
  Outcome outcome = Outcome::Measured;
  std::string reason;
};

/// Seconds per call of a candidate and of the default schedule, taken in turns: `theirs[k]`
/// directly after `own[k]`.
struct Samples {
  std::vector<double> own, theirs;
  double missing = 0; ///< cores that other programs had meanwhile, of those that were wanted
};

/// How long to look at a candidate.
struct Effort {
  int rounds = 5;
  double sample_seconds = 0.001; ///< a sample is a batch of calls that takes about this long
  double hopeless = 3;      ///< after one sample, a candidate slower by this factor is given up
  double limit_seconds = 1; ///< fewer rounds, at least two, where they would take longer
  double unlikely = 1e9;    ///< after two samples, one that was slower by this factor both times
  bool anew = false; ///< in processes that begin now: other memory, other places for the code
};

/// Samples of a candidate and of the default, each the seconds per call that its function says.
/// Gives up early as the effort says.
Samples samples_in_turns(const Effort&, const std::function<double()>& own,
                         const std::function<double()>& theirs);

/// What a worker process does with candidates. Tests put their own in its place.
class Bench {
public:
  virtual ~Bench() = default;
  /// Proves and compiles the directives, runs them once and compares the result.
  virtual Prepared prepare(uint32_t id, const std::string& directives) = 0;
  virtual Samples time(uint32_t id, const Effort&) = 0;
  virtual void drop(uint32_t id) = 0;
  /// Seconds of one call of the default: limits grow with it.
  virtual double call_seconds() const { return 0; }
};

/// Called once in each worker process; an error means that no candidate can be tried.
using MakeBench = std::function<Parsed<std::unique_ptr<Bench>>()>;

} // namespace kawara::tune
