#include "schedule/auto/product/thread_grid.h"

#include "schedule/auto/product/blocking.h"

#include <algorithm>
#include <limits>

namespace kawara::schedule {
namespace {

/// Fewer multiply-adds than this for each byte of a vector are not worth waking threads; fewer by
/// `kWait` with few rows, which wait for memory.
constexpr int64_t kWorthThreads = 1 << 13, kWait = 4;
/// Steps of a vector multiply-add: to start threads on one more loop, to copy an element.
constexpr double kForkSteps = 12000, kCopySteps = 1.5;
/// Bytes that come from the cache that all cores share, and from a core's second one, in the time
/// of a step.
constexpr double kSharedBytes = 6, kNearBytes = 24;
/// How much longer bytes of rows that are not packed take, and of twins of elements
/// (ProductInstruction::copies) that another core has just copied: f16 products of 1024 cubed with
/// 16 threads took 1.10, 0.99 and 0.81 ms in blocks of one, two and four panels.
constexpr double kApart = 2, kFromOthers = 4;
/// Blocks for each thread that are tried.
constexpr int64_t kMostBlocks = 8;
/// Of its last block, what the last of so many threads is late: nearly all of it where there are
/// many, because cores that others use as well are not equally fast. 16 of them took 5 to 15 % less
/// time for products in two to four times as many blocks. Tiles of instructions gained nothing:
/// those of smaller blocks wait for their operands.
constexpr double kLateOfTwo = 0.25;
double late_share(int64_t threads, double speed) {
  const double alone = 2 * (1 - kLateOfTwo) / static_cast<double>(std::max<int64_t>(2, threads));
  return speed > 1 ? kLateOfTwo : 1 - alone;
}
/// Steps to begin a block.
constexpr double kBlockSteps = 600;
/// What one loop for all blocks must gain, unless its blocks have all columns: nothing is copied
/// before it then.
constexpr double kWorthOneLoop = 0.95;
/// An outermost loop of at least this many iterations is shared as it is, if that leaves few
/// threads waiting.
constexpr int64_t kWideLoop = 8;
/// With so many of the threads at work, more iterations are not worth another loop.
constexpr double kMostBusy = 0.8;

int64_t parts_of(int64_t extent, int64_t size) { return (extent + size - 1) / size; }

/// Of the time that threads have for so many equal tasks, the share in which they work.
double busy_share(int64_t tasks, int64_t threads) {
  return static_cast<double>(tasks) / static_cast<double>(parts_of(tasks, threads) * threads);
}

/// Steps of the reduction for one element of the result, with those that are added up afterwards.
int64_t whole_depth(const Product& p) {
  return product_over(p.extents, p.depth) * p.combined_extent();
}

/// Costs of sharing a product, in multiply-adds of vectors by one thread for each step of the
/// reduction.
class GridCosts {
public:
  GridCosts(const Product& p, const RegisterTile& tile, int64_t lanes, int64_t element_bytes,
            const Copies& copies, double speed, int64_t threads, const target::Cpu& cpu)
      : p_(p), tile_(tile), width_(tile.vectors * lanes), bytes_(element_bytes), threads_(threads),
        tile_rows_(parts_of(p.extents[p.rows], tile.rows)),
        tile_columns_(parts_of(p.extents[p.lanes], width_)),
        outer_(product_over(p.extents, p.outer)), speed_(speed),
        depth_(std::max<double>(1, static_cast<double>(whole_depth(p)))),
        room_(static_cast<double>(cpu.caches.l2) / 2), left_elements_(copies.left_elements),
        is_left_packed_(copies.left), packs_left_(is_left_packed_ && !p.left_reused_by_some_outer),
        packs_right_(copies.right && !p.right_reused_by_some_outer) {}

  int64_t tile_rows() const { return tile_rows_; }
  int64_t tile_columns() const { return tile_columns_; }

  /// Threads share the rows only, outer iterations come one after the other. Each packs its own.
  double of_rows() const {
    const int64_t high = parts_of(tile_rows_, std::min(tile_rows_, threads_));
    const double each = steps(high, tile_columns_) + left_bytes(high, false) +
                        right_bytes(tile_columns_) + near_bytes(tile_columns_) +
                        packing_left(1) / static_cast<double>(threads_);
    return static_cast<double>(outer_) * each + fork() * static_cast<double>(outer_ - 1) +
           waiting(std::min(high, rows_that_fit()), tile_columns_);
  }

  /// Threads share the outermost loop; each has all of the result of its iterations.
  double of_outermost() const {
    const int64_t first = p_.extents[p_.outer.front()];
    const auto inner = static_cast<double>(outer_ / first);
    const double each = inner * (steps(tile_rows_, tile_columns_) + left_bytes(tile_rows_, false) +
                                 right_bytes(tile_columns_) + near_bytes(tile_columns_) +
                                 packing_left(1) + packing_right(1));
    const int64_t rounds = parts_of(first, threads_);
    return (static_cast<double>(rounds) + late()) * each + beginning(rounds * outer_ / first);
  }

  /// One after the other, a thread's blocks have the same columns, which stay in its L2 if they
  /// fit.
  double of_one_loop(int64_t high, int64_t wide) const {
    const int64_t rows = parts_of(tile_rows_, high), columns = parts_of(tile_columns_, wide);
    const int64_t rounds = parts_of(outer_ * rows * columns, threads_);
    const bool stays = static_cast<double>(wide * width_ * bytes_) * depth_ <= room_;
    const bool rests = p_.right_invariant_in_all_outer || p_.combined;
    const int64_t reads = stays && rests ? parts_of(rounds, rows) : rounds;
    double copies = 0;
    if (packs_left_)
      copies += (columns > 1 ? fork() : 0) + packing_left(outer_) / static_cast<double>(threads_);
    if (packs_right_)
      copies += (rows > 1 ? fork() : 0) + packing_right(outer_) / static_cast<double>(threads_);
    const double each =
        steps(high, wide) + left_bytes(high, columns > 1 && packs_left_) + near_bytes(wide);
    return static_cast<double>(rounds) * each + static_cast<double>(reads) * right_bytes(wide) +
           waiting(high, wide) + copies + beginning(rounds);
  }

private:
  double steps(int64_t high, int64_t wide) const {
    return static_cast<double>(high * wide * tile_.rows * tile_.vectors) / speed_;
  }
  /// Rows that are read unpacked come from as many places at once, what others have copied from
  /// their caches.
  double left_bytes(int64_t high, bool is_from_others) const {
    const double apart = !is_left_packed_                       ? kApart
                         : is_from_others && left_elements_ > 1 ? kFromOthers
                                                                : 1;
    return apart * static_cast<double>(bytes_ * left_elements_ * high * tile_.rows) / kSharedBytes;
  }
  double right_bytes(int64_t wide) const {
    return static_cast<double>(bytes_ * wide * width_) / kSharedBytes;
  }
  /// Every block walks once through its columns of the right operand.
  double near_bytes(int64_t wide) const {
    return static_cast<double>(bytes_ * wide * width_) / kNearBytes;
  }
  /// Rows of tiles of the left operand that blocks are cut into anyway, for the L2.
  int64_t rows_that_fit() const {
    constexpr double kUsualDepth = 1024;
    const double row = std::min(depth_, kUsualDepth) * static_cast<double>(bytes_ * tile_.rows);
    return std::max<int64_t>(1, static_cast<int64_t>(room_ / row));
  }
  /// For a thread that was interrupted, or for the last of them. The only row of tiles takes as
  /// long as its columns take to come.
  double waiting(int64_t high, int64_t wide) const {
    const bool is_single = tile_rows_ == 1 && p_.outer.empty() && !p_.combined;
    const double coming = is_single ? right_bytes(wide) + near_bytes(wide) : 0;
    return late() * (steps(high, wide) + coming);
  }
  double late() const { return late_share(threads_, speed_); }
  double beginning(int64_t blocks) const {
    return static_cast<double>(blocks) * kBlockSteps / depth_;
  }
  double fork() const { return kForkSteps / depth_; }
  double packing_left(int64_t times) const {
    return packs_left_ ? kCopySteps * static_cast<double>(times * p_.extents[p_.rows]) : 0;
  }
  double packing_right(int64_t times) const {
    return packs_right_ ? kCopySteps * static_cast<double>(times * p_.extents[p_.lanes]) : 0;
  }

  const Product& p_;
  RegisterTile tile_;
  int64_t width_, bytes_, threads_, tile_rows_, tile_columns_, outer_;
  double speed_, depth_, room_;
  int64_t left_elements_;
  bool is_left_packed_, packs_left_, packs_right_;
};

/// A copy of the whole right operand, made in each call, stays in the cache that cores share.
bool may_copy_right(const Product& p, int64_t element_bytes, const target::Cpu& cpu) {
  const int64_t bytes =
      p.extents[p.lanes] * whole_depth(p) * product_over(p.extents, p.outer) * element_bytes;
  return p.right_reused_by_some_outer || bytes <= std::max(cpu.caches.l3, 4 * cpu.caches.l2) / 4;
}

} // namespace

int64_t threads_for(const Product& p, const target::Cpu& cpu, double speed) {
  std::vector<size_t> all(p.extents.size());
  for (size_t k = 0; k < all.size(); ++k)
    all[k] = k;
  const int64_t work = product_over(p.extents, all) * (p.extents[p.rows] < kWait ? kWait : 1);
  const double least = static_cast<double>(kWorthThreads * cpu.vector_bytes) * speed;
  return !p.is_inside && static_cast<double>(work) >= least ? cpu.cores : 1;
}

bool may_share_blocks(const Product& p) {
  return !p.parts && !p.left_has_window && !p.avoids_one_loop;
}

size_t shared_outer_loops(const Product& p, int64_t threads) {
  if (p.parts || p.outer.empty())
    return 0;
  if (may_share_blocks(p))
    return p.extents[p.outer.front()] >= kWideLoop ? 1 : 0;
  int64_t tasks = 1;
  for (size_t k = 0; k < p.outer.size(); ++k) {
    tasks *= p.extents[p.outer[k]];
    if (tasks >= kWideLoop && busy_share(tasks, threads) >= kMostBusy)
      return k + 1;
  }
  return tasks >= kWideLoop ? p.outer.size() : 0;
}

ThreadGrid thread_grid(const Product& p, const RegisterTile& tile, int64_t lanes,
                       int64_t element_bytes, const Copies& copies, double speed, int64_t threads,
                       const target::Cpu& cpu) {
  const GridCosts costs(p, tile, lanes, element_bytes, copies, speed, threads, cpu);
  ThreadGrid best{threads, 1, false};
  if (threads == 1 || !may_share_blocks(p))
    return best;
  const bool has_wide = !p.outer.empty() && p.extents[p.outer.front()] >= kWideLoop;
  double least = (has_wide ? costs.of_outermost() : costs.of_rows()) * kWorthOneLoop;
  const int64_t most = kMostBlocks * threads;
  for (int64_t rows = 1; rows <= std::min(costs.tile_rows(), most); ++rows) {
    if (rows > 1 && !may_copy_right(p, element_bytes, cpu))
      break;
    for (int64_t columns = 1; columns <= std::min(costs.tile_columns(), most); ++columns) {
      const double cost = costs.of_one_loop(parts_of(costs.tile_rows(), rows),
                                            parts_of(costs.tile_columns(), columns)) *
                          (columns == 1 ? kWorthOneLoop : 1);
      if (cost >= least)
        continue;
      least = cost;
      best = {rows, columns, true};
    }
  }
  return best;
}

int64_t even_blocks(int64_t least, int64_t most, int64_t outer, int64_t threads) {
  constexpr double kEven = 0.93;
  for (int64_t count = least; count <= std::min(most, least + threads); ++count)
    if (busy_share(count * outer, threads) >= kEven)
      return count;
  return least;
}

} // namespace kawara::schedule
