#include "schedule/auto/gpu/plan.h"

#include "schedule/attempt.h"
#include "support/integers.h"

#include <algorithm>
#include <bit>

namespace kawara::schedule {
namespace {

using poly::Axis;

constexpr int64_t kThreads = 256;
constexpr int64_t kLeastThreads = 32;
constexpr int64_t kLeastWidth = 2;
constexpr int64_t kShortMapRow = 16;
constexpr size_t kManyLoads = 8; ///< for one element
/// Groups of 16 bytes of a thread that has the same columns of several rows, where that saves
/// loads; pieces of a row that are shorter than 16 bytes.
constexpr int64_t kGroupsOfThread = 2, kMostRowPieces = 8;
/// Threads of a multiprocessor that are left at least when each has several pieces, or several
/// rows.
constexpr int64_t kThreadsWithPieces = 1024, kThreadsWithRows = 4096;
/// Of a grid in y and z.
constexpr int64_t kMostMapBlocks = 65535;

/// A loop of the nest and what a plan calls it.
struct Item {
  size_t position = 0;
  std::string name;
  int64_t extent = 0;
};

class MapPlanner {
public:
  MapPlanner(const Schedule& schedule, const Nest& nest, const NestFacts& facts,
             const target::Gpu& gpu)
      : schedule_(schedule), nest_(nest), facts_(facts), gpu_(gpu),
        first_(schedule.scop[nest.statements.front()].text.name) {
    for (size_t k = 0; k < nest.loops.size(); ++k) {
      Item item{k, schedule.order[nest.loops[k]].name, facts.extents[k]};
      (k >= facts.fixed && facts.is_parallel[k] ? parallel_ : serial_).push_back(item);
    }
  }

  std::vector<std::vector<Directive>> plans() {
    if (parallel_.empty())
      return {};
    std::vector<std::vector<Directive>> all;
    for (const bool is_wide : {true, false})
      for (const bool joins : {true, false})
        if (!joins || parallel_.size() > 3)
          all.push_back(plan(is_wide, joins));
    return all;
  }

private:
  /// The parallel loop along which most accesses walk through memory.
  size_t along_memory() const {
    size_t best = parallel_.size() - 1;
    for (size_t p = parallel_.size(); p-- > 0;) {
      const Strides& s = facts_.strides[parallel_[p].position];
      const Strides& b = facts_.strides[parallel_[best].position];
      if (s.unit - s.far - s.far_writes > b.unit - b.far - b.far_writes)
        best = p;
    }
    return best;
  }

  std::vector<Directive> plan(bool is_wide, bool joins) const {
    std::vector<Item> others = parallel_;
    const Item x = others[along_memory()];
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(along_memory()));
    GpuPlan plan(first_);
    int64_t width =
        is_wide && serial_inside().empty()
            ? gpu_vector_width(schedule_, nest_.statements, x.extent, nest_.depth + x.position)
            : 1;
    // Elements of a short row that differ by divisions: a thread that has them all divides
    // constants.
    if (is_wide && is_short_and_divided(x))
      width = x.extent;
    // Few elements that much is read for are better spread over multiprocessors than in wide
    // groups.
    while (reads_much() && width > kLeastWidth &&
           threads_in_all(width) < gpu_.multiprocessors * kLeastThreads)
      width /= 2;
    while (looks_into_table() && width > 1 &&
           threads_in_all(width) < gpu_.multiprocessors * kThreads)
      width /= 2;
    const int64_t most = reads_much() ? threads_of_block(width) : kThreads;
    const int64_t groups = std::max<int64_t>(x.extent / width, 1);
    const int64_t across =
        std::min<int64_t>(most, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(groups))));
    // One loop after the other, from the inside out: threads of x, then rows of them.
    Names names;
    names.inner = serial_inside();
    const int64_t rows = kGroupsOfThread * elements_of_group(x) / width;
    const bool has_rows = !others.empty() && width > 1 &&
                          shares_columns(with_threads(others.back(), most / across), rows, width) &&
                          (looks_into_table() || pieces_of_thread(x, width, across) == 1);
    const int64_t pieces = is_wide && !has_rows ? pieces_of_thread(x, width, across) : 1;
    split_columns(plan, names, x.name, {across, width, pieces});
    if (!others.empty() && most > across)
      split_threads(plan, names, others.back(), most / across);
    if (has_rows)
      split_rows(plan, names, others.back(), rows);
    return bound(plan, others, std::move(names), x, width, joins);
  }

  bool is_short_and_divided(const Item& x) const {
    return serial_inside().empty() && x.extent > 1 && x.extent <= kShortMapRow && divides(x.name);
  }

  /// Names of loops, those further out first.
  struct Names {
    std::vector<std::string> blocks, threads, inner;
    std::string vector; ///< one of the inner loops
  };

  /// Of a block: threads along x, elements that each has side by side, and how often.
  struct Columns {
    int64_t threads, width, pieces;
  };

  static void split_columns(GpuPlan& plan, Names& names, const std::string& x, const Columns& of) {
    plan.split(x, of.pieces * of.threads * of.width);
    std::string thread = x + ".1";
    if (of.pieces > 1) {
      plan.split(thread, of.threads * of.width);
      plan.unroll(thread + ".0");
      names.inner.push_back(thread + ".0");
      thread += ".1";
    }
    if (of.width > 1) {
      plan.split(thread, of.width);
      names.vector = thread + ".1";
      names.inner.push_back(names.vector);
      thread += ".0";
    }
    names.threads.push_back(thread);
    names.blocks.push_back(x + ".0");
  }

  /// Several rows to a block.
  static void split_threads(GpuPlan& plan, Names& names, Item& y, int64_t most) {
    plan.split(y.name, rows_of_block(y, most));
    names.threads.insert(names.threads.begin(), y.name + ".1");
    y = with_threads(y, most);
    y.name += ".0";
  }
  static int64_t rows_of_block(const Item& y, int64_t most) {
    const auto rows = static_cast<uint64_t>(std::max<int64_t>(y.extent, 1));
    return std::min<int64_t>(most, static_cast<int64_t>(std::bit_ceil(rows)));
  }
  static Item with_threads(Item y, int64_t most) {
    y.extent = ceil_div(y.extent, rows_of_block(y, most));
    return y;
  }

  /// Several rows to a thread.
  static void split_rows(GpuPlan& plan, Names& names, Item& y, int64_t count) {
    plan.split(y.name, count);
    plan.unroll(y.name + ".1");
    names.inner.insert(names.inner.begin(), y.name + ".1");
    y.name += ".0";
    y.extent /= count;
  }

  std::vector<Directive> bound(GpuPlan plan, std::vector<Item> outer, Names names, const Item& x,
                               int64_t width, bool joins) const {
    // More loops than axes: all but the last run as one, or the outermost inside a thread.
    int64_t together = 1;
    for (size_t o = 0; o + 1 < outer.size(); ++o)
      together *= outer[o].extent;
    std::vector<std::string> joined;
    while (outer.size() > 2) {
      if (joins && together <= kMostMapBlocks)
        joined.push_back(outer[0].name);
      else
        names.inner.insert(names.inner.begin(), outer[0].name);
      outer.erase(outer.begin());
    }
    for (size_t o = outer.size(); o-- > 0;)
      names.blocks.insert(names.blocks.begin(), outer[o].name);
    std::vector<std::string> order = joined;
    order.insert(order.end(), names.blocks.begin(), names.blocks.end());
    order.insert(order.end(), names.threads.begin(), names.threads.end());
    order.insert(order.end(), names.inner.begin(), names.inner.end());
    if (order.size() > 1)
      plan.reorder(order);
    for (size_t n = joined.size(); n-- > 0;) {
      plan.add(Coalesce{plan.loop(joined[n]), plan.loop(names.blocks.front())});
      names.blocks.front() = joined[n] + "_" + names.blocks.front();
    }
    std::vector<Axis> axes = {Axis::BlockX, Axis::BlockY, Axis::BlockZ};
    // The axis that may be long goes to the longest loop.
    if (!outer.empty() && outer.back().extent > kMostMapBlocks)
      std::swap(axes[0], axes[1]);
    for (size_t b = 0; b < names.blocks.size(); ++b)
      plan.bind(names.blocks[names.blocks.size() - 1 - b], axes[b]);
    plan.bind(names.threads.back(), Axis::ThreadX);
    if (names.threads.size() > 1)
      plan.bind(names.threads.front(), Axis::ThreadY);
    if (width == x.extent && is_short_and_divided(x))
      plan.unroll(names.vector);
    else if (width > 1)
      plan.vectorize(names.vector, width);
    return plan.list();
  }

  /// Where 16 bytes at a time are not possible, several pieces of a row that are under way
  /// together.
  int64_t pieces_of_thread(const Item& x, int64_t width, int64_t across) const {
    if (!serial_inside().empty() || reads_much())
      return 1;
    const int64_t groups = looks_into_table() ? kGroupsOfThread : 1;
    const int64_t least = looks_into_table() ? kThreads : kThreadsWithPieces;
    int64_t pieces = std::min(groups * elements_of_group(x) / width, kMostRowPieces);
    while (pieces > 1 && (pieces * across * width > x.extent ||
                          threads_in_all(width * pieces) < least * gpu_.multiprocessors))
      pieces /= 2;
    return std::max<int64_t>(pieces, 1);
  }

  /// gelu of f32 looks into a table that each block brings.
  bool looks_into_table() const {
    return std::any_of(nest_.statements.begin(), nest_.statements.end(), [&](poly::StmtId id) {
      const program::Statement& text = schedule_.scop[id].text;
      bool is_found = false;
      scalar::visit(text.value, [&](const scalar::Expr& e) {
        const auto* call = scalar::as<scalar::Unary>(e);
        is_found = is_found || (call != nullptr && call->op == scalar::UnaryOp::Gelu);
      });
      return is_found && schedule_.scop.tensors[text.tensor].elem == scalar::Elem::F32;
    });
  }

  /// Elements of 16 bytes.
  int64_t elements_of_group(const Item& x) const {
    return gpu_vector_width(schedule_, nest_.statements, 0, nest_.depth + x.position);
  }

  /// Something is read (a bias) that is the same for all of these many rows.
  bool shares_columns(const Item& rows, int64_t count, int64_t width) const {
    if (!serial_inside().empty() || reads_much() || count < 2 || count > kMostRowPieces ||
        rows.extent % count != 0 ||
        threads_in_all(count * width) <
            (looks_into_table() ? kThreadsWithPieces : kThreadsWithRows) * gpu_.multiprocessors)
      return false;
    const AccessTable table = access_table(schedule_, nest_);
    return std::any_of(table.begin(), table.end(), [&](const LoopAccess& access) {
      return !access.is_write && access.stays(rows.position);
    });
  }

  int64_t threads_in_all(int64_t width) const {
    int64_t elements = 1;
    for (const Item& item : parallel_)
      elements *= std::max<int64_t>(item.extent, 1);
    return elements / width;
  }

  /// So many that all multiprocessors have a block.
  int64_t threads_of_block(int64_t width) const {
    const int64_t share = threads_in_all(width) / gpu_.multiprocessors;
    return std::clamp<int64_t>(
        static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(share, 1)))),
        kLeastThreads, kThreads);
  }

  /// Whether some index or condition has a quotient or remainder of the loop's variable.
  bool divides(const std::string& loop) const {
    bool is_found = false;
    for (const poly::StmtId id : nest_.statements) {
      const program::Statement& text = schedule_.scop[id].text;
      scalar::visit(text.value, [&](const scalar::Expr& e) {
        const auto* n = scalar::as<scalar::Binary>(e);
        if (n == nullptr || (n->op != scalar::BinaryOp::FloorDiv && n->op != scalar::BinaryOp::Mod))
          return;
        scalar::visit(n->lhs, [&](const scalar::Expr& part) {
          const auto* iter = scalar::as<scalar::Iter>(part);
          is_found = is_found || (iter != nullptr && text.iters[iter->index] == loop);
        });
      });
    }
    return is_found;
  }

  /// An element is made of many: the window of a pool, or a whole image.
  bool reads_much() const {
    size_t loads = 0;
    for (const poly::StmtId id : nest_.statements)
      scalar::visit(schedule_.scop[id].text.value, [&](const scalar::Expr& e) {
        loads += scalar::as<scalar::Load>(e) != nullptr ? 1 : 0;
      });
    return loads >= kManyLoads;
  }

  /// Loops that carry something and may stand inside the threads.
  std::vector<std::string> serial_inside() const {
    std::vector<std::string> names;
    for (const Item& item : serial_)
      if (item.position >= facts_.fixed)
        names.push_back(item.name);
    return names;
  }

  const Schedule& schedule_;
  const Nest& nest_;
  const NestFacts& facts_;
  const target::Gpu& gpu_;
  std::string first_;
  std::vector<Item> parallel_, serial_;
};

} // namespace

std::vector<std::vector<Directive>> map_plans(const Schedule& schedule, const Nest& nest,
                                              const NestFacts& facts, const target::Gpu& gpu) {
  return MapPlanner(schedule, nest, facts, gpu).plans();
}

} // namespace kawara::schedule
