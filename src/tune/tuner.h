#pragma once

#include "tune/confidence.h"
#include "tune/database.h"
#include "tune/pool.h"
#include "tune/strategy.h"
#include "tune/task_bench.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kawara::tune {

/// When a search ends.
struct Budget {
  double seconds = 60;
  int64_t trials = 0; ///< 0: as many as the time allows
};
/// "60s", "2m", "200trials", or both separated by a comma; refuses other texts (K0604).
Result<Budget, Diagnostic> budget_from_text(const std::string& text);

/// Where a search stands.
struct Progress {
  int64_t trials = 0; ///< candidates that were proposed
  std::map<Outcome, int64_t> outcomes;
  std::map<std::string, int64_t> refusals; ///< by code
  int64_t unfit = 0;                       ///< points that were never candidates: their shape
  double best = 1;                         ///< time of the fastest over that of the default
  double seconds = 0, of_seconds = 0;
  int64_t of_trials = 0;
  std::optional<double> rank_accuracy; ///< of the model
};

struct TuneOptions {
  Budget budget;
  std::string strategy = "guided";
  uint64_t seed = 1;
  int workers = 2;
  size_t batch = 16;
  Limits limits;
  bool why = false;
  std::optional<std::vector<Directive>> start; ///< of the user: one more sketch
  std::string model;                 ///< what earlier searches learnt, as JSON; may be empty
  std::function<bool()> should_stop; ///< asked between batches
  std::function<void(const Progress&)> on_progress;
};

/// What leaving out one directive of the winner does.
struct Effect {
  std::string directive;
  Outcome outcome = Outcome::Measured;
  std::string reason;
  double slower = 1; ///< time without it over the time with it
};

struct TuneReport {
  Progress progress;
  std::vector<Trial> trials;   ///< of this search, in order
  std::optional<Best> best;    ///< what beats the default; nothing: the default stays
  Interval ratio;              ///< of the final comparison: the winner's, or the closest loser's
  double noise = 0;            ///< distance between the quartiles of the default's times, relative
  std::vector<Effect> effects; ///< of `why`
  std::vector<std::pair<double, size_t>> curve; ///< seconds and number of trial of each new best
  std::string model; ///< what the model has learnt, as JSON; empty without one
};

/// Searches a schedule that is faster than the default. Trials and the winner are kept in the database
/// (if there is one) as they are found, and what it knows already is not tried again. The winner is what
/// a final comparison, in turns with the default, shows to be faster beyond doubt.
///
/// `make` measures; `reference` is what it measures against. Forks: no other threads may be running.
/// Refuses a model that is none, or counts other things than this version (K0607).
Parsed<TuneReport> tune(const std::shared_ptr<const Reference>& reference, const MakeBench& make,
                        Database* database, const TuneOptions&);

} // namespace kawara::tune
