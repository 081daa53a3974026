#include "tune/space/space.h"

#include <algorithm>

namespace kawara::tune {
namespace {

/// A sketch is given up when this many of its points were lost and none was measured.
constexpr int64_t kHopeless = 4;

} // namespace

Space::Space(const schedule::Schedule& initial, const schedule::Environment& environment,
             std::vector<Rule> more)
    : initial_(initial),
      environment_(environment), surroundings_{
                                     extents_of(initial, environment),
                                     static_cast<int64_t>(initial.scop.statements.size())} {
  std::vector<Rule> rules = std::move(more);
  for (Rule& rule : known_rules(environment))
    rules.push_back(std::move(rule));
  const Ground ground = ground_of(initial, environment);
  steps_ = ground.steps;
  sketches_ = tune::sketches(rules, ground);
}

Point Space::random(Rng& rng) const {
  std::vector<const Point*> alive;
  for (const Point& sketch : sketches_) {
    const auto tally = tallies_.find(sketch.sketch);
    const bool is_hopeless =
        tally != tallies_.end() && tally->second.measured == 0 && tally->second.lost >= kHopeless;
    // A list without numbers is one point only, and among the first that are tried.
    if (!is_hopeless && !knobs_of(sketch.directives, surroundings_.extents).empty())
      alive.push_back(&sketch);
  }
  if (alive.empty())
    return sketches_.front();
  const Point& sketch = *rng.pick(alive);
  return {annotated(sketch.directives, surroundings_, rng), sketch.sketch};
}

Point Space::mutated(const Point& point, Rng& rng) const {
  return {tune::mutated(point.directives, surroundings_, rng), point.sketch};
}

Point Space::crossed(const Point& a, const Point& b, Rng& rng) const {
  return {tune::crossed(a.directives, b.directives, surroundings_, rng), a.sketch};
}

std::vector<Point> Space::neighbours(const Point& point) const {
  std::vector<Point> points;
  for (auto& list : tune::neighbours(point.directives, surroundings_))
    points.push_back({std::move(list), point.sketch});
  return points;
}

void Space::add(Point point) { sketches_.push_back(std::move(point)); }

void Space::learn(const Point& point, Outcome outcome) {
  Tally& tally = tallies_[point.sketch];
  (outcome == Outcome::Measured ? tally.measured : tally.lost) += 1;
}

} // namespace kawara::tune
