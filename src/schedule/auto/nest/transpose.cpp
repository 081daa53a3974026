#include "schedule/auto/nest/transpose.h"

#include "schedule/auto/facts/dataflow.h"
#include "schedule/auto/nest/nest_loops.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/resolve.h"
#include "target/intrinsic.h"

#include <algorithm>
#include <bit>

namespace kawara::schedule {
namespace {

/// Elements that a transposition reads in a row: as many lines that it writes, one after the other.
constexpr int64_t kTransposedRun = 64;
/// Elements of the squares that are transposed in registers, at most: they are made of as many
/// vectors.
constexpr int64_t kWidestSquare = 16;
/// And at least, in parts of a vector: those of 16 bytes of f32 (docs/notes/thin_transposes.md).
constexpr int64_t kLeastSquare = 4;
/// Elements of a row that is read as a whole, tile by tile, where it has no whole number of them:
/// what one loop of tiles leaves is known, and has squares of its own
/// (kernel/loops/peel_last_tiles.h).
constexpr int64_t kReadWhole = 512;

class Transposition {
public:
  Transposition(const Schedule& schedule, const Nest& nest, const NestFacts& facts,
                const target::Cpu& cpu)
      : schedule_(schedule), nest_(nest), facts_(facts), cpu_(cpu) {}

  /// The loops along which a copy writes and reads neighbouring elements, where they are not the
  /// same.
  struct Sides {
    size_t write, read;
  };

  std::optional<Sides> sides() const {
    const auto is_plain = [&](size_t k) { return facts_.is_parallel[k] && facts_.extents[k] > 0; };
    if (nest_.statements.size() != 1 || facts_.fixed != 0)
      return std::nullopt;
    std::optional<size_t> write, read;
    const LoopAccess& result = facts_.accesses.front();
    for (size_t k = 0; k < nest_.loops.size(); ++k) {
      if (!is_plain(k))
        return std::nullopt;
      if (result.moves[k] == Move::Unit)
        write = k;
    }
    if (!write)
      return std::nullopt;
    for (size_t at = 1; at < facts_.accesses.size(); ++at) {
      const LoopAccess& load = facts_.accesses[at];
      for (size_t k = 0; k < nest_.loops.size() && load.moves[*write] == Move::Far; ++k)
        if (k != *write && load.moves[k] == Move::Unit)
          read = k;
    }
    if (!read || (!feeds_tiles() && square({*write, *read}) == 0))
      return std::nullopt;
    return Sides{*write, *read};
  }

  /// Elements of a side of the squares: those of a vector, or of as large a part of it as the
  /// shorter side of the tensor has enough of; 0 where it has too few for any.
  int64_t square(const Sides& sides) const {
    const int64_t written = facts_.extents[sides.write], read = facts_.extents[sides.read];
    if (has_short_lines(sides))
      return side_of_lines(sides);
    for (int64_t lanes = native_lanes(); lanes >= std::min(kLeastSquare, native_lanes());
         lanes /= 2) {
      // A single square of the smallest and what it leaves are still faster than elements.
      const int64_t enough = lanes == kLeastSquare ? lanes : 2 * lanes;
      if (written >= lanes && read >= enough && (written >= 2 * lanes || written % lanes == 0))
        return lanes;
    }
    return 0;
  }

  /// Whether a line that is written is a part of a vector that no smaller vectors fill: it is
  /// stored under a mask, and its square has empty rows.
  bool has_short_lines(const Sides& sides) const {
    const int64_t written = facts_.extents[sides.write];
    return written > kLeastSquare && !std::has_single_bit(static_cast<uint64_t>(written)) &&
           side_of_lines(sides) <= native_lanes() &&
           facts_.extents[sides.read] >= side_of_lines(sides);
  }
  int64_t side_of_lines(const Sides& sides) const {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(facts_.extents[sides.write])));
  }

  /// Elements of a vector that squares are made of, and their bytes: those of results, or a whole
  /// vector of bytes where nothing is computed with them and there are enough both ways. Elements
  /// of two bytes were slower so than in squares of four.
  std::pair<int64_t, int64_t> transposed_elements(const Sides& sides) const {
    const program::Statement& text = schedule_.scop[nest_.statements.front()].text;
    const scalar::Load* load = copied_element();
    const scalar::Elem elem = schedule_.scop.tensors[text.tensor].elem;
    const int64_t bytes = scalar::bytes_of(elem);
    const int64_t lanes = std::min(kWidestSquare, target::vector_lanes(cpu_, bytes));
    const bool is_copy =
        bytes == 1 && load != nullptr && schedule_.scop.tensors[load->tensor].elem == elem;
    return is_copy && facts_.extents[sides.write] >= 2 * lanes &&
                   facts_.extents[sides.read] >= 2 * lanes
               ? std::pair(lanes, bytes)
               : std::pair(square(sides), element_bytes());
  }

  /// Whether elements are copied into rows of tiles, 64 bytes each
  /// (schedule/auto/product/amx_convolution.h).
  bool feeds_tiles() const {
    const program::Statement& text = schedule_.scop[nest_.statements.front()].text;
    const scalar::Load* element = copied_element();
    if (element == nullptr ||
        schedule_.scop.tensors[element->tensor].elem != schedule_.scop.tensors[text.tensor].elem)
      return false;
    const Dataflow flow(schedule_.scop);
    const auto& readers = flow[text.tensor].readers;
    return std::any_of(readers.begin(), readers.end(),
                       [&](poly::StmtId id) { return runs_on_tiles(id); });
  }

  /// Of rows of any length: a few lines that are written one after the other, in squares that fill
  /// the narrowest registers, which are transposed with the fewest instructions.
  std::vector<Directive> transposed_for_tiles(const Sides& sides, bool may_be_parallel) const {
    constexpr int64_t kRegister = 16;
    const size_t w = sides.write, r = sides.read;
    const program::Statement& text = schedule_.scop[nest_.statements.front()].text;
    const int64_t bytes = scalar::bytes_of(schedule_.scop.tensors[text.tensor].elem);
    const int64_t width = kRegister / bytes;
    std::vector<Directive> plan;
    // Padding begins behind the edge: pieces begin with the row.
    const auto range = constant_range(schedule_.scop, schedule_.order, nest_.loops[r]);
    if (range && range->low != 0)
      plan.push_back(Shift{part(r, ""), -range->low});
    plan.push_back(Split{part(w, ""), cpu_.caches.line / bytes});
    plan.push_back(Split{part(w, ".1"), width});
    plan.push_back(Split{part(r, ""), even_piece(facts_.extents[r])});
    Reorder order;
    for (size_t k = 0; k < nest_.loops.size(); ++k)
      if (k != w && k != r)
        order.loops.push_back(part(k, ""));
    for (const LoopName& loop :
         {part(w, ".0"), part(r, ".0"), part(w, ".1.0"), part(r, ".1"), part(w, ".1.1")})
      order.loops.push_back(loop);
    const LoopName outermost = order.loops.front();
    plan.push_back(std::move(order));
    plan.push_back(Unroll{part(r, ".1"), std::nullopt});
    plan.push_back(Vectorize{part(w, ".1.1"), width});
    if (may_be_parallel)
      plan.push_back(Parallel{outermost});
    return plan;
  }

  std::vector<Directive> transposed_over(const Sides& sides, bool may_be_parallel) const {
    if (feeds_tiles())
      return transposed_for_tiles(sides, may_be_parallel);
    if (has_short_lines(sides))
      return transposed_lines(sides, may_be_parallel);
    const size_t w = sides.write, r = sides.read;
    const auto [lanes, bytes] = transposed_elements(sides);
    const int64_t line = std::min(std::max(lanes, cpu_.caches.line / bytes),
                                  (facts_.extents[w] + lanes - 1) / lanes * lanes);
    // What is transposed at once.
    const int64_t width = std::min(line, kWidestSquare);
    const int64_t run = std::min(kTransposedRun, (facts_.extents[r] + lanes - 1) / lanes * lanes);
    const bool is_whole_row =
        facts_.extents[r] <= kReadWhole && facts_.extents[r] % lanes != 0 && line == width;
    std::vector<Directive> plan{Split{part(w, ""), line},
                                Split{part(r, ""), is_whole_row ? lanes : run}};
    if (!is_whole_row)
      plan.push_back(Split{part(r, ".1"), lanes});
    const std::string rows = is_whole_row ? ".1" : ".1.1";
    Reorder order;
    for (size_t k = 0; k < nest_.loops.size(); ++k)
      if (k != w && k != r)
        order.loops.push_back(part(k, ""));
    const bool reads_first = facts_.extents[r] / run >= cpu_.cores && line > lanes;
    order.loops.push_back(part(reads_first ? r : w, ".0"));
    order.loops.push_back(part(reads_first ? w : r, ".0"));
    const std::string vector = width < line ? ".1.1" : ".1";
    if (!is_whole_row)
      order.loops.push_back(part(r, ".1.0"));
    if (width < line) {
      plan.push_back(Split{part(w, ".1"), width});
      order.loops.push_back(part(w, ".1.0"));
    }
    order.loops.push_back(part(r, rows));
    order.loops.push_back(part(w, vector));
    const LoopName outermost = order.loops.front();
    plan.push_back(std::move(order));
    plan.push_back(Unroll{part(r, rows), std::nullopt});
    plan.push_back(Vectorize{part(w, vector), width});
    if (may_be_parallel)
      plan.push_back(Parallel{outermost});
    return plan;
  }

  /// A line is a vector: as many of them in a row as the square has.
  std::vector<Directive> transposed_lines(const Sides& sides, bool may_be_parallel) const {
    const size_t w = sides.write, r = sides.read;
    std::vector<Directive> plan{Split{part(r, ""), side_of_lines(sides)}};
    Reorder order;
    for (size_t k = 0; k < nest_.loops.size(); ++k)
      if (k != w && k != r)
        order.loops.push_back(part(k, ""));
    for (const LoopName& loop : {part(r, ".0"), part(r, ".1"), part(w, "")})
      order.loops.push_back(loop);
    const LoopName outermost = order.loops.front();
    plan.push_back(std::move(order));
    plan.push_back(Unroll{part(r, ".1"), std::nullopt});
    plan.push_back(Vectorize{part(w, ""), facts_.extents[w]});
    if (may_be_parallel)
      plan.push_back(Parallel{outermost});
    return plan;
  }

private:
  /// What is stored unchanged; null where something is computed.
  const scalar::Load* copied_element() const {
    const scalar::Expr* value = &schedule_.scop[nest_.statements.front()].text.value;
    while (const auto* cast = scalar::as<scalar::Cast>(*value))
      value = &cast->arg;
    return scalar::as<scalar::Load>(*value);
  }
  bool runs_on_tiles(poly::StmtId id) const {
    const std::vector<poly::LoopId> path = poly::path_of(schedule_.order, id);
    const target::Intrinsic* data =
        path.empty() ? nullptr
                     : target::find_intrinsic(schedule_.order[path.back()].marks.instruction);
    return data != nullptr && data->is_tile;
  }
  /// The largest part of a row, of whole squares if there is one, that divides it.
  static int64_t even_piece(int64_t extent) {
    constexpr int64_t kLongest = 32, kSquare = 4;
    for (const int64_t step : {kSquare, int64_t{1}})
      for (int64_t piece = std::min(extent, kLongest) / step * step; piece >= kSquare;
           piece -= step)
        if (extent % piece == 0)
          return piece;
    return std::min(extent, kLongest);
  }
  int64_t element_bytes() const { return widest_bytes(schedule_, nest_); }
  int64_t native_lanes() const { return target::vector_lanes(cpu_, element_bytes()); }
  LoopName part(size_t k, const std::string& suffix) const {
    LoopName n = name_of_loop(schedule_.scop, schedule_.order, nest_.loops[k]);
    n.loop += suffix;
    return n;
  }

  const Schedule& schedule_;
  const Nest& nest_;
  const NestFacts& facts_;
  const target::Cpu& cpu_;
};

} // namespace

void transposes_in_squares(const Site& site, const Offer& offer) {
  const NestLoops& loops = nest_loops(site);
  if (loops.kind != NestKind::Plain)
    return;
  const Transposition copy(site.schedule(), *site.nest(), site.facts(), site.environment().cpu);
  if (const auto sides = copy.sides())
    if (auto plan = copy.transposed_over(*sides, loops.may_share); !plan.empty())
      offer({"transpose in squares", site.nest()->statements, std::move(plan)});
}

} // namespace kawara::schedule
