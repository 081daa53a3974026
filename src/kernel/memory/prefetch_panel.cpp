#include "kernel/memory/prefetch_panel.h"

#include "kernel/analysis/intervals.h"
#include "kernel/analysis/ranges.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"
#include "scalar/expand/expansion.h"

#include <algorithm>
#include <optional>

namespace kawara::kernel {
namespace {

constexpr int64_t kLineOfPanel = 64;
/// Fewer lines than this are asked for at once.
constexpr int64_t kFewLines = 32;
/// Operations for each element by which one nest outweighs another: while it computes, there is
/// time for all to arrive. Nests that all wait for memory ask each, which is faster than one of
/// them.
constexpr double kMuchWork = 8;
/// Lines that one iteration asks for.
constexpr int64_t kMostAtOnce = 8;

int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/// Iterations at most, of a loop with a constant start. The end may be a variable: that of the
/// whole groups of a loop that was unrolled.
std::optional<int64_t> most_trips(const For& loop, const Intervals& values) {
  if (const auto exact = trip_count(loop))
    return exact;
  const auto lo = scalar::constant_of(loop.lo);
  const auto hi = values.of(loop.hi).high;
  return lo && hi ? std::optional(std::max<int64_t>(0, (*hi - *lo + loop.step - 1) / loop.step))
                  : std::nullopt;
}

/// A loop and how often it runs at most.
struct Trips {
  const For* loop;
  std::optional<int64_t> most;
};

/// The block of a condition that a place is in.
struct Branch {
  const If* condition;
  bool is_otherwise;
  friend bool operator==(const Branch&, const Branch&) = default;
};

/// The loops and conditions around a place, and what is known of the values there (walk.h).
struct TripsAround {
  std::vector<Trips> loops;
  std::vector<Branch> branches;
  Intervals values;
  const If* left = nullptr; ///< the condition of the last block that the walk left

  void enter(const For& loop) {
    loops.push_back({&loop, most_trips(loop, values)});
    values.enter(loop);
  }
  void leave(const For&) { loops.pop_back(); }
  void enter(const If& condition) { branches.push_back({&condition, left == &condition}); }
  void leave(const If& condition) {
    branches.pop_back();
    left = &condition;
  }
  void after(const OneOf<Define, Assign, Combine> auto& s) { values.after(s); }
};

/// Elements from `begin` up to `end`, counted from the first that a body reads.
struct Run {
  int64_t begin, end;
};

/// Reads of one buffer by the statements of one body, not those of its loops.
struct Reads {
  std::optional<scalar::AffineSum> first; ///< row-major position of the first element
  int64_t elements = 0;
  std::vector<Run> runs; ///< those of known distance to the first
};

/// Several rows at equal distances, of each of which an iteration reads the same elements.
struct Rows {
  int64_t count = 1, distance = 0;
};

/// One row where the runs are not so many elements each, or not equally far apart.
Rows rows_of(std::vector<Run> runs, int64_t elements) {
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
  std::vector<Run> whole;
  for (const Run& run : runs)
    if (whole.empty() || run.begin > whole.back().end)
      whole.push_back(run);
    else
      whole.back().end = std::max(whole.back().end, run.end);
  Rows rows{static_cast<int64_t>(whole.size()),
            whole.size() > 1 ? whole[1].begin - whole[0].begin : 0};
  for (size_t k = 0; k < whole.size(); ++k)
    if (whole[k].end - whole[k].begin != elements ||
        whole[k].begin - whole[0].begin != static_cast<int64_t>(k) * rows.distance)
      return {};
  return rows;
}

class PanelPrefetcher {
public:
  PanelPrefetcher(const Kernel& kernel, const For& loop, const poly::Prefetched& mark)
      : kernel_(kernel), loop_(loop), mark_(mark), buffer_(kernel.buffers[mark.tensor]),
        line_(kLineOfPanel / scalar::bytes_of(buffer_.elem)) {}

  /// Finds the loops to ask in; whether there are any.
  bool find(Block& block) {
    TripsAround around;
    visit_scoped(block, around, [&](For& inner) {
      std::vector<Trips> inside = around.loops;
      inside.push_back({&inner, most_trips(inner, around.values)});
      auto place = place_in(inner, inside);
      if (!place)
        return WalkResult::Advance;
      place->branches = around.branches;
      places_.push_back(*std::move(place));
      return WalkResult::Skip;
    });
    return !places_.empty();
  }

  /// To be called once, after `find`. Of nests that read the same row one after the other, one that
  /// computes much more than others asks for the next. Those that read the same panel of a copy,
  /// tiles of a product and the last of them, have a part each.
  void insert() {
    for (Place& place : places_) {
      place.shared = place.repeats;
      for (const Place& other : places_)
        if (&other != &place && shares_panel(place, other)) {
          place.shared += other.repeats;
          place.before += &other < &place ? other.repeats : 0;
        }
    }
    for (const Place& place : places_)
      if (std::none_of(places_.begin(), places_.end(), [&](const Place& other) {
            return place.repeats == 1 && other.repeats == 1 && other.panel == place.panel &&
                   scalar::equal(other.row, place.row) && other.work >= place.work + kMuchWork;
          }))
        insert(place);
  }

private:
  /// A loop to ask in.
  struct Place {
    For* loop;
    std::vector<Trips> inside; ///< the loops around it, itself the last
    scalar::AffineSum position;
    Expr row; ///< the position without the loops inside
    int64_t repeats, panel, advance;
    Rows rows;
    double work; ///< operations for each element
    std::vector<Branch> branches = {};
    int64_t shared = 1, before = 0; ///< repeats of all places that share the panel; of earlier ones
  };

  bool shares_panel(const Place& a, const Place& b) const {
    return buffer_.is_packed && a.rows.count == 1 && b.rows.count == 1 && a.panel == b.panel &&
           a.branches == b.branches && scalar::equal(a.row, b.row);
  }

  /// Row-major; nothing for buffers of a size that depends on parameters.
  std::optional<scalar::AffineSum> position(const std::vector<Expr>& index) const {
    Expr flat = scalar::int_lit(0);
    for (size_t d = 0; d < index.size(); ++d) {
      const auto* ramp = scalar::as<scalar::Ramp>(index[d]);
      if (index.size() > 1) {
        const auto extent = scalar::constant_of(buffer_.shape[d]);
        if (!extent)
          return std::nullopt;
        flat = flat * scalar::int_lit(*extent);
      }
      flat = flat + (ramp != nullptr ? ramp->base : index[d]);
    }
    return scalar::affine_sum(scalar::simplify(flat));
  }

  Reads reads_of(const Block& body) const {
    Reads reads;
    std::vector<Expr> seen;
    for (const Stmt& stmt : body)
      visit_own_loads(stmt, [&](const scalar::Load& load, const Expr& e) {
        if (load.tensor != mark_.tensor ||
            std::any_of(seen.begin(), seen.end(),
                        [&](const Expr& other) { return scalar::equal(other, e); }))
          return;
        seen.push_back(e);
        reads.elements += e.type().lanes;
        const auto at = position(load.index);
        if (!reads.first)
          reads.first = at;
        if (!at || !reads.first)
          return;
        if (const auto from = scalar::difference(*at, *reads.first); from.terms.empty())
          reads.runs.push_back({from.constant, from.constant + e.type().lanes});
      });
    return reads;
  }

  static int64_t coefficient(const scalar::AffineSum& sum, uint32_t var) {
    for (const auto& [term, factor] : sum.terms)
      if (const auto* v = scalar::as<scalar::Var>(term); v != nullptr && v->id == var)
        return factor;
    return 0;
  }

  /// `inner` is the last of `inside`.
  std::optional<Place> place_in(For& inner, const std::vector<Trips>& inside) const {
    const Reads reads = reads_of(inner.body);
    if (!reads.first)
      return std::nullopt;
    const int64_t advance = coefficient(*reads.first, inner.var) * inner.step;
    // Every element is read, so that all of them will be needed.
    if (coefficient(*reads.first, loop_.var) == 0 || advance <= 0 || advance > reads.elements ||
        !is_known_before(*reads.first, inner.body))
      return std::nullopt;
    int64_t repeats = 1, panel = advance;
    for (const auto& [around, trips] : inside) {
      const int64_t step = coefficient(*reads.first, around->var) * around->step;
      if (!trips || step < 0)
        return std::nullopt;
      if (step == 0)
        repeats *= std::max<int64_t>(1, *trips);
      else
        panel += step * std::max<int64_t>(0, *trips - 1);
    }
    if (panel <= kFewLines * line_)
      return std::nullopt;
    return Place{&inner,
                 inside,
                 *reads.first,
                 row_of(*reads.first, inside),
                 repeats,
                 panel,
                 advance,
                 rows_of(reads.runs, advance),
                 static_cast<double>(operations_of(inner.body)) /
                     static_cast<double>(reads.elements)};
  }

  /// Whether the position can be computed at the start of the body, for later iterations too.
  static bool is_known_before(const scalar::AffineSum& position, const Block& body) {
    const VarSet inside = vars_set_in(body);
    return std::none_of(position.terms.begin(), position.terms.end(), [&](const auto& term) {
      return has_load(term.first) || mentions_any(term.first, inside);
    });
  }

  /// Arithmetic of one iteration, lane by lane; functions are long formulas.
  static int64_t operations_of(const Block& body) {
    constexpr int64_t kOfFunction = 12;
    int64_t count = 0;
    visit_exprs(body, [&](const Expr& root) {
      scalar::visit(root, [&](const Expr& e) {
        const auto* call = scalar::as<scalar::Unary>(e);
        if (call != nullptr && scalar::has_expansion(call->op, e.type().elem))
          count += kOfFunction * e.type().lanes;
        else if (call != nullptr || scalar::as<scalar::Binary>(e) != nullptr ||
                 scalar::as<scalar::Fma>(e) != nullptr)
          count += scalar::is_float(e.type().elem) ? e.type().lanes : 0;
      });
    });
    return count;
  }

  Expr row_of(const scalar::AffineSum& position, const std::vector<Trips>& inside) const {
    const auto is_inside = [&](uint32_t var) {
      return std::any_of(inside.begin(), inside.end(),
                         [&](const Trips& around) { return around.loop->var == var; });
    };
    Expr at = scalar::int_lit(0);
    for (const auto& [term, factor] : position.terms)
      if (const auto* v = scalar::as<scalar::Var>(term); v == nullptr || !is_inside(v->id))
        at = at + substitute_var(term, loop_.var, ahead()) * scalar::int_lit(factor);
    return at;
  }

  /// Of the elements to ask for, the iterations of loops along which the position stays have a part
  /// each; within it, the others go on that much slower. Of several rows they have some each, which
  /// the others go through.
  void insert(const Place& place) const {
    const bool has_rows = place.rows.count > 1;
    const int64_t share = (place.rows.count + place.repeats - 1) / place.repeats;
    const int64_t slower = has_rows ? 1 : place.shared;
    int64_t part = has_rows ? share * place.rows.distance
                            : rounded_up((place.panel + place.shared - 1) / place.shared, line_);
    Expr at = place.row + scalar::int_lit(place.before * part);
    for (auto around = place.inside.rbegin(); around != place.inside.rend(); ++around) {
      const For& other = *around->loop;
      const int64_t step = coefficient(place.position, other.var) * other.step;
      const int64_t elements = step == 0 ? part : (step + slower - 1) / slower;
      const int64_t each = rounded_up(elements, other.step) / other.step;
      if (step == 0)
        part *= around->most.value_or(1);
      at = at + (var_expr(kernel_, other.var) - other.lo) * scalar::int_lit(each);
    }
    const int64_t lines = ((place.advance + slower - 1) / slower + line_ - 1) / line_;
    Block body;
    for (int64_t k = 0; k < std::min(lines * share, kMostAtOnce); ++k)
      body.emplace_back(
          Prefetch{mark_.tensor,
                   {scalar::simplify(at + scalar::int_lit(k / lines * place.rows.distance +
                                                          k % lines * line_))}});
    append(body, std::move(place.loop->body));
    place.loop->body = std::move(body);
  }

  Expr ahead() const {
    return var_expr(kernel_, loop_.var) + scalar::int_lit(mark_.ahead * loop_.step);
  }

  const Kernel& kernel_;
  const For& loop_;
  const poly::Prefetched& mark_;
  const Buffer& buffer_;
  int64_t line_;
  std::vector<Place> places_;
};

} // namespace

bool prefetch_panel(const Kernel& kernel, For& loop, const poly::Prefetched& mark) {
  PanelPrefetcher prefetcher(kernel, loop, mark);
  const bool found = prefetcher.find(loop.body);
  prefetcher.insert();
  return found;
}

} // namespace kawara::kernel
