#include "graph/rewrite/saturate.h"

#include <array>

namespace kawara::rewrite {
namespace {

/// How often a rule may match, and until when it sits out.
struct Patience {
  size_t limit = 0;
  int banned_until = 0;
  int bans = 0;
};

struct Found {
  const Rule* rule;
  std::vector<Match> matches;
};

/// Replaces at one place; true when something became equal that was not.
bool apply(EGraph& egraph, const Rule& rule, const Match& match) {
  const auto& type = egraph.at(match.roots[0]).type;
  std::vector<ClassId> sides;
  for (const Pattern& side : rule.right) {
    const auto id = add_side(egraph, side, match.binding, type->elem);
    // All or nothing: of values that are computed together each needs the other's share.
    if (!id || egraph.at(*id).type != egraph.at(match.roots[sides.size()]).type)
      return false;
    sides.push_back(*id);
  }
  bool is_new = false;
  for (size_t k = 0; k < sides.size(); ++k)
    if (egraph.find(sides[k]) != egraph.find(match.roots[k]))
      is_new = egraph.merge(sides[k], match.roots[k]) || is_new;
  return is_new;
}

} // namespace

std::string_view name_of(Saturation::End end) {
  constexpr std::array<std::string_view, 4> names{"saturated", "limit of nodes",
                                                  "limit of iterations", "limit of time"};
  return names[static_cast<size_t>(end)];
}

Saturation saturate(EGraph& egraph, const std::vector<Rule>& rules, Numerics numerics,
                    const Limits& limits) {
  Saturation result;
  std::vector<Patience> patience(rules.size(), {limits.matches, 0, 0});
  egraph.rebuild();
  for (;; ++result.iterations) {
    if (result.iterations >= limits.iterations) {
      result.end = Saturation::End::Iterations;
      return result;
    }
    std::vector<Found> all;
    bool someone_sits_out = false;
    for (size_t k = 0; k < rules.size(); ++k) {
      const Rule& rule = rules[k];
      if (rule.needs > numerics ||
          (rule.left.size() > 1 && result.iterations >= limits.joint_iterations))
        continue;
      Patience& mine = patience[k];
      if (result.iterations < mine.banned_until) {
        someone_sits_out = true;
        continue;
      }
      std::vector<Match> found = matches(egraph, rule, mine.limit + 1);
      if (found.size() > mine.limit) {
        mine.banned_until = result.iterations + (2 << mine.bans++);
        mine.limit *= 2;
        someone_sits_out = true;
        continue;
      }
      all.push_back({&rule, std::move(found)});
      if (limits.is_over && limits.is_over()) {
        result.end = Saturation::End::Time;
        return result;
      }
    }
    bool is_new = false;
    for (const Found& found : all)
      for (const Match& match : found.matches) {
        if (egraph.nodes() >= limits.nodes) {
          egraph.rebuild();
          result.end = Saturation::End::Nodes;
          return result;
        }
        if (apply(egraph, *found.rule, match)) {
          ++result.fired[found.rule->name];
          is_new = true;
        }
      }
    egraph.rebuild();
    if (!is_new && !someone_sits_out)
      return result;
  }
}

} // namespace kawara::rewrite
