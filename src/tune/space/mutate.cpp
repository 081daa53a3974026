#include "tune/space/mutate.h"

#include "tune/space/collective.h"

#include <algorithm>
#include <functional>
#include <set>

namespace kawara::tune {
namespace {

using namespace schedule;

using List = std::vector<Directive>;

/// How often each kind of change is drawn; Ansor turns numbers nine times out of ten.
constexpr double kTurnShare = 0.75, kSwapShare = 0.83, kMarkShare = 0.93;

bool may_go(const Directive& d) {
  return std::holds_alternative<Unroll>(d) || std::holds_alternative<Vectorize>(d) ||
         std::holds_alternative<Parallel>(d) || std::holds_alternative<Pack>(d) ||
         std::holds_alternative<Stage>(d) || std::holds_alternative<StoreAt>(d) ||
         std::holds_alternative<UnrollAndJam>(d) || std::holds_alternative<Tensorize>(d);
}

/// Two loops of a `reorder` exchanged, and in every other `reorder` that has loops of these names:
/// nests that run together keep the same order.
List with_swap(List list, size_t directive, size_t a, size_t b) {
  const auto& chosen = std::get<Reorder>(list[directive]).loops;
  const std::string first = chosen[a].loop, second = chosen[b].loop;
  for (Directive& d : list) {
    auto* reorder = std::get_if<Reorder>(&d);
    if (reorder == nullptr)
      continue;
    LoopName *one = nullptr, *two = nullptr;
    for (LoopName& loop : reorder->loops) {
      one = loop.loop == first ? &loop : one;
      two = loop.loop == second ? &loop : two;
    }
    if (one != nullptr && two != nullptr)
      std::swap(one->loop, two->loop);
  }
  return list;
}

/// Pairs of neighbouring loops of a `reorder`: directive and first position.
std::vector<std::pair<size_t, size_t>> swaps_of(const List& list) {
  std::vector<std::pair<size_t, size_t>> swaps;
  for (size_t k = 0; k < list.size(); ++k)
    if (const auto* reorder = std::get_if<Reorder>(&list[k]))
      for (size_t at = 0; at + 1 < reorder->loops.size(); ++at)
        swaps.emplace_back(k, at);
  return swaps;
}

/// Loops that a `reorder` puts in an order, by statement: where marks and copies may go.
std::vector<LoopName> ordered_loops(const List& list) {
  std::vector<LoopName> loops;
  for (const Directive& d : list)
    if (const auto* reorder = std::get_if<Reorder>(&d))
      loops.insert(loops.end(), reorder->loops.begin(), reorder->loops.end());
  return loops;
}

bool has_mark(const List& list, const LoopName& loop) {
  return std::any_of(list.begin(), list.end(), [&](const Directive& d) {
    const auto* parallel = std::get_if<Parallel>(&d);
    const auto* vector = std::get_if<Vectorize>(&d);
    const auto* unroll = std::get_if<Unroll>(&d);
    return (parallel != nullptr && parallel->loop == loop) ||
           (vector != nullptr && vector->loop == loop) ||
           (unroll != nullptr && unroll->loop == loop);
  });
}

/// Lists with a mark more, at another loop, or a copy at another loop.
std::vector<List> remarked(const List& list) {
  std::vector<List> lists;
  const std::vector<LoopName> loops = ordered_loops(list);
  for (size_t k = 0; k < list.size(); ++k) {
    LoopName* target = nullptr;
    List other = list;
    if (auto* parallel = std::get_if<Parallel>(&other[k]))
      target = &parallel->loop;
    else if (auto* pack = std::get_if<Pack>(&other[k]); pack != nullptr && pack->loop)
      target = &*pack->loop;
    if (target == nullptr)
      continue;
    const LoopName from = *target;
    for (const LoopName& loop : loops)
      if (loop.statement == from.statement && !(loop == from) && !has_mark(list, loop)) {
        *target = loop;
        lists.push_back(other);
      }
  }
  for (const LoopName& loop : loops)
    if (!has_mark(list, loop)) {
      List more = list;
      more.push_back(Unroll{loop, 4});
      lists.push_back(more);
      more.back() = Parallel{loop};
      lists.push_back(std::move(more));
    }
  return lists;
}

/// Directives in the order they came with, but a list of the same shape: only numbers differ.
bool has_same_shape(const List& a, const List& b) {
  if (a.size() != b.size())
    return false;
  // Numbers of b for those of a, by place; what is left must be equal.
  List same = a;
  for (size_t k = 0; k < same.size(); ++k) {
    if (same[k].index() != b[k].index())
      return false;
    if (auto* split = std::get_if<Split>(&same[k]))
      split->size = std::get<Split>(b[k]).size;
    if (auto* unroll = std::get_if<Unroll>(&same[k]); unroll != nullptr && unroll->factor)
      unroll->factor = std::get<Unroll>(b[k]).factor;
    if (auto* vector = std::get_if<Vectorize>(&same[k]))
      vector->width = std::get<Vectorize>(b[k]).width;
    if (auto* pipeline = std::get_if<Pipeline>(&same[k]))
      pipeline->stages = std::get<Pipeline>(b[k]).stages;
    if (auto* jam = std::get_if<UnrollAndJam>(&same[k]))
      jam->factor = std::get<UnrollAndJam>(b[k]).factor;
    if (auto* tensorize = std::get_if<Tensorize>(&same[k]))
      if (const auto& theirs = std::get<Tensorize>(b[k]);
          is_same_but_lanes(tensorize->instruction, theirs.instruction))
        tensorize->instruction = theirs.instruction;
    if (auto* tile = std::get_if<Tile>(&same[k])) {
      const auto& theirs = std::get<Tile>(b[k]).loops;
      for (size_t item = 0; item < std::min(theirs.size(), tile->loops.size()); ++item)
        tile->loops[item].second = theirs[item].second;
    }
  }
  return same == b;
}

std::set<std::string> statements_named(const Directive& directive) {
  std::set<std::string> names;
  visit_loops(directive, [&](const LoopName& loop) {
    if (loop.statement)
      names.insert(*loop.statement);
  });
  return names;
}

/// Whether a directive is about one statement's loops and nothing else.
bool is_about(const Directive& directive, const std::string& statement) {
  const auto names = statements_named(directive);
  return names.size() == 1 && *names.begin() == statement &&
         !std::holds_alternative<Distribute>(directive) && added_statements(directive) == 0;
}

List with_statement_from(const List& a, const List& b, const std::string& statement) {
  List child;
  for (const Directive& d : a)
    if (!is_about(d, statement))
      child.push_back(d);
  for (const Directive& d : b)
    if (is_about(d, statement))
      child.push_back(d);
  return child;
}

} // namespace

std::vector<Directive> mutated(const std::vector<Directive>& list, const Surroundings& around,
                               Rng& rng) {
  const std::vector<Knob> knobs = knobs_of(list, around.extents);
  // What is bound to blocks and threads of a GPU stays so.
  const double kind = rng.unit() * (around.extents.is_gpu ? kTurnShare : 1);
  if (kind < kTurnShare && !knobs.empty()) {
    const Knob& knob = rng.pick(knobs);
    // Near numbers are drawn more often than far ones.
    const auto at = std::lower_bound(knob.choices.begin(), knob.choices.end(), knob.value);
    const auto last = static_cast<int64_t>(knob.choices.size()) - 1;
    if (last == 0)
      return list;
    if (rng.coin(0.5)) {
      const int64_t step = rng.coin(0.5) ? 1 : -1;
      const int64_t to = std::clamp<int64_t>((at - knob.choices.begin()) + step, 0, last);
      return transposed(list, knob, knob.choices[static_cast<size_t>(to)]);
    }
    return transposed(list, knob, rng.pick(knob.choices));
  }
  if (kind < kSwapShare) {
    if (const auto swaps = swaps_of(list); !swaps.empty()) {
      const auto [directive, at] = rng.pick(swaps);
      return with_swap(list, directive, at, at + 1);
    }
  } else if (kind < kMarkShare) {
    if (const auto lists = remarked(list); !lists.empty())
      return rng.pick(lists);
  } else {
    std::vector<size_t> candidates;
    for (size_t k = 0; k < list.size(); ++k)
      if (may_go(list[k]))
        candidates.push_back(k);
    if (!candidates.empty())
      return without(list, rng.pick(candidates), around.statements);
  }
  return list;
}

std::vector<Directive> annotated(std::vector<Directive> list, const Surroundings& around,
                                 Rng& rng) {
  const size_t count = knobs_of(list, around.extents).size();
  for (size_t k = 0; k < count; ++k) {
    // Turning one may move others: they are looked up again.
    const std::vector<Knob> knobs = knobs_of(list, around.extents);
    if (k < knobs.size())
      list = transposed(std::move(list), knobs[k], rng.pick(knobs[k].choices));
  }
  return list;
}

std::vector<Directive> crossed(const std::vector<Directive>& a, const std::vector<Directive>& b,
                               const Surroundings& around, Rng& rng) {
  if (has_same_shape(a, b)) {
    List child = a;
    const std::vector<Knob> ours = knobs_of(a, around.extents),
                            theirs = knobs_of(b, around.extents);
    for (const Knob& knob : ours)
      for (const Knob& other : theirs)
        if (other.places.front() == knob.places.front() && rng.coin(0.5))
          child = transposed(std::move(child), knob, other.value);
    return child;
  }
  std::set<std::string> names;
  for (const List* list : {&a, &b})
    for (const Directive& d : *list)
      names.merge(statements_named(d));
  if (names.empty())
    return a;
  auto name = names.begin();
  std::advance(name, static_cast<std::ptrdiff_t>(rng.below(names.size())));
  return with_statement_from(a, b, *name);
}

std::vector<std::vector<Directive>> neighbours(const std::vector<Directive>& list,
                                               const Surroundings& around) {
  std::vector<List> lists;
  for (const Knob& knob : knobs_of(list, around.extents))
    for (const int64_t choice : knob.choices)
      if (choice != knob.value)
        lists.push_back(transposed(list, knob, choice));
  if (around.extents.is_gpu)
    return lists;
  for (const auto& [directive, at] : swaps_of(list))
    lists.push_back(with_swap(list, directive, at, at + 1));
  for (List& other : remarked(list))
    lists.push_back(std::move(other));
  for (size_t k = 0; k < list.size(); ++k)
    if (may_go(list[k]))
      lists.push_back(without(list, k, around.statements));
  return lists;
}

} // namespace kawara::tune
