#include "schedule/auto/nest/register_tiles.h"

#include "schedule/auto/nest/nest_loops.h"
#include "target/cpu.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

class RegisterPlanner {
public:
  explicit RegisterPlanner(const Site& site)
      : site_(site), nest_(*site.nest()), facts_(site.facts()), cpu_(site.environment().cpu),
        loops_(nest_loops(site)) {}

  /// Every operand is used again along some loop: more work than data, as in matrix products.
  bool is_contraction() const {
    if (!loops_.vector || !loops_.rows || loops_.rest.empty() || nest_.statements.size() != 1)
      return false;
    const bool reduces = std::any_of(loops_.rest.begin(), loops_.rest.end(), [&](size_t k) {
      return facts_.strides[k].writes_same_element;
    });
    return reduces && facts_.is_parallel[*loops_.vector] &&
           facts_.strides[*loops_.vector].far_writes == 0 &&
           facts_.extents[*loops_.vector] >= 2 * loops_.lanes && facts_.extents[*loops_.rows] >= 4;
  }

  bool reduces(size_t k) const { return facts_.strides[k].writes_same_element; }

  /// Rows and lanes that fill the register file: rows x (lanes / W) accumulators and operands.
  int64_t register_rows() const { return cpu_.vector_registers >= 32 ? 8 : 4; }
  int64_t register_lanes() const { return (cpu_.vector_registers >= 32 ? 3 : 2) * loops_.lanes; }

  /// Outer tiles for the caches, inner tiles for the registers, the reduction between them.
  std::vector<Directive> register_tiles() const {
    const size_t r = *loops_.rows;
    const size_t v = *loops_.vector;
    const size_t k = longest_rest();
    const int64_t rows = register_rows();
    const int64_t lanes = register_lanes();
    const int64_t depth = 128;
    // The operand that is walked along both the reduction and the lanes stays in half of L2.
    const int64_t wide = std::max<int64_t>(
        lanes,
        cpu_.caches.l2 / 2 / (depth * widest_bytes(site_.schedule(), nest_)) / lanes * lanes);
    const int64_t high = 8 * rows;
    std::vector<Directive> plan{Split{loop_name(site_, r), high},
                                Split{loop_name(site_, v), std::min<int64_t>(wide, 32 * lanes)}};
    const bool splits_depth = facts_.extents[k] > depth + depth / 2;
    if (splits_depth)
      plan.push_back(Split{loop_name(site_, k), depth});
    plan.push_back(Split{loop_name(site_, r, ".1"), rows});
    plan.push_back(Split{loop_name(site_, v, ".1"), lanes});
    Reorder order;
    for (size_t q = facts_.fixed; q < nest_.loops.size(); ++q)
      if (q != r && q != v && !facts_.strides[q].writes_same_element)
        order.loops.push_back(loop_name(site_, q));
    order.loops.push_back(loop_name(site_, r, ".0"));
    order.loops.push_back(loop_name(site_, v, ".0"));
    if (splits_depth)
      order.loops.push_back(loop_name(site_, k, ".0"));
    order.loops.push_back(loop_name(site_, r, ".1.0"));
    order.loops.push_back(loop_name(site_, v, ".1.0"));
    for (const size_t q : loops_.rest)
      if (facts_.strides[q].writes_same_element)
        order.loops.push_back(q == k && splits_depth ? loop_name(site_, q, ".1")
                                                     : loop_name(site_, q));
    order.loops.push_back(loop_name(site_, r, ".1.1"));
    order.loops.push_back(loop_name(site_, v, ".1.1"));
    const LoopName outermost = order.loops.front();
    plan.push_back(std::move(order));
    plan.push_back(Unroll{loop_name(site_, r, ".1.1"), std::nullopt});
    plan.push_back(Vectorize{loop_name(site_, v, ".1.1"), loops_.lanes});
    plan.push_back(Unroll{loop_name(site_, v, ".1.1"), std::nullopt});
    if (loops_.may_share)
      plan.push_back(Parallel{outermost});
    return plan;
  }

  size_t longest_rest() const {
    return *std::max_element(loops_.rest.begin(), loops_.rest.end(), [&](size_t a, size_t b) {
      return std::pair(facts_.strides[a].writes_same_element, facts_.extents[a]) <
             std::pair(facts_.strides[b].writes_same_element, facts_.extents[b]);
    });
  }

  /// Short rows are added up element by element: there are registers for all the sums. Loops
  /// outside, each with sums of its own, stay there; narrow vectors walk along such rows with
  /// several of them at once.
  std::optional<size_t> sums_columns() const {
    constexpr int64_t kShortestSum = 8, kMostSums = 16;
    if (!loops_.vector || reduces(*loops_.vector) || nest_.statements.size() != 1 ||
        facts_.fixed != 0)
      return std::nullopt;
    const size_t v = *loops_.vector;
    const Strides& lanes = facts_.strides[v];
    std::optional<size_t> sum;
    bool has_others = false;
    for (size_t k = 0; k < nest_.loops.size(); ++k)
      if (k != v && reduces(k) && !sum)
        sum = k;
      else if (k != v) {
        if (!facts_.is_parallel[k] || facts_.strides[k].none != 0)
          return std::nullopt;
        has_others = true;
      }
    const bool is_line = cpu_.vector_bytes >= cpu_.caches.line;
    const bool is_short =
        sum && (is_line || !has_others) && facts_.is_parallel[v] && lanes.far == 0 &&
        lanes.none == 0 && facts_.extents[*sum] >= kShortestSum &&
        facts_.extents[v] >= loops_.lanes && facts_.extents[v] <= kMostSums * loops_.lanes;
    return is_short ? sum : std::nullopt;
  }

  std::vector<Directive> columns(size_t sum) const {
    const LoopName elements = loop_name(site_, *loops_.vector);
    Reorder order;
    for (size_t k = 0; k < nest_.loops.size(); ++k)
      if (k != sum && k != *loops_.vector)
        order.loops.push_back(loop_name(site_, k));
    const bool is_shared = loops_.may_share && !order.loops.empty();
    const LoopName outermost = is_shared ? order.loops.front() : elements;
    order.loops.push_back(loop_name(site_, sum));
    order.loops.push_back(elements);
    std::vector<Directive> plan{std::move(order), Vectorize{elements, loops_.lanes},
                                Unroll{elements, std::nullopt}};
    if (is_shared)
      plan.emplace_back(Parallel{outermost});
    return plan;
  }

  const Site& site_;
  const Nest& nest_;
  const NestFacts& facts_;
  const target::Cpu& cpu_;
  const NestLoops& loops_;
};

} // namespace

void register_tiles(const Site& site, const Offer& offer) {
  if (nest_loops(site).kind != NestKind::Plain)
    return;
  const RegisterPlanner planner(site);
  if (planner.is_contraction())
    offer({"register tiles", site.nest()->statements, planner.register_tiles()});
}

void short_column_sums(const Site& site, const Offer& offer) {
  if (nest_loops(site).kind != NestKind::Plain)
    return;
  const RegisterPlanner planner(site);
  if (const auto sum = planner.sums_columns())
    offer({"sums of columns in registers", site.nest()->statements, planner.columns(*sum)});
}

} // namespace kawara::schedule
