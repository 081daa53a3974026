#include "explain/theatre.h"

#include "schedule/legality/narrate.h"
#include "schedule/legality/request.h"
#include "schedule/legality/suggest.h"
#include "schedule/text/flatten.h"
#include "schedule/tree/resolve.h"

#include <algorithm>
#include <set>

namespace kawara::explain {
namespace {

using poly::LoopId;
using schedule::Directive;
using schedule::LoopName;
using schedule::Schedule;

constexpr int64_t kTiles[] = {2, 3, 4, 6, 8, 12, 16};
constexpr int64_t kPairTiles[] = {4, 8};
constexpr size_t kMostPermuted = 3;  ///< loops of which all orders are tried
constexpr size_t kMostRepaired = 12; ///< refusals for which ways out are looked for
constexpr size_t kMostTried = 64;

/// Whether a directive only changes when iterations run.
bool is_of_order(const Directive& directive) {
  using namespace schedule;
  return std::holds_alternative<Split>(directive) || std::holds_alternative<Tile>(directive) ||
         std::holds_alternative<Interchange>(directive) ||
         std::holds_alternative<Reorder>(directive) || std::holds_alternative<Skew>(directive) ||
         std::holds_alternative<Shift>(directive) || std::holds_alternative<Reverse>(directive) ||
         std::holds_alternative<Fuse>(directive) || std::holds_alternative<Distribute>(directive) ||
         std::holds_alternative<Arrange>(directive) || std::holds_alternative<Cut>(directive) ||
         std::holds_alternative<Isolate>(directive) ||
         std::holds_alternative<Parallel>(directive) ||
         std::holds_alternative<Vectorize>(directive) || std::holds_alternative<Bind>(directive);
}

class Candidates {
public:
  Candidates(const Schedule& as_written, poly::StmtId main, const TheatreRequest& request,
             std::span<const int64_t> sizes)
      : start_(as_written), at_(as_written), main_(main), request_(request), sizes_(sizes) {}

  std::vector<TheatreSchedule> take() {
    add("as written", {});
    make_perfect();
    add_asked();
    if (!begun_.empty())
      add("order", begun_);
    permute();
    tile();
    mark();
    return std::move(made_);
  }

private:
  /// Loops with more than one thing inside are distributed, from the innermost outwards.
  void make_perfect() {
    const std::vector<LoopId> path = poly::path_of(at_.order, main_);
    size_t first = path.size();
    for (size_t k = path.size(); k-- > 0; first = k) {
      const LoopId loop = poly::path_of(at_.order, main_)[k];
      if (poly::find_node(at_.order, loop)->body.size() == 1)
        continue;
      const Directive directive =
          schedule::Distribute{schedule::name_of_loop(at_.scop, at_.order, loop)};
      auto next = schedule::apply(at_, directive, request_.environment);
      if (!next)
        break;
      at_ = *std::move(next);
      begun_.push_back(directive);
    }
    const std::vector<LoopId> now = poly::path_of(at_.order, main_);
    for (size_t k = first; k < now.size(); ++k)
      band_.push_back(schedule::name_of_loop(at_.scop, at_.order, now[k]));
  }

  std::vector<Directive> after_begin(Directive directive) const {
    std::vector<Directive> all = begun_;
    all.push_back(std::move(directive));
    return all;
  }

  void permute() {
    if (band_.size() < 2)
      return;
    if (band_.size() > kMostPermuted) {
      // Of many loops, each is brought inside and outside once.
      for (size_t k = 0; k + 1 < band_.size(); ++k)
        add("order", after_begin(schedule::Interchange{band_[k], band_.back()}));
      for (size_t k = 1; k + 1 < band_.size(); ++k)
        add("order", after_begin(schedule::Interchange{band_.front(), band_[k]}));
      return;
    }
    std::vector<size_t> order(band_.size());
    for (size_t k = 0; k < order.size(); ++k)
      order[k] = k;
    while (std::next_permutation(order.begin(), order.end())) {
      std::vector<LoopName> names;
      for (const size_t k : order)
        names.push_back(band_[k]);
      add("order",
          after_begin(names.size() == 2 ? Directive(schedule::Interchange{band_[0], band_[1]})
                                        : Directive(schedule::Reorder{std::move(names)})));
    }
  }

  void tile() {
    const int64_t longest = sizes_.empty() ? kTiles[std::size(kTiles) - 1]
                                           : *std::max_element(sizes_.begin(), sizes_.end());
    const size_t from = band_.size() > kMostPermuted ? band_.size() - kMostPermuted : 0;
    const std::vector<LoopName> inner(band_.begin() + static_cast<ptrdiff_t>(from), band_.end());
    const auto tiled = [&](const std::vector<LoopName>& loops, int64_t size) {
      schedule::Tile made;
      for (const LoopName& loop : loops)
        made.loops.emplace_back(loop, size);
      add("tile", after_begin(std::move(made)), size);
    };
    if (inner.empty())
      return;
    for (const int64_t size : kTiles)
      if (size < longest)
        tiled(inner, size);
    if (inner.size() == kMostPermuted)
      for (const int64_t size : kPairTiles)
        if (size < longest) {
          tiled({inner[0], inner[1]}, size);
          tiled({inner[1], inner[2]}, size);
        }
  }

  void mark() {
    const size_t marked = std::min(band_.size(), kMostPermuted);
    for (size_t k = 0; k < marked; ++k)
      add("mark", after_begin(schedule::Parallel{band_[k]}));
    if (marked < band_.size())
      add("mark", after_begin(schedule::Parallel{band_.back()}));
    if (!band_.empty())
      add("mark", after_begin(schedule::Vectorize{band_.back(), 4}));
  }

  /// What of the request changes the order; the rest says where values are, which this does not
  /// show.
  void add_asked() {
    std::vector<Directive> kept;
    std::vector<Directive> all;
    schedule::flatten(request_.asked, all);
    for (const Directive& each : all)
      if (is_of_order(each))
        kept.push_back(shrunk(each));
    if (!kept.empty())
      add("asked", kept);
  }

  /// With tiles as much smaller as the largest size is, of two iterations at least; vectors of
  /// four.
  Directive shrunk(Directive directive) const {
    const auto largest = [](std::span<const int64_t> sizes) {
      return sizes.empty() ? int64_t{1} : *std::max_element(sizes.begin(), sizes.end());
    };
    const int64_t own = largest(sizes_), real = std::max<int64_t>(largest(request_.sizes), 1);
    if (own >= real)
      return directive;
    const auto smaller = [&](int64_t size) {
      return size <= 2 ? size : std::max<int64_t>(2, (size * own + real / 2) / real);
    };
    if (auto* split = std::get_if<schedule::Split>(&directive))
      split->size = smaller(split->size);
    else if (auto* tile = std::get_if<schedule::Tile>(&directive))
      for (auto& [loop, size] : tile->loops)
        size = smaller(size);
    else if (auto* lanes = std::get_if<schedule::Vectorize>(&directive))
      lanes->width = std::min<int64_t>(lanes->width.value_or(4), 4);
    return directive;
  }

  void add(const std::string& family, const std::vector<Directive>& directives, int64_t tile = 0) {
    TheatreSchedule made;
    made.family = family;
    made.directives = schedule::print(directives);
    made.tile = tile;
    if (made_.size() >= kMostTried || !seen_.insert(made.directives).second)
      return;
    const auto next = schedule::apply(start_, directives, request_.environment);
    if (!next) {
      const auto* judged = std::get_if<schedule::Refusal::Judged>(&next.error().why);
      if (judged == nullptr)
        return;
      refuse(next.error(), *judged, made);
      const std::vector<std::string> repairs = made.refusal->repairs;
      made_.push_back(std::move(made));
      for (const std::string& each : repairs)
        add_repair(each, tile);
      return;
    }
    const auto verdict = poly::judge(next->scop, next->order, request_.environment.quota);
    const auto* legal = std::get_if<poly::Legal>(&verdict);
    made.reassociates = legal != nullptr && legal->reassociates;
    if (has_own_statements(next->scop))
      made.order = theatre_order(*next, sizes_);
    if (made.order)
      made_.push_back(std::move(made));
  }

  /// Whether statements are those of the text: what computes somewhere else has others.
  bool has_own_statements(const poly::Scop& scop) const {
    const auto& own = start_.scop.statements;
    return std::equal(own.begin(), own.end(), scop.statements.begin(), scop.statements.end(),
                      [](const auto& a, const auto& b) {
                        return !b.is_removed && a.text.name == b.text.name &&
                               a.text.iters == b.text.iters;
                      });
  }

  void add_repair(const std::string& directives, int64_t tile) {
    if (auto parsed = schedule::parse_directives(make_source("repair", directives)))
      add("repair", *parsed, tile);
  }

  void refuse(const schedule::Refusal& refusal, const schedule::Refusal::Judged& judged,
              TheatreSchedule& made) {
    TheatreRefusal& told = made.refusal.emplace();
    if (repaired_ < kMostRepaired) {
      ++repaired_;
      const auto before = schedule::apply(start_, refusal.after, request_.environment);
      const Schedule& from = before ? *before : start_;
      for (const auto& each : schedule::checked_alternatives(from, refusal, request_.environment)) {
        std::vector<Directive> all = refusal.after;
        all.insert(all.end(), each.directives.begin(), each.directives.end());
        told.repairs.push_back(schedule::print(all));
      }
    }
    told.headline = schedule::request_of(refusal.directive);
    told.verdict = "undecided";
    const auto* illegal = std::get_if<poly::Illegal>(&judged.verdict);
    if (illegal == nullptr)
      return;
    told.verdict = "illegal";
    const poly::Dependence& dependence = judged.scop.dependences[illegal->dependence];
    told.headline =
        schedule::request_of(refusal.directive, judged.scop[dependence.source].text.name,
                             judged.scop[dependence.sink].text.name);
    told.body = schedule::narrate(refusal.directive, judged, *illegal);
    told.source = {dependence.source.value, illegal->source};
    told.sink = {dependence.sink.value, illegal->sink};
    told.tensor = judged.scop.tensors[dependence.tensor].name;
    told.condition = illegal->condition;
  }

  const Schedule& start_;
  Schedule at_; ///< after `begun_`
  std::vector<Directive> begun_;
  std::vector<LoopName> band_; ///< loops with one thing inside each, outermost first
  poly::StmtId main_;
  const TheatreRequest& request_;
  std::span<const int64_t> sizes_;
  std::vector<TheatreSchedule> made_;
  std::set<std::string> seen_;
  size_t repaired_ = 0;
};

} // namespace

std::vector<TheatreSchedule> theatre_schedules(const Schedule& as_written, poly::StmtId main,
                                               const TheatreRequest& request,
                                               std::span<const int64_t> sizes) {
  return Candidates(as_written, main, request, sizes).take();
}

} // namespace kawara::explain
