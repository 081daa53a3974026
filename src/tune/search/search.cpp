#include "tune/search/search.h"

#include "support/check.h"
#include "tune/clock.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace kawara::tune {
namespace {

/// The fastest of the search go into the final comparison.
constexpr size_t kFinalists = 4;
/// Samples of the final comparison; the interval of 31 is that between the 10th and the 22nd.
constexpr Effort kFinalEffort{31, 0.002, 1e9, 20, 1e9, true};
/// The two fastest of it meet the default this often in all.
constexpr size_t kConfirmed = 2;
constexpr int kMeetings = 3;
constexpr Effort kAgainEffort{11, 0.002, 1e9, 8, 1e9, true};
constexpr Effort kEffectEffort{9, 0.001, 20, 2};
/// Candidates that are slower than the fastest by these factors are looked at once, or twice.
constexpr double kHopelessFactor = 1.5, kUnlikelyFactor = 1.15;
/// A gain below one in a hundred is nothing to keep a schedule for.
constexpr double kWorthwhile = 0.99;
constexpr size_t kBorrowed = 3;
/// Where others have more cores than this of those that were wanted, a comparison says little.
constexpr double kMostMissing = 0.2;

int64_t seconds_since_1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

template <class T> Parsed<T> gathered(Result<T, Diagnostic> result) {
  if (!result)
    return fail(Diagnostics{std::move(result).error()});
  return *std::move(result);
}

/// How much the machine's speed changed while candidates were measured.
double spread_of(std::vector<double> times) {
  if (times.size() < 4)
    return 0;
  std::sort(times.begin(), times.end());
  return (times[times.size() * 3 / 4] - times[times.size() / 4]) / times[times.size() / 2];
}

std::vector<Rule> rules_of(const TuneOptions& options) {
  std::vector<Rule> rules;
  if (options.start)
    rules.push_back(rule_of("given", *options.start));
  return rules;
}

/// The fastest samples of both: what is left when nobody disturbs.
bool is_faster_at_best(const Samples& samples) {
  return !samples.own.empty() && !samples.theirs.empty() &&
         *std::min_element(samples.own.begin(), samples.own.end()) <
             *std::min_element(samples.theirs.begin(), samples.theirs.end());
}

} // namespace

Search::Search(const Reference& reference, Measurer& measurer, Database* database,
               const TuneOptions& options)
    : options_(options), measurer_(measurer), database_(database), key_(key_of(reference.task)),
      space_(reference.initial, reference.task.environment, rules_of(options)),
      begin_(steady_seconds()) {}

Parsed<Done> Search::begin() {
  KAWARA_TRY([[maybe_unused]] const Done started, measurer_.start());
  KAWARA_TRY([[maybe_unused]] const Done borrowed, borrow());
  KAWARA_TRY(CostModel model, earlier_model());
  if (options_.xgboost)
    model.set_learner(
        [library = options_.xgboost](const auto& rows, const auto& labels, const auto& weights) {
          return library->fit(rows, labels, weights);
        });
  strategy_ = make_strategy(options_.strategy, space_, options_.seed, model);
  KAWARA_CHECK(strategy_ != nullptr, "no strategy " + options_.strategy);
  KAWARA_TRY([[maybe_unused]] const Done known, recall());
  report_.progress.of_seconds = options_.budget.seconds;
  report_.progress.of_trials = options_.budget.trials;
  begin_ = steady_seconds();
  return Done{};
}

Parsed<CostModel> Search::earlier_model() const {
  if (options_.model.empty())
    return CostModel();
  if (auto model = CostModel::from_json(options_.model))
    return *std::move(model);
  Diagnostic d;
  d.code = "K0607";
  d.headline = "the given model cannot be used";
  d.body.push_back(
      "It is no model that `kawara tune --model` wrote, or one of a version that counts\n"
      "other features.");
  d.help.push_back({"begin a new one", "--model FILE with a file that does not exist", false});
  return fail(Diagnostics{std::move(d)});
}

bool Search::is_over() const {
  const Budget& budget = options_.budget;
  return (options_.should_stop && options_.should_stop()) ||
         (budget.seconds > 0 && steady_seconds() - begin_ >= budget.seconds) ||
         (budget.trials > 0 && report_.progress.trials >= budget.trials);
}

/// Winners of nearby sizes are sketches here.
Parsed<Done> Search::borrow() {
  if (database_ == nullptr)
    return Done{};
  KAWARA_TRY(const std::vector<Best> near, gathered(database_->nearby(key_, kBorrowed)));
  for (size_t k = 0; k < near.size(); ++k)
    if (auto point = point_from_text(near[k].directives, "nearby " + std::to_string(k + 1)))
      space_.add(*std::move(point));
  return Done{};
}

/// What was tried before is not tried again.
Parsed<Done> Search::recall() {
  if (database_ == nullptr)
    return Done{};
  KAWARA_TRY(const std::vector<Trial> trials, gathered(database_->trials(key_)));
  std::vector<Observation> known;
  for (const Trial& trial : trials)
    if (auto point = point_from_text(trial.directives, "known"))
      known.push_back({*std::move(point), trial.outcome, trial.ratio});
  for (const Observation& one : known)
    remember(one);
  strategy_->learn(known);
  return Done{};
}

void Search::remember(const Observation& one) {
  if (one.outcome != Outcome::Measured)
    return;
  fastest_.push_back(one);
  std::stable_sort(fastest_.begin(), fastest_.end(),
                   [](const Observation& a, const Observation& b) { return a.ratio < b.ratio; });
  fastest_.resize(std::min<size_t>(fastest_.size(), 4 * kFinalists));
}

Parsed<bool> Search::round() {
  if (is_over())
    return false;
  size_t count = options_.batch;
  if (options_.budget.trials > 0)
    count = std::min(count, static_cast<size_t>(options_.budget.trials - report_.progress.trials));
  const std::vector<Point> points = strategy_->propose(count);
  if (points.empty())
    return false;
  std::vector<std::string> texts;
  for (const Point& point : points)
    texts.push_back(text_of(point));
  std::vector<std::optional<Trial>> trials(points.size());
  Result<Done, Diagnostic> kept = Done{};
  Effort effort;
  const double best = fastest_.empty() ? 1 : std::min(1.0, fastest_.front().ratio);
  effort.hopeless = kHopelessFactor * best;
  effort.unlikely = kUnlikelyFactor * best;
  const auto answered = [&](size_t k, const Measured& measured) {
    trials[k] = trial_of(texts[k], measured, points[k].sketch);
    if (database_ != nullptr && kept)
      kept = database_->add_trials(key_, {*trials[k]});
  };
  measurer_.measure(texts, effort, {[this] { return is_over(); }, answered});
  if (!kept)
    return fail(Diagnostics{std::move(kept).error()});
  std::vector<Observation> observations;
  for (size_t k = 0; k < points.size(); ++k)
    if (trials[k]) {
      observations.push_back({points[k], trials[k]->outcome, trials[k]->ratio});
      remember(observations.back());
      count_trial(*trials[k]);
    }
  strategy_->learn(observations);
  if (options_.on_progress)
    options_.on_progress(progress());
  return !observations.empty();
}

Trial Search::trial_of(const std::string& text, const Measured& measured,
                       const std::string& sketch) {
  Trial trial{text,
              measured.outcome,
              measured.reason,
              0,
              0,
              options_.strategy + ": " + sketch,
              std::string(this_version())};
  if (measured.outcome == Outcome::Measured) {
    defaults_.push_back(median_interval(measured.samples.theirs).median);
    trial.ratio = ratio_interval(measured.samples.own, measured.samples.theirs).median;
    trial.seconds = median_interval(measured.samples.own).median;
  }
  return trial;
}

void Search::count_trial(const Trial& trial) {
  Progress& progress = report_.progress;
  ++progress.trials;
  ++progress.outcomes[trial.outcome];
  if (trial.outcome == Outcome::Refused)
    ++progress.refusals[trial.reason];
  if (trial.outcome == Outcome::Measured && trial.ratio < progress.best) {
    progress.best = trial.ratio;
    report_.curve.emplace_back(steady_seconds() - begin_, report_.trials.size());
  }
  report_.trials.push_back(trial);
}

const Progress& Search::progress() {
  report_.progress.seconds = steady_seconds() - begin_;
  report_.progress.unfit = strategy_->unfit();
  if (const CostModel* model = strategy_->model())
    report_.progress.rank_accuracy = model->rank_accuracy();
  return report_.progress;
}

std::optional<double> Search::default_seconds() const {
  if (defaults_.empty())
    return std::nullopt;
  return median_interval(defaults_).median;
}

std::optional<double> Search::best_seconds() const {
  const auto whole = default_seconds();
  if (!whole)
    return std::nullopt;
  return *whole * (fastest_.empty() ? 1 : std::min(1.0, fastest_.front().ratio));
}

Parsed<TuneReport> Search::finish() {
  KAWARA_TRY([[maybe_unused]] const Done decided, decide());
  if (options_.why && report_.best)
    explain();
  if (const CostModel* learnt = strategy_->model())
    report_.model = learnt->to_json();
  return std::move(report_);
}

/// The default beside each of these, in processes of their own. The fastest first.
std::vector<Search::Met> Search::meet(const std::vector<std::string>& finalists,
                                      const Effort& effort) {
  ++report_.progress.comparisons;
  if (options_.on_progress)
    options_.on_progress(report_.progress);
  const auto measured = measurer_.measure(finalists, effort);
  std::vector<Met> met;
  for (size_t k = 0; k < finalists.size(); ++k) {
    if (!measured[k] || measured[k]->outcome != Outcome::Measured)
      continue;
    const Samples& samples = measured[k]->samples;
    report_.missing = std::max(report_.missing, samples.missing);
    met.push_back({finalists[k], samples, ratio_interval(samples.own, samples.theirs)});
  }
  std::stable_sort(met.begin(), met.end(),
                   [](const Met& a, const Met& b) { return a.ratio.median < b.ratio.median; });
  return met;
}

/// Meets those once more. Who is not faster this time is out.
void Search::meet_again(std::vector<Met>& winners) {
  std::vector<std::string> texts;
  for (const Met& winner : winners)
    texts.push_back(winner.directives);
  const std::vector<Met> again = meet(texts, kAgainEffort);
  std::vector<Met> left;
  for (Met& winner : winners) {
    const auto same = std::find_if(again.begin(), again.end(), [&](const Met& one) {
      return one.directives == winner.directives;
    });
    if (same == again.end() || same->ratio.median >= kWorthwhile ||
        !is_faster_at_best(same->samples)) {
      ++report_.refuted;
      continue;
    }
    Samples& all = winner.samples;
    all.own.insert(all.own.end(), same->samples.own.begin(), same->samples.own.end());
    all.theirs.insert(all.theirs.end(), same->samples.theirs.begin(), same->samples.theirs.end());
    winner.ratio = ratio_interval(all.own, all.theirs);
    left.push_back(std::move(winner));
  }
  winners = std::move(left);
}

/// The finalists against the default, at length: which one is faster beyond doubt, and whenever
/// both begin anew. What a process finds can be where its memory lies.
std::optional<Search::Met> Search::compare(const std::vector<std::string>& finalists) {
  report_.missing = 0;
  report_.refuted = 0;
  std::vector<Met> winners = meet(finalists, kFinalEffort);
  if (!winners.empty())
    report_.ratio = winners.front().ratio;
  std::erase_if(winners, [](const Met& one) {
    return one.ratio.high >= kWorthwhile || !is_faster_at_best(one.samples);
  });
  winners.resize(std::min(winners.size(), kConfirmed));
  for (int meeting = 1; meeting < kMeetings && !winners.empty(); ++meeting)
    meet_again(winners);
  if (winners.empty())
    return std::nullopt;
  report_.ratio = winners.front().ratio;
  return std::move(winners.front());
}

/// What wins while the machine is left to it is kept.
Parsed<Done> Search::decide() {
  progress();
  report_.noise = spread_of(defaults_);
  std::vector<std::string> texts;
  for (const Observation& one : fastest_)
    if (texts.size() < kFinalists && one.ratio < 1)
      texts.push_back(text_of(one.point));
  std::optional<Met> winner = compare(texts);
  for (const double pause : options_.pauses) {
    if (!winner || report_.missing <= kMostMissing ||
        (options_.should_stop && options_.should_stop()))
      break;
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    winner = compare(texts);
  }
  report_.is_undecided = winner && report_.missing > kMostMissing;
  if (!winner || report_.is_undecided)
    return Done{};
  const Samples& samples = winner->samples;
  report_.best = Best{winner->directives,
                      median_interval(samples.own).median,
                      median_interval(samples.theirs).median,
                      samples.own,
                      samples.theirs,
                      std::string(this_version()),
                      seconds_since_1970()};
  if (database_ == nullptr)
    return Done{};
  return gathered(database_->set_best(key_, *report_.best));
}

/// Leaves out the winner's directives one at a time.
void Search::explain() {
  const auto point = point_from_text(report_.best->directives, "");
  std::vector<std::string> texts{report_.best->directives};
  for (size_t k = 0; k < point->directives.size(); ++k)
    texts.push_back(text_of({without(point->directives, k, space_.surroundings().statements), ""}));
  const auto measured = measurer_.measure(texts, kEffectEffort);
  const auto ratio = [&](size_t k) {
    return ratio_interval(measured[k]->samples.own, measured[k]->samples.theirs).median;
  };
  for (size_t k = 0; measured[0] && k < point->directives.size(); ++k) {
    if (!measured[k + 1])
      continue;
    Effect effect{schedule::print(point->directives[k]), measured[k + 1]->outcome,
                  measured[k + 1]->reason, 1};
    if (effect.outcome == Outcome::Measured && ratio(0) > 0)
      effect.slower = ratio(k + 1) / ratio(0);
    report_.effects.push_back(std::move(effect));
  }
}

} // namespace kawara::tune
