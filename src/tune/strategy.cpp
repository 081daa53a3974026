#include "tune/strategy.h"

#include "support/hash.h"

#include <algorithm>
#include <cmath>

namespace kawara::tune {

std::vector<Point> FreshPoints::propose(size_t count) {
  std::vector<Point> batch;
  while (begins_with_sketches() && batch.size() < count && sketch_ < space_.sketches().size())
    take(batch, space_.sketches()[sketch_++]);
  if (batch.size() < count)
    more(batch, count);
  return batch;
}

void FreshPoints::learn(const std::vector<Observation>& observations) {
  for (const Observation& one : observations) {
    seen_.insert(text_of(one.point));
    space_.learn(one.point, one.outcome);
    if (one.outcome == Outcome::Measured)
      best_.push_back(one);
  }
  std::stable_sort(best_.begin(), best_.end(),
                   [](const Observation& a, const Observation& b) { return a.ratio < b.ratio; });
  told(observations);
}

bool FreshPoints::take(std::vector<Point>& batch, Point point) {
  if (!seen_.insert(text_of(point)).second)
    return false;
  if (!features_of(space_, point)) {
    ++unfit_;
    return false;
  }
  batch.push_back(std::move(point));
  return true;
}

void FreshPoints::take_random(std::vector<Point>& batch, size_t count) {
  for (size_t tries = 0; batch.size() < count && tries < 20 * count; ++tries)
    take(batch, space_.random(chance_));
}

namespace {

class Random : public FreshPoints {
public:
  using FreshPoints::FreshPoints;

protected:
  void more(std::vector<Point>& batch, size_t count) override { take_random(batch, count); }
};

/// Every combination of a few numbers for each knob, sketch by sketch.
class Grid : public FreshPoints {
public:
  using FreshPoints::FreshPoints;

protected:
  void more(std::vector<Point>& batch, size_t count) override {
    while (batch.size() < count && sketch_ < space_.sketches().size()) {
      const Point& sketch = space_.sketches()[sketch_];
      if (auto list = combination(sketch.directives, number_)) {
        ++number_;
        take(batch, {*std::move(list), sketch.sketch});
      } else {
        ++sketch_;
        number_ = 0;
      }
    }
  }

private:
  static constexpr size_t kValues = 4;

  /// The list with the `number`-th combination; nothing past the last.
  std::optional<std::vector<Directive>> combination(std::vector<Directive> list,
                                                    uint64_t number) const {
    const Extents& extents = space_.surroundings().extents;
    const size_t knobs = knobs_of(list, extents).size();
    for (size_t k = 0; k < knobs; ++k) {
      const std::vector<Knob> now = knobs_of(list, extents);
      if (k >= now.size())
        break;
      const size_t values = std::min(kValues, now[k].choices.size());
      const size_t pick = number % values;
      number /= values;
      const size_t at = values == 1 ? 0 : pick * (now[k].choices.size() - 1) / (values - 1);
      list = turned(std::move(list), now[k], now[k].choices[at]);
    }
    return number == 0 ? std::optional(std::move(list)) : std::nullopt;
  }

  size_t sketch_ = 0;
  uint64_t number_ = 0;
};

/// Several chains that each take a neighbour when it is faster, and sometimes when it is slower.
class Annealing : public FreshPoints {
public:
  using FreshPoints::FreshPoints;

protected:
  void more(std::vector<Point>& batch, size_t count) override {
    while (chains_.size() < count && chains_.size() < best_.size())
      chains_.push_back(best_[chains_.size()]);
    asked_.clear();
    for (size_t c = 0; c < chains_.size() && batch.size() < count; ++c)
      for (int tries = 0; tries < 20; ++tries) {
        Point next = space_.mutated(chains_[c].point, chance_);
        const std::string text = text_of(next);
        if (take(batch, std::move(next))) {
          asked_[text] = c;
          break;
        }
      }
    take_random(batch, count);
    heat_ = std::max(0.02, heat_ * 0.85);
  }

  void told(const std::vector<Observation>& observations) override {
    for (const Observation& one : observations) {
      const auto chain = asked_.find(text_of(one.point));
      if (chain == asked_.end() || one.outcome != Outcome::Measured)
        continue;
      Observation& at = chains_[chain->second];
      const double slower = std::log(one.ratio) - std::log(at.ratio);
      if (slower < 0 || chance_.coin(std::exp(-slower / heat_)))
        at = one;
    }
  }

private:
  std::vector<Observation> chains_;
  std::map<std::string, size_t> asked_;
  double heat_ = 0.5;
};

/// Children of the fastest: numbers and parts of two, one thing changed.
class Evolution : public FreshPoints {
public:
  using FreshPoints::FreshPoints;

protected:
  void more(std::vector<Point>& batch, size_t count) override {
    for (size_t tries = 0; batch.size() < count && tries < 20 * count && !best_.empty(); ++tries)
      take(batch, chance_.coin(0.1) ? space_.random(chance_) : child());
    take_random(batch, count);
  }

private:
  static constexpr size_t kParents = 16;

  /// The better of two of the fastest.
  const Point& parent() {
    const size_t count = std::min(kParents, best_.size());
    return best_[std::min(chance_.below(count), chance_.below(count))].point;
  }

  Point child() {
    const Point& first = parent();
    Point point = chance_.coin(0.3) ? space_.crossed(first, parent(), chance_) : first;
    do
      point = space_.mutated(point, chance_);
    while (chance_.coin(0.3));
    return point;
  }
};

/// All that differs in one thing from the few fastest; then from the few that are fastest now.
class Beam : public FreshPoints {
public:
  using FreshPoints::FreshPoints;

protected:
  void more(std::vector<Point>& batch, size_t count) override {
    while (batch.size() < count) {
      if (waiting_.empty() && !widen())
        break;
      Point next = std::move(waiting_.back());
      waiting_.pop_back();
      take(batch, std::move(next));
    }
    take_random(batch, count);
  }

private:
  static constexpr size_t kWidth = 4;

  bool widen() {
    for (size_t k = 0; k < std::min(kWidth, best_.size()); ++k)
      if (widened_.insert(text_of(best_[k].point)).second)
        for (Point& point : space_.neighbours(best_[k].point))
          if (!is_seen(point))
            waiting_.push_back(std::move(point));
    // In no order of ours: the first neighbours are all of one knob.
    for (size_t k = waiting_.size(); k > 1; --k)
      std::swap(waiting_[k - 1], waiting_[chance_.below(k)]);
    return !waiting_.empty();
  }

  std::vector<Point> waiting_;
  std::set<std::string> widened_;
};

/// Everything that is counted of a point but the length of its list, which says nothing about its code.
uint64_t look_of(const Features& features) {
  const auto names = feature_names();
  uint64_t hash = kHashSeed;
  for (size_t k = 0; k < features.size(); ++k)
    if (names[k] != "directives")
      hash = hash_mix(hash, static_cast<uint64_t>(std::llround(features[k] * 1e6)));
  return hash;
}

/// Evolution that tries most children on a model, and measures those that it likes best. The first batches
/// are small: what the model learns from them is worth more than their points.
class Guided : public FreshPoints {
public:
  Guided(Space& space, uint64_t seed, CostModel model)
      : FreshPoints(space, seed), model_(std::move(model)) {
    // The default is known to take as long as itself.
    const Point steps{space.steps(), "default"};
    if (const auto features = features_of(space, steps)) {
      model_.set_default(*features);
      start_ = Scored{steps, 0, look_of(*features)};
    }
    leave_out(steps);
    leave_out({{schedule::Auto{}}, "default"});
  }

  const CostModel* model() const override { return &model_; }

protected:
  struct Scored {
    Point point;
    double cost = 0;   ///< log2 of the time over that of the default, measured or predicted
    uint64_t look = 0; ///< equal for points that the model cannot tell apart
  };

  /// What is in a batch already.
  struct Chosen {
    std::map<std::string, size_t> of_sketch;
    std::set<uint64_t> looks;
  };

  bool begins_with_sketches() const override { return false; }

  void more(std::vector<Point>& batch, size_t count) override {
    const bool is_early = best_.size() < kEarly;
    const size_t wanted = is_early ? std::min(count, std::max(kSmallBatch, count / 2)) : count;
    std::vector<Scored> sketches;
    std::set<std::string> known;
    for (const Point& sketch : space_.sketches())
      score(sketch, sketches, known);
    sketches = by_cost(std::move(sketches));
    std::vector<Scored> population = evolved(sketches, known);
    // Some are drawn at random: what the model misjudges would never be seen else. Early on, half of the
    // batch are different ways to begin.
    const auto strangers = static_cast<size_t>(std::ceil(kCurious * static_cast<double>(wanted)));
    Chosen chosen;
    if (is_early)
      choose(sketches, wanted / 2, 1, chosen, batch);
    choose(population, wanted - std::min(wanted, strangers),
           is_early ? std::max<size_t>(2, wanted / 4) : wanted / 2, chosen, batch);
    take_random(batch, wanted);
  }

  void told(const std::vector<Observation>& observations) override {
    for (const Observation& one : observations)
      if (one.outcome == Outcome::Measured)
        if (const auto features = features_of(space_, one.point))
          model_.add(*features, one.ratio);
    model_.refit();
  }

private:
  /// Fills the batch up to `count`, with at most `share` points that grew from one sketch, and none that the
  /// model cannot tell from another one of the batch.
  void choose(const std::vector<Scored>& from, size_t count, size_t share, Chosen& chosen,
              std::vector<Point>& batch) {
    for (const Scored& scored : from) {
      if (batch.size() >= count)
        return;
      if (is_seen(scored.point) || chosen.of_sketch[scored.point.sketch] >= share ||
          !chosen.looks.insert(scored.look).second)
        continue;
      if (take(batch, scored.point))
        ++chosen.of_sketch[scored.point.sketch];
    }
  }

  static constexpr size_t kElite = 12;
  static constexpr int kRandom = 24, kChildren = 48, kGenerations = 3;
  static constexpr double kCurious = 0.15;
  static constexpr size_t kEarly = 24, kSmallBatch = 8;

  /// The fastest, the sketches and some strangers, and what generations of them the model likes; best first.
  std::vector<Scored> evolved(const std::vector<Scored>& sketches, std::set<std::string>& known) {
    std::vector<Scored> population;
    for (size_t k = 0; k < std::min(kElite, best_.size()); ++k)
      population.push_back({best_[k].point, std::log2(best_[k].ratio), 0});
    if (start_)
      population.push_back(*start_);
    population.insert(population.end(), sketches.begin(), sketches.end());
    const size_t strangers = population.size() + kRandom;
    for (int tries = 0; tries < 3 * kRandom && population.size() < strangers; ++tries)
      score(space_.random(chance_), population, known);
    for (int generation = 0; generation < kGenerations; ++generation) {
      const std::vector<Scored> parents = fittest(population);
      for (int tries = 0; tries < kChildren; ++tries)
        score(child(parents), population, known);
    }
    return by_cost(std::move(population));
  }

  void score(Point point, std::vector<Scored>& population, std::set<std::string>& known) {
    if (is_seen(point) || !known.insert(text_of(point)).second)
      return;
    if (const auto features = features_of(space_, point))
      population.push_back({std::move(point), model_.predict(*features), look_of(*features)});
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
      return space_.random(chance_);
    const auto parent = [&]() -> const Point& {
      return parents[std::min(chance_.below(parents.size()), chance_.below(parents.size()))].point;
    };
    const Point& first = parent();
    Point point = chance_.coin(0.3) ? space_.crossed(first, parent(), chance_) : first;
    do
      point = space_.mutated(point, chance_);
    while (chance_.coin(0.3));
    return point;
  }

  CostModel model_;
  std::optional<Scored> start_; ///< the steps of the default
};

} // namespace

std::vector<std::string> strategy_names() {
  return {"guided", "evolution", "annealing", "beam", "grid", "random"};
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, Space& space, uint64_t seed,
                                        const CostModel& model) {
  if (name == "guided")
    return std::make_unique<Guided>(space, seed, model);
  if (name == "evolution")
    return std::make_unique<Evolution>(space, seed);
  if (name == "annealing")
    return std::make_unique<Annealing>(space, seed);
  if (name == "beam")
    return std::make_unique<Beam>(space, seed);
  if (name == "grid")
    return std::make_unique<Grid>(space, seed);
  if (name == "random")
    return std::make_unique<Random>(space, seed);
  return nullptr;
}

} // namespace kawara::tune
