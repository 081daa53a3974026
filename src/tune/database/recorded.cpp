#include "tune/database/recorded.h"

#include "tune/confidence.h"

namespace kawara::tune {
namespace {

Measured measured_from(const Trial& trial) {
  Measured measured{trial.outcome, trial.reason, {}};
  if (trial.outcome == Outcome::Measured)
    measured.samples = {{trial.seconds}, {trial.seconds / trial.ratio}};
  return measured;
}

Trial trial_from(const std::string& directives, const Measured& measured) {
  Trial trial{directives, measured.outcome,           measured.reason, 0, 0,
              "recorded", std::string(this_version())};
  if (measured.outcome == Outcome::Measured) {
    trial.ratio = ratio_interval(measured.samples.own, measured.samples.theirs).median;
    trial.seconds = median_interval(measured.samples.own).median;
  }
  return trial;
}

} // namespace

Parsed<Done> Recorded::start() {
  auto trials = table_.trials(key_);
  if (!trials)
    return fail(Diagnostics{std::move(trials).error()});
  for (Trial& trial : *trials)
    known_.insert_or_assign(trial.directives, std::move(trial));
  if (!known_.empty())
    return Done{};
  is_started_ = true;
  return inner_.start();
}

std::vector<std::optional<Measured>> Recorded::measure(const std::vector<std::string>& candidates,
                                                       const Effort& effort, const Watch& watch) {
  std::vector<std::optional<Measured>> results(candidates.size());
  std::vector<size_t> missing;
  std::vector<std::string> texts;
  for (size_t k = 0; k < candidates.size(); ++k) {
    const auto known = known_.find(candidates[k]);
    if (known == known_.end()) {
      missing.push_back(k);
      texts.push_back(candidates[k]);
      continue;
    }
    results[k] = measured_from(known->second);
    if (watch.answer)
      watch.answer(k, *results[k]);
  }
  const auto answered = [&](size_t k, const Measured& measured) {
    const Trial trial = trial_from(texts[k], measured);
    if (table_.add_trials(key_, {trial}))
      known_.insert_or_assign(texts[k], trial);
    if (watch.answer)
      watch.answer(missing[k], measured);
  };
  // What one search gives up early, another may want to know well.
  Effort even = effort;
  even.hopeless = Effort{}.hopeless;
  even.unlikely = Effort{}.unlikely;
  if (texts.empty())
    return results;
  if (auto started = is_started_ ? Parsed<Done>(Done{}) : inner_.start(); !started) {
    for (const size_t k : missing)
      results[k] = Measured{Outcome::Failed, started.error().front().headline, {}};
    return results;
  }
  is_started_ = true;
  auto fresh = inner_.measure(texts, even, {watch.is_over, answered});
  for (size_t k = 0; k < missing.size(); ++k)
    results[missing[k]] = std::move(fresh[k]);
  return results;
}

} // namespace kawara::tune
