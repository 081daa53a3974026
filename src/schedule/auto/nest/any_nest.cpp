#include "schedule/auto/nest/any_nest.h"

#include "schedule/auto/cost/parallel_worth.h"
#include "schedule/auto/facts/function_latency.h"
#include "schedule/auto/facts/vector_loop.h"
#include "schedule/auto/nest/indexed.h"
#include "schedule/auto/nest/recurrence.h"
#include "schedule/auto/nest/stencil.h"
#include "schedule/auto/nest/transpose.h"
#include "schedule/auto/rowwise/reduce_columns.h"
#include "schedule/tree/resolve.h"
#include "target/cpu.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;

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

/// Loops by the part they play in a nest.
struct Parts {
  std::optional<size_t> vector;   ///< runs in lanes
  std::optional<size_t> rows;     ///< parallel, held in registers together with the lanes
  std::optional<size_t> parallel; ///< spread over threads
  std::vector<size_t> rest;       ///< movable, none of the above, in source order
};

/// A parallel loop besides the vector loop along which some operand stays in place.
std::optional<size_t> best_row_loop(const NestFacts& facts, size_t vector) {
  std::optional<size_t> best;
  for (size_t k = facts.fixed; k < facts.extents.size(); ++k) {
    if (k == vector || !facts.is_parallel[k] || facts.strides[k].none == 0 ||
        facts.strides[k].writes_same_element)
      continue;
    if (!best || facts.extents[k] > facts.extents[*best])
      best = k;
  }
  return best;
}

Parts parts_of(const NestFacts& facts, int64_t cores) {
  Parts parts;
  const size_t n = facts.extents.size();
  parts.vector = best_vector_loop(facts);
  if (parts.vector)
    parts.rows = best_row_loop(facts, *parts.vector);
  std::vector<size_t> others;
  for (size_t k = 0; k < n; ++k)
    if (k != parts.vector.value_or(n))
      others.push_back(k);
  parts.parallel = best_shared_loop(facts, others, cores);
  for (size_t k = facts.fixed; k < n; ++k)
    if (k != parts.vector.value_or(n) && k != parts.rows.value_or(n))
      parts.rest.push_back(k);
  return parts;
}

/// Builds directive lists over the names of a nest's loops.
class NestPlanner {
public:
  NestPlanner(const Schedule& schedule, const Nest& nest, const NestFacts& facts,
              const Environment& environment, bool may_be_parallel)
      : schedule_(schedule), nest_(nest), facts_(facts), cpu_(environment.cpu),
        parts_(parts_of(facts, environment.cpu.cores)),
        may_be_parallel_(may_be_parallel && is_worth_threads(steps())) {}

  std::vector<NestPlan> plans() const {
    if (depends_on_data(schedule_, nest_))
      return indexed_plans();
    std::vector<NestPlan> out;
    if (has_lanes()) {
      if (const auto shared = shared_loop())
        out.push_back({"threads", {Parallel{name(*shared)}}});
      return out;
    }
    if (const auto columns = walked_columns())
      return {{"column sums", columns->bounds_exponentials ? lanes(true) : jammed()},
              {"lanes and threads", lanes(true)},
              {"lanes", lanes(false)}};
    if (const auto small = window())
      out.push_back({"window in registers", window_directives(*small)});
    if (is_contraction())
      out.push_back({"register tiles", register_tiles()});
    if (auto transposed = transposed_plan(schedule_, nest_, facts_, cpu_, may_be_parallel_);
        !transposed.empty())
      out.push_back({"transpose in squares", std::move(transposed)});
    if (auto scan = scan_plan(schedule_, nest_, facts_, cpu_, may_be_parallel_); !scan.empty())
      out.push_back({"scan in lanes", std::move(scan)});
    if (auto rows = recurrence_plan(schedule_, nest_, facts_, may_be_parallel_); !rows.empty())
      out.push_back({"rows of a recurrence side by side", std::move(rows)});
    if (const auto sum = sums_columns())
      out.push_back({"sums of columns in registers", columns(*sum)});
    if (parts_.vector && !parts_.rest.empty())
      if (auto plan = jammed(); plan != lanes(true))
        out.push_back({"unroll-and-jam", std::move(plan)});
    if (parts_.vector) {
      out.push_back({"lanes and threads", lanes(true)});
      out.push_back({"lanes", lanes(false)});
    }
    if (may_be_parallel_ && parts_.parallel)
      out.push_back({"threads", {Parallel{name(*parts_.parallel)}}});
    return out;
  }

  std::optional<SmallWindow> window() const {
    if (walked_columns())
      return std::nullopt;
    if (auto transposed =
            transposed_window(schedule_, nest_, facts_, native_lanes(), cpu_.vector_registers))
      return transposed;
    const auto lanes = window_lanes(schedule_, nest_, facts_, parts_.vector, cpu_);
    return lanes ? small_window(schedule_, nest_, facts_, *lanes, native_lanes(), cpu_.cores,
                                cpu_.vector_bytes >= cpu_.caches.line)
                 : std::nullopt;
  }

private:
  /// Lanes that gather, and threads. A loop over a range that is read is nothing for lanes.
  std::vector<NestPlan> indexed_plans() const {
    const bool has_ranges =
        std::any_of(nest_.statements.begin(), nest_.statements.end(),
                    [&](poly::StmtId id) { return schedule_.scop[id].text.over.has_value(); });
    std::vector<NestPlan> out;
    if (parts_.vector && facts_.is_parallel[*parts_.vector] && !has_ranges) {
      out.push_back({"lanes that gather, and threads", lanes(true)});
      out.push_back({"lanes that gather", lanes(false)});
    }
    if (const auto shared = shared_loop())
      out.push_back({"threads", {Parallel{name(*shared)}}});
    return out;
  }

  int64_t work() const {
    int64_t product = 1;
    for (const int64_t e : facts_.extents)
      product = std::min<int64_t>(product * std::max<int64_t>(e, 1), int64_t{1} << 40);
    return product;
  }

  double steps() const {
    double sum = 0;
    for (const poly::StmtId id : nest_.statements)
      sum += steps_of(schedule_, id, work(), parts_.vector ? native_lanes() : 1);
    return sum;
  }

  LoopName name(size_t k) const {
    return name_of_loop(schedule_.scop, schedule_.order, nest_.loops[k]);
  }
  LoopName part(size_t k, const std::string& suffix) const {
    LoopName n = name(k);
    n.loop += suffix;
    return n;
  }

  int64_t element_bytes() const { return widest_bytes(schedule_, nest_); }

  /// Somebody chose lanes already: a copy that came with a product's plan.
  bool has_lanes() const {
    return std::any_of(nest_.loops.begin(), nest_.loops.end(),
                       [&](LoopId loop) { return schedule_.order[loop].marks.vector_width != 0; });
  }

  /// The outermost loop that threads can share and that is not marked yet.
  std::optional<size_t> shared_loop() const {
    for (size_t k = 0; may_be_parallel_ && k < nest_.loops.size(); ++k) {
      const poly::Marks& marks = schedule_.order[nest_.loops[k]].marks;
      if (facts_.is_parallel[k] && facts_.extents[k] > 1 && marks.vector_width == 0 &&
          marks.unroll == 0)
        return k;
    }
    return std::nullopt;
  }

  /// Columns of what other nests touch, too: rows come one after the other.
  std::optional<ColumnSums> walked_columns() const {
    const auto columns = column_sums(schedule_, nest_, facts_);
    return columns && parts_.vector == columns->lanes ? columns : std::nullopt;
  }

  int64_t native_lanes() const { return target::vector_lanes(cpu_, element_bytes()); }

  /// Every operand is used again along some loop: more work than data, as in matrix products.
  bool is_contraction() const {
    if (!parts_.vector || !parts_.rows || parts_.rest.empty() || nest_.statements.size() != 1)
      return false;
    const bool reduces = std::any_of(parts_.rest.begin(), parts_.rest.end(), [&](size_t k) {
      return facts_.strides[k].writes_same_element;
    });
    return reduces && facts_.is_parallel[*parts_.vector] &&
           facts_.strides[*parts_.vector].far_writes == 0 &&
           facts_.extents[*parts_.vector] >= 2 * native_lanes() &&
           facts_.extents[*parts_.rows] >= 4;
  }

  bool reduces(size_t k) const { return facts_.strides[k].writes_same_element; }

  std::vector<Directive> window_directives(const SmallWindow& window) const {
    std::vector<Directive> plan = window_plan(schedule_, window);
    if (may_be_parallel_)
      plan.emplace_back(Parallel{window.outer.empty()       ? part(window.lanes, ".0")
                                 : window.rows == size_t{0} ? part(window.outer.front(), ".0")
                                                            : name(window.outer.front())});
    return plan;
  }

  /// Short rows are added up element by element: there are registers for all the sums. Loops
  /// outside, each with sums of its own, stay there; narrow vectors walk along such rows with
  /// several of them at once.
  std::optional<size_t> sums_columns() const {
    constexpr int64_t kShortestSum = 8, kMostSums = 16;
    if (!parts_.vector || reduces(*parts_.vector) || nest_.statements.size() != 1 ||
        facts_.fixed != 0)
      return std::nullopt;
    const size_t v = *parts_.vector;
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
        facts_.extents[v] >= native_lanes() && facts_.extents[v] <= kMostSums * native_lanes();
    return is_short ? sum : std::nullopt;
  }

  std::vector<Directive> columns(size_t sum) const {
    const LoopName elements = name(*parts_.vector);
    Reorder order;
    for (size_t k = 0; k < nest_.loops.size(); ++k)
      if (k != sum && k != *parts_.vector)
        order.loops.push_back(name(k));
    const bool is_shared = may_be_parallel_ && !order.loops.empty();
    const LoopName outermost = is_shared ? order.loops.front() : elements;
    order.loops.push_back(name(sum));
    order.loops.push_back(elements);
    std::vector<Directive> plan{std::move(order), Vectorize{elements, native_lanes()},
                                Unroll{elements, std::nullopt}};
    if (is_shared)
      plan.emplace_back(Parallel{outermost});
    return plan;
  }

  /// Rows and lanes that fill the register file: rows x (lanes / W) accumulators and operands.
  int64_t register_rows() const { return cpu_.vector_registers >= 32 ? 8 : 4; }
  int64_t register_lanes() const { return (cpu_.vector_registers >= 32 ? 3 : 2) * native_lanes(); }

  /// Outer tiles for the caches, inner tiles for the registers, the reduction between them.
  std::vector<Directive> register_tiles() const {
    const size_t r = *parts_.rows;
    const size_t v = *parts_.vector;
    const size_t k = longest_rest();
    const int64_t rows = register_rows();
    const int64_t lanes = register_lanes();
    const int64_t depth = 128;
    // The operand that is walked along both the reduction and the lanes stays in half of L2.
    const int64_t wide =
        std::max<int64_t>(lanes, cpu_.caches.l2 / 2 / (depth * element_bytes()) / lanes * lanes);
    const int64_t high = 8 * rows;
    std::vector<Directive> plan{Split{name(r), high},
                                Split{name(v), std::min<int64_t>(wide, 32 * lanes)}};
    const bool splits_depth = facts_.extents[k] > depth + depth / 2;
    if (splits_depth)
      plan.push_back(Split{name(k), depth});
    plan.push_back(Split{part(r, ".1"), rows});
    plan.push_back(Split{part(v, ".1"), lanes});
    Reorder order;
    for (size_t q = facts_.fixed; q < nest_.loops.size(); ++q)
      if (q != r && q != v && !facts_.strides[q].writes_same_element)
        order.loops.push_back(name(q));
    order.loops.push_back(part(r, ".0"));
    order.loops.push_back(part(v, ".0"));
    if (splits_depth)
      order.loops.push_back(part(k, ".0"));
    order.loops.push_back(part(r, ".1.0"));
    order.loops.push_back(part(v, ".1.0"));
    for (const size_t q : parts_.rest)
      if (facts_.strides[q].writes_same_element)
        order.loops.push_back(q == k && splits_depth ? part(q, ".1") : name(q));
    order.loops.push_back(part(r, ".1.1"));
    order.loops.push_back(part(v, ".1.1"));
    const LoopName outermost = order.loops.front();
    plan.push_back(std::move(order));
    plan.push_back(Unroll{part(r, ".1.1"), std::nullopt});
    plan.push_back(Vectorize{part(v, ".1.1"), native_lanes()});
    plan.push_back(Unroll{part(v, ".1.1"), std::nullopt});
    if (may_be_parallel_)
      plan.push_back(Parallel{outermost});
    return plan;
  }

  size_t longest_rest() const {
    return *std::max_element(parts_.rest.begin(), parts_.rest.end(), [&](size_t a, size_t b) {
      return std::pair(facts_.strides[a].writes_same_element, facts_.extents[a]) <
             std::pair(facts_.strides[b].writes_same_element, facts_.extents[b]);
    });
  }

  /// Lanes innermost, several iterations of the loop outside them at once, so that what stays in
  /// place along that loop is loaded once for all of them. Functions have vectors side by side
  /// already.
  std::vector<Directive> jammed() const {
    const size_t u = parts_.rest.back();
    const size_t v = *parts_.vector;
    if (facts_.strides[u].none == 0 || facts_.extents[u] < 8 || !facts_.is_parallel[v] ||
        u == parts_.parallel.value_or(nest_.loops.size()) || computes_functions(schedule_, nest_) ||
        streams_rows(u, v))
      return lanes(true);
    std::vector<Directive> plan = lanes(true);
    const bool is_cut = std::holds_alternative<Split>(plan.front());
    const LoopName lane_loop = is_cut ? part(v, ".1") : name(v);
    const auto vectorize = std::find_if(plan.begin(), plan.end(), [](const Directive& d) {
      return std::holds_alternative<Vectorize>(d);
    });
    const int64_t width = *std::get<Vectorize>(*vectorize).width;
    LoopName outer_lanes = lane_loop, inner_lanes = lane_loop;
    outer_lanes.loop += ".0";
    inner_lanes.loop += ".1";
    *vectorize = Vectorize{inner_lanes, width};
    const std::vector<Directive> jam{
        Split{name(u), 4}, Split{lane_loop, width},
        Reorder{{part(u, ".0"), outer_lanes, part(u, ".1"), inner_lanes}},
        Unroll{part(u, ".1"), std::nullopt}};
    plan.insert(vectorize, jam.begin(), jam.end());
    return plan;
  }

  /// Threads share parts of the lanes where there is nothing else.
  bool cuts_lanes(size_t v) const {
    return may_be_parallel_ && !parts_.parallel && facts_.is_parallel[v] &&
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
    const size_t v = *parts_.vector;
    const size_t n = nest_.loops.size();
    std::vector<Directive> plan;
    const bool is_reduction = !facts_.is_parallel[v];
    const bool is_cut = with_threads && cuts_lanes(v);
    const LoopName lane_loop = is_cut ? part(v, ".1") : name(v);
    if (is_cut)
      plan.push_back(Split{name(v), chunk(facts_.extents[v])});
    Reorder order;
    if (is_cut)
      order.loops.push_back(part(v, ".0"));
    if (parts_.parallel && *parts_.parallel >= facts_.fixed)
      order.loops.push_back(name(*parts_.parallel));
    for (size_t k = facts_.fixed; k < n; ++k)
      if (k != v && k != parts_.parallel.value_or(n))
        order.loops.push_back(name(k));
    order.loops.push_back(lane_loop);
    if (order.loops.size() > 1)
      plan.push_back(order);
    if (!is_reduction || is_long_reduction(v))
      plan.push_back(Vectorize{lane_loop, vectors_at_once(v, is_reduction) * native_lanes()});
    if (with_threads && may_be_parallel_) {
      if (is_cut)
        plan.push_back(Parallel{part(v, ".0")});
      else if (parts_.parallel)
        plan.push_back(Parallel{name(*parts_.parallel)});
    }
    return plan;
  }

  /// A short sum stays unmarked: the code generator may reassociate it, and picks lanes and
  /// accumulators to fit; with wide vectors it leaves much of a middle-sized one over. A greatest
  /// or smallest value it leaves as one chain, because of NaN.
  bool is_long_reduction(size_t v) const {
    bool chooses = true;
    for (const poly::StmtId id : nest_.statements) {
      const scalar::ReduceOp op = schedule_.scop[id].text.op;
      chooses = chooses && (op == scalar::ReduceOp::Max || op == scalar::ReduceOp::Min);
    }
    // Left alone, rows of such a sum run in lanes and are gathered element by element, where
    // vectors are whole lines (docs/notes/short_sums.md).
    const bool is_line = cpu_.vector_bytes >= cpu_.caches.line;
    const int64_t many =
        is_line ? native_lanes() : std::min<int64_t>(16 * native_lanes(), kShortSum);
    return facts_.strides[v].far == 0 &&
           (computes_functions(schedule_, nest_) ||
            facts_.extents[v] >= (chooses ? kFewVectorsEach * native_lanes() : many));
  }

  /// Vectors side by side hide latency: two of plain arithmetic, or a cache line of a large result,
  /// four where each waits for its own last result, more of functions.
  int64_t vectors_at_once(size_t v, bool is_reduction) const {
    constexpr int64_t kPlain = 2;
    int64_t functions = 0;
    for (const poly::StmtId id : nest_.statements)
      functions = std::max(functions, vectors_of_functions(schedule_, id, cpu_, native_lanes()));
    if (is_reduction && functions * native_lanes() > facts_.extents[v])
      functions = 0;
    if (is_reduction && functions > 0)
      return functions;
    if (is_reduction)
      return std::clamp<int64_t>(facts_.extents[v] / (kFewVectorsEach * native_lanes()), 1, 4);
    const int64_t plain =
        makes_large_result() ? std::max(kPlain, cpu_.caches.line / cpu_.vector_bytes) : kPlain;
    const int64_t most = std::max(plain, functions);
    return facts_.extents[v] >= most * native_lanes() ? most : kPlain;
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
    const int64_t fits = cpu_.caches.l1d / 4 / element_bytes();
    const int64_t even = (extent + cpu_.cores - 1) / cpu_.cores;
    const int64_t unit = 8 * native_lanes();
    return std::max(unit, std::min(fits, even) / unit * unit);
  }

  const Schedule& schedule_;
  const Nest& nest_;
  const NestFacts& facts_;
  const target::Cpu& cpu_;
  Parts parts_;
  bool may_be_parallel_;
};

} // namespace

std::vector<NestPlan> plans_for(const Schedule& schedule, const Nest& nest, const NestFacts& facts,
                                const Environment& environment, bool may_be_parallel) {
  return NestPlanner(schedule, nest, facts, environment, may_be_parallel).plans();
}

std::optional<SmallWindow> window_of(const Schedule& schedule, const Nest& nest,
                                     const Environment& environment) {
  const NestFacts facts = facts_of(schedule, nest);
  return NestPlanner(schedule, nest, facts, environment, false).window();
}

} // namespace kawara::schedule
