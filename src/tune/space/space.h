#pragma once

#include "tune/record.h"
#include "tune/space/mutate.h"
#include "tune/space/sketch.h"

#include <map>
#include <string>
#include <vector>

namespace kawara::tune {

/// All points that a search may propose: sketches with any numbers, and what changes make of them.
class Space {
public:
  /// `initial`: the source order. `more`: rules of the user, tried first.
  Space(const schedule::Schedule& initial, const schedule::Environment&,
        std::vector<Rule> more = {});

  const std::vector<Point>& sketches() const { return sketches_; }
  const schedule::Schedule& initial() const { return initial_; }
  const schedule::Environment& environment() const { return environment_; }
  const Surroundings& surroundings() const { return surroundings_; }
  const std::vector<Directive>& steps() const { return steps_; } ///< of `auto`

  /// A sketch with numbers drawn at random; sketches whose points were all refused so far are left
  /// out.
  Point random(Rng&) const;
  Point mutated(const Point&, Rng&) const;
  Point crossed(const Point&, const Point&, Rng&) const;
  std::vector<Point> neighbours(const Point&) const;

  /// Lists that were good elsewhere become sketches too.
  void add(Point);
  /// Tells what became of a point, so that hopeless sketches are not drawn for ever.
  void learn(const Point&, Outcome);

private:
  const schedule::Schedule& initial_;
  const schedule::Environment& environment_;
  Surroundings surroundings_;
  std::vector<Directive> steps_;
  std::vector<Point> sketches_;
  struct Tally {
    int64_t measured = 0, lost = 0;
  };
  std::map<std::string, Tally> tallies_; ///< by sketch
};

} // namespace kawara::tune
