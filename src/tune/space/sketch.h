#pragma once

#include "tune/space/structure.h"

#include <functional>
#include <string>
#include <vector>

namespace kawara::tune {

/// What rules look at; worked out once.
struct Ground {
  const schedule::Schedule& initial; ///< the source order
  const schedule::Environment& environment;
  std::vector<Directive> steps; ///< of `auto`
  std::vector<Structure> structures;
};
Ground ground_of(const schedule::Schedule& initial, const schedule::Environment&);

/// A way to begin: gives lists of directives whose numbers the search will change. They need not be
/// legal; the judge decides about each point.
struct Rule {
  std::string name;
  std::function<std::vector<std::vector<Directive>>(const Ground&)> lists;
};

/// The rules that every search knows, in the order of their card:
///
///   source        nothing at all
///   default       `auto`, then its steps one by one
///   one core      what `auto` would do without threads
///   instructions  what it would do without an instruction that it uses, or without all of them
///   lanes         vectors along the loop that walks memory, sums included; threads outside
///   tiles         blocks of every loop, vectors and unrolled rows inside
///   fused         blocks of neighbouring nests together, temps between them per block
///   levels        blocks, reduction, registers: two levels of result tiles, one of the reduction
///   packed        the same, with operands copied into the order of reading
///   partial       reductions split into partial results, for lanes or for threads
///
/// From `lanes` on, each is tried on the nests as they are, on nests of one statement each
/// (distributed), on the nests that `auto` brings together, and with temps inlined.
///
/// For a GPU there are `default` and `other GPUs`, what it would be with fewer or more
/// multiprocessors or less shared memory: these steps say what is bound to blocks and threads, and
/// the search changes their numbers.
std::vector<Rule> known_rules(const schedule::Environment&);

/// One rule that gives exactly this list: how a user adds a way to begin.
Rule rule_of(std::string name, std::vector<Directive> list);

/// All lists of the rules, equal ones once. The sketch of a point is called like its rule, with a
/// number where the rule gives several.
std::vector<Point> sketches(const std::vector<Rule>&, const Ground&);

} // namespace kawara::tune
