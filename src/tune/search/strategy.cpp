#include "tune/search/strategy.h"

#include "tune/search/guided.h"

#include <algorithm>
#include <cmath>

namespace kawara::tune {

std::vector<Point> FreshPoints::propose(size_t count) {
  std::vector<Point> batch;
  while (begins_with_sketches() && batch.size() < count && sketch_ < space_.sketches().size())
    take(batch, space_.sketches()[sketch_++], false);
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

bool FreshPoints::take(std::vector<Point>& batch, Point point, bool is_drawn) {
  if (!seen_.insert(text_of(point)).second)
    return false;
  const auto features = features_of(space_, point);
  if (!features || (is_drawn && overflows_registers(*features))) {
    ++unfit_;
    return false;
  }
  batch.push_back(std::move(point));
  return true;
}

void FreshPoints::take_random(std::vector<Point>& batch, size_t count) {
  for (size_t tries = 0; batch.size() < count && tries < 20 * count; ++tries)
    take(batch, space_.random(rng_));
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
      list = transposed(std::move(list), now[k], now[k].choices[at]);
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
        Point next = space_.mutated(chains_[c].point, rng_);
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
      if (slower < 0 || rng_.coin(std::exp(-slower / heat_)))
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
      take(batch, rng_.coin(0.1) ? space_.random(rng_) : child());
    take_random(batch, count);
  }

private:
  static constexpr size_t kParents = 16;

  /// The better of two of the fastest.
  const Point& parent() {
    const size_t count = std::min(kParents, best_.size());
    return best_[std::min(rng_.below(count), rng_.below(count))].point;
  }

  Point child() {
    const Point& first = parent();
    Point point = rng_.coin(0.3) ? space_.crossed(first, parent(), rng_) : first;
    do
      point = space_.mutated(point, rng_);
    while (rng_.coin(0.3));
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
      std::swap(waiting_[k - 1], waiting_[rng_.below(k)]);
    return !waiting_.empty();
  }

  std::vector<Point> waiting_;
  std::set<std::string> widened_;
};

} // namespace

std::vector<std::string> strategy_names() {
  return {"guided", "evolution", "annealing", "beam", "grid", "random"};
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, Space& space, uint64_t seed,
                                        const CostModel& model) {
  if (name == "guided")
    return make_guided(space, seed, model);
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
