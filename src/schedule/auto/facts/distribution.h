#pragma once

#include "schedule/auto/facts/nest_facts.h"

namespace kawara::schedule {

/// `order` with the loop split into as many loops, one after the other, as its dependences allow:
/// parts of its body that depend on each other both ways stay together (Allen and Kennedy). Returns
/// the loops in order; just `loop` when nothing can be separated.
struct Distributed {
  poly::Order order;
  std::vector<poly::LoopId> loops;
};
Distributed distributed_at(const poly::Scop&, const poly::Order&, poly::LoopId loop);

/// Separates what can be separated below the loop, innermost loops first, and the loop itself.
/// `applied` gets the directive that does the same. Returns the loops that stand for it.
std::vector<poly::LoopId> distribute_all(Schedule&, poly::LoopId);

/// Puts an order in place of the schedule's in which statements below the loop share other loops;
/// `applied` gets the directive.
void put_distributed(Schedule&, poly::LoopId, poly::Order);

/// Some statement below the loop would gain from loops of its own: its reduction can then be tiled,
/// or its innermost loop exchanged for one that walks along memory.
bool wants_distribution(const Schedule&, poly::LoopId loop);

/// Several statements give the same element a value: each runs where others do not, as in the
/// branches of an `if`, and does without the question in loops of its own.
bool writes_in_turn(const Schedule&, const Nest&);

} // namespace kawara::schedule
