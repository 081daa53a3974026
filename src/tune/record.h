#pragma once

#include "tune/task.h"

#include <string>
#include <vector>

namespace kawara::tune {

/// What became of a candidate.
enum class Outcome : uint8_t {
  Measured, ///< proved, compiled, its result compared, its time taken
  Refused,  ///< by the judge, or by the shape of the loops
  Failed,   ///< could not be compiled
  Wrong,    ///< another result than the default schedule's, or a write outside its tensors
  Crashed,  ///< took its process with it
  TimedOut, ///< no answer within the limit
  OutOfMemory,
};
inline constexpr size_t kOutcomes = 7;
std::string_view name_of(Outcome); ///< "measured", "timed out"
std::optional<Outcome> outcome_from_name(std::string_view);

/// One candidate that was tried.
struct Trial {
  std::string directives;
  Outcome outcome = Outcome::Measured;
  std::string reason;   ///< for people; empty when measured
  double ratio = 0;     ///< time over that of the default, measured in turns; 0 when not measured
  double seconds = 0;   ///< median per call
  std::string strategy; ///< who proposed it
  std::string version;  ///< of Kawara
  friend bool operator==(const Trial&, const Trial&) = default;
};

/// The schedule that won its task's final comparison.
struct Best {
  std::string directives;
  double seconds = 0, default_seconds = 0;      ///< medians of the samples
  std::vector<double> samples, default_samples; ///< per call, taken in turns
  std::string version;
  int64_t at = 0; ///< seconds since 1970
  friend bool operator==(const Best&, const Best&) = default;
};

/// All that is known of one task.
struct Record {
  Key key;
  std::optional<Best> best;
  std::vector<Trial> trials;
  friend bool operator==(const Record&, const Record&) = default;
};

/// Version of Kawara that new records carry.
std::string_view this_version();

/// One line of JSON, without a line end.
std::string line_of(const Record&);
/// The record of a line. Refuses what is no such line (K0602); `where` is how messages call it.
Result<Record, Diagnostic> record_from_line(std::string_view line, const std::string& where);

} // namespace kawara::tune
