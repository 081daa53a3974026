#pragma once

#include "kernel/interpret/copies_under_way.h"
#include "kernel/interpret/interpret.h"
#include "kernel/interpret/race.h"
#include "kernel/walk.h"
#include "support/hash.h"
#include "support/text.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace kawara::kernel {

using scalar::Elem;
using scalar::int_value;
using scalar::Value;
using Lanes = std::vector<Value>;

/// Ends an execution; `interpret` makes a message of it.
struct Stop {
  std::string why;
};

/// One buffer while it exists.
struct Storage {
  uint64_t number = 0;
  std::vector<int64_t> extents;
  Elements* elements = nullptr;
  Elements own;
  std::vector<bool> is_written;
};

/// A kernel being executed, with every check; `interpret` says which.
class Machine {
public:
  Machine(const Kernel& kernel, const std::vector<int64_t>& params,
          std::vector<Elements>& arguments, const InterpretOptions& options)
      : kernel_(kernel), names_(names_of(kernel)), params_(params), options_(options),
        algebra_(*options.algebra), variables_(kernel.variables.size()),
        storage_(kernel.buffers.size()) {
    size_t next = 0;
    for (uint32_t b = 0; b < kernel.buffers.size(); ++b) {
      const Buffer& buffer = kernel.buffers[b];
      if (buffer.scope == Scope::Private || buffer.scope == Scope::Shared)
        continue;
      const bool is_argument = buffer.scope == Scope::Argument;
      if (is_argument && next >= arguments.size())
        throw Stop{"no elements were given for " + buffer.name};
      create(b, is_argument ? &arguments[next++] : nullptr);
    }
  }

  void run(const Block& block) {
    for (const Stmt& stmt : block)
      step(stmt);
  }

  bool has_run(const Stmt& stmt) const { return ran_.contains(&stmt); }

private:
  void step(const Stmt& stmt) {
    note(stmt);
    if (++steps_ > options_.step_limit)
      throw Stop{kStepLimitReached};
    std::visit([&](const auto& s) { one(s); }, stmt);
  }

  void note(const Stmt& stmt) {
    if (options_.ran != nullptr)
      ran_.insert(&stmt);
  }

  void create(uint32_t b, Elements* elements) {
    const Buffer& buffer = kernel_.buffers[b];
    Storage& s = storage_[b];
    // Shared memory is the same one each time that a block comes to its Allocate.
    const uint64_t known = buffer.scope == Scope::Shared ? s.number : 0;
    s = Storage{};
    s.number = known != 0 ? known : ++storages_;
    for (const Expr& extent : buffer.shape)
      s.extents.push_back(index(extent));
    const auto count = static_cast<size_t>(element_count(s.extents));
    const bool has_values =
        buffer.scope == Scope::Argument &&
        (buffer.role == program::Role::Input || buffer.role == program::Role::Inout);
    s.is_written.assign(count, has_values);
    s.elements = elements != nullptr ? elements : &s.own;
    if (has_values && s.elements->size() != count)
      throw Stop{buffer.name + " has " + std::to_string(s.elements->size()) +
                 " elements instead of " + std::to_string(count)};
    s.elements->resize(count, zero(buffer.elem));
  }

  Value zero(Elem elem) const { return algebra_.zero(elem); }

  /// 0 to count - 1, in an order that the seed chooses.
  std::vector<int64_t> shuffled(int64_t count) {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < count; ++i)
      order.push_back(i);
    if (options_.seed)
      for (size_t n = order.size(); n > 1; --n)
        std::swap(order[n - 1], order[hash_mix(*options_.seed, ++shuffles_) % n]);
    return order;
  }

  void one(const For& s) {
    const int64_t lo = index(s.lo), hi = index(s.hi);
    if (!s.marks.is_parallel) {
      for (int64_t i = lo; i < hi; i += s.step) {
        variables_[s.var] = {int_value(i)};
        run(s.body);
      }
      return;
    }
    races_.enter(s.var);
    for (const int64_t n : shuffled(hi > lo ? (hi - lo + s.step - 1) / s.step : 0)) {
      const int64_t i = lo + n * s.step;
      races_.iterate(i);
      variables_[s.var] = {int_value(i)};
      run(s.body);
    }
    races_.leave();
  }
  void one(const Launch& s) {
    std::array<int64_t, 3> blocks{};
    for (size_t a = 0; a < 3; ++a)
      blocks[a] = std::max<int64_t>(index(s.blocks[a]), 0);
    launch_ = &s;
    races_.enter(s.block_vars[0]);
    for (const int64_t n : shuffled(blocks[0] * blocks[1] * blocks[2] / s.cluster)) {
      races_.iterate(n * s.cluster);
      run_cluster(s, blocks, n * s.cluster);
    }
    races_.leave();
    launch_ = nullptr;
  }
  /// Barriers and the like: nothing for one thread alone.
  void one(const OneOf<Prefetch, Comment, Barrier, Combine, AsyncOp> auto&) {}
  void one(const Commit&) { under_way_.commit(thread_); }
  void one(const Await& s) { under_way_.await(thread_, s.pending); }
  void one(const If& s) { run(eval(s.cond).front().i != 0 ? s.then : s.otherwise); }
  void one(const Allocate& s) {
    create(s.buffer, nullptr);
    run(s.body);
  }
  void one(const Define& s) { variables_[s.var] = eval(s.value); }
  void one(const Assign& s) { variables_[s.var] = eval(s.value); }
  void one(const Zero& s) {
    Storage& target = storage_[s.buffer];
    for (size_t c = 0; c < target.elements->size(); ++c) {
      touch(s.buffer, static_cast<int64_t>(c), true);
      (*target.elements)[c] = zero(kernel_.buffers[s.buffer].elem);
      target.is_written[c] = true;
    }
  }
  void one(const Store& s) {
    const Elem elem = kernel_.buffers[s.buffer].elem;
    const Elem compute = scalar::compute_type(elem);
    const Elem given = s.value.type().elem;
    const Lanes values = eval(s.value);
    const std::vector<Lanes> at = eval_index(s.index);
    // All lanes read before any lane writes.
    Lanes results;
    for (size_t lane = 0; lane < values.size(); ++lane) {
      Value v = values[lane];
      if (s.op != ReduceOp::None) {
        const Value old =
            algebra_.convert(elem, compute, read(s.buffer, element_of(s.buffer, at, lane)));
        v = algebra_.reduce(s.op, compute, old, algebra_.convert(given, compute, v));
        v = algebra_.convert(compute, elem, v);
      } else
        v = algebra_.convert(given, elem, v);
      results.push_back(v);
    }
    for (size_t lane = 0; lane < values.size(); ++lane) {
      const int64_t element = element_of(s.buffer, at, lane);
      write(s.buffer, element, results[lane]);
      if (s.is_async)
        under_way_.begin(thread_, {storage_[s.buffer].number, element});
    }
  }

  void set_position(const std::array<uint32_t, 3>& vars, const std::array<int64_t, 3>& counts,
                    int64_t number) {
    for (size_t a = 0; a < 3; number /= counts[a++])
      variables_[vars[a]] = {int_value(number % counts[a])};
  }

  /// Where a thread is in a block of statements; in a loop, in which iteration.
  struct Frame {
    const Block* block = nullptr;
    size_t next = 0;
    const For* loop = nullptr;
    int64_t at = 0, end = 0;
  };
  /// What a thread has to itself.
  struct Thread {
    std::vector<Lanes> variables;
    std::vector<Storage> storage;                     ///< of private buffers
    std::vector<Frame> frames;                        ///< innermost last
    std::vector<const Mma*> products;                 ///< under way, oldest first
    std::vector<std::vector<Lanes>> product_operands; ///< where their operands begin
    bool has_come = false;                            ///< to where it waits for others
  };
  /// A box that TMA has been told to copy.
  struct BulkCopy {
    uint32_t shared = 0, tensor = 0;
    int64_t first = 0;                ///< element of the shared buffer
    std::vector<int64_t> corner, box; ///< in the tensor
    std::optional<WindowWalk> walk = {};
    std::array<int64_t, 2> tap = {}; ///< of the walk
    bool is_load = true;
    int64_t block = 0;        ///< of the cluster, that has the shared buffer
    size_t row = 0, slot = 0; ///< of the barrier that a load reports to
    int64_t thread = 0;       ///< that began it
  };
  struct BarrierState {
    int64_t phase = 0, arrivals = 0, bytes = 0;
  };

  // machine_groups.cpp
  void enter_block(int64_t block);
  void run_groups(const Launch& s);
  bool is_engaged(const Stmt& stmt);
  bool run_thread(int64_t thread);
  bool enter(const Stmt& stmt, std::vector<Frame>& frames);
  bool obey(const AsyncOp& s);
  bool obey_one(const BulkLoad& s);
  bool obey_one(const BulkStore& s);
  bool obey_one(const AwaitBulkStores& s);
  bool obey_one(const Arrive& s);
  bool obey_one(const AwaitPhase& s);
  bool obey_one(const Mma& s);
  bool obey_one(const AwaitMma& s);
  bool obey_one(const GroupBarrier& s);
  bool obey_one(const SetRegisters&) { return true; }
  bool combine_in_warp(const Combine& s);
  Value private_operand(const Mma& s, int64_t row, int64_t k);
  BulkCopy copy_of(const ElementAt& shared, const ElementAt& tensor,
                   const std::vector<int64_t>& box);
  template <class F> void each_element(const BulkCopy& copy, F f);
  template <class F> void each_element_of_walk(const BulkCopy& copy, F f);
  void finish(const BulkCopy& copy);
  bool finish_one_load();
  void finish_product();
  bool have_all_come(int64_t group);
  void let_go(int64_t group);
  BarrierState& barrier_at(const MbarrierSlot& at, int64_t block);
  void end_phase_if_complete(BarrierState& state, size_t row);

  /// A block, or those of a cluster: threads of the second come after those of the first.
  void run_cluster(const Launch& s, const std::array<int64_t, 3>& blocks, int64_t first) {
    threads_of_block_ = s.threads[0] * s.threads[1] * s.threads[2];
    const std::vector<Lanes> host = variables_;
    threads_.clear();
    owners_.clear();
    under_way_.clear();
    for (uint32_t b = 0; b < storage_.size(); ++b)
      if (kernel_.buffers[b].scope == Scope::Shared)
        storage_[b].number = 0; // each block has its own
    for (int64_t t = 0; t < s.cluster * threads_of_block_; ++t) {
      set_position(s.block_vars, blocks, first + t / threads_of_block_);
      set_position(s.thread_vars, s.threads, t % threads_of_block_);
      threads_.emplace_back();
      threads_.back().variables = variables_;
      threads_.back().storage.resize(storage_.size());
    }
    races_.enter(s.thread_vars[0]);
    if (has_async_op(s.body))
      run_groups(s);
    else
      together(s.body);
    races_.leave();
    variables_ = host;
  }

  void swap_in(int64_t thread) {
    enter_block(thread / threads_of_block_);
    Thread& t = threads_[static_cast<size_t>(thread)];
    std::swap(variables_, t.variables);
    for (uint32_t b = 0; b < storage_.size(); ++b)
      if (kernel_.buffers[b].scope == Scope::Private)
        std::swap(storage_[b], t.storage[b]);
  }

  /// Runs `f` as every thread, one after the other.
  template <class F> void as_each_thread(F f) {
    for (const int64_t t : shuffled(static_cast<int64_t>(threads_.size()))) {
      thread_ = t;
      races_.iterate(t);
      swap_in(t);
      f();
      swap_in(t);
    }
    thread_ = -1;
  }

  /// A number that all threads must agree on, because they wait for each other inside.
  int64_t agreed(const Expr& e) {
    std::optional<int64_t> value;
    as_each_thread([&] {
      const int64_t own = index(e);
      if (value && *value != own)
        throw Stop{"threads of " + launch_->name + " disagree on " + scalar::to_string(e, names_) +
                   ", but a barrier depends on it"};
      value = own;
    });
    return *value;
  }

  void separate_phases(const Launch& s) {
    races_.leave();
    races_.enter(s.thread_vars[0]);
  }

  bool waits(const Stmt& stmt) {
    const auto [at, is_new] = waits_.try_emplace(&stmt, false);
    if (is_new)
      at->second = has_barrier(stmt);
    return at->second;
  }

  /// Runs statements by all threads of a block, in step where they wait for each other.
  void together(const Block& block) {
    for (const Stmt& stmt : block) {
      note(stmt);
      if (!waits(stmt)) {
        as_each_thread([&] { step(stmt); });
      } else if (const auto* loop = std::get_if<For>(&stmt)) {
        const int64_t lo = agreed(loop->lo), hi = agreed(loop->hi);
        for (int64_t i = lo; i < hi; i += loop->step) {
          for (Thread& t : threads_)
            t.variables[loop->var] = {int_value(i)};
          together(loop->body);
        }
      } else if (const auto* branch = std::get_if<If>(&stmt)) {
        together(agreed(branch->cond) != 0 ? branch->then : branch->otherwise);
      } else if (const auto* allocate = std::get_if<Allocate>(&stmt)) {
        if (kernel_.buffers[allocate->buffer].scope == Scope::Shared)
          create(allocate->buffer, nullptr);
        else
          as_each_thread([&] { create(allocate->buffer, nullptr); });
        together(allocate->body);
      } else if (const auto* combine = std::get_if<Combine>(&stmt)) {
        combine_threads(*combine);
      } else {
        separate_phases(*launch_);
      }
    }
  }

  void combine_threads(const Combine& s) {
    const Elem elem = s.value.type().elem;
    std::vector<Value> values(threads_.size());
    as_each_thread([&] { values[static_cast<size_t>(thread_)] = eval(s.value).front(); });
    const auto width = static_cast<size_t>(launch_->threads[0]);
    for (size_t first = 0; first < values.size(); first += width) {
      Value total = values[first];
      for (size_t t = first + 1; t < first + width; ++t)
        total = algebra_.reduce(s.op, elem, total, values[t]);
      for (size_t t = first; t < first + width; ++t)
        threads_[t].variables[s.var] = {total};
    }
  }

  int64_t index(const Expr& e) { return eval(e).front().i; }

  std::vector<Lanes> eval_index(const std::vector<Expr>& at) {
    std::vector<Lanes> values;
    for (const Expr& e : at)
      values.push_back(eval(e));
    return values;
  }

  std::string place(uint32_t buffer, const std::vector<int64_t>& at) const {
    std::vector<std::string> parts;
    for (const int64_t i : at)
      parts.push_back(std::to_string(i));
    return kernel_.buffers[buffer].name + "[" + join(parts, ", ") + "]";
  }

  std::string place(uint32_t buffer, int64_t element) const {
    std::vector<int64_t> at(storage_[buffer].extents.size());
    for (size_t d = at.size(); d-- > 0; element /= storage_[buffer].extents[d])
      at[d] = element % storage_[buffer].extents[d];
    return place(buffer, at);
  }

  int64_t element_of(uint32_t buffer, const std::vector<Lanes>& at, size_t lane) const {
    const std::vector<int64_t>& extents = storage_[buffer].extents;
    if (at.size() == 1 && extents.size() > 1) {
      const int64_t flat = at[0].size() == 1 ? at[0][0].i : at[0][lane].i;
      if (flat < 0 || flat >= element_count(extents))
        throw Stop{place(buffer, std::vector{flat}) + " is out of bounds"};
      return flat;
    }
    const auto index = [&](size_t d) { return at[d].size() == 1 ? at[d][0].i : at[d][lane].i; };
    int64_t element = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      const int64_t here = index(d);
      if (here < 0 || here >= extents[d]) {
        std::vector<int64_t> spot(at.size());
        for (size_t k = 0; k < at.size(); ++k)
          spot[k] = index(k);
        throw Stop{place(buffer, spot) + " is out of bounds"};
      }
      element = element * extents[d] + here;
    }
    return element;
  }

  void touch(uint32_t buffer, int64_t element, bool is_write) {
    if (under_way_.has({storage_[buffer].number, element}))
      throw Stop{place(buffer, element) + " is touched while a copy to it is under way"};
    if (launch_ != nullptr && thread_ >= 0 && launch_->thread_private.contains(buffer)) {
      const auto owner = owners_.try_emplace({storage_[buffer].number, element}, thread_).first;
      if (owner->second != thread_)
        throw Stop{place(buffer, element) + " belongs to thread " + std::to_string(owner->second) +
                   " of " + launch_->name + ", but thread " + std::to_string(thread_) +
                   " touches it"};
    }
    const auto race = races_.touch(storage_[buffer].number, element, is_write);
    if (race && launch_ != nullptr && race->loop_var == launch_->thread_vars[0])
      throw Stop{"race: threads " + std::to_string(race->first) + " and " +
                 std::to_string(race->second) + " of " + launch_->name + " both touch " +
                 place(buffer, element) + ", with no barrier between"};
    if (race && launch_ != nullptr && race->loop_var == launch_->block_vars[0])
      throw Stop{"race: blocks " + std::to_string(race->first) + " and " +
                 std::to_string(race->second) + " of " + launch_->name + " both touch " +
                 place(buffer, element)};
    if (race)
      throw Stop{"race: iterations " + std::to_string(race->first) + " and " +
                 std::to_string(race->second) + " of parallel loop " + names_.vars[race->loop_var] +
                 " both touch " + place(buffer, element)};
  }

  Value read(uint32_t buffer, int64_t element) {
    if (!storage_[buffer].is_written[static_cast<size_t>(element)])
      throw Stop{place(buffer, element) + " is read before it is written"};
    touch(buffer, element, false);
    return (*storage_[buffer].elements)[static_cast<size_t>(element)];
  }

  void write(uint32_t buffer, int64_t element, Value v) {
    if (!copying_.empty() && copying_.contains({block_, buffer, element}))
      throw Stop{place(buffer, element) + " is written while a bulk store reads it"};
    touch(buffer, element, true);
    storage_[buffer].is_written[static_cast<size_t>(element)] = true;
    (*storage_[buffer].elements)[static_cast<size_t>(element)] = v;
  }

  static Value checked(std::optional<Value> v) {
    if (!v)
      throw Stop{"integer division by zero"};
    return *v;
  }

  Lanes eval(const Expr& e);
  Lanes choose(const scalar::Select& n);

  const Kernel& kernel_;
  scalar::Names names_;
  const std::vector<int64_t>& params_;
  const InterpretOptions& options_;
  const scalar::Algebra& algebra_;
  std::vector<Lanes> variables_;
  std::vector<Storage> storage_;
  RaceDetector races_;
  uint64_t storages_ = 0, shuffles_ = 0, steps_ = 0;
  const Launch* launch_ = nullptr;                         ///< that is running
  std::vector<Thread> threads_;                            ///< of its present block
  int64_t thread_ = -1;                                    ///< that is running
  std::map<std::pair<uint64_t, int64_t>, int64_t> owners_; ///< thread by storage and element
  std::unordered_map<const Stmt*, bool> waits_, engaged_;
  CopiesUnderWay under_way_;
  std::unordered_set<const Stmt*> ran_;
  std::vector<BulkCopy> copies_; ///< under way, oldest first
  /// Shared elements that bulk stores will read: block of the cluster, buffer, element.
  std::set<std::tuple<int64_t, uint32_t, int64_t>> copying_;
  std::vector<std::vector<std::vector<BarrierState>>> barriers_; ///< by block, row and slot
  int64_t threads_of_block_ = 1;
  int64_t block_ = 0; ///< of the cluster, whose shared buffers `storage_` holds
  std::vector<std::vector<Storage>> shared_of_; ///< of the other blocks
};

} // namespace kawara::kernel
