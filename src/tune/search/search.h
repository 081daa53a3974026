#pragma once

#include "tune/confidence.h"
#include "tune/database/database.h"
#include "tune/measure/measurer.h"
#include "tune/measure/task_bench.h"
#include "tune/measure/worker.h"
#include "tune/predict/xgboost.h"
#include "tune/search/strategy.h"

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
  int64_t comparisons = 0;             ///< of the fastest with the default, begun after the search
};

struct TuneOptions {
  Budget budget;
  std::string strategy = "guided";
  uint64_t seed = 1;
  int workers = 2;
  size_t batch = 16;
  Limits limits;
  bool why = false;
  /// Seconds to wait before the final comparison is made again because others had the cores.
  std::vector<double> pauses{0.25, 0.5, 1, 2};
  std::optional<std::vector<Directive>> start; ///< of the user: one more sketch
  std::string model;                      ///< what earlier searches learnt, as JSON; may be empty
  std::shared_ptr<const XGBoost> xgboost; ///< grows the model's trees; null: they are our own
  std::function<bool()> should_stop;      ///< asked between batches
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
  std::vector<Trial> trials; ///< of this search, in order
  std::optional<Best> best;  ///< what beats the default; nothing: the default stays
  Interval ratio;            ///< of the final comparison: the winner's, or the closest loser's
  double noise = 0;          ///< distance between the quartiles of the default's times, relative
  /// Cores that others had in the final comparison, of those that were wanted. Where they were too
  /// many each time it was tried there is no winner.
  double missing = 0;
  /// Candidates that were faster beyond doubt in one process and not in another.
  int refuted = 0;
  bool is_undecided =
      false; ///< a candidate seemed faster, on a machine that was too crowded to tell
  std::vector<Effect> effects;                  ///< of `why`
  std::vector<std::pair<double, size_t>> curve; ///< seconds and number of trial of each new best
  std::string model; ///< what the model has learnt, as JSON; empty without one
};

/// The search for one task, a batch at a time.
class Search {
public:
  /// All of them must outlive the search; `database` may be null.
  Search(const Reference&, Measurer&, Database* database, const TuneOptions&);

  /// Starts measuring, and takes over what is known already. Refuses a model that is none, or
  /// counts other things than this version (K0607).
  Parsed<Done> begin();
  /// One batch. Each trial is in the database as soon as it is measured. False when the budget is
  /// spent or nothing is left to propose.
  Parsed<bool> round();
  /// The final comparison; the winner goes into the database.
  Parsed<TuneReport> finish();

  const Progress& progress();
  /// Seconds per call: of the default, and of the fastest so far (which may be the default).
  /// Nothing before the first candidate was measured.
  std::optional<double> default_seconds() const;
  std::optional<double> best_seconds() const;

private:
  /// A finalist beside the default.
  struct Met {
    std::string directives;
    Samples samples;
    Interval ratio;
  };

  bool is_over() const;
  Parsed<CostModel> earlier_model() const;
  Parsed<Done> borrow();
  Parsed<Done> recall();
  void remember(const Observation&);
  Trial trial_of(const std::string& text, const Measured&, const std::string& sketch);
  void count_trial(const Trial&);
  std::vector<Met> meet(const std::vector<std::string>& finalists, const Effort&);
  void meet_again(std::vector<Met>& winners);
  std::optional<Met> compare(const std::vector<std::string>& finalists);
  Parsed<Done> decide();
  void explain();

  const TuneOptions& options_;
  Measurer& measurer_;
  Database* database_;
  Key key_;
  Space space_;
  std::unique_ptr<Strategy> strategy_;
  std::vector<Observation> fastest_;
  std::vector<double> defaults_; ///< the default's time beside each candidate
  double begin_;
  TuneReport report_;
};

} // namespace kawara::tune
