// Launches of warpgroups. Threads run one at a time until they must wait. Asynchronous operations
// are done at the worst moment: a bulk load spoils its destination when it begins and fills it when
// nobody can go on without; a product reads its operands, and a bulk store its source, when
// somebody waits for it. So a wait too few shows as an element that is not written, or written too
// early.

#include "kernel/gpu/warpgroup/fragment.h"
#include "kernel/interpret/machine.h"
#include "program/interpret/instruction.h"

namespace kawara::kernel {

/// Puts the shared buffers of a block of the cluster in their place.
void Machine::enter_block(int64_t block) {
  if (block == block_)
    return;
  for (uint32_t b = 0; b < storage_.size(); ++b)
    if (kernel_.buffers[b].scope == Scope::Shared) {
      std::swap(storage_[b], shared_of_[static_cast<size_t>(block_)][b]);
      std::swap(storage_[b], shared_of_[static_cast<size_t>(block)][b]);
    }
  block_ = block;
}

void Machine::run_groups(const Launch& s) {
  std::vector<std::vector<BarrierState>> rows;
  for (const Mbarriers& row : s.mbarriers)
    rows.emplace_back(static_cast<size_t>(row.slots));
  barriers_.assign(static_cast<size_t>(s.cluster), rows);
  copies_.clear();
  copying_.clear();
  block_ = 0;
  shared_of_.assign(static_cast<size_t>(s.cluster), std::vector<Storage>(storage_.size()));
  for (int64_t block = 0; block < s.cluster; ++block) {
    enter_block(block);
    for (uint32_t b = 0; b < storage_.size(); ++b)
      if (kernel_.buffers[b].scope == Scope::Shared)
        create(b, nullptr);
  }
  for (int64_t block = 0; block < s.cluster; ++block)
    for (int64_t t = 0; t + kWarpgroup <= threads_of_block_; t += kWarpgroup)
      races_.meet(block * threads_of_block_ + t, kWarpgroup);
  for (Thread& t : threads_)
    t.frames = {{&s.body, 0, nullptr, 0, 0}};
  bool is_done = false;
  while (!is_done) {
    bool has_moved = false;
    for (const int64_t t : shuffled(static_cast<int64_t>(threads_.size())))
      has_moved = run_thread(t) || has_moved;
    is_done = std::all_of(threads_.begin(), threads_.end(),
                          [](const Thread& t) { return t.frames.empty(); });
    if (!is_done && !has_moved && !finish_one_load())
      throw Stop{"threads of " + s.name + " wait for each other without end"};
  }
  thread_ = -1;
  enter_block(0);
  if (!copying_.empty())
    throw Stop{s.name + " ends before its bulk stores have read their source"};
  for (const Thread& t : threads_)
    if (!t.products.empty())
      throw Stop{s.name + " ends while products are under way"};
}

/// Runs a thread until it ends or has to wait; whether it did anything.
bool Machine::run_thread(int64_t thread) {
  thread_ = thread;
  races_.iterate(thread);
  swap_in(thread);
  std::vector<Frame>& frames = threads_[static_cast<size_t>(thread)].frames;
  bool has_moved = false;
  while (!frames.empty()) {
    Frame& frame = frames.back();
    if (frame.next < frame.block->size()) {
      const Stmt& stmt = (*frame.block)[frame.next];
      if (!enter(stmt, frames))
        break;
      has_moved = true;
      continue;
    }
    if (frame.loop != nullptr && frame.at + frame.loop->step < frame.end) {
      frame.at += frame.loop->step;
      frame.next = 0;
      variables_[frame.loop->var] = {int_value(frame.at)};
    } else
      frames.pop_back();
    has_moved = true;
  }
  swap_in(thread);
  return has_moved;
}

bool Machine::is_engaged(const Stmt& stmt) {
  const auto [at, is_new] = engaged_.try_emplace(&stmt, false);
  if (is_new)
    at->second = has_async_op(block_of(stmt)) || has_barrier(stmt);
  return at->second;
}

/// Begins a statement, or all of it; false when the thread must wait first.
bool Machine::enter(const Stmt& stmt, std::vector<Frame>& frames) {
  note(stmt);
  if (const auto* async_op = std::get_if<AsyncOp>(&stmt)) {
    if (!obey(*async_op))
      return false;
    ++frames.back().next;
    return true;
  }
  if (const auto* combine = std::get_if<Combine>(&stmt)) {
    if (!combine_in_warp(*combine))
      return false;
    ++frames.back().next;
    return true;
  }
  ++frames.back().next;
  if (!is_engaged(stmt))
    step(stmt);
  else if (const auto* loop = std::get_if<For>(&stmt)) {
    const int64_t lo = index(loop->lo), hi = index(loop->hi);
    if (lo < hi) {
      variables_[loop->var] = {int_value(lo)};
      frames.push_back({&loop->body, 0, loop, lo, hi});
    }
  } else if (const auto* branch = std::get_if<If>(&stmt)) {
    const Block& taken = eval(branch->cond).front().i != 0 ? branch->then : branch->otherwise;
    frames.push_back({&taken, 0, nullptr, 0, 0});
  } else if (const auto* allocate = std::get_if<Allocate>(&stmt)) {
    if (kernel_.buffers[allocate->buffer].scope == Scope::Private)
      create(allocate->buffer, nullptr);
    frames.push_back({&allocate->body, 0, nullptr, 0, 0});
  }
  return true;
}

bool Machine::obey(const AsyncOp& s) {
  return std::visit([&](const auto& order) { return obey_one(order); }, s.what);
}

Machine::BulkCopy Machine::copy_of(const ElementAt& shared, const ElementAt& tensor,
                                   const std::vector<int64_t>& box) {
  BulkCopy copy;
  copy.shared = shared.buffer;
  copy.tensor = tensor.buffer;
  copy.first = element_of(shared.buffer, eval_index(shared.index), 0);
  for (const Expr& e : tensor.index)
    copy.corner.push_back(index(e));
  copy.box = box;
  copy.thread = thread_;
  int64_t elements = 1;
  for (const int64_t n : box)
    elements *= n;
  if (copy.first + elements > element_count(storage_[copy.shared].extents))
    throw Stop{"a bulk copy runs over the end of " + kernel_.buffers[copy.shared].name};
  return copy;
}

/// f(element of the shared buffer, element of the tensor or nothing outside it)
template <class F> void Machine::each_element(const BulkCopy& copy, F f) {
  if (copy.walk)
    return each_element_of_walk(copy, f);
  const std::vector<int64_t>& extents = storage_[copy.tensor].extents;
  std::vector<int64_t> at(copy.box.size(), 0);
  for (int64_t element = copy.first;; ++element) {
    std::optional<int64_t> place = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      const int64_t i = copy.corner[d] + at[d];
      const bool is_inside = i >= 0 && i < extents[d];
      place = place && is_inside ? std::optional(*place * extents[d] + i) : std::nullopt;
    }
    f(element, place);
    size_t d = at.size();
    while (d > 0 && ++at[d - 1] == copy.box[d - 1])
      at[--d] = 0;
    if (d == 0)
      return;
  }
}

/// The same for places of a window, which follow each other over the whole image.
template <class F> void Machine::each_element_of_walk(const BulkCopy& copy, F f) {
  std::vector<int64_t> extents = storage_[copy.tensor].extents, at = copy.corner;
  if (extents.size() == 3) { // one image
    extents.insert(extents.begin(), 1);
    at.insert(at.begin(), 0);
  }
  const WindowWalk& walk = *copy.walk;
  const int64_t channels = copy.box.back(), places = copy.box[copy.box.size() - 2];
  int64_t element = copy.first;
  for (int64_t place = 0; place < places; ++place) {
    for (int64_t c = 0; c < channels; ++c, ++element) {
      const int64_t channel = at[3] + c;
      const std::array<int64_t, 4> from = {at[0], at[1] + copy.tap[0],
                                           at[2] + copy.tap[1] + channel / extents[3],
                                           channel % extents[3]};
      std::optional<int64_t> inside;
      if (channel < walk.channels)
        inside = 0;
      for (size_t d = 0; d < from.size(); ++d) {
        const bool is_inside = from[d] >= 0 && from[d] < extents[d];
        inside = inside && is_inside ? std::optional(*inside * extents[d] + from[d]) : std::nullopt;
      }
      f(element, inside);
    }
    at[2] += walk.stride[1];
    if (at[2] <= walk.last[1])
      continue;
    at[2] = walk.first[1];
    at[1] += walk.stride[0];
    if (at[1] <= walk.last[0])
      continue;
    at[1] = walk.first[0];
    ++at[0];
  }
}

bool Machine::obey_one(const BulkLoad& s) {
  BulkCopy copy = copy_of(s.to, s.from, s.box);
  copy.walk = s.walk;
  for (size_t d = 0; d < s.tap.size(); ++d)
    copy.tap[d] = index(s.tap[d]);
  copy.row = s.done.row;
  copy.slot = static_cast<size_t>(index(s.done.slot));
  const int64_t own = block_;
  for (int64_t block = 0; block < launch_->cluster; ++block) {
    if (block != own && !s.is_multicast)
      continue;
    enter_block(block);
    copy.block = block;
    each_element(copy, [&](int64_t element, std::optional<int64_t>) {
      storage_[copy.shared].is_written[static_cast<size_t>(element)] = false;
    });
    copies_.push_back(copy);
  }
  enter_block(own);
  return true;
}

bool Machine::obey_one(const BulkStore& s) {
  BulkCopy copy = copy_of(s.from, s.to, s.box);
  copy.is_load = false;
  each_element(copy, [&](int64_t element, std::optional<int64_t> place_in_tensor) {
    if (place_in_tensor && !storage_[copy.shared].is_written[static_cast<size_t>(element)])
      throw Stop{place(copy.shared, element) + " is stored before it is written"};
    copying_.insert({block_, copy.shared, element});
  });
  copy.block = block_;
  copies_.push_back(std::move(copy));
  return true;
}

void Machine::finish(const BulkCopy& copy) {
  const size_t unit = static_cast<size_t>(scalar::bytes_of(kernel_.buffers[copy.tensor].elem));
  int64_t bytes = 0;
  each_element(copy, [&](int64_t element, std::optional<int64_t> outside) {
    Storage& shared = storage_[copy.shared];
    const auto c = static_cast<size_t>(element);
    bytes += static_cast<int64_t>(unit);
    if (copy.is_load) {
      (*shared.elements)[c] =
          outside ? read(copy.tensor, *outside) : zero(kernel_.buffers[copy.tensor].elem);
      shared.is_written[c] = true;
      return;
    }
    copying_.erase({copy.block, copy.shared, element});
    if (outside)
      write(copy.tensor, *outside, (*shared.elements)[c]);
    shared.is_written[c] = false;
  });
  if (!copy.is_load)
    return;
  BarrierState& state = barriers_[static_cast<size_t>(copy.block)][copy.row].at(copy.slot);
  state.bytes -= bytes;
  end_phase_if_complete(state, copy.row);
}

/// The oldest load, or the newest one: TMA keeps no order. Odd seeds ask for the newest.
bool Machine::finish_one_load() {
  const auto is_load = [](const BulkCopy& copy) { return copy.is_load; };
  auto next = std::find_if(copies_.begin(), copies_.end(), is_load);
  if (next == copies_.end())
    return false;
  if (options_.seed && *options_.seed % 2 == 1)
    next = std::find_if(copies_.rbegin(), copies_.rend(), is_load).base() - 1;
  const BulkCopy copy = *next;
  copies_.erase(next);
  thread_ = copy.thread;
  races_.iterate(copy.thread);
  enter_block(copy.block);
  finish(copy);
  return true;
}

bool Machine::obey_one(const AwaitBulkStores& s) {
  std::vector<BulkCopy> rest, done;
  int64_t own = 0;
  for (size_t n = copies_.size(); n-- > 0;) {
    const bool is_own = !copies_[n].is_load && copies_[n].thread == thread_;
    own += is_own ? 1 : 0;
    (is_own && own > s.pending ? done : rest)
        .insert((is_own && own > s.pending ? done : rest).begin(), copies_[n]);
  }
  copies_ = std::move(rest);
  for (const BulkCopy& copy : done)
    finish(copy);
  return true;
}

Machine::BarrierState& Machine::barrier_at(const MbarrierSlot& at, int64_t block) {
  if (block < 0 || block >= launch_->cluster)
    throw Stop{"a cluster of " + launch_->name + " has no block " + std::to_string(block)};
  std::vector<BarrierState>& row = barriers_[static_cast<size_t>(block)][at.row];
  const int64_t slot = index(at.slot);
  if (slot < 0 || slot >= static_cast<int64_t>(row.size()))
    throw Stop{launch_->mbarriers[at.row].name + "[" + std::to_string(slot) + "] is out of bounds"};
  return row[static_cast<size_t>(slot)];
}

void Machine::end_phase_if_complete(BarrierState& state, size_t row) {
  if (state.arrivals < launch_->mbarriers[row].arrivals || state.bytes != 0)
    return;
  ++state.phase;
  state.arrivals = 0;
}

bool Machine::obey_one(const Arrive& s) {
  BarrierState& state = barrier_at(s.at, s.block ? index(*s.block) : block_);
  if (state.arrivals == launch_->mbarriers[s.at.row].arrivals)
    throw Stop{"one arrival too many at " + launch_->mbarriers[s.at.row].name};
  ++state.arrivals;
  state.bytes += s.bytes;
  end_phase_if_complete(state, s.at.row);
  return true;
}

bool Machine::obey_one(const AwaitPhase& s) {
  return barrier_at(s.at, block_).phase % 2 != index(s.parity);
}

bool Machine::obey_one(const Mma& s) {
  Thread& t = threads_[static_cast<size_t>(thread_)];
  if (s.starts_at_zero)
    storage_[s.c].is_written.assign(storage_[s.c].is_written.size(), false);
  t.products.push_back(&s);
  t.product_operands.push_back(eval_index(s.a.index));
  t.product_operands.push_back(eval_index(s.b.index));
  return true;
}

/// An element of a tile that the threads of this warp have between them (fragment.h), for the
/// oldest product.
Value Machine::private_operand(const Mma& s, int64_t row, int64_t k) {
  const int64_t y = row % kFragmentY, half = row / kFragmentY % 2;
  const int64_t first = thread_ / kThreadsOfWarp * kThreadsOfWarp;
  const int64_t owner = first + y * kFragmentX + k % 8 / 2;
  const Thread& own = threads_[static_cast<size_t>(thread_)];
  const Storage& part = owner == thread_ ? storage_[s.a.buffer]
                                         : threads_[static_cast<size_t>(owner)].storage[s.a.buffer];
  const auto element =
      static_cast<size_t>(own.product_operands[0][0].front().i + k / 8 * 4 + 2 * half + k % 2);
  if (element >= part.is_written.size() || !part.is_written[element])
    throw Stop{place(s.a.buffer, static_cast<int64_t>(element)) + " is read before it is written"};
  return algebra_.convert(kernel_.buffers[s.a.buffer].elem, Elem::F32, part.own[element]);
}

/// The oldest product, this thread's elements of it.
void Machine::finish_product() {
  Thread& t = threads_[static_cast<size_t>(thread_)];
  const Mma& s = *t.products.front();
  const program::Instruction& one = program::instruction_of(*target::find_intrinsic(s.instruction));
  const int64_t columns = one.extents[1], depth = s.steps * one.extents[2];
  const Elem sums = one.result().elem;
  const auto operand = [&](const ElementAt& from, int64_t first, bool is_transposed, int64_t line,
                           int64_t k) {
    const std::vector<int64_t>& extents = storage_[from.buffer].extents;
    const int64_t width = extents.back(), rows = extents[extents.size() - 2];
    const int64_t element =
        is_transposed ? line / width * rows * width + k * width + line % width : line * width + k;
    return algebra_.convert(kernel_.buffers[from.buffer].elem, sums,
                            read(from.buffer, first + element));
  };
  const int64_t x = thread_ % kFragmentX, y = thread_ / kFragmentX % kFragmentY,
                warp = thread_ % threads_of_block_ / (kFragmentX * kFragmentY) % kWarpsOfGroup;
  const int64_t a = s.is_a_private ? 0 : element_of(s.a.buffer, t.product_operands[0], 0);
  const int64_t b = element_of(s.b.buffer, t.product_operands[1], 0);
  // Four neighbouring elements are two rows of two columns: what they share is read once.
  std::array<std::vector<Value>, 2> left, right;
  for (int64_t element = 0; element < columns / 2; ++element) {
    const int64_t half = element / 2 % 2, row = 16 * warp + half * 8 + y;
    const int64_t column = element / 4 * 8 + 2 * x + element % 2;
    if (element % 4 == 0)
      right = {};
    // Of elements past the end of a tensor nobody wrote a first value; nobody reads their sum
    // either.
    if (!s.starts_at_zero && !storage_[s.c].is_written.at(static_cast<size_t>(element)))
      continue;
    auto& of_row = left[static_cast<size_t>(half)];
    auto& of_column = right[static_cast<size_t>(element % 2)];
    for (auto k = static_cast<int64_t>(of_row.size()); k < depth; ++k)
      of_row.push_back(s.is_a_private ? private_operand(s, row, k)
                                      : operand(s.a, a, s.is_a_transposed, row, k));
    for (auto k = static_cast<int64_t>(of_column.size()); k < depth; ++k)
      of_column.push_back(operand(s.b, b, s.is_b_transposed, column, k));
    Value sum = s.starts_at_zero ? zero(sums) : read(s.c, element);
    for (size_t k = 0; k < of_row.size(); ++k)
      sum = scalar::is_float(sums)
                ? algebra_.apply_fma(sums, of_row[k], of_column[k], sum)
                : algebra_.reduce(ReduceOp::Sum, sums, sum,
                                  algebra_.reduce(ReduceOp::Prod, sums, of_row[k], of_column[k]));
    write(s.c, element, sum);
  }
  t.products.erase(t.products.begin());
  t.product_operands.erase(t.product_operands.begin(), t.product_operands.begin() + 2);
}

/// Notes that this thread waits for the others of its group; whether it is the last.
bool Machine::have_all_come(int64_t group) {
  threads_[static_cast<size_t>(thread_)].has_come = true;
  const auto first = threads_.begin() + thread_ - thread_ % threads_of_block_ % group;
  return std::all_of(first, first + group, [](const Thread& t) { return t.has_come; });
}

/// The others of the group go on behind the statement where they wait.
void Machine::let_go(int64_t group) {
  const int64_t first = thread_ - thread_ % threads_of_block_ % group;
  for (int64_t t = first; t < first + group; ++t) {
    threads_[static_cast<size_t>(t)].has_come = false;
    if (t != thread_)
      ++threads_[static_cast<size_t>(t)].frames.back().next;
  }
}

bool Machine::obey_one(const AwaitMma& s) {
  if (!have_all_come(kThreadsOfWarp))
    return false;
  const int64_t own = thread_, first = own / kThreadsOfWarp * kThreadsOfWarp;
  swap_in(own);
  for (thread_ = first; thread_ < first + kThreadsOfWarp; ++thread_) {
    races_.iterate(thread_);
    swap_in(thread_);
    while (static_cast<int64_t>(threads_[static_cast<size_t>(thread_)].products.size()) > s.pending)
      finish_product();
    swap_in(thread_);
  }
  thread_ = own;
  races_.iterate(own);
  swap_in(own);
  let_go(kThreadsOfWarp);
  return true;
}

bool Machine::combine_in_warp(const Combine& s) {
  if (!have_all_come(kThreadsOfWarp))
    return false;
  const int64_t own = thread_, first = own / kThreadsOfWarp * kThreadsOfWarp;
  swap_in(own);
  std::vector<Value> values;
  for (thread_ = first; thread_ < first + kThreadsOfWarp; ++thread_) {
    races_.iterate(thread_);
    swap_in(thread_);
    values.push_back(eval(s.value).front());
    swap_in(thread_);
  }
  const auto width = static_cast<size_t>(launch_->threads[0]);
  for (size_t row = 0; row < values.size(); row += width) {
    Value total = values[row];
    for (size_t t = row + 1; t < row + width; ++t)
      total = algebra_.reduce(s.op, s.value.type().elem, total, values[t]);
    for (size_t t = row; t < row + width; ++t)
      threads_[static_cast<size_t>(first) + t].variables[s.var] = {total};
  }
  thread_ = own;
  races_.iterate(own);
  swap_in(own);
  let_go(kThreadsOfWarp);
  return true;
}

bool Machine::obey_one(const GroupBarrier&) {
  if (!have_all_come(kWarpgroup))
    return false;
  races_.meet(thread_ - thread_ % threads_of_block_ % kWarpgroup, kWarpgroup);
  let_go(kWarpgroup);
  return true;
}

} // namespace kawara::kernel
