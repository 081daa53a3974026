#include "program/interpret/instruction.h"
#include "schedule/attempt.h"
#include "schedule/auto/gpu/plan.h"

#include <algorithm>
#include <array>

namespace kawara::schedule {
namespace {

using poly::Axis;

constexpr int64_t kLanesOfWarp = 32;
constexpr int64_t kMostFew = 16; ///< uses of an element that arithmetic can follow memory with
constexpr int64_t kFewForCollective = 3; ///< the same where tensor cores could do it
constexpr int64_t kLeastWide = 64, kLeastDepth = 128;
constexpr int64_t kLongDepth = 1024; ///< of which threads add up parts, however few the results are
constexpr int64_t kWideForCollective = 16;
constexpr int64_t kThreadsOfSkinny = 256;
constexpr int64_t kMostThreadSums = 64; ///< that a thread keeps
/// Steps of a thread that are written out, so that loads need not wait: along rows, and across
/// them.
constexpr int64_t kTurns = 4, kTurnsAcross = 8;
constexpr int64_t kLanesOfLine = 8; ///< threads that read a cache line together
constexpr int64_t kLoadBytes = 16;

int64_t product_of_extents(const Skinny& s, const std::vector<size_t>& positions) {
  int64_t product = 1;
  for (const size_t p : positions)
    product *= s.extents[p];
  return product;
}

/// How threads share a block's columns and the reduction.
struct SkinnyCuts {
  int64_t width = 1;    ///< elements in one load
  int64_t x = 1, y = 1; ///< threads of a block
  int64_t columns = 1;  ///< of the result that one thread has
};

/// Threads along the rows of the matrix, which are the reduction: each has a part of a column's
/// sum. Two warps to a column read long rows evenly; where columns are few, more.
SkinnyCuts cuts_along(const Skinny& s, int64_t width, const target::Gpu& gpu) {
  const int64_t columns = s.extents[s.wide] * product_of_extents(s, s.outer);
  SkinnyCuts cuts{width, kLanesOfWarp, kThreadsOfSkinny / kLanesOfWarp, 1};
  while (cuts.y > 1 && s.extents[s.depth] >= 2 * cuts.x * width * kTurns &&
         (cuts.x == kLanesOfWarp || columns < cuts.y * gpu.multiprocessors)) {
    cuts.x *= 2;
    cuts.y /= 2;
  }
  return cuts;
}

/// Threads across the rows, which are neighbouring results: each has sums of some columns over a
/// part of the reduction. A block reads whole cache lines where there are enough of them for all
/// multiprocessors, half lines else.
SkinnyCuts cuts_across(const Skinny& s, int64_t width, const target::Gpu& gpu) {
  const int64_t few = product_of_extents(s, s.few);
  while (width > 1 && width * few > kMostThreadSums)
    width /= 2;
  const int64_t columns = s.extents[s.wide] * product_of_extents(s, s.outer);
  const bool has_lines = columns >= kLanesOfLine * width * gpu.multiprocessors;
  const int64_t x = has_lines ? kLanesOfLine : kLanesOfLine / 2;
  return {width, x, (has_lines || few > 1 ? 1 : 2) * kThreadsOfSkinny / x, width};
}

class SkinnyPlanner {
public:
  SkinnyPlanner(const Schedule& schedule, const Skinny& s, SkinnyCuts cuts)
      : schedule_(schedule), s_(s), cuts_(cuts), update_(statement(s.update())) {
    const size_t number = schedule.scop.statements.size();
    combine_ = "S" + std::to_string(number);
    start_ = "S" + std::to_string(number + 1);
    own_ = loops_named(s.result_loops());
  }

  std::vector<Directive> plan(const std::vector<FusedNest>& before,
                              const std::vector<FusedNest>& after) {
    cut_reduction();
    for (const FusedNest& c : before)
      elements(statement(c.statement), loops_named(c), "");
    sums(start_, false);
    sums(update_, true);
    elements(combine_, own_, thread_);
    for (const FusedNest& c : after)
      elements(statement(c.statement), loops_named(c), "");
    fuse_and_bind();
    return std::move(plan_);
  }

private:
  /// Names of a statement's loops, and what it is called.
  struct Loops {
    std::vector<std::string> outer, few;
    std::string wide;
  };
  struct Member {
    std::string statement;
    std::vector<std::string> shared; ///< loops that become one with the others'
  };

  std::string statement(poly::StmtId id) const { return schedule_.scop[id].text.name; }
  std::string loop_name(size_t position) const {
    return schedule_.order[s_.nest.loops[position]].name;
  }

  Loops loops_named(const std::vector<size_t>& positions) const {
    std::vector<std::string> names;
    for (const size_t p : positions)
      names.push_back(loop_name(p));
    return arranged(names);
  }
  Loops loops_named(const FusedNest& c) const {
    std::vector<std::string> names;
    for (const poly::LoopId loop : c.loops)
      names.push_back(schedule_.order[loop].name);
    return arranged(names);
  }
  Loops arranged(const std::vector<std::string>& names) const {
    const auto few = names.begin() + static_cast<std::ptrdiff_t>(s_.outer.size());
    return {{names.begin(), few}, {few, names.end() - 1}, names.back()};
  }

  void add(const GpuPlan& plan) {
    plan_.insert(plan_.end(), plan.list().begin(), plan.list().end());
  }

  /// Parts of the reduction for threads, each with sums of its own.
  void cut_reduction() {
    const std::string k = loop_name(s_.depth);
    GpuPlan plan(update_);
    if (s_.is_along) {
      plan.split(k, cuts_.width);
      plan.split(k + ".0", cuts_.x);
      thread_ = k + ".0.1";
      serial_ = k + ".0.0";
      inner_ = k + ".1";
    } else {
      plan.split(k, cuts_.y * kTurnsAcross);
      plan.split(k + ".1", kTurnsAcross);
      thread_ = k + ".1.0";
      serial_ = k + ".0";
      inner_ = k + ".1.1";
    }
    std::vector<std::string> order = own_.outer;
    order.insert(order.end(), {own_.wide, thread_, serial_});
    order.insert(order.end(), own_.few.begin(), own_.few.end());
    order.push_back(inner_);
    plan.reorder(order);
    plan.add(Rfactor{plan.loop(thread_)});
    add(plan);
  }

  /// What each thread has for itself: its sums begin, or run over its part of the reduction.
  void sums(const std::string& name, bool is_update) {
    GpuPlan plan(name);
    const std::string j = own_.wide;
    const int64_t columns = cuts_.columns;
    plan.split(j, columns * (s_.is_along ? cuts_.y : cuts_.x));
    plan.split(j + ".1", columns);
    std::vector<std::string> order = own_.outer;
    order.push_back(j + ".0");
    if (s_.is_along)
      order.insert(order.end(), {j + ".1.0", thread_});
    else
      order.insert(order.end(), {thread_, j + ".1.0"});
    if (is_update)
      order.push_back(serial_);
    if (is_update && !s_.is_along)
      order.push_back(inner_);
    order.insert(order.end(), own_.few.begin(), own_.few.end());
    order.push_back(j + ".1.1");
    if (is_update && s_.is_along)
      order.push_back(inner_);
    plan.reorder(order);
    plan.bind(j + ".1.0", s_.is_along ? Axis::ThreadY : Axis::ThreadX);
    plan.bind(thread_, s_.is_along ? Axis::ThreadX : Axis::ThreadY);
    for (const std::string& few : own_.few)
      plan.unroll(few);
    if (s_.is_along || columns == 1)
      plan.unroll(j + ".1.1");
    else
      plan.vectorize(j + ".1.1", columns);
    if (is_update)
      plan.unroll(inner_);
    if (is_update && s_.is_along)
      plan.add(Unroll{plan.loop(serial_), kTurns});
    add(plan);
    members_.push_back(shared(name, own_));
  }

  /// What is done once for each result; `thread` is the loop over the parts that a result has.
  void elements(const std::string& name, const Loops& loops, const std::string& thread) {
    GpuPlan plan(name);
    const std::string& j = loops.wide;
    std::vector<std::string> order = loops.outer;
    order.push_back(j + ".0");
    if (s_.is_along) {
      plan.split(j, cuts_.columns * cuts_.y);
      plan.split(j + ".1", cuts_.columns);
      order.push_back(j + ".1.0");
      order.insert(order.end(), loops.few.begin(), loops.few.end());
      order.push_back(j + ".1.1");
    } else {
      plan.split(j, cuts_.columns * cuts_.x);
      plan.split(j + ".1", cuts_.x);
      order.insert(order.end(), {j + ".1.0", j + ".1.1"});
      order.insert(order.end(), loops.few.begin(), loops.few.end());
    }
    if (!thread.empty())
      order.push_back(thread);
    plan.reorder(order);
    plan.bind(j + ".1.0", Axis::ThreadY);
    if (!s_.is_along)
      plan.bind(j + ".1.1", Axis::ThreadX);
    else
      plan.unroll(j + ".1.1");
    for (const std::string& few : loops.few)
      plan.unroll(few);
    if (s_.is_along && !thread.empty())
      plan.bind(thread, Axis::ThreadX);
    else if (!thread.empty())
      plan.unroll(thread);
    add(plan);
    members_.push_back(shared(name, loops));
  }

  static Member shared(const std::string& name, const Loops& loops) {
    Member member{name, loops.outer};
    member.shared.push_back(loops.wide + ".0");
    return member;
  }

  void fuse_and_bind() {
    const Member& first = members_.front();
    for (size_t m = 1; m < members_.size(); ++m)
      for (size_t l = 0; l < first.shared.size(); ++l)
        plan_.emplace_back(Fuse{{first.statement, first.shared[l]},
                                {members_[m].statement, members_[m].shared[l]}});
    const std::array axes = {Axis::BlockX, Axis::BlockY, Axis::BlockZ};
    for (size_t l = 0; l < first.shared.size(); ++l)
      plan_.emplace_back(
          Bind{{first.statement, first.shared[l]}, axes[first.shared.size() - 1 - l]});
  }

  const Schedule& schedule_;
  const Skinny& s_;
  SkinnyCuts cuts_;
  std::string update_, combine_, start_;
  std::string thread_, serial_, inner_; ///< parts of the loop that reduces
  Loops own_;
  std::vector<Member> members_;
  std::vector<Directive> plan_;
};

/// Whether tensor cores have an instruction for these tensors.
bool tensor_cores_can(const Schedule& schedule, poly::StmtId update,
                      const Environment& environment) {
  const program::Statement& text = schedule.scop[update].text;
  const auto& instructions = target::intrinsics();
  return std::any_of(instructions.begin(), instructions.end(), [&](const target::Intrinsic& data) {
    if (!data.is_collective || !target::is_available(data, *environment.gpu) ||
        static_cast<int>(schedule.scop.numerics) < static_cast<int>(data.strictness))
      return false;
    const program::Instruction& one = program::instruction_of(data);
    return one.op == text.op && one.result().elem == schedule.scop.tensors[text.tensor].elem &&
           !program::matching_loads(one, text.value).empty();
  });
}

/// The loops by role when that load is the matrix and `wide` its loop of the result.
std::optional<Skinny> with_matrix(Skinny s, const AccessTable& accesses, const LoopAccess& matrix,
                                  size_t wide) {
  const LoopAccess& result = accesses.front();
  for (size_t k = 0; k < s.nest.loops.size(); ++k) {
    if (result.stays(k) || k == wide)
      continue;
    (matrix.stays(k) ? s.few : s.outer).push_back(k);
  }
  s.wide = wide;
  s.matrix = matrix.tensor;
  s.is_along = matrix.moves[s.depth] == Move::Unit;
  const bool is_across = matrix.moves[wide] == Move::Unit && result.moves[wide] == Move::Unit;
  const bool is_shared = std::any_of(accesses.begin() + 1, accesses.end(),
                                     [&](const LoopAccess& load) { return load.stays(wide); });
  if (matrix.stays(wide) || matrix.stays(s.depth) || !is_shared || !(s.is_along || is_across) ||
      s.outer.size() > 2)
    return std::nullopt;
  return s;
}

} // namespace

std::vector<size_t> Skinny::result_loops() const {
  std::vector<size_t> all = outer;
  all.insert(all.end(), few.begin(), few.end());
  all.push_back(wide);
  return all;
}

std::optional<Skinny> skinny_of(const Schedule& schedule, const Nest& nest,
                                const Environment& environment) {
  const NestFacts facts = facts_of(schedule, nest);
  if (nest.statements.size() != 1 || facts.fixed != 0 || nest.depth != 0)
    return std::nullopt;
  const poly::StmtId update = nest.statements.front();
  const program::Statement& text = schedule.scop[update].text;
  if (text.op == scalar::ReduceOp::None)
    return std::nullopt;
  Skinny base;
  base.nest = nest;
  base.extents = facts.extents;
  const LoopAccess& result = facts.accesses.front();
  size_t reductions = 0;
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    if (result.stays(k)) {
      base.depth = k;
      ++reductions;
    } else if (!facts.is_parallel[k])
      return std::nullopt;
  }
  if (reductions != 1 || base.extents[base.depth] < kLeastDepth)
    return std::nullopt;
  const bool has_instruction = tensor_cores_can(schedule, update, environment);
  std::optional<Skinny> best;
  for (size_t matrix = 1; matrix < facts.accesses.size(); ++matrix)
    for (size_t wide = 0; wide < nest.loops.size(); ++wide) {
      const bool is_worth =
          base.extents[wide] >= kLeastWide || base.extents[base.depth] >= kLongDepth;
      if (result.stays(wide) || !is_worth)
        continue;
      auto s = with_matrix(base, facts.accesses, facts.accesses[matrix], wide);
      if (!s)
        continue;
      // Tensor cores want the matrix transposed where elements are not of two bytes: that costs
      // more than it saves.
      const bool is_ready =
          s->is_along || scalar::bytes_of(schedule.scop.tensors[s->matrix].elem) == 2;
      const bool is_collective =
          has_instruction && is_ready && base.extents[wide] >= kWideForCollective;
      const int64_t most = is_collective ? kFewForCollective : kMostFew;
      if (product_of_extents(*s, s->few) > most)
        continue;
      if (!best || s->extents[wide] > best->extents[best->wide])
        best = std::move(s);
    }
  return best;
}

bool bind_skinny(Schedule& schedule, const Skinny& s, const std::vector<FusedNest>& before,
                 const std::vector<FusedNest>& after, const Environment& environment) {
  const size_t along = s.is_along ? s.depth : s.wide;
  const int64_t bytes = scalar::bytes_of(schedule.scop.tensors[s.matrix].elem);
  int64_t width = kLoadBytes / bytes;
  while (width > 1 && s.extents[along] % width != 0)
    width /= 2;
  const target::Gpu& gpu = *environment.gpu;
  const SkinnyCuts cuts = s.is_along ? cuts_along(s, width, gpu) : cuts_across(s, width, gpu);
  const std::string update = schedule.scop[s.update()].text.name;
  const size_t tensors = schedule.scop.tensors.size();
  if (!attempt(schedule, SkinnyPlanner(schedule, s, cuts).plan(before, after), environment,
               "product of a few rows", {s.update()}))
    return false;
  // Sums of threads, the tensor that was added, lie in registers or shared memory.
  const LoopName block{update, schedule.order[s.nest.loops[s.wide]].name + ".0"};
  if (schedule.scop.tensors.size() > tensors)
    try_plan(schedule, {StoreAt{schedule.scop.tensors[tensors].name, block}}, environment);
  return true;
}

} // namespace kawara::schedule
