#include "run/cpu/threads.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>

namespace kawara::run {
namespace {

/// Looks at a flag between two pauses before sleeping: some hundreds of microseconds. That is longer than what
/// a model does on one thread between two parallel loops; to wake a thread takes as long as a small loop.
constexpr int kSpins = 20'000;
/// Of these, looks before the processor is offered to others: where threads outnumber free processors, the
/// one that is waited for may need this very one. A worker waits for a caller who runs already.
constexpr int kCallersLoneSpins = 2000, kWorkersLoneSpins = 10'000;
/// Looks between two offers.
constexpr int kSpinsPerOffer = 50;
/// Pieces per thread of a dynamic loop.
constexpr int64_t kPieces = 8;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

/// Waits a little before look number `spin`.
void wait_before_look(int spin, int lone_spins) {
  if (spin >= lone_spins && spin % kSpinsPerOffer == 0)
    std::this_thread::yield();
  else
    pause_briefly();
}

int64_t usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

/// A loop that is being run. Written by the caller before any worker is told of it.
struct Job {
  int64_t lo = 0;
  int64_t step = 1;
  int64_t hi = 0;
  int64_t count = 0;   ///< iterations
  int64_t threads = 1; ///< that take part
  int64_t piece = 1;   ///< iterations per grab of a dynamic loop
  emit::Partition partition = emit::Partition::Static;
  emit::ParallelBody body = nullptr;
  void* env = nullptr;
};

/// Where a worker waits. `ticket` is odd while a loop waits for it to join; whoever makes it even, the worker
/// or the caller who is tired of waiting, runs the worker's share.
struct alignas(64) Worker {
  std::atomic<uint64_t> ticket{0};
  std::atomic<bool> is_asleep{false};
  std::mutex mutex;
  std::condition_variable wake;
  std::thread thread;
  int shunned = -1; ///< the processor that it is kept off; guarded by `busy`
};

bool is_odd(uint64_t ticket) { return (ticket & 1U) != 0; }

/// Takes the worker's part in the loop that waits for it; false when somebody else has.
bool claim(Worker& worker) {
  uint64_t ticket = worker.ticket.load(std::memory_order_acquire);
  return is_odd(ticket) &&
         worker.ticket.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acq_rel);
}

/// Keeps a worker off the processor that the caller runs on. A thread that works for microseconds at a
/// time looks idle to a system that is busy with other work, which may leave it where its caller is.
void keep_off_caller(Worker& worker) {
  const int here = sched_getcpu();
  cpu_set_t set;
  CPU_ZERO(&set);
  if (here < 0 || here == worker.shunned || sched_getaffinity(0, sizeof set, &set) != 0)
    return;
  worker.shunned = here;
  CPU_CLR(here, &set);
  if (CPU_COUNT(&set) > 0)
    pthread_setaffinity_np(worker.thread.native_handle(), sizeof set, &set);
}

} // namespace

struct ThreadPool::State {
  explicit State(int64_t count) : workers(static_cast<size_t>(std::max<int64_t>(count, 1) - 1)) {}

  std::vector<Worker> workers; ///< worker w is thread w + 1
  std::mutex busy;             ///< held while a loop runs
  bool is_started = false;     ///< guarded by `busy`
  std::atomic<bool> is_ending{false};
  Job job;
  alignas(64) std::atomic<int64_t> next{0}; ///< first iteration not yet taken, of a dynamic loop
  alignas(64) std::atomic<int64_t> running{0};

  void start();
  void tell(Worker&);
  void work(Worker&, int64_t thread);
  void wait_for_ticket(Worker&);
  void run_share(int64_t share, int64_t thread);
  void run_range(int64_t begin, int64_t end, int64_t thread) const;
};

void ThreadPool::State::start() {
  if (is_started)
    return;
  is_started = true;
  for (size_t w = 0; w < workers.size(); ++w)
    workers[w].thread = std::thread([this, w] { work(workers[w], static_cast<int64_t>(w) + 1); });
}

/// The sleeper sets `is_asleep` and then looks at `ticket`; the teller sets `ticket` and then looks
/// at `is_asleep`. Both in one total order, so at least one of them sees the other.
void ThreadPool::State::tell(Worker& worker) {
  worker.ticket.fetch_add(1, std::memory_order_seq_cst);
  if (worker.is_asleep.load(std::memory_order_seq_cst)) {
    { const std::lock_guard lock(worker.mutex); }
    worker.wake.notify_one();
  }
}

void ThreadPool::State::wait_for_ticket(Worker& worker) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (is_odd(worker.ticket.load(std::memory_order_acquire)))
      return;
    wait_before_look(spin, kWorkersLoneSpins);
  }
  std::unique_lock lock(worker.mutex);
  worker.is_asleep.store(true, std::memory_order_seq_cst);
  worker.wake.wait(lock, [&] { return is_odd(worker.ticket.load(std::memory_order_seq_cst)); });
  worker.is_asleep.store(false, std::memory_order_seq_cst);
}

void ThreadPool::State::work(Worker& worker, int64_t thread) {
  for (;;) {
    wait_for_ticket(worker);
    if (!claim(worker))
      continue;
    if (is_ending.load(std::memory_order_acquire))
      return;
    run_share(thread, thread);
    running.fetch_sub(1, std::memory_order_release);
  }
}

/// Iterations by number, [begin, end).
void ThreadPool::State::run_range(int64_t begin, int64_t end, int64_t thread) const {
  if (begin >= end)
    return;
  const int64_t stop = end == job.count ? job.hi : job.lo + end * job.step;
  job.body(job.env, job.lo + begin * job.step, stop, thread);
}

/// One of `job.threads` shares of a static loop; what is left of a dynamic one.
void ThreadPool::State::run_share(int64_t share, int64_t thread) {
  if (job.partition == emit::Partition::Static) {
    const int64_t whole = job.count / job.threads, extra = job.count % job.threads;
    const int64_t begin = share * whole + std::min(share, extra);
    run_range(begin, begin + whole + (share < extra ? 1 : 0), thread);
    return;
  }
  for (;;) {
    const int64_t begin = next.fetch_add(job.piece, std::memory_order_relaxed);
    if (begin >= job.count)
      return;
    run_range(begin, std::min(begin + job.piece, job.count), thread);
  }
}

int64_t default_threads() {
  const char* text = std::getenv("KAWARA_THREADS");
  int64_t threads = 0;
  if (text != nullptr)
    std::from_chars(text, text + std::strlen(text), threads);
  return threads > 0 ? std::min<int64_t>(threads, 1024) : usable_processors();
}

ThreadPool::ThreadPool(int64_t threads) : state_(std::make_unique<State>(threads)) {}

ThreadPool::~ThreadPool() {
  state_->is_ending.store(true, std::memory_order_release);
  for (Worker& worker : state_->workers)
    if (worker.thread.joinable()) {
      state_->tell(worker);
      worker.thread.join();
    }
}

int64_t ThreadPool::threads() const { return static_cast<int64_t>(state_->workers.size()) + 1; }

void ThreadPool::parallel_for(int64_t lo, int64_t hi, int64_t step, emit::Partition partition,
                              emit::ParallelBody body, void* env) {
  if (lo >= hi)
    return;
  State& s = *state_;
  const int64_t count = (hi - lo - 1) / step + 1;
  std::unique_lock lock(s.busy, std::defer_lock);
  if (count == 1 || s.workers.empty() || !lock.try_lock()) {
    body(env, lo, hi, 0);
    return;
  }
  s.start();
  const int64_t used = std::min(threads(), count);
  const int64_t piece = std::max<int64_t>(1, count / (used * kPieces));
  s.job = Job{lo, step, hi, count, used, piece, partition, body, env};
  s.next.store(0, std::memory_order_relaxed);
  s.running.store(used - 1, std::memory_order_relaxed);
  for (int64_t w = 0; w + 1 < used; ++w)
    s.tell(s.workers[static_cast<size_t>(w)]);
  s.run_share(0, 0);
  // A worker that has not begun, perhaps because it has no processor, is not waited for.
  for (int64_t w = 0; w + 1 < used; ++w)
    if (claim(s.workers[static_cast<size_t>(w)])) {
      keep_off_caller(s.workers[static_cast<size_t>(w)]);
      s.run_share(w + 1, 0);
      s.running.fetch_sub(1, std::memory_order_relaxed);
    }
  for (int spin = 0; s.running.load(std::memory_order_acquire) != 0; ++spin)
    wait_before_look(spin % kSpins, kCallersLoneSpins);
}

Buffer ThreadPool::lend(int64_t bytes) {
  Buffer largest;
  {
    const std::lock_guard lock(lending_);
    if (!lent_back_.empty()) {
      largest = std::move(lent_back_.back());
      lent_back_.pop_back();
    }
  }
  if (largest.bytes() >= bytes)
    return largest;
  largest = Buffer(); // before the larger one is there
  return Buffer(bytes);
}

void ThreadPool::give_back(Buffer buffer) {
  const std::lock_guard lock(lending_);
  lent_back_.push_back(std::move(buffer));
}

} // namespace kawara::run
