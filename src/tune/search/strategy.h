#pragma once

#include "tune/predict/cost_model.h"
#include "tune/space/space.h"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kawara::tune {

/// What became of a proposed point.
struct Observation {
  Point point;
  Outcome outcome = Outcome::Measured;
  double ratio = 0; ///< time over that of the default; only when measured
};

/// Decides what is tried next. What it proposes depends on the seed and on what it was told, on
/// nothing else.
class Strategy {
public:
  virtual ~Strategy() = default;

  /// At most `count` points that were neither proposed nor learnt before, and whose shape is not
  /// refused; fewer, or none, when it finds no more.
  virtual std::vector<Point> propose(size_t count) = 0;
  /// Tells the results, and what is known from earlier searches.
  virtual void learn(const std::vector<Observation>&) = 0;

  virtual const CostModel* model() const { return nullptr; }
  /// Points that were not proposed because the shape of the loops refuses them.
  virtual int64_t unfit() const = 0;
};

/// "guided" (the default), "evolution", "annealing", "beam", "grid", "random"
std::vector<std::string> strategy_names();

/// Nothing for a name that is not among `strategy_names()`. The space is told what becomes of its
/// points and must outlive the strategy. `model`: what earlier searches have learnt, for "guided".
std::unique_ptr<Strategy> make_strategy(std::string_view name, Space&, uint64_t seed,
                                        const CostModel& model = {});

/// What strategies have in common: most try all sketches as they are, then what `more` finds;
/// nothing twice.
class FreshPoints : public Strategy {
public:
  FreshPoints(Space& space, uint64_t seed) : space_(space), rng_(seed) {}

  std::vector<Point> propose(size_t count) final;
  void learn(const std::vector<Observation>&) final;
  int64_t unfit() const final { return unfit_; }

protected:
  /// Adds points by `take` until there are `count` or no more are found.
  virtual void more(std::vector<Point>& batch, size_t count) = 0;
  virtual void told(const std::vector<Observation>&) {}
  virtual bool begins_with_sketches() const { return true; }

  /// Adds the point unless it was seen before, its shape is refused or, for one that was drawn and
  /// not given, it would not be worth compiling.
  bool take(std::vector<Point>& batch, Point point, bool is_drawn = true);
  /// Will not be proposed.
  void leave_out(const Point& point) { seen_.insert(text_of(point)); }
  bool is_seen(const Point& point) const { return seen_.contains(text_of(point)); }
  /// Fills up with random points; gives up after many that were seen.
  void take_random(std::vector<Point>& batch, size_t count);

  Space& space_;
  Rng rng_;
  std::vector<Observation> best_; ///< measured, best first

private:
  std::set<std::string> seen_;
  size_t sketch_ = 0;
  int64_t unfit_ = 0;
};

} // namespace kawara::tune
