#pragma once

#include "schedule/auto/facts/nest_facts.h"
#include "schedule/schedule.h"
#include "tune/space/point.h"

#include <vector>

namespace kawara::tune {

/// A perfect nest of a structure, and what is known of it.
struct KnownNest {
  schedule::Nest nest;
  schedule::NestFacts facts;
  bool is_outermost = false;
};

/// Which statements share which loops, before anything is tiled.
struct Structure {
  std::vector<Directive> directives; ///< that lead there
  schedule::Schedule schedule;       ///< proved
  std::vector<KnownNest> nests;
  std::vector<LoopName> spread; ///< loops around several nests that may run in parallel
};

/// The source's structure first, then others that the judge accepts: every statement in a nest of
/// its own, the nests as `auto` has them (`steps`: its directives), temps inlined. Different ones
/// only.
std::vector<Structure> structures_of(const schedule::Schedule& initial,
                                     const std::vector<Directive>& steps,
                                     const schedule::Environment&);

/// The directives that give every statement of the source a nest of its own; not judged.
std::vector<Directive> separations(const schedule::Schedule& initial);

/// The loop at `position` of a nest as directives name it: with its first statement.
LoopName name_in(const Structure&, const KnownNest&, size_t position);

} // namespace kawara::tune
