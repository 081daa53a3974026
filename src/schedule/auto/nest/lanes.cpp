#include "schedule/auto/nest/lanes.h"

#include "schedule/auto/facts/function_latency.h"
#include "schedule/auto/facts/vector_loop.h"
#include "schedule/auto/nest/nest_loops.h"
#include "target/cpu.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

constexpr int64_t kLargeResult = int64_t{16} << 20;
/// Accumulators of a reduction in lanes, each of which has some vectors to take.
constexpr int64_t kFewVectorsEach = 4;
/// Elements of a sum from which lanes are chosen here, however wide they are.
constexpr int64_t kShortSum = 64;

/// Rows from which on each is a stream of its own for the hardware that reads ahead: some pages.
constexpr int64_t kLongRowBytes = 16384;
/// A tensor so many times as large as the L2 comes from further away.
constexpr int64_t kFarElements = 4;

class LanePlanner {
public:
  explicit LanePlanner(const Site& site)
      : site_(site), schedule_(site.schedule()), nest_(*site.nest()), facts_(site.facts()),
        cpu_(site.environment().cpu), loops_(nest_loops(site)) {}

  /// Lanes innermost, several iterations of the loop outside them at once, so that what stays in
  /// place along that loop is loaded once for all of them. Functions have vectors side by side
  /// already.
  std::vector<Directive> jammed() const {
    const size_t u = loops_.rest.back();
    const size_t v = *loops_.vector;
    if (facts_.strides[u].none == 0 || facts_.extents[u] < 8 || !facts_.is_parallel[v] ||
        u == loops_.parallel.value_or(nest_.loops.size()) || computes_functions(schedule_, nest_) ||
        streams_rows(u, v))
      return lanes(true);
    std::vector<Directive> plan = lanes(true);
    const bool is_cut = std::holds_alternative<Split>(plan.front());
    const LoopName lane_loop = is_cut ? loop_name(site_, v, ".1") : loop_name(site_, v);
    const auto vectorize = std::find_if(plan.begin(), plan.end(), [](const Directive& d) {
      return std::holds_alternative<Vectorize>(d);
    });
    const int64_t width = *std::get<Vectorize>(*vectorize).width;
    LoopName outer_lanes = lane_loop, inner_lanes = lane_loop;
    outer_lanes.loop += ".0";
    inner_lanes.loop += ".1";
    *vectorize = Vectorize{inner_lanes, width};
    const std::vector<Directive> jam{
        Split{loop_name(site_, u), 4}, Split{lane_loop, width},
        Reorder{{loop_name(site_, u, ".0"), outer_lanes, loop_name(site_, u, ".1"), inner_lanes}},
        Unroll{loop_name(site_, u, ".1"), std::nullopt}};
    plan.insert(vectorize, jam.begin(), jam.end());
    return plan;
  }

  /// Threads share parts of the lanes where there is nothing else.
  bool cuts_lanes(size_t v) const {
    return loops_.may_share && !loops_.parallel && facts_.is_parallel[v] &&
           facts_.extents[v] >= kLongLanes;
  }

  /// Short rows that come from memory are one stream; several at once would be as many, each of
  /// which ends soon. Rows that other iterations read again are none.
  bool streams_rows(size_t u, size_t v) const {
    return !cuts_lanes(v) &&
           std::any_of(facts_.accesses.begin(), facts_.accesses.end(), [&](const LoopAccess& a) {
             const program::Tensor& tensor = schedule_.scop.tensors[a.tensor];
             const bool is_read_once =
                 std::find(a.moves.begin(), a.moves.end(), Move::None) == a.moves.end();
             return !a.is_write && a.statement == nest_.statements.front() && is_read_once &&
                    a.moves[u] == Move::Far && a.moves[v] == Move::Unit &&
                    facts_.extents[v] * scalar::bytes_of(tensor.elem) < kLongRowBytes &&
                    bytes_of_tensor(tensor) > kFarElements * cpu_.caches.l2;
           });
  }

  std::vector<Directive> lanes(bool with_threads) const {
    const size_t v = *loops_.vector;
    const size_t n = nest_.loops.size();
    std::vector<Directive> plan;
    const bool is_reduction = !facts_.is_parallel[v];
    const bool is_cut = with_threads && cuts_lanes(v);
    const LoopName lane_loop = is_cut ? loop_name(site_, v, ".1") : loop_name(site_, v);
    if (is_cut)
      plan.push_back(Split{loop_name(site_, v), chunk(facts_.extents[v])});
    Reorder order;
    if (is_cut)
      order.loops.push_back(loop_name(site_, v, ".0"));
    if (loops_.parallel && *loops_.parallel >= facts_.fixed)
      order.loops.push_back(loop_name(site_, *loops_.parallel));
    for (size_t k = facts_.fixed; k < n; ++k)
      if (k != v && k != loops_.parallel.value_or(n))
        order.loops.push_back(loop_name(site_, k));
    order.loops.push_back(lane_loop);
    if (order.loops.size() > 1)
      plan.push_back(order);
    if (!is_reduction || is_long_reduction(v))
      plan.push_back(
          Vectorize{lane_loop, is_reduction ? lanes_of_reduction(v) : width_of_lanes(v)});
    if (with_threads && loops_.may_share) {
      if (is_cut)
        plan.push_back(Parallel{loop_name(site_, v, ".0")});
      else if (loops_.parallel)
        plan.push_back(Parallel{loop_name(site_, *loops_.parallel)});
    }
    return plan;
  }

  /// A short sum stays unmarked: the code generator may reassociate it, and picks lanes and
  /// accumulators to fit; with wide vectors it leaves much of a middle-sized one over. A greatest
  /// or smallest value it leaves as one chain, because of NaN.
  bool is_long_reduction(size_t v) const {
    // Left alone, rows of such a sum run in lanes and are gathered element by element, where
    // vectors are whole lines (docs/notes/short_sums.md).
    const bool is_line = cpu_.vector_bytes >= cpu_.caches.line;
    const int64_t many = is_line ? loops_.lanes : std::min<int64_t>(16 * loops_.lanes, kShortSum);
    const int64_t many_chosen = is_line ? loops_.lanes / 2 + 1 : kFewVectorsEach * loops_.lanes;
    return facts_.strides[v].far == 0 && (computes_functions(schedule_, nest_) ||
                                          facts_.extents[v] >= (chooses() ? many_chosen : many));
  }

  /// The greatest or smallest of the loop's values.
  bool chooses() const {
    return std::all_of(nest_.statements.begin(), nest_.statements.end(), [&](poly::StmtId id) {
      const scalar::ReduceOp op = schedule_.scop[id].text.op;
      return op == scalar::ReduceOp::Max || op == scalar::ReduceOp::Min;
    });
  }

  /// Accumulators of a reduction. Lanes of a whole line take as long to be combined as some vectors
  /// to be compared, with a test for NaN at each step: the greatest of 24 elements took 13 ns in 16
  /// lanes and 7 in 8 (one Cascade Lake core, 19 November 2026).
  int64_t lanes_of_reduction(size_t v) const {
    constexpr int64_t kShortChoice = 6;
    const bool is_short = chooses() && facts_.extents[v] < kShortChoice * loops_.lanes &&
                          cpu_.vector_bytes >= cpu_.caches.line &&
                          !computes_functions(schedule_, nest_);
    return is_short ? loops_.lanes / 2 : vectors_at_once(v, true) * loops_.lanes;
  }

  /// What is gathered is taken one by one in the last iterations that fill no vector: short rows
  /// have narrower ones, so that few are left. Rows of 10 reflected elements took 11.8 us in lanes
  /// of 16 and 0.8 in lanes of 8 (507 rows, one Cascade Lake core, 19 November 2026).
  int64_t width_of_lanes(size_t v) const {
    constexpr int64_t kFewVectors = 4, kNarrowest = 4;
    const int64_t extent = facts_.extents[v], widest = vectors_at_once(v, false) * loops_.lanes;
    if ((facts_.strides[v].far == 0 && !turns_back(schedule_, nest_, v)) || facts_.is_open[v] ||
        extent >= kFewVectors * widest || computes_functions(schedule_, nest_))
      return widest;
    const auto steps = [&](int64_t width) {
      const int64_t vectors = (width + loops_.lanes - 1) / loops_.lanes;
      return extent / width * vectors + extent % width;
    };
    int64_t best = widest;
    for (int64_t width = widest / 2; width >= kNarrowest; width /= 2)
      if (steps(width) < steps(best))
        best = width;
    return best;
  }

  /// Vectors side by side hide latency: two of plain arithmetic, or a cache line of a large result,
  /// four where each waits for its own last result, more of functions.
  int64_t vectors_at_once(size_t v, bool is_reduction) const {
    constexpr int64_t kPlain = 2;
    int64_t functions = 0;
    for (const poly::StmtId id : nest_.statements)
      functions = std::max(functions, vectors_of_functions(schedule_, id, cpu_, loops_.lanes));
    if (is_reduction && functions * loops_.lanes > facts_.extents[v])
      functions = 0;
    if (is_reduction && functions > 0)
      return functions;
    if (is_reduction)
      return std::clamp<int64_t>(facts_.extents[v] / (kFewVectorsEach * loops_.lanes), 1, 4);
    const int64_t plain =
        makes_large_result() ? std::max(kPlain, cpu_.caches.line / cpu_.vector_bytes) : kPlain;
    const int64_t most = std::max(plain, functions);
    return facts_.extents[v] >= most * loops_.lanes ? most : kPlain;
  }

  /// Larger than caches: whole lines of it can go past them.
  bool makes_large_result() const {
    for (const poly::StmtId id : nest_.statements) {
      const program::Tensor& result = schedule_.scop.tensors[schedule_.scop[id].text.tensor];
      if (result.role == program::Role::Output && bytes_of_tensor(result) >= kLargeResult)
        return true;
    }
    return false;
  }

  /// A share of the lane loop for a thread: even over the cores, in whole vectors, within L1.
  int64_t chunk(int64_t extent) const {
    const int64_t fits = cpu_.caches.l1d / 4 / widest_bytes(schedule_, nest_);
    const int64_t even = (extent + cpu_.cores - 1) / cpu_.cores;
    const int64_t unit = 8 * loops_.lanes;
    return std::max(unit, std::min(fits, even) / unit * unit);
  }

  const Site& site_;
  const Schedule& schedule_;
  const Nest& nest_;
  const NestFacts& facts_;
  const target::Cpu& cpu_;
  const NestLoops& loops_;
};

Candidate of_nest(const Site& site, std::string rule, std::vector<Directive> plan) {
  return {std::move(rule), site.nest()->statements, std::move(plan)};
}

} // namespace

void lanes_and_threads(const Site& site, const Offer& offer) {
  const NestLoops& loops = nest_loops(site);
  if (loops.kind != NestKind::Plain || !loops.vector)
    return;
  const LanePlanner planner(site);
  if (!offer(of_nest(site, "lanes and threads", planner.lanes(true))))
    offer(of_nest(site, "lanes", planner.lanes(false)));
}

void unroll_and_jam(const Site& site, const Offer& offer) {
  const NestLoops& loops = nest_loops(site);
  if (loops.kind != NestKind::Plain || !loops.vector || loops.rest.empty())
    return;
  const LanePlanner planner(site);
  if (auto plan = planner.jammed(); plan != planner.lanes(true))
    offer(of_nest(site, "unroll-and-jam", std::move(plan)));
}

void columns_row_by_row(const Site& site, const Offer& offer) {
  const NestLoops& loops = nest_loops(site);
  if (loops.kind != NestKind::Columns)
    return;
  const LanePlanner planner(site);
  const bool bounds = loops.columns->bounds_exponentials;
  if (!offer(of_nest(site, "column sums", bounds ? planner.lanes(true) : planner.jammed())) &&
      !offer(of_nest(site, "lanes and threads", planner.lanes(true))))
    offer(of_nest(site, "lanes", planner.lanes(false)));
}

void lanes_that_gather(const Site& site, const Offer& offer) {
  const NestLoops& loops = nest_loops(site);
  const auto& statements = site.nest()->statements;
  const bool has_ranges = std::any_of(statements.begin(), statements.end(), [&](poly::StmtId id) {
    return site.schedule().scop[id].text.over.has_value();
  });
  if (loops.kind != NestKind::ReadsIndices || has_ranges || !loops.vector ||
      !site.facts().is_parallel[*loops.vector])
    return;
  const LanePlanner planner(site);
  if (!offer(of_nest(site, "lanes that gather, and threads", planner.lanes(true))))
    offer(of_nest(site, "lanes that gather", planner.lanes(false)));
}

void threads_alone(const Site& site, const Offer& offer) {
  const NestLoops& loops = nest_loops(site);
  if (!loops.may_share || loops.kind == NestKind::Columns)
    return;
  const NestFacts& facts = site.facts();
  std::optional<size_t> shared;
  if (loops.kind == NestKind::Plain)
    shared = loops.parallel;
  else
    for (size_t k = 0; !shared && k < facts.extents.size(); ++k) {
      // The outermost loop that threads can share and that is not marked yet.
      const poly::Marks& marks = site.schedule().order[site.nest()->loops[k]].marks;
      if (facts.is_parallel[k] && facts.extents[k] > 1 && marks.vector_width == 0 &&
          marks.unroll == 0)
        shared = k;
    }
  if (shared)
    offer(of_nest(site, "threads", {Parallel{loop_name(site, *shared)}}));
}

} // namespace kawara::schedule
