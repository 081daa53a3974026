#include "schedule/auto/nest/tall_reduction.h"

#include "schedule/auto/cost/parallel_worth.h"
#include "schedule/auto/facts/dataflow.h"
#include "schedule/auto/facts/vector_loop.h"
#include "schedule/auto/nest/partial_tiles.h"
#include "schedule/auto/rule/choose.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"
#include "target/cpu.h"

#include <algorithm>
#include <utility>

namespace kawara::schedule {
namespace {

/// Results, in registers full of them, that still count as few where terms are gathered or lanes
/// are results.
constexpr int64_t kFewTilesOfResults = 16;
/// Vectors of terms that pay for partial results of a table.
constexpr int64_t kVectorsOfTable = 8;
/// Vectors of a block of terms that pay for storing results in between; single terms where those
/// are gathered or spread.
constexpr int64_t kShortBlock = 8, kShortBlockOfElements = 32;
/// Sums that must be under way for none to wait for its last addition.
constexpr int64_t kUnderWay = 8;
/// Vector instructions that make a part of the terms worth a thread: below, starting two of them
/// takes as long as they save.
constexpr double kPartSteps = 1 << 16;

int64_t round_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Which loop runs in lanes, how many results are taken at once, and what that takes for as many
/// terms as a vector has lanes.
struct Lanes {
  size_t loop = 0;
  size_t along = 0;          ///< loop of the terms that are shared
  bool is_result = false;    ///< neighbouring results; else the loop of the terms
  std::vector<int64_t> tile; ///< results taken at once, by loop of results
  int64_t tiles = 1;
  int64_t vectors = 1; ///< of a tile
  std::vector<uint32_t>
      packed; ///< tensors of terms that lie apart, copied before so that vectors read them
  double steps = 0;
};

/// What `rfactor` makes of a result.
struct Partial {
  std::string name;
  int64_t rank = 0;
  std::vector<std::string> taken; ///< names of tensors

  void refine() {
    name = fresh_name(name + "_partial", "_", taken);
    taken.push_back(name);
    ++rank;
  }
  /// The factored loop's elements are neighbours.
  Layout first_dimension_last() const {
    Layout layout{name, {}};
    for (int64_t d = 1; d <= rank; ++d)
      layout.parts.push_back({d % rank, LayoutPart::Kind::Whole, 1});
    return layout;
  }
};

class TallReduction {
public:
  TallReduction(const Schedule& schedule, const Nest& nest, const NestFacts& facts,
                const Environment& environment)
      : schedule_(schedule), nest_(nest), facts_(facts), cpu_(environment.cpu),
        text_(schedule.scop[nest.statements.front()].text), flow_(schedule.scop) {}

  std::vector<Directive> plan(bool comes_first) {
    if (!sort_loops() || !is_alone() || (comes_first && !is_for_lanes()))
      return {};
    is_table_ = !comes_first && is_table();
    for (const size_t k : sums_)
      if (facts_.extents[k] >= (is_table_ ? kVectorsOfTable * width() : fewest_terms(width())) &&
          (!comes_first || lie_together(k)))
        choose(k, !comes_first);
    return best_ ? directives(*best_) : std::vector<Directive>{};
  }

private:
  int64_t bytes() const {
    return scalar::bytes_of(scalar::compute_type(schedule_.scop.tensors[text_.tensor].elem));
  }
  int64_t width() const { return target::vector_lanes(cpu_, bytes()); }
  int64_t registers() const { return cpu_.vector_registers * 3 / 4; }

  /// Results and sums; false where some loop is neither or has no constant length of its own.
  bool sort_loops() {
    const scalar::Elem elem = schedule_.scop.tensors[text_.tensor].elem;
    if (nest_.depth != 0 || facts_.fixed != 0 || text_.op == scalar::ReduceOp::None ||
        !scalar::is_float(elem))
      return false;
    const LoopAccess& result = facts_.accesses.front();
    for (size_t k = 0; k < nest_.loops.size(); ++k) {
      if (!known_run(schedule_.scop, schedule_.order, nest_.loops[k]) ||
          !is_rectangular_block(schedule_.scop, schedule_.order, nest_.loops.front(),
                                nest_.loops[k]))
        return false;
      if (result.stays(k) && facts_.is_reduction[k])
        sums_.push_back(k);
      else if (!result.stays(k) && facts_.is_parallel[k])
        results_.push_back(k);
      else
        return false;
    }
    for (size_t at = 1; at < facts_.accesses.size(); ++at) {
      const LoopAccess& term = facts_.accesses[at];
      const bool is_new = std::none_of(terms_.begin(), terms_.end(), [&](const LoopAccess& t) {
        return t.tensor == term.tensor && t.moves == term.moves;
      });
      if (is_new)
        terms_.push_back(term);
    }
    return !sums_.empty() && !results_.empty() && count(results_) > 1;
  }

  int64_t count(const std::vector<size_t>& loops) const {
    int64_t product = 1;
    for (const size_t k : loops)
      product = std::min(product * facts_.extents[k], int64_t{1} << 40);
    return product;
  }

  /// Whether nothing else touches what the sums read.
  bool is_alone() const {
    return std::all_of(terms_.begin(), terms_.end(), [&](const LoopAccess& term) {
      return flow_.is_local_to(term.tensor, nest_.statements);
    });
  }

  /// Whether rows and columns of results share their terms, and vectors are whole lines: then tiles
  /// of any number of results are ahead of one sum after the other. 300 x 2 results of 300 steps
  /// took 25 us and 11 so (one Cascade Lake core, 19 November 2026).
  bool is_table() const {
    const auto loops = std::count_if(results_.begin(), results_.end(),
                                     [&](size_t k) { return facts_.extents[k] > 1; });
    const bool share = std::all_of(results_.begin(), results_.end(), [&](size_t k) {
      return facts_.extents[k] == 1 ||
             std::any_of(terms_.begin(), terms_.end(),
                         [&](const LoopAccess& term) { return term.stays(k); });
    });
    return loops > 1 && share && cpu_.vector_bytes >= cpu_.caches.line;
  }

  /// Elements of a term that one step along the sums reads.
  int64_t elements_of(const LoopAccess& term) const {
    int64_t elements = 1;
    for (const size_t k : results_)
      if (!term.stays(k))
        elements *= facts_.extents[k];
    return elements;
  }

  /// Whether all terms have neighbours along that loop, or stay.
  bool lie_together(size_t along) const {
    return std::none_of(terms_.begin(), terms_.end(),
                        [&](const LoopAccess& term) { return term.moves[along] == Move::Far; });
  }

  /// Whether terms are what vectors compute with, and none of them is kept in another order from
  /// call to call.
  bool is_for_lanes() const {
    return std::all_of(terms_.begin(), terms_.end(), [&](const LoopAccess& term) {
      return scalar::bytes_of(schedule_.scop.tensors[term.tensor].elem) == bytes() &&
             !flow_[term.tensor].keeps_values;
    });
  }

  /// Lanes along the terms, which are gathered element by element unpacked apart; or along a loop
  /// of results whose neighbours lie together everywhere.
  void choose(size_t along, bool may_be_results) {
    std::vector<Lanes> all{{along, along, false, {}, 1, 1, {}, 0}};
    for (const size_t j : results_) {
      const bool lies_together =
          facts_.accesses.front().moves[j] == Move::Unit &&
          std::none_of(terms_.begin(), terms_.end(),
                       [&](const LoopAccess& term) { return term.moves[j] == Move::Far; });
      if (may_be_results && lies_together && facts_.extents[j] >= width())
        all.push_back({j, along, true, {}, 1, 1, {}, 0});
    }
    for (const Lanes& lanes : all)
      cut(lanes);
  }

  /// Whether each result has terms of its own, side by side: blocks of results share no load, each
  /// of their rows is a stream that ends soon, and its rest comes once a block. 72 sums of 13824
  /// terms took 0.14 ms in blocks of 24 x 112, row after row 0.08; 168 of 281 terms 12.0 and 3.7
  /// us, of 280 3.6 and 3.1. Few results are taken at once: 4 of 300000 0.08 ms, one after the
  /// other 0.10 (Neoverse-V1).
  bool has_own_rows(const Lanes& lanes) const {
    return !lanes.is_result &&
           std::all_of(terms_.begin(), terms_.end(), [&](const LoopAccess& term) {
             return term.moves[lanes.along] == Move::Unit &&
                    std::none_of(results_.begin(), results_.end(),
                                 [&](size_t k) { return term.stays(k); });
           });
  }

  bool fits(const Lanes& lanes) const {
    const bool has_long_blocks =
        lanes.tiles == 1 ||
        (!has_own_rows(lanes) && (reads_vectors(lanes) ? block(lanes) >= kShortBlock * width()
                                                       : terms_in_l1() >= kShortBlockOfElements));
    const bool is_tall =
        lanes.tiles <= kFewTilesOfResults && facts_.extents[lanes.along] >= fewest_terms(width());
    return has_long_blocks && (is_tall || (is_table_ && reads_vectors(lanes)));
  }

  /// All ways to cut the results, loop after loop.
  void cut(const Lanes& lanes) {
    if (lanes.tile.size() == results_.size()) {
      Lanes whole = lanes;
      count_steps(whole);
      if ((!best_ || whole.steps < best_->steps) && fits(whole))
        best_ = std::move(whole);
      return;
    }
    const size_t k = results_[lanes.tile.size()];
    const int64_t extent = facts_.extents[k];
    const bool has_lanes = lanes.is_result && lanes.loop == k;
    const int64_t unit = has_lanes ? width() : 1;
    for (int64_t most = registers() * unit, last = 0; most >= unit; most -= unit) {
      const int64_t tiles = round_up(extent, most);
      const int64_t tile = tiles == 1 ? extent : round_up(round_up(extent, tiles), unit) * unit;
      if (std::exchange(last, tile) == tile)
        continue;
      Lanes next = lanes;
      next.tile.push_back(tile);
      next.tiles *= round_up(extent, tile);
      // What does not fill a vector is done element by element.
      next.vectors *= has_lanes ? tile / unit + tile % unit : tile;
      if (next.vectors <= registers())
        cut(next);
    }
  }

  /// Multiply-adds and what is loaded for them, of all tiles for a vector of terms; with what is
  /// copied before.
  void count_steps(Lanes& lanes) const {
    const auto width_ = static_cast<double>(width()), tiles = static_cast<double>(lanes.tiles);
    double steps = tiles * static_cast<double>(lanes.vectors);
    for (const LoopAccess& term : terms_) {
      double loads = tiles;
      for (size_t at = 0; at < results_.size(); ++at) {
        const size_t k = results_[at];
        const int64_t tile = lanes.tile[at];
        if (!term.stays(k))
          loads *= static_cast<double>(
              lanes.is_result && k == lanes.loop ? tile / width() + tile % width() : tile);
      }
      const bool is_gathered = !lanes.is_result && term.moves[lanes.along] == Move::Far;
      const double copied =
          flow_[term.tensor].keeps_values ? 0 : width_ * static_cast<double>(elements_of(term));
      const bool is_packed = is_gathered && copied + loads < loads * width_;
      if (is_packed)
        lanes.packed.push_back(term.tensor);
      steps += is_packed ? copied + loads : is_gathered ? loads * width_ : loads;
    }
    lanes.steps = lanes.is_result ? steps * width_ : steps;
  }

  /// Whether lanes are along the terms and no vector of these is gathered.
  bool reads_vectors(const Lanes& lanes) const {
    return !lanes.is_result &&
           std::all_of(terms_.begin(), terms_.end(), [&](const LoopAccess& term) {
             return term.moves[lanes.along] != Move::Far || is_packed(lanes, term);
           });
  }

  static bool is_packed(const Lanes& lanes, const LoopAccess& term) {
    return std::find(lanes.packed.begin(), lanes.packed.end(), term.tensor) != lanes.packed.end();
  }

  /// Terms of all results that half of the L1 holds.
  int64_t terms_in_l1() const {
    int64_t each = 0;
    for (const LoopAccess& term : terms_)
      each += elements_of(term) * scalar::bytes_of(schedule_.scop.tensors[term.tensor].elem);
    return cpu_.caches.l1d / 2 / std::max<int64_t>(each, 1);
  }

  /// Bytes that are read again for other tiles, by one step along the sums.
  int64_t bytes_read_again(const Lanes& lanes) const {
    int64_t sum = 0;
    for (const LoopAccess& term : terms_)
      for (size_t at = 0; at < results_.size(); ++at)
        if (term.stays(results_[at]) && lanes.tile[at] < facts_.extents[results_[at]]) {
          sum += elements_of(term) * scalar::bytes_of(schedule_.scop.tensors[term.tensor].elem);
          break;
        }
    return sum;
  }

  /// Terms, whole vectors of them, that the L2 holds until other tiles read them.
  int64_t block(const Lanes& lanes) const {
    const int64_t copies = std::max<int64_t>(1, kUnderWay / lanes.vectors) * width();
    const int64_t all = round_up(facts_.extents[lanes.along], copies) * copies;
    const int64_t again = bytes_read_again(lanes);
    return again == 0 ? all : std::min(all, cpu_.caches.l2 / 2 / again / copies * copies);
  }

  LoopName name(size_t k, const std::string& suffix = "") const {
    return {text_.name, schedule_.order[nest_.loops[k]].name + suffix};
  }

  /// Threads that what is to be done is worth.
  int64_t threads(const Lanes& lanes) const {
    const double steps =
        lanes.steps * static_cast<double>(count(sums_)) / static_cast<double>(width()) / kPartSteps;
    return std::min(cpu_.cores, static_cast<int64_t>(steps));
  }

  /// Parts of the terms for threads.
  int64_t parts(const Lanes& lanes) const {
    return shares_tiles(lanes)
               ? 1
               : std::min(threads(lanes), facts_.extents[lanes.along] / fewest_terms(width()));
  }

  /// Whether there are tiles enough for threads to share these.
  bool shares_tiles(const Lanes& lanes) const {
    constexpr int64_t kTilesOfThread = 4;
    return is_table_ && threads(lanes) > 1 && lanes.tiles >= kTilesOfThread * cpu_.cores;
  }

  Partial whole_result() const {
    const program::Tensor& result = schedule_.scop.tensors[text_.tensor];
    Partial whole{result.name, static_cast<int64_t>(result.shape.size()), {}};
    for (const program::Tensor& tensor : schedule_.scop.tensors)
      whole.taken.push_back(tensor.name);
    return whole;
  }

  std::vector<Directive> directives(const Lanes& lanes) const {
    const int64_t copies = std::max<int64_t>(1, kUnderWay / lanes.vectors);
    const int64_t together = lanes.is_result ? copies : copies * width();
    std::vector<Directive> plan;
    Reorder order;
    std::string rest; // of the loop of the terms, so far
    Partial partial = whole_result();
    const auto rfactor = [&](const std::string& loop) {
      plan.emplace_back(Rfactor{name(lanes.along, loop)});
      partial.refine();
    };
    if (const int64_t shared = parts(lanes); shared > 1) {
      const int64_t each =
          round_up(round_up(facts_.extents[lanes.along], shared), together) * together;
      plan.emplace_back(Split{name(lanes.along), each});
      rfactor(".0");
      order.loops.push_back(name(lanes.along, ".0"));
      rest = ".1";
    }
    const bool is_shared = !order.loops.empty();
    for (const size_t k : sums_)
      if (k != lanes.along)
        order.loops.push_back(name(k));
    if (const int64_t terms = block(lanes);
        lanes.tiles > 1 && terms < facts_.extents[lanes.along]) {
      plan.emplace_back(Split{name(lanes.along, rest), terms});
      order.loops.push_back(name(lanes.along, rest + ".0"));
      rest += ".1";
    }
    std::vector<LoopName> inside;
    for (size_t at = 0; at < results_.size(); ++at) {
      const size_t k = results_[at];
      const bool is_cut = lanes.tile[at] < facts_.extents[k];
      inside.push_back(name(k, is_cut ? ".1" : ""));
      if (!is_cut)
        continue;
      plan.emplace_back(Split{name(k), lanes.tile[at]});
      order.loops.push_back(name(k, ".0"));
    }
    if (together > 1) {
      plan.emplace_back(Split{name(lanes.along, rest), together});
      rfactor(rest + ".1");
    }
    order.loops.push_back(name(lanes.along, together > 1 ? rest + ".0" : rest));
    const LoopName inner = name(lanes.along, rest + ".1");
    if (lanes.is_result && together > 1)
      order.loops.push_back(inner);
    LoopName vector = inner;
    std::vector<LoopName> unrolled;
    for (size_t at = 0; at < results_.size(); ++at)
      if (lanes.is_result && results_[at] == lanes.loop)
        vector = inside[at];
      else
        unrolled.push_back(inside[at]);
    order.loops.insert(order.loops.end(), unrolled.begin(), unrolled.end());
    if (lanes.is_result && together > 1)
      unrolled.push_back(inner);
    order.loops.push_back(vector);
    const LoopName outermost = order.loops.front();
    plan.emplace_back(std::move(order));
    for (const LoopName& loop : unrolled)
      plan.emplace_back(Unroll{loop, std::nullopt});
    plan.emplace_back(Vectorize{vector, lanes.is_result ? width() : together});
    if (lanes.is_result)
      plan.emplace_back(Unroll{vector, std::nullopt});
    if (is_shared)
      plan.emplace_back(Parallel{outermost});
    if (!lanes.is_result && lanes.tiles > 1)
      plan.emplace_back(partial.first_dimension_last());
    for (const uint32_t tensor : lanes.packed)
      plan.emplace_back(Pack{schedule_.scop.tensors[tensor].name, std::nullopt});
    return plan;
  }

  const Schedule& schedule_;
  const Nest& nest_;
  const NestFacts& facts_;
  const target::Cpu& cpu_;
  const program::Statement& text_;
  const Dataflow flow_;
  std::vector<size_t> results_, sums_;
  AccessTable terms_;
  bool is_table_ = false;
  std::optional<Lanes> best_;
};

/// What begins the results and adds up their lanes comes into the tiles; threads share what is
/// worth it.
void offer_tall(const Site& site, bool comes_first, const Offer& offer) {
  if (site.nest()->statements.size() != 1)
    return;
  auto plan = TallReduction(site.schedule(), *site.nest(), site.facts(), site.environment())
                  .plan(comes_first);
  if (plan.empty())
    return;
  const poly::StmtId sum = site.nest()->statements.front();
  Candidate made{"tall reduction", {sum}, std::move(plan)};
  made.finish = [sum, &environment = site.environment()](Schedule& schedule, const Planner&) {
    apply_all(schedule, partials_in_tiles(schedule, sum), environment);
    const poly::LoopId outermost = poly::path_of(schedule.order, sum).front();
    if (is_worth_threads(schedule, outermost, environment))
      apply_all(schedule, {Parallel{name_of_loop(schedule.scop, schedule.order, outermost)}},
                environment);
    return true;
  };
  offer(std::move(made));
}

} // namespace

void tall_reductions(const Site& site, const Offer& offer) { offer_tall(site, false, offer); }

void tall_reductions_of_rows(const Site& site, const Offer& offer) {
  offer_tall(site, true, offer);
}

bool may_be_tall_reduction(const Schedule& schedule, poly::LoopId loop) {
  constexpr size_t kMostStatements = 3;
  const std::vector<poly::StmtId> below = poly::statements_below(schedule.order, loop);
  return below.size() <= kMostStatements &&
         std::any_of(below.begin(), below.end(), [&](poly::StmtId id) {
           return schedule.scop[id].text.op != scalar::ReduceOp::None;
         });
}

} // namespace kawara::schedule
