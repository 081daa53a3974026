#include "validate/barriers.h"

#include "kernel/analysis/extents.h"
#include "kernel/analysis/ranges.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "validate/meeting.h"
#include "validate/place.h"

#include <algorithm>
#include <map>

namespace kawara::validate {
namespace {

using kernel::Stmt;
using scalar::Expr;
using scalar::int_lit;

/// Iterations of a loop that are walked at most: as many as a ring of copies has slots, and some.
constexpr int64_t kMostTurns = 12;

/// A touch that no barrier has ended yet.
struct Pending {
  uint32_t touch = 0;
  std::map<uint32_t, int64_t>
      turns; ///< by loop that is still running: in which iteration, counted from its start
  std::vector<Expr> equalities; ///< where loops that have ended left it, in its dimensions
  bool is_certain = true;       ///< false: only if a loop or an arm with a barrier was passed by
  bool is_under_way = false;    ///< a copy that its thread has not waited for
  int64_t groups = 0;           ///< of that copy: commits since it began

  friend bool operator==(const Pending& a, const Pending& b) {
    return a.touch == b.touch && a.turns == b.turns && a.is_under_way == b.is_under_way &&
           a.groups == b.groups && a.equalities.size() == b.equalities.size() &&
           std::equal(a.equalities.begin(), a.equalities.end(), b.equalities.begin(),
                      scalar::equal);
  }
};
using State = std::vector<Pending>;

bool waits(const Stmt& stmt) {
  return kernel::has<kernel::Barrier, kernel::Commit, kernel::Await>(stmt);
}

class Walk {
public:
  Walk(const poly::Scop& scop, const kernel::Kernel& kernel, size_t most_pairs, Report& report)
      : scop_(scop), kernel_(kernel), most_pairs_(most_pairs), report_(report) {}

  /// What the host does: launches follow each other, each with all that the one before did.
  void host(const kernel::Block& statements) {
    for (const Stmt& stmt : statements) {
      if (const auto* define = std::get_if<kernel::Define>(&stmt)) {
        place_.define(kernel_, *define);
        continue;
      }
      const Place::Mark outside = place_.mark();
      if (const auto* launch = std::get_if<kernel::Launch>(&stmt))
        run(*launch);
      else {
        if (const auto* loop = std::get_if<kernel::For>(&stmt))
          place_.enter(*loop, number_of(&stmt));
        kernel::for_blocks(stmt, [&](const kernel::Block& inside) { host(inside); });
      }
      place_.back_to(outside);
    }
  }

private:
  void run(const kernel::Launch& launch) {
    if (kernel::has_async_op(launch.body))
      return unchecked("barriers of " + launch.name +
                       ": warpgroups, the TMA and the tensor cores wait for each other by phases, "
                       "which only the interpreter follows");
    launch_ = &launch;
    written_ = kernel::buffers_stored_in(launch.body);
    flat_.clear();
    const auto note = [&](uint32_t buffer, const std::vector<Expr>& index) {
      if (index.size() != kernel_.buffers[buffer].shape.size())
        flat_.insert(buffer);
    };
    kernel::visit(launch.body, [&](const kernel::Store& s) { note(s.buffer, s.index); });
    kernel::visit_loads(launch.body,
                        [&](const scalar::Load& load) { note(load.tensor, load.index); });
    place_.enter(launch, number_of(&launch));
    threads_ = place_.loops - 3;
    State state;
    block(launch.body, state);
  }

  void block(const kernel::Block& statements, State& state) {
    const Place::Mark here = place_.mark();
    for (const Stmt& stmt : statements) {
      if (is_given_up_)
        return;
      size_t ordinal = 0;
      kernel::visit_own_loads(stmt, [&](const scalar::Load& load) {
        touch(&stmt, ordinal++, {load.tensor, false, false, false, load.index}, state);
      });
      std::visit([&](const auto& s) { one(s, stmt, state); }, stmt);
    }
    place_.back_to(here);
    place_.forget_assigned(statements);
  }

  /// After a Combine nobody sees what others wrote; launches with asynchronous operations are not
  /// looked at.
  void one(const kernel::OneOf<kernel::Launch, kernel::Prefetch, kernel::Comment, kernel::Combine,
                               kernel::AsyncOp> auto&,
           const Stmt&, State&) {}

  void one(const kernel::Define& s, const Stmt&, State&) { place_.define(kernel_, s); }
  void one(const kernel::Assign& s, const Stmt&, State&) { place_.assign(kernel_, s); }
  void one(const kernel::Allocate& s, const Stmt&, State& state) { block(s.body, state); }
  void one(const kernel::Zero& s, const Stmt& stmt, State& state) {
    touch(&stmt, kWrite, {s.buffer, true, false, true, {}}, state);
  }
  void one(const kernel::Store& s, const Stmt& stmt, State& state) {
    touch(&stmt, kWrite, {s.buffer, true, s.is_async, false, s.index}, state);
  }

  void one(const kernel::Barrier&, const Stmt&, State& state) {
    state.erase(std::remove_if(state.begin(), state.end(),
                               [](const Pending& p) { return !p.is_under_way; }),
                state.end());
  }
  void one(const kernel::Commit&, const Stmt&, State& state) {
    for (Pending& p : state)
      p.groups += p.is_under_way ? 1 : 0;
  }
  void one(const kernel::Await& s, const Stmt&, State& state) {
    for (Pending& p : state)
      if (p.groups > s.pending)
        p.is_under_way = false;
  }

  void one(const kernel::If& s, const Stmt& stmt, State& state) {
    const Expr condition = place_.in_dimensions(s.cond);
    const Expr opposite = condition ? scalar::unary(scalar::UnaryOp::Not, condition) : condition;
    if (!waits(stmt) && !kernel::has_barrier(stmt)) {
      arm(s.then, condition, state);
      arm(s.otherwise, opposite, state);
      return;
    }
    require_agreement(s.cond, condition);
    State other = state;
    arm(s.then, condition, state);
    arm(s.otherwise, opposite, other);
    join(state, other);
  }

  void arm(const kernel::Block& body, const Expr& condition, State& state) {
    const size_t conditions = place_.conditions.size();
    place_.conditions.push_back(condition);
    block(body, state);
    place_.conditions.resize(conditions);
  }

  /// What is pending after one path or the other; what only one of them leaves is not sure to be.
  static void join(State& state, const State& other) {
    for (Pending& p : state)
      p.is_certain = p.is_certain && std::find(other.begin(), other.end(), p) != other.end();
    for (const Pending& p : other)
      if (std::find(state.begin(), state.end(), p) == state.end()) {
        state.push_back(p);
        state.back().is_certain = false;
      }
  }

  void one(const kernel::For& s, const Stmt& stmt, State& state) {
    const Expr first = place_.in_dimensions(s.lo), end = place_.in_dimensions(s.hi);
    if (kernel::has_barrier(stmt)) {
      require_agreement(s.lo, first);
      require_agreement(s.hi, end);
    }
    const Place::Mark outside = place_.mark();
    const uint32_t number = number_of(&stmt);
    place_.enter(s, number);
    if (!waits(stmt))
      block(s.body, state);
    else
      in_turns(s, number, first, end, state);
    place_.back_to(outside);
    place_.forget_assigned(s.body);
  }

  static std::optional<int64_t> trips_of(const kernel::For& s, const Expr& first, const Expr& end) {
    const auto distance =
        first && end ? scalar::constant_of(difference_of(end, first)) : std::nullopt;
    return distance ? std::optional(std::max<int64_t>((*distance + s.step - 1) / s.step, 0))
                    : std::nullopt;
  }

  /// A loop in which threads wait for each other: one iteration after the other, until nothing new
  /// is pending between two.
  void in_turns(const kernel::For& s, uint32_t number, const Expr& first, const Expr& end,
                State& state) {
    const auto trips = trips_of(s, first, end);
    const State before = state;
    std::vector<State> seen; // at the start of an iteration, counted from it
    int64_t turn = 0;
    running_[number] = {static_cast<uint32_t>(place_.loops - 1), first, s.step, 0};
    for (; !trips || turn < *trips; ++turn) {
      State start = state;
      for (Pending& p : start)
        if (const auto at = p.turns.find(number); at != p.turns.end())
          at->second = turn - at->second;
        else
          p.turns[number] = -1 - turn;
      if ((turn > 0 && state.empty()) || std::find(seen.begin(), seen.end(), start) != seen.end())
        break;
      if (turn == kMostTurns) {
        unchecked("barriers of " + launch_->name + ": copies under way over more than " +
                  std::to_string(kMostTurns) + " iterations");
        break;
      }
      seen.push_back(std::move(start));
      running_[number].turn = turn;
      block(s.body, state);
    }
    running_.erase(number);
    const auto dimension = static_cast<uint32_t>(place_.loops - 1);
    for (Pending& p : state)
      if (const auto at = p.turns.find(number); at != p.turns.end()) {
        // The last iteration that was walked is the last one of the loop.
        const int64_t back = turn - at->second;
        const Expr last = scalar::iter(dimension) + int_lit((back - 1) * s.step);
        if (end) {
          p.equalities.push_back(scalar::binary(scalar::BinaryOp::Lt, last, end));
          p.equalities.push_back(scalar::binary(scalar::BinaryOp::Ge, last + int_lit(s.step), end));
        } else
          p.is_certain = false;
        p.turns.erase(at);
      }
    // Where the loop may not run.
    for (const Pending& p : before)
      if (!trips && std::find(state.begin(), state.end(), p) == state.end()) {
        state.push_back(p);
        state.back().is_certain = false;
      }
  }

  /// All threads come to a barrier, or none.
  void require_agreement(const Expr& text, const Expr& in_dimensions) {
    const MeetingAnswer answer = may_disagree(in_dimensions, *around(), scop_);
    const std::string what = scalar::to_string(text, kernel::names_of(kernel_));
    if (answer.meets == Meets::Sometimes)
      fault("threads of " + launch_->name + " disagree on " + what +
            ", but a barrier depends on it: " + answer.text);
    else if (answer.meets == Meets::Unknown)
      unchecked("barriers of " + launch_->name + ", that threads agree on " + what + ": " +
                answer.text);
  }

  void touch(const void* stmt, size_t ordinal, ThreadTouch what, State& state) {
    if (kernel_.buffers[what.buffer].scope == kernel::Scope::Private ||
        !written_.contains(what.buffer))
      return;
    const auto [known, is_new] =
        numbers_of_touches_.try_emplace({stmt, ordinal}, static_cast<uint32_t>(touches_.size()));
    if (is_new)
      touches_.push_back(std::make_unique<ThreadTouch>(placed(std::move(what))));
    const uint32_t number = known->second;
    const ThreadTouch& here = *touches_[number];
    Pending own{number, turns(), {}, true, here.is_async, 0};
    for (const Pending& p : state) {
      const ThreadTouch& there = *touches_[p.touch];
      if (there.buffer == here.buffer && (there.is_write || here.is_write))
        compare(p, own);
    }
    if (here.is_write)
      compare(own, own);
    if (std::find(state.begin(), state.end(), own) == state.end())
      state.push_back(std::move(own));
  }

  std::map<uint32_t, int64_t> turns() const {
    std::map<uint32_t, int64_t> all;
    for (const auto& [number, loop] : running_)
      all[number] = loop.turn;
    return all;
  }

  /// Its elements in dimensions, by one number where the buffer has accesses by one number.
  ThreadTouch placed(ThreadTouch touch) {
    std::vector<Expr> index;
    const kernel::Buffer& buffer = kernel_.buffers[touch.buffer];
    for (const Expr& e : touch.index) {
      const Expr here = place_.in_dimensions(e);
      touch.lanes = std::max<int64_t>(touch.lanes, e.type().lanes);
      const Expr lane = here ? in_lane(here, scalar::iter(kLane)) : here;
      index.push_back(lane ? tidy(lane) : lane);
    }
    if (flat_.contains(touch.buffer) && index.size() > 1) {
      Expr place = int_lit(0);
      for (size_t d = 0; d < index.size(); ++d)
        place = place && index[d] ? place * buffer.shape[d] + index[d] : Expr();
      index = {place ? tidy(place) : place};
    }
    touch.index = std::move(index);
    touch.around = around();
    return touch;
  }

  std::shared_ptr<const Around> around() {
    if (around_ == nullptr || around_->numbers != place_.numbers ||
        around_conditions_ != place_.conditions.size() ||
        place_.conditions.size() != same_.size() ||
        !std::equal(same_.begin(), same_.end(), place_.conditions.begin(),
                    [](const Expr& a, const Expr& b) {
                      return bool(a) == bool(b) && (!a || &a.node() == &b.node());
                    })) {
      around_ = around_of(place_.numbers, place_.conditions, threads_, launch_->threads);
      around_conditions_ = place_.conditions.size();
      same_ = place_.conditions;
    }
    return around_;
  }

  void compare(const Pending& a, const Pending& b) {
    const ThreadTouch &first = *touches_[a.touch], &second = *touches_[b.touch];
    Meeting meeting{&first, &second, {}, a.equalities, a.is_under_way && &a != &b};
    std::vector<int64_t> key = {a.touch, b.touch, meeting.has_same_thread ? 1 : 0};
    for (const Expr& tie : a.equalities)
      key.push_back(static_cast<int64_t>(scalar::hash_of(tie)));
    meeting.tied.resize(second.around->numbers.size());
    for (uint32_t d = 0; d < threads_; ++d)
      meeting.tied[d] = scalar::iter(d);
    for (const auto& [number, loop] : running_) {
      const auto then = a.turns.find(number);
      key.push_back(then != a.turns.end() ? loop.turn - then->second : -1 - loop.turn);
      if (then != a.turns.end())
        meeting.tied[loop.dimension] = scalar::simplify(
            scalar::iter(loop.dimension) + int_lit((loop.turn - then->second) * loop.step));
      else if (const Expr start = tied(loop.first, meeting.tied))
        meeting.tied[loop.dimension] = scalar::simplify(start + int_lit(loop.turn * loop.step));
    }
    if (!asked_.insert(key).second)
      return;
    if (report_.pairs >= most_pairs_) {
      report_.is_finished = false;
      is_given_up_ = true;
      return;
    }
    ++report_.pairs;
    const MeetingAnswer answer = answer_of(meeting, scop_);
    const std::string& name = kernel_.buffers[first.buffer].name;
    if (answer.meets == Meets::Sometimes && a.is_certain)
      fault("threads of " + launch_->name + " touch " + name + " " +
            (meeting.has_same_thread ? "before a copy to it has come" : "with no barrier between") +
            ", " + text_of(first) + " and " + text_of(second) + ": " + answer.text);
    else if (answer.meets != Meets::Never)
      unchecked("barriers of " + launch_->name + ", accesses to " + name + ": " +
                (answer.meets == Meets::Sometimes ? "a loop or a condition may pass a barrier by"
                                                  : answer.text));
  }

  /// In the dimensions of the first touch; nothing where one of those that are used is not tied to
  /// them.
  static Expr tied(const Expr& e, const std::vector<Expr>& dimensions) {
    bool is_known = bool(e);
    if (e)
      scalar::visit(e, [&](const Expr& n) {
        const auto* dimension = scalar::as<scalar::Iter>(n);
        is_known = is_known && (dimension == nullptr || dimensions[dimension->index]);
      });
    return is_known ? scalar::substitute_iters(e, dimensions) : Expr();
  }

  std::string text_of(const ThreadTouch& touch) const {
    scalar::Names names = kernel::names_of(kernel_);
    names.iters.clear();
    for (const uint32_t number : touch.around->numbers)
      names.iters.push_back(names_.at(number));
    std::string text;
    for (const Expr& e : touch.index)
      text += (text.empty() ? "" : ", ") +
              (e ? scalar::to_string(
                       with_dimension(e, kLane, static_cast<uint32_t>(names.iters.size())), names)
                 : "?");
    return (touch.is_write ? "a write of [" : "a read of [") + text + "]";
  }

  /// Loops are told apart by where they stand; those of a launch are six, blocks and threads.
  uint32_t number_of(const void* stmt) {
    const auto known = numbers_.find(stmt);
    if (known != numbers_.end())
      return known->second;
    const uint32_t number = next_number_;
    numbers_[stmt] = number;
    if (const auto* launch = launch_ != nullptr && stmt == launch_ ? launch_ : nullptr) {
      for (const auto& vars : {launch->block_vars, launch->thread_vars})
        for (const uint32_t var : vars)
          names_[next_number_++] = kernel_.variables[var].name;
    } else
      names_[next_number_++] =
          kernel_.variables[std::get<kernel::For>(*static_cast<const Stmt*>(stmt)).var].name;
    return number;
  }

  void fault(const std::string& what) {
    if (std::find(report_.faults.begin(), report_.faults.end(), what) == report_.faults.end())
      report_.faults.push_back(what);
  }
  void unchecked(const std::string& what) {
    if (std::find(report_.unchecked.begin(), report_.unchecked.end(), what) ==
        report_.unchecked.end())
      report_.unchecked.push_back(what);
  }

  static constexpr size_t kWrite = SIZE_MAX;
  struct Running {
    uint32_t dimension = 0;
    Expr first;
    int64_t step = 1, turn = 0;
  };

  const poly::Scop& scop_;
  const kernel::Kernel& kernel_;
  size_t most_pairs_;
  Report& report_;
  const kernel::Launch* launch_ = nullptr;
  std::set<uint32_t> written_,
      flat_;           ///< buffers of the launch; stored to, and accessed by one number
  size_t threads_ = 0; ///< dimension of thread x
  Place place_;
  std::map<const void*, uint32_t> numbers_;
  std::map<uint32_t, std::string> names_; ///< of loops, by number
  uint32_t next_number_ = 0;
  std::map<uint32_t, Running> running_; ///< loops with barriers around, by number
  std::map<std::pair<const void*, size_t>, uint32_t> numbers_of_touches_;
  std::vector<std::unique_ptr<ThreadTouch>> touches_;
  std::set<std::vector<int64_t>> asked_;
  std::shared_ptr<const Around> around_; ///< of the place last asked for
  size_t around_conditions_ = 0;
  std::vector<Expr> same_;
  bool is_given_up_ = false;
};

} // namespace

bool has_launch(const kernel::Block& body) { return kernel::has<kernel::Launch>(body); }

void check_barriers(const poly::Scop& scop, const kernel::Kernel& kernel, size_t most_pairs,
                    Report& report) {
  Walk(scop, kernel, most_pairs, report).host(kernel.body);
}

} // namespace kawara::validate
