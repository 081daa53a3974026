#include "schedule/legality/suggest.h"

#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"
#include "support/text.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;

namespace {

constexpr size_t kMostShown = 3;
constexpr size_t kMostTried = 24;
constexpr int64_t kSkewFactors[] = {1, -1, 2, -2};
constexpr int64_t kBlock = 32;

/// Collects alternatives for one refused directive. `operator()` is one overload per directive;
/// those for which nothing better is known fall to the template.
class Candidates {
public:
  Candidates(const Schedule& schedule, const Refusal& refusal, const Environment& environment)
      : schedule_(schedule), refusal_(refusal), environment_(environment) {
    if (const auto* judged = std::get_if<Refusal::Judged>(&refusal.why))
      illegal_ = std::get_if<poly::Illegal>(&judged->verdict);
  }

  std::vector<Alternative> take() { return std::move(found_); }

  template <class Other> void operator()(const Other&) {}

  void operator()(const Interchange& d) {
    const auto [outer, inner] = by_depth(d.a, d.b);
    own_copies(inner);
    skews({{inner, outer}}, d);
    add("block only `" + inner.loop + "`", {Tile{{{inner, kBlock}}}});
  }

  void operator()(const Reorder& d) {
    const std::vector<LoopName> nest = by_depth(d.loops);
    own_copies(nest.back());
    std::vector<std::pair<LoopName, LoopName>> pairs;
    for (size_t i = 1; i < nest.size(); ++i)
      pairs.emplace_back(nest[i], nest[0]);
    skews(pairs, d);
    for (size_t i = 0; i + 1 < nest.size(); ++i)
      add("interchange only two", {Interchange{nest[i], nest[i + 1]}});
  }

  void operator()(const Tile& d) {
    std::vector<LoopName> names;
    for (const auto& [name, size] : d.loops)
      names.push_back(name);
    const std::vector<LoopName> nest = by_depth(names);
    own_copies(nest.back());
    std::vector<std::pair<LoopName, LoopName>> pairs;
    for (size_t i = 1; i < nest.size(); ++i)
      pairs.emplace_back(nest[i], nest[0]);
    skews(pairs, d);
    if (d.loops.size() > 2)
      for (size_t left_out = 0; left_out < d.loops.size(); ++left_out) {
        Tile fewer = d;
        fewer.loops.erase(fewer.loops.begin() + static_cast<std::ptrdiff_t>(left_out));
        add("tile without " + quoted(d.loops[left_out].first), {fewer});
      }
    if (d.loops.size() > 1)
      for (auto loop = d.loops.rbegin(); loop != d.loops.rend(); ++loop)
        add("tile only " + quoted(loop->first), {Tile{{*loop}}});
  }

  void operator()(const Fuse& d) {
    const auto loop_a = find(d.a), loop_b = find(d.b);
    if (!loop_a || !loop_b)
      return;
    const auto sequence = [&](LoopId loop) { return place_index(loop); };
    const LoopId later = sequence(*loop_a) < sequence(*loop_b) ? *loop_b : *loop_a;
    for (int64_t amount = 1; amount <= 4; ++amount)
      add("shift first", {shift_all(later, amount), d});
    fuse_after_interchange(d, *loop_a, *loop_b);
    add("reverse both first", {Group{{Reverse{d.a}, Reverse{d.b}}}, d});
  }

  void operator()(const Distribute& d) { own_copies(d.loop); }

  void operator()(const Reverse& d) {
    own_copies(d.loop);
    const auto loop = find(d.loop);
    if (!loop || poly::statements_below(schedule_.order, *loop).size() < 2)
      return;
    for (const poly::StmtId statement : poly::statements_below(schedule_.order, *loop)) {
      const std::string& name = schedule_.scop[statement].text.name;
      add("reverse only " + name, {Distribute{d.loop}, Reverse{{name, d.loop.loop}}});
    }
  }

  void operator()(const Parallel& d) {
    own_copies(d.loop);
    if (is_reduction()) {
      // The factored loop has copies that initialise and combine; the update's own is meant.
      const LoopName tiles{d.loop.statement, d.loop.loop + ".0"};
      add("keep partial results",
          {Split{d.loop, 64}, Rfactor{tiles}, Parallel{{update_name(), tiles.loop}}});
      add("keep a result for each", {Rfactor{d.loop}, Parallel{{update_name(), d.loop.loop}}});
    }
    for (const LoopName& other : other_loops(d.loop))
      add("run " + quoted(other) + " in parallel", {Parallel{other}});
    if (const auto loop = find(d.loop);
        loop && poly::statements_below(schedule_.order, *loop).size() > 1) {
      for (const poly::StmtId statement : poly::statements_below(schedule_.order, *loop)) {
        const std::string& name = schedule_.scop[statement].text.name;
        add("separate " + name, {Distribute{d.loop}, Parallel{{name, d.loop.loop}}});
      }
    }
  }

  void operator()(const Bind& d) {
    own_copies(d.loop);
    for (const LoopName& other : other_loops(d.loop))
      add("bind " + quoted(other), {Bind{other, d.axis}});
    if (is_reduction() && d.axis != poly::Axis::ThreadX)
      add("add up across threads", {Bind{d.loop, poly::Axis::ThreadX}});
  }

  void operator()(const Vectorize& d) {
    own_copies(d.loop);
    for (int64_t width = d.width.value_or(16) / 2; width >= 2; width /= 2)
      add("narrower vectors", {Vectorize{d.loop, width}});
    for (const LoopName& other : other_loops(d.loop))
      add("vectorize " + quoted(other), {Interchange{other, d.loop}, Vectorize{other, d.width}});
    if (is_reduction())
      add("keep partial results", {Rfactor{d.loop}});
  }

  void operator()(const UnrollAndJam& d) {
    add("unroll without jamming", {Unroll{d.loop, d.factor}});
  }

  void operator()(const Skew& d) { add("skew the other way", {Skew{d.loop, d.by, -d.factor}}); }

private:
  void add(std::string intro, std::vector<Directive> directives) {
    found_.push_back({std::move(intro), std::move(directives)});
  }

  /// The temp through which two iterations meet.
  static std::optional<std::string> temp_in_the_way(const Refusal& refusal) {
    const auto* judged = std::get_if<Refusal::Judged>(&refusal.why);
    const auto* illegal = judged ? std::get_if<poly::Illegal>(&judged->verdict) : nullptr;
    if (illegal == nullptr)
      return std::nullopt;
    const uint32_t tensor = judged->scop.dependences[illegal->dependence].tensor;
    const program::Tensor& found = judged->scop.tensors[tensor];
    return found.role == program::Role::Temp ? std::optional(found.name) : std::nullopt;
  }

  /// Iterations of the loop get copies of the temps that are in the way, one temp after the other.
  void own_copies(const LoopName& loop) {
    constexpr size_t kMostTemps = 6;
    Schedule at = schedule_;
    std::vector<Directive> directives;
    std::vector<std::string> names;
    auto temp = temp_in_the_way(refusal_);
    while (temp && directives.size() < kMostTemps) {
      auto stored = apply(at, StoreAt{*temp, loop}, environment_);
      if (!stored)
        return;
      at = *std::move(stored);
      directives.push_back(StoreAt{*temp, loop});
      names.push_back("`" + *temp + "`");
      const auto next = apply(at, refusal_.directive, environment_);
      temp = next ? std::nullopt : temp_in_the_way(next.error());
      if (!next && !temp)
        return;
    }
    if (directives.empty() || temp)
      return;
    directives.push_back(refusal_.directive);
    add("give each iteration its own " + join(names, ", "), std::move(directives));
  }

  std::optional<LoopId> find(const LoopName& name) const {
    const auto found = resolve_loop(schedule_, name, "");
    return found ? std::optional(*found) : std::nullopt;
  }

  size_t depth(const LoopName& name) const {
    const auto loop = find(name);
    return loop ? *poly::depth_of(schedule_.order, *loop) : 0;
  }

  size_t place_index(LoopId loop) const {
    Order copy = schedule_.order;
    return place_of(copy, loop).index;
  }

  std::vector<LoopName> by_depth(std::vector<LoopName> names) const {
    std::stable_sort(names.begin(), names.end(),
                     [&](const LoopName& a, const LoopName& b) { return depth(a) < depth(b); });
    return names;
  }
  std::pair<LoopName, LoopName> by_depth(const LoopName& a, const LoopName& b) const {
    return depth(a) <= depth(b) ? std::pair(a, b) : std::pair(b, a);
  }

  /// Each pair (loop, by) skewed with the same factor, then `then`.
  void skews(const std::vector<std::pair<LoopName, LoopName>>& pairs, const Directive& then) {
    if (pairs.empty())
      return;
    for (const int64_t factor : kSkewFactors) {
      std::vector<Directive> directives;
      for (const auto& [loop, by] : pairs)
        directives.push_back(Skew{loop, by, factor});
      directives.push_back(then);
      add("skew first", std::move(directives));
    }
  }

  /// All statements below a loop moved by the same amount.
  Directive shift_all(LoopId loop, int64_t amount) const {
    const LoopName name = name_of_loop(schedule_.scop, schedule_.order, loop);
    const std::vector<poly::StmtId> below = poly::statements_below(schedule_.order, loop);
    if (!name.statement || below.size() == 1)
      return Shift{name, amount};
    Group group;
    for (const poly::StmtId statement : below)
      group.members.push_back(Shift{{schedule_.scop[statement].text.name, name.loop}, amount});
    return group;
  }

  /// Interchange the second nest, or the first, so that fusing pairs other loops.
  void fuse_after_interchange(const Fuse& d, LoopId a, LoopId b) {
    const auto only_child = [&](LoopId loop) -> std::optional<LoopId> {
      const poly::TreeNode* node = poly::find_node(schedule_.order, loop);
      if (node->body.size() != 1 || !node->body[0].is_loop())
        return std::nullopt;
      return node->body[0].loop();
    };
    const auto beside = [&](const LoopName& name, LoopId child) {
      return LoopName{name.statement, schedule_.order[child].name};
    };
    if (const auto child = only_child(b)) {
      const LoopName inner = beside(d.b, *child);
      add("interchange first", {Interchange{d.b, inner}, Fuse{d.a, inner}});
    }
    if (const auto child = only_child(a)) {
      const LoopName inner = beside(d.a, *child);
      add("interchange first", {Interchange{d.a, inner}, Fuse{inner, d.b}});
    }
  }

  bool is_reduction() const {
    const auto* judged = std::get_if<Refusal::Judged>(&refusal_.why);
    return judged && illegal_ && judged->scop.dependences[illegal_->dependence].is_reduction;
  }

  std::string update_name() const {
    const auto& scop = std::get<Refusal::Judged>(refusal_.why).scop;
    return scop[scop.dependences[illegal_->dependence].source].text.name;
  }

  /// Loops around or inside the same statements, outermost first.
  std::vector<LoopName> other_loops(const LoopName& name) const {
    std::vector<LoopName> others;
    const auto loop = find(name);
    if (!loop)
      return others;
    const Order& order = schedule_.order;
    for (const LoopId other : nameable_loops(order))
      if (other != *loop && (is_inside(order, other, *loop) || is_inside(order, *loop, other)) &&
          !order[other].marks.is_parallel)
        others.push_back(name_of_loop(schedule_.scop, order, other));
    return others;
  }

  const Schedule& schedule_;
  const Refusal& refusal_;
  const Environment& environment_;
  const poly::Illegal* illegal_ = nullptr;
  std::vector<Alternative> found_;
};

/// "distribute" of `distribute(j)`.
std::string name_of(const Directive& directive) {
  const std::string text = print(directive);
  return text.substr(0, text.find('('));
}

} // namespace

std::vector<Alternative> candidates(const Schedule& schedule, const Refusal& refusal,
                                    const Environment& environment) {
  if (const auto* shape = std::get_if<Refusal::Shape>(&refusal.why)) {
    std::vector<Alternative> found;
    for (const std::vector<Directive>& way : shape->ways_out)
      found.push_back({way.size() > 1 ? name_of(way.front()) + " first" : "instead", way});
    return found;
  }
  Candidates collector(schedule, refusal, environment);
  std::visit(collector, refusal.directive);
  return collector.take();
}

std::vector<Alternative> checked_alternatives(const Schedule& schedule, const Refusal& refusal,
                                              const Environment& environment) {
  std::vector<Alternative> legal;
  size_t tried = 0;
  for (Alternative& alternative : candidates(schedule, refusal, environment)) {
    if (legal.size() == kMostShown || tried++ == kMostTried)
      break;
    // One of a kind is enough: the smallest factor or amount that works.
    const bool is_repeated = std::any_of(legal.begin(), legal.end(), [&](const Alternative& l) {
      return l.intro == alternative.intro;
    });
    if (!is_repeated && apply(schedule, alternative.directives, environment))
      legal.push_back(std::move(alternative));
  }
  return legal;
}

} // namespace kawara::schedule
