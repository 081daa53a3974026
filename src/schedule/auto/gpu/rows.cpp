#include "schedule/auto/gpu/plan.h"

#include "schedule/attempt.h"
#include "schedule/auto/rowwise/fuse_rows.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/resolve.h"
#include "support/integers.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace kawara::schedule {
namespace {

using poly::Axis;
using poly::LoopId;
using poly::StmtId;
using poly::TreeNode;

constexpr int64_t kWarp = 32;
constexpr int64_t kShortestRow = 8, kFewestThreads = 4;
constexpr int64_t kMostThreadsOfRow = 512, kUsualThreadsOfRow = 256;
/// Of rows that are loaded in less than 16 bytes a thread.
constexpr int64_t kMostThreadsOfOddRow = 1024;
/// Elements that a thread keeps at most where twice as many threads can keep the row as well.
constexpr int64_t kKeptOfMany = 64;
/// Groups of neighbouring elements that are left to a thread at least when there are more threads
/// than usual.
constexpr int64_t kLeastGroups = 4;
/// The same when there are fewer threads than usual.
constexpr int64_t kLeastTurns = 3;
/// Groups that a thread of a short row has at most (docs/notes/gpu_rows.md).
constexpr int64_t kMostTurnsOfShortRow = 4;
constexpr int64_t kMostWarpsOfBlock = 8;
/// Elements of a row that one warp has, or bytes.
constexpr int64_t kRowOfWarp = 1024, kBytesOfWarp = 4096;
/// Of a loop over rows without a known end.
constexpr int64_t kUnknownRows = 1 << 20;
/// Elements of a row that the threads of a block keep in registers, and how many one of them keeps
/// at most.
constexpr int64_t kMostKeptOfRow = 48 << 10, kMostKept = 96;
/// Bytes that a thread has under way where it does not keep the row.
constexpr int64_t kBytesUnderWay = 64, kMostUnrolled = 16;

class RowBinder {
public:
  RowBinder(const Schedule& schedule, LoopId rows, const Environment& environment)
      : schedule_(schedule), environment_(environment),
        first_(poly::statements_below(schedule.order, rows).front()),
        row_name_(schedule.order[rows].name) {
    for (const TreeNode& node : poly::find_node(schedule.order, rows)->body)
      if (node.is_loop())
        nests_.push_back(poly::statements_below(node).front());
    rows_ = known_run(schedule.scop, schedule.order, rows).value_or(kUnknownRows);
    measure();
  }

  std::optional<Schedule> bound() {
    if (nests_.empty() || extent_ < kShortestRow)
      return std::nullopt;
    const LoopName rows = loop(first_, row_name_);
    std::string place = row_name_;
    if (rows_of_block() > 1) {
      if (!go({Split{rows, rows_of_block()}, Bind{loop(first_, row_name_ + ".0"), Axis::BlockX},
               Bind{loop(first_, row_name_ + ".1"), Axis::ThreadY}}))
        return std::nullopt;
      place += ".0";
    } else if (!go({Bind{rows, Axis::BlockX}}))
      return std::nullopt;
    const LoopId at = poly::path_of(schedule_.order, first_).front();
    for (const std::string& temp : temps_of(schedule_, at))
      go({StoreAt{temp, loop(first_, place)}});
    for (const StmtId statement : nests_)
      if (!bind_nest(statement))
        return std::nullopt;
    for (const auto& [tensor, readers] : readers_)
      if (readers > 1)
        keep(tensor, loop(first_, place));
    return std::move(schedule_);
  }

private:
  LoopName loop(StmtId id, const std::string& name) const {
    return {schedule_.scop[id].text.name, name};
  }
  bool go(const std::vector<Directive>& plan) {
    return attempt(schedule_, plan, environment_, "rows", {first_});
  }

  /// Threads of a warp need no barrier between them. Longer rows have one where there are many of
  /// them.
  bool is_warp_per_row() const {
    const bool has_many = rows_ >= kMostWarpsOfBlock * environment_.gpu->multiprocessors;
    return extent_ <= kRowOfWarp || (has_many && extent_ * 16 / widest_ <= kBytesOfWarp);
  }
  /// Several rows to a block, unless that leaves multiprocessors without any.
  int64_t rows_of_block() const {
    int64_t rows = is_warp_per_row() ? kMostWarpsOfBlock * kWarp / threads() : 1;
    while (rows > 1 && rows_ < rows * environment_.gpu->multiprocessors)
      rows /= 2;
    return rows;
  }
  int64_t threads() const {
    const int64_t groups = std::max<int64_t>(extent_ / width_, 1);
    if (is_warp_per_row())
      return threads_of_short_row(groups);
    const auto threads = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(groups)));
    if (is_odd())
      return std::clamp(threads, kWarp, threads_of_odd_row());
    const bool has_many = rows_ >= kLeastGroups * environment_.gpu->multiprocessors;
    const auto busy = static_cast<int64_t>(
        std::bit_floor(static_cast<uint64_t>(has_many ? groups / kLeastTurns : groups)));
    // Rows of 8192 numbers of f32 were 0.2 to 1.1 % faster with 512 threads.
    return std::clamp<int64_t>(threads / kLeastGroups, std::clamp(busy, kWarp, kUsualThreadsOfRow),
                               kMostThreadsOfRow);
  }
  /// Short rows share a warp: with few rows as many threads as there are groups, so that none is
  /// idle; with many, as few as leave the GPU half full.
  int64_t threads_of_short_row(int64_t groups) const {
    auto threads = std::clamp<int64_t>(
        static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(groups))), kFewestThreads, kWarp);
    const auto places = [&](int64_t t) { return ceil_div(groups, t) * t; };
    const int64_t enough =
        environment_.gpu->multiprocessors * environment_.gpu->threads_per_multiprocessor / 2;
    while (threads > kFewestThreads && rows_ * threads > enough &&
           ceil_div(groups, threads / 2) <= kMostTurnsOfShortRow &&
           places(threads / 2) <= places(threads))
      threads /= 2;
    return threads;
  }
  /// As few as keep the row in registers.
  int64_t threads_of_odd_row() const {
    if (extent_ <= kUsualThreadsOfRow * kMostKept)
      return kUsualThreadsOfRow;
    const bool is_kept = extent_ <= kMostKeptOfRow;
    return is_kept && extent_ > kMostThreadsOfRow * kKeptOfMany ? kMostThreadsOfOddRow
                                                                : kMostThreadsOfRow;
  }

  /// Length and vector width of the rows, and how many nests read each tensor along them.
  void measure() {
    std::vector<StmtId> all;
    for (const StmtId id : nests_) {
      const LoopId inner = poly::path_of(schedule_.order, id).back();
      extent_ = std::max(extent_, known_run(schedule_.scop, schedule_.order, inner).value_or(4096));
      all.push_back(id);
      std::set<uint32_t> read;
      scalar::visit(schedule_.scop[id].text.value, [&](const scalar::Expr& e) {
        const auto* load = scalar::as<scalar::Load>(e);
        if (load != nullptr && load->index.size() > 1 &&
            schedule_.scop.tensors[load->tensor].role == program::Role::Input)
          read.insert(load->tensor);
      });
      for (const uint32_t tensor : read)
        ++readers_[tensor];
    }
    if (!all.empty()) {
      width_ = gpu_vector_width(schedule_, all, extent_, row_of(all.front()));
      widest_ = gpu_vector_width(schedule_, all, 0, row_of(all.front()));
    }
    has_constant_rows_ =
        known_run(schedule_.scop, schedule_.order,
                  poly::path_of(schedule_.order, nests_.empty() ? first_ : nests_[0]).back())
            .has_value();
  }

  /// Of the loop along the row.
  size_t row_of(StmtId id) const { return poly::path_of(schedule_.order, id).size() - 1; }

  bool has_few_turns() const {
    return has_constant_rows_ && extent_ / threads() <= kMostKept && extent_ <= kMostKeptOfRow;
  }
  int64_t bytes_of_load() const { return width_ * 16 / widest_; }
  bool is_odd() const { return width_ < widest_; }

  /// Threads along the row, each with groups of neighbouring elements.
  bool bind_nest(StmtId id) {
    const std::string j = schedule_.order[poly::path_of(schedule_.order, id).back()].name;
    const bool is_update = schedule_.scop[id].text.op != scalar::ReduceOp::None;
    for (const bool is_wide : {true, false}) {
      const int64_t width = is_wide ? width_ : 1;
      GpuPlan plan(schedule_.scop[id].text.name);
      plan.split(j, threads() * width);
      std::vector<std::string> order = {j + ".1", j + ".0"};
      if (width > 1) {
        plan.split(j + ".1", width);
        order = {j + ".1.0", j + ".0", j + ".1.1"};
      }
      plan.reorder(order);
      plan.bind(order[0], Axis::ThreadX);
      if (has_few_turns())
        plan.unroll(j + ".0");
      else if (is_odd())
        plan.add(
            Unroll{plan.loop(j + ".0"), std::min(kBytesUnderWay / bytes_of_load(), kMostUnrolled)});
      if (width > 1 && is_update)
        plan.unroll(j + ".1.1");
      else if (width > 1)
        plan.vectorize(j + ".1.1", width);
      if (go(plan.list()))
        return true;
    }
    return false;
  }

  /// Loads a row once and keeps it in registers.
  void keep(uint32_t tensor, const LoopName& at) {
    if (!has_few_turns())
      return;
    Schedule before = schedule_;
    const std::string name = schedule_.scop.tensors[tensor].name;
    const size_t rank = schedule_.scop.tensors[tensor].shape.size();
    if (rank != 2 || !go({Stage{name, at, std::nullopt, std::nullopt}}))
      return;
    const StmtId copy{static_cast<uint32_t>(schedule_.scop.statements.size() - 1)};
    GpuPlan plan(schedule_.scop[copy].text.name);
    const std::vector<LoopId> path = poly::path_of(schedule_.order, copy);
    const std::string down = schedule_.order[path[path.size() - 2]].name,
                      along = schedule_.order[path.back()].name;
    plan.split(along, threads() * width_);
    std::vector<std::string> order = {along + ".1", along + ".0"};
    if (width_ > 1) {
      plan.split(along + ".1", width_);
      order = {along + ".1.0", along + ".0", along + ".1.1"};
    }
    plan.reorder(order);
    plan.bind(order[0], Axis::ThreadX);
    plan.unroll(along + ".0");
    if (width_ > 1)
      plan.vectorize(along + ".1.1", width_);
    if (rows_of_block() > 1)
      plan.bind(down, Axis::ThreadY);
    if (!go(plan.list()))
      schedule_ = std::move(before);
  }

  Schedule schedule_;
  const Environment& environment_;
  StmtId first_;
  std::string row_name_;
  std::vector<StmtId> nests_; ///< a statement of each
  std::map<uint32_t, int> readers_;
  int64_t rows_ = 0, extent_ = 0;
  int64_t width_ = 1, widest_ = 1; ///< elements of a load, and of 16 bytes
  bool has_constant_rows_ = false;
};

} // namespace

bool bind_rows(Schedule& schedule, LoopId rows, const Environment& environment) {
  auto bound = RowBinder(schedule, rows, environment).bound();
  if (bound)
    schedule = *std::move(bound);
  return bound.has_value();
}

} // namespace kawara::schedule
