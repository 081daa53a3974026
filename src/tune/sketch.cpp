#include "tune/sketch.h"

#include "schedule/auto.h"

#include <algorithm>
#include <set>

namespace kawara::tune {
namespace {

using namespace schedule;

using List = std::vector<Directive>;

/// Sizes to begin with; the search turns them.
constexpr int64_t kBlock = 64;
constexpr int64_t kDepth = 128;
constexpr int64_t kRows = 4;

LoopName part(LoopName loop, const char* suffix) {
  loop.loop += suffix;
  return loop;
}

void append(List& list, List more) {
  for (Directive& directive : more)
    list.push_back(std::move(directive));
}

/// Directive lists for one nest; nothing where a rule does not apply.
class NestRules {
public:
  NestRules(const Structure& structure, const KnownNest& nest, const Environment& environment)
      : structure_(structure), nest_(nest), facts_(nest.facts), environment_(environment) {
    const auto& scop = structure.schedule.scop;
    int64_t bytes = 1;
    for (const poly::StmtId id : nest.nest.statements)
      bytes = std::max(
          bytes, scalar::bytes_of(scalar::compute_type(scop.tensors[scop[id].text.tensor].elem)));
    lanes_ = std::max<int64_t>(2, target::vector_lanes(environment.cpu, bytes));
  }

  List lanes() const {
    const auto v = along_memory();
    return v ? lanes_along(*v) : List{};
  }

  /// Blocks of every loop that may move; the vector loop innermost, the longest other one unrolled.
  List tiles() const {
    const auto v = along_memory();
    if (!v || size() - facts_.fixed < 2)
      return {};
    List list;
    Reorder order, inner;
    for (size_t k = facts_.fixed; k < size(); ++k) {
      if (k == *v)
        continue;
      list.push_back(Split{name(k), std::min<int64_t>(kBlock, facts_.extents[k])});
      order.loops.push_back(part(name(k), ".0"));
      inner.loops.push_back(part(name(k), ".1"));
    }
    list.push_back(Split{name(*v), 4 * lanes_ * 4});
    order.loops.push_back(part(name(*v), ".0"));
    order.loops.insert(order.loops.end(), inner.loops.begin(), inner.loops.end());
    order.loops.push_back(part(name(*v), ".1"));
    const LoopName outermost = order.loops.front();
    list.push_back(std::move(order));
    list.push_back(Vectorize{part(name(*v), ".1"), 2 * lanes_});
    if (is_parallel_after(facts_.fixed == *v ? facts_.fixed + 1 : facts_.fixed))
      list.push_back(Parallel{outermost});
    return list;
  }

  /// Ansor's S S R S R S: blocks of the result, blocks of the reduction, registers.
  List levels(bool is_packed) const {
    const auto v = along_memory();
    const auto r = row_loop();
    const auto k = depth_loop();
    if (!v || !r || !k || nest_.nest.statements.size() != 1)
      return {};
    List list{Split{name(*v), 8 * 3 * lanes_}, Split{name(*r), kBlock},
              Split{part(name(*v), ".1"), 3 * lanes_}, Split{part(name(*r), ".1"), kRows},
              Split{name(*k), std::min(kDepth, std::max<int64_t>(1, facts_.extents[*k]))}};
    Reorder order;
    for (size_t q = facts_.fixed; q < size(); ++q)
      if (q != *v && q != *r && !facts_.strides[q].writes_same_cell)
        order.loops.push_back(name(q));
    const LoopName spread = order.loops.empty() ? part(name(*r), ".0") : order.loops.front();
    const LoopName blocks[] = {part(name(*v), ".0"), part(name(*k), ".0"), part(name(*r), ".0"),
                               part(name(*v), ".1.0"), part(name(*r), ".1.0")};
    order.loops.insert(order.loops.end(), std::begin(blocks), std::end(blocks));
    for (size_t q = facts_.fixed; q < size(); ++q)
      if (facts_.strides[q].writes_same_cell && q != *v && q != *r)
        order.loops.push_back(q == *k ? part(name(q), ".1") : name(q));
    order.loops.push_back(part(name(*r), ".1.1"));
    order.loops.push_back(part(name(*v), ".1.1"));
    list.push_back(std::move(order));
    if (is_packed)
      append(list, packs(*v, *r, *k));
    list.push_back(Unroll{part(name(*r), ".1.1"), std::nullopt});
    list.push_back(Vectorize{part(name(*v), ".1.1"), lanes_});
    list.push_back(Unroll{part(name(*v), ".1.1"), std::nullopt});
    if (nest_.is_outermost)
      list.push_back(Parallel{spread});
    return list;
  }

  /// Partial results by lane, or by thread.
  List partial(bool for_threads) const {
    const auto k = depth_loop();
    if (!k || facts_.extents[*k] < 2 * lanes_)
      return {};
    const LoopName whole = name(*k);
    if (for_threads)
      return {Split{whole, std::max<int64_t>(1, facts_.extents[*k] / environment_.cpu.cores)},
              Rfactor{part(whole, ".0")}, Parallel{part(whole, ".0")}};
    List list;
    if (*k + 1 != size()) {
      Reorder order;
      for (size_t q = facts_.fixed; q < size(); ++q)
        if (q != *k)
          order.loops.push_back(name(q));
      order.loops.push_back(whole);
      list.push_back(std::move(order));
    }
    append(list, {Split{whole, 4 * lanes_}, Rfactor{part(whole, ".1")},
                  Vectorize{part(whole, ".1"), lanes_}, Unroll{part(whole, ".1"), std::nullopt}});
    return list;
  }

private:
  size_t size() const { return nest_.nest.loops.size(); }
  LoopName name(size_t k) const { return name_in(structure_, nest_, k); }
  bool is_parallel_after(size_t k) const { return nest_.is_outermost && facts_.is_parallel[k]; }

  /// The loop that runs best in lanes: most neighbours, fewest jumps.
  std::optional<size_t> along_memory() const {
    std::optional<size_t> best;
    const auto worth = [&](size_t k) {
      const Strides& s = facts_.strides[k];
      return 2 * s.unit + s.none - 12 * s.far - 24 * s.far_writes - (s.writes_same_cell ? 3 : 0);
    };
    for (size_t k = facts_.fixed; k < size(); ++k)
      if ((facts_.is_parallel[k] || facts_.is_reduction[k]) && facts_.extents[k] >= 2)
        if (!best || worth(k) >= worth(*best))
          best = k;
    return best;
  }

  /// A parallel loop besides the lanes along which an operand stays: it can be kept in registers.
  std::optional<size_t> row_loop() const {
    const auto v = along_memory();
    std::optional<size_t> best;
    for (size_t k = facts_.fixed; k < size(); ++k)
      if (k != v.value_or(size()) && facts_.is_parallel[k] && facts_.strides[k].none > 0 &&
          !facts_.strides[k].writes_same_cell &&
          (!best || facts_.extents[k] > facts_.extents[*best]))
        best = k;
    return best;
  }

  std::optional<size_t> depth_loop() const {
    std::optional<size_t> best;
    for (size_t k = facts_.fixed; k < size(); ++k)
      if (facts_.strides[k].writes_same_cell && facts_.is_reduction[k] &&
          (!best || facts_.extents[k] > facts_.extents[*best]))
        best = k;
    return best;
  }

  List lanes_along(size_t v) const {
    List list;
    if (v + 1 != size()) {
      Reorder order;
      for (size_t k = facts_.fixed; k < size(); ++k)
        if (k != v)
          order.loops.push_back(name(k));
      order.loops.push_back(name(v));
      list.push_back(std::move(order));
    }
    list.push_back(Vectorize{name(v), 2 * lanes_});
    for (size_t k = 0; k < size(); ++k)
      if (k != v && is_parallel_after(k)) {
        list.push_back(Parallel{name(k)});
        break;
      }
    return list;
  }

  /// Copies of the operands, each at the loop outside which it is used again.
  List packs(size_t v, size_t r, size_t k) const {
    const auto& text = structure_.schedule.scop[nest_.nest.statements.front()].text;
    List list;
    std::set<uint32_t> seen{text.tensor};
    size_t load = 0;
    scalar::visit(text.value, [&](const scalar::Expr& e) {
      const auto* found = scalar::as<scalar::Load>(e);
      if (found == nullptr)
        return;
      const size_t access = ++load;
      if (!seen.insert(found->tensor).second)
        return;
      const auto stays = [&](size_t position) {
        const auto moves = moves_of(structure_.schedule.scop, structure_.schedule.order,
                                    nest_.nest.statements.front(), nest_.nest.depth + position);
        return access < moves.size() && moves[access] == Move::None;
      };
      const std::string& tensor = structure_.schedule.scop.tensors[found->tensor].name;
      if (stays(r) && !stays(v))
        list.push_back(Pack{tensor, part(name(k), ".0")});
      else if (stays(v) && !stays(r))
        list.push_back(Pack{tensor, part(name(r), ".0")});
    });
    return list;
  }

  const Structure& structure_;
  const KnownNest& nest_;
  const NestFacts& facts_;
  const Environment& environment_;
  int64_t lanes_;
};

using OfNest = std::function<List(const NestRules&)>;

/// The rule on every nest of every structure; nests that it says nothing about get lanes.
std::vector<List> everywhere(const Ground& ground, const OfNest& rule) {
  std::vector<List> lists;
  for (const Structure& structure : ground.structures) {
    List list = structure.directives;
    bool applies = false;
    for (const KnownNest& nest : structure.nests) {
      const NestRules rules(structure, nest, ground.environment);
      List own = rule(rules);
      applies = applies || !own.empty();
      append(list, own.empty() ? rules.lanes() : std::move(own));
    }
    for (const LoopName& loop : structure.spread)
      list.push_back(Parallel{loop});
    if (applies)
      lists.push_back(std::move(list));
  }
  return lists;
}

Rule rule_everywhere(std::string name, OfNest of_nest) {
  return {std::move(name), [of_nest = std::move(of_nest)](const Ground& ground) {
            return everywhere(ground, of_nest);
          }};
}

} // namespace

Ground ground_of(const Schedule& initial, const Environment& environment) {
  Ground ground{initial, environment, spelled_out(initial, environment), {}};
  ground.structures = structures_of(initial, ground.steps, environment);
  return ground;
}

std::vector<Rule> known_rules() {
  return {
      {"source", [](const Ground&) { return std::vector<List>{{}}; }},
      {"default",
       [](const Ground& ground) {
         return std::vector<List>{{Auto{}}, ground.steps};
       }},
      rule_everywhere("lanes", [](const NestRules& nest) { return nest.lanes(); }),
      rule_everywhere("tiles", [](const NestRules& nest) { return nest.tiles(); }),
      rule_everywhere("levels", [](const NestRules& nest) { return nest.levels(false); }),
      rule_everywhere("packed", [](const NestRules& nest) { return nest.levels(true); }),
      rule_everywhere("partial", [](const NestRules& nest) { return nest.partial(false); }),
      rule_everywhere("partial by thread",
                      [](const NestRules& nest) { return nest.partial(true); }),
  };
}

Rule rule_of(std::string name, std::vector<Directive> list) {
  return {std::move(name),
          [list = std::move(list)](const Ground&) { return std::vector<List>{list}; }};
}

std::vector<Point> sketches(const std::vector<Rule>& rules, const Ground& ground) {
  std::vector<Point> points;
  std::set<std::string> seen;
  for (const Rule& rule : rules) {
    size_t number = 0;
    for (List& list : rule.lists(ground)) {
      Point point{std::move(list), rule.name};
      if (number > 0)
        point.sketch += " " + std::to_string(number + 1);
      ++number;
      if (seen.insert(text_of(point)).second)
        points.push_back(std::move(point));
    }
  }
  return points;
}

} // namespace kawara::tune
