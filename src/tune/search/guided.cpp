#include "tune/search/guided.h"

#include "support/hash.h"

#include <algorithm>
#include <cmath>

namespace kawara::tune {
namespace {

/// Everything that is counted of a point but the length of its list, which says nothing about its
/// code.
uint64_t look_of(const Features& features) {
  const auto names = feature_names();
  uint64_t hash = kHashSeed;
  for (size_t k = 0; k < features.size(); ++k)
    if (names[k] != "directives")
      hash = hash_mix(hash, static_cast<uint64_t>(std::llround(features[k] * 1e6)));
  return hash;
}

class Guided : public FreshPoints {
public:
  Guided(Space& space, uint64_t seed, CostModel model)
      : FreshPoints(space, seed), model_(std::move(model)) {
    // The default is known to take as long as itself.
    const Point steps{space.steps(), "default"};
    if (const auto features = features_of(space, steps)) {
      model_.set_default(*features);
      model_.add(*features, 1);
      start_ = Scored{steps, 0, look_of(*features)};
      looks_.insert(start_->look);
    }
    leave_out(steps);
    leave_out({{schedule::Auto{}}, "default"});
  }

  const CostModel* model() const override { return &model_; }

protected:
  struct Scored {
    Point point;
    double cost = 0;   ///< log2 of the time over that of the default: measured, or hoped for
    uint64_t look = 0; ///< equal for points that the model cannot tell apart
  };

  bool begins_with_sketches() const override { return false; }

  void more(std::vector<Point>& batch, size_t count) override {
    const bool is_early = best_.size() < kEarly;
    const size_t wanted = is_early ? std::min(count, kSmallBatch) : count;
    std::vector<Scored> sketches;
    std::set<std::string> known;
    for (const Point& sketch : space_.sketches())
      score(sketch, sketches, known, false);
    sketches = by_cost(std::move(sketches));
    std::vector<Scored> population = evolved(sketches, known);
    // Some are drawn at random: what the model misjudges would never be seen else. Early on, half
    // of the batch are different ways to begin.
    const auto strangers = static_cast<size_t>(std::ceil(kCurious * static_cast<double>(wanted)));
    std::map<std::string, size_t> of_sketch;
    if (is_early)
      choose(sketches, wanted / 2, 1, of_sketch, batch);
    choose(population, wanted - std::min(wanted, strangers),
           is_early ? std::max<size_t>(2, wanted / 4) : wanted / 2, of_sketch, batch);
    take_random(batch, wanted);
    // A small space: what only looks like something known may still be different.
    for (size_t k = 0; batch.empty() && k < population.size(); ++k)
      take(batch, population[k].point, false);
  }

  void told(const std::vector<Observation>& observations) override {
    for (const Observation& one : observations) {
      Fate& fate = fates_[one.point.sketch];
      (one.outcome == Outcome::Measured ? fate.measured : fate.lost) += 1;
      const auto features = features_of(space_, one.point);
      if (!features)
        continue;
      looks_.insert(look_of(*features));
      if (one.outcome == Outcome::Measured)
        model_.add(*features, one.ratio);
    }
    model_.refit();
  }

private:
  struct Fate {
    size_t measured = 0, lost = 0;
  };

  static constexpr size_t kElite = 12;
  static constexpr int kRandom = 24, kChildren = 48, kGenerations = 3;
  static constexpr double kCurious = 0.1;
  static constexpr size_t kEarly = 16, kSmallBatch = 8;
  /// How many of the model's own doubts a point is given credit for.
  static constexpr double kHope = 1.0;
  /// Ways to begin that only lost this many are not tried further.
  static constexpr size_t kHopeless = 2;

  /// Fills the batch up to `count`, with at most `share` points that grew from one sketch, and none
  /// that the model cannot tell from one that is known.
  void choose(const std::vector<Scored>& from, size_t count, size_t share,
              std::map<std::string, size_t>& of_sketch, std::vector<Point>& batch) {
    for (const Scored& scored : from) {
      if (batch.size() >= count)
        return;
      if (is_seen(scored.point) || of_sketch[scored.point.sketch] >= share ||
          !looks_.insert(scored.look).second)
        continue;
      if (take(batch, scored.point, false)) // those that were drawn passed `score`
        ++of_sketch[scored.point.sketch];
    }
  }

  bool is_hopeless(const Point& point) const {
    const auto fate = fates_.find(point.sketch);
    return fate != fates_.end() && fate->second.measured == 0 && fate->second.lost >= kHopeless;
  }

  /// The fastest, the sketches and some strangers, and what generations of them the model likes;
  /// best first.
  std::vector<Scored> evolved(const std::vector<Scored>& sketches, std::set<std::string>& known) {
    std::vector<Scored> population;
    for (size_t k = 0; k < std::min(kElite, best_.size()); ++k)
      population.push_back({best_[k].point, std::log2(best_[k].ratio), 0});
    if (start_)
      population.push_back(*start_);
    population.insert(population.end(), sketches.begin(), sketches.end());
    const size_t strangers = population.size() + kRandom;
    for (int tries = 0; tries < 3 * kRandom && population.size() < strangers; ++tries)
      score(space_.random(rng_), population, known);
    for (int generation = 0; generation < kGenerations; ++generation) {
      const std::vector<Scored> parents = fittest(population);
      for (int tries = 0; tries < kChildren; ++tries)
        score(child(parents), population, known);
    }
    return by_cost(std::move(population));
  }

  void score(Point point, std::vector<Scored>& population, std::set<std::string>& known,
             bool is_drawn = true) {
    if (is_hopeless(point) || is_seen(point) || !known.insert(text_of(point)).second)
      return;
    const auto features = features_of(space_, point);
    if (features && !(is_drawn && overflows_registers(*features))) {
      const Guess guess = model_.guess(*features);
      population.push_back(
          {std::move(point), guess.mean - kHope * guess.spread, look_of(*features)});
    }
  }

  static std::vector<Scored> by_cost(std::vector<Scored> population) {
    std::stable_sort(population.begin(), population.end(),
                     [](const Scored& a, const Scored& b) { return a.cost < b.cost; });
    return population;
  }

  static std::vector<Scored> fittest(std::vector<Scored> population) {
    population = by_cost(std::move(population));
    population.resize(std::min<size_t>(population.size(), 2 * kElite));
    return population;
  }

  Point child(const std::vector<Scored>& parents) {
    if (parents.empty())
      return space_.random(rng_);
    const auto parent = [&]() -> const Point& {
      return parents[std::min(rng_.below(parents.size()), rng_.below(parents.size()))].point;
    };
    const Point& first = parent();
    Point point = rng_.coin(0.3) ? space_.crossed(first, parent(), rng_) : first;
    do
      point = space_.mutated(point, rng_);
    while (rng_.coin(0.3));
    return point;
  }

  CostModel model_;
  std::optional<Scored> start_; ///< the steps of the default
  std::set<uint64_t> looks_;    ///< of what was proposed
  std::map<std::string, Fate> fates_;
};

} // namespace

std::unique_ptr<Strategy> make_guided(Space& space, uint64_t seed, const CostModel& model) {
  return std::make_unique<Guided>(space, seed, model);
}

} // namespace kawara::tune
