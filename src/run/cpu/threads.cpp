#include "run/cpu/threads.h"

#include "support/text.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>

namespace kawara::run {
namespace {

/// Looks at a flag between two pauses before sleeping: some hundreds of microseconds. That is
/// longer than what a model does on one thread between two parallel loops; to wake a thread takes
/// as long as a small loop.
constexpr int kSpins = 20'000;
/// Of these, looks before the processor is offered to others: where threads outnumber free
/// processors, the one that is waited for may need this very one. A worker waits for a caller who
/// runs already.
constexpr int kCallersLoneSpins = 2000, kWorkersLoneSpins = 10'000;
/// Looks between two offers.
constexpr int kSpinsPerOffer = 50;
/// Pieces that a share is cut into: what is left of a share when its thread is late goes to others.
constexpr int64_t kStaticPieces = 16, kDynamicPieces = 32;
/// Loops in a row that a worker came too late for, or ran on its caller's processor in, before it
/// is sent to another; after every time twice as many, where that does not help.
constexpr int kOftenLate = 3, kMostLate = 3 << 12;

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
  int64_t count = 0;  ///< iterations
  int64_t shares = 1; ///< as many as threads that take part
  emit::ParallelBody body = nullptr;
  void* env = nullptr;
};

/// One thread's part of the iterations, of which others take what it has not come to yet.
struct alignas(64) Share {
  std::atomic<int64_t> next{0}; ///< first iteration that nobody has taken
  int64_t end = 0;
  int64_t piece = 1; ///< iterations that are taken at once
};

/// Where a worker waits. `ticket` is odd while a loop waits for it to join; whoever makes it even,
/// the worker or the caller who does not need it any more, decides whether it does. All that the
/// two watch lies in one cache line.
struct alignas(64) Worker {
  std::atomic<uint64_t> ticket{0};
  std::atomic<uint64_t> done{0}; ///< the last ticket whose loop the worker has left
  std::atomic<bool> is_asleep{false};
  std::atomic<int> processor{-1}; ///< that it began its last loop on
  int late = 0; ///< loops in a row that it was late for; guarded by `busy`, as the next
  int patience = kOftenLate; ///< so many are too many
  alignas(64) std::mutex mutex;
  std::condition_variable wake;
  std::thread thread;
};

bool is_odd(uint64_t ticket) { return (ticket & 1U) != 0; }

/// Takes the worker's place in the loop that waits for it; false when somebody else has.
bool claim(Worker& worker) {
  uint64_t ticket = worker.ticket.load(std::memory_order_acquire);
  return is_odd(ticket) &&
         worker.ticket.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acq_rel);
}

/// Sends a worker to another processor than the caller runs on. A thread that works for
/// microseconds at a time looks idle to a system that is busy with other work, which may leave it
/// where its caller is. It may come back afterwards: a thread that is kept off one processor for
/// good shares another with its caller some day.
void send_away(Worker& worker, int here) {
  cpu_set_t all;
  CPU_ZERO(&all);
  if (sched_getaffinity(0, sizeof all, &all) != 0)
    return;
  cpu_set_t others = all;
  CPU_CLR(here, &others);
  if (CPU_COUNT(&others) == 0)
    return;
  pthread_setaffinity_np(worker.thread.native_handle(), sizeof others, &others);
  pthread_setaffinity_np(worker.thread.native_handle(), sizeof all, &all);
}

/// Notes whether a worker was of use in a loop.
void judge_worker(Worker& worker, bool was_late, int here) {
  if (!was_late) {
    worker.late = 0;
    worker.patience = kOftenLate;
    return;
  }
  if (++worker.late < worker.patience || here < 0)
    return;
  send_away(worker, here);
  worker.late = 0;
  worker.patience = std::min(2 * worker.patience, kMostLate);
}

void wake_up(Worker& worker) {
  { const std::lock_guard lock(worker.mutex); }
  worker.wake.notify_one();
}

} // namespace

struct ThreadPool::State {
  explicit State(int64_t count)
      : workers(static_cast<size_t>(std::max<int64_t>(count, 1) - 1)), shares(workers.size() + 1) {}

  std::vector<Worker> workers; ///< worker w is thread w + 1
  std::vector<Share> shares;
  std::mutex busy;         ///< held while a loop runs
  bool is_started = false; ///< guarded by `busy`
  std::atomic<bool> is_ending{false};
  Job job;

  void start();
  void deal(emit::Partition);
  void call_workers(size_t count);
  void wake_children(size_t w);
  void work(size_t w);
  void wait_for_ticket(size_t w);
  void run_shares(int64_t first, int64_t thread);
  void run_range(int64_t begin, int64_t end, int64_t thread) const;
  void wait_for_workers(size_t count);
};

void ThreadPool::State::start() {
  if (is_started)
    return;
  is_started = true;
  for (size_t w = 0; w < workers.size(); ++w)
    workers[w].thread = std::thread([this, w] { work(w); });
}

/// Every thread its share of the iterations, in pieces.
void ThreadPool::State::deal(emit::Partition partition) {
  const int64_t pieces = partition == emit::Partition::Static ? kStaticPieces : kDynamicPieces;
  const int64_t whole = job.count / job.shares, extra = job.count % job.shares;
  int64_t begin = 0;
  for (int64_t s = 0; s < job.shares; ++s) {
    Share& share = shares[static_cast<size_t>(s)];
    share.next.store(begin, std::memory_order_relaxed);
    share.end = begin + whole + (s < extra ? 1 : 0);
    share.piece = std::max<int64_t>(1, (share.end - begin + pieces - 1) / pieces);
    begin = share.end;
  }
}

/// A sleeper sets `is_asleep` and then looks at `ticket`; who calls it sets `ticket` and then looks
/// at `is_asleep`. Both in one total order, so at least one of them sees the other. A worker that
/// wakes up wakes two others, so the caller wakes only those that nobody asleep will.
void ThreadPool::State::call_workers(size_t count) {
  for (size_t w = 0; w < count; ++w) {
    std::atomic<uint64_t>& ticket = workers[w].ticket;
    ticket.store(ticket.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (size_t w = 0; w < count; ++w) {
    const bool has_waker = w > 0 && workers[(w - 1) / 2].is_asleep.load(std::memory_order_seq_cst);
    if (!has_waker && workers[w].is_asleep.load(std::memory_order_seq_cst))
      wake_up(workers[w]);
  }
}

void ThreadPool::State::wake_children(size_t w) {
  for (size_t child = 2 * w + 1; child <= 2 * w + 2 && child < workers.size(); ++child)
    if (is_odd(workers[child].ticket.load(std::memory_order_seq_cst)) &&
        workers[child].is_asleep.load(std::memory_order_seq_cst))
      wake_up(workers[child]);
}

/// Who is woken for a loop that is over by then looks out for the next one for a while: where
/// waking takes longer than a loop, nobody would ever join one otherwise.
void ThreadPool::State::wait_for_ticket(size_t w) {
  Worker& worker = workers[w];
  for (;;) {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (is_odd(worker.ticket.load(std::memory_order_acquire)))
        return;
      wait_before_look(spin, kWorkersLoneSpins);
    }
    {
      std::unique_lock lock(worker.mutex);
      worker.is_asleep.store(true, std::memory_order_seq_cst);
      if (!is_odd(worker.ticket.load(std::memory_order_seq_cst)))
        worker.wake.wait(lock);
      worker.is_asleep.store(false, std::memory_order_seq_cst);
    }
    wake_children(w);
  }
}

void ThreadPool::State::work(size_t w) {
  Worker& worker = workers[w];
  for (;;) {
    wait_for_ticket(w);
    if (!claim(worker))
      continue;
    if (is_ending.load(std::memory_order_acquire))
      return;
    const auto thread = static_cast<int64_t>(w) + 1;
    worker.processor.store(sched_getcpu(), std::memory_order_relaxed);
    run_shares(thread, thread);
    worker.done.store(worker.ticket.load(std::memory_order_relaxed), std::memory_order_release);
  }
}

/// Iterations by number, [begin, end).
void ThreadPool::State::run_range(int64_t begin, int64_t end, int64_t thread) const {
  const int64_t stop = end == job.count ? job.hi : job.lo + end * job.step;
  job.body(job.env, job.lo + begin * job.step, stop, thread);
}

/// The thread's own share, then what is left of the others'.
void ThreadPool::State::run_shares(int64_t first, int64_t thread) {
  for (int64_t k = 0; k < job.shares; ++k) {
    Share& share = shares[static_cast<size_t>((first + k) % job.shares)];
    while (share.next.load(std::memory_order_relaxed) < share.end) {
      const int64_t begin = share.next.fetch_add(share.piece, std::memory_order_relaxed);
      if (begin < share.end)
        run_range(begin, std::min(begin + share.piece, share.end), thread);
    }
  }
}

/// All pieces are taken. A worker that has not begun, perhaps because it has no processor, is not
/// waited for.
void ThreadPool::State::wait_for_workers(size_t count) {
  const int here = sched_getcpu();
  for (size_t w = 0; w < count; ++w) {
    Worker& worker = workers[w];
    const bool has_not_begun = claim(worker);
    if (has_not_begun)
      worker.done.store(worker.ticket.load(std::memory_order_relaxed), std::memory_order_relaxed);
    judge_worker(worker, has_not_begun || worker.processor.load(std::memory_order_relaxed) == here,
                 here);
  }
  for (size_t w = 0; w < count; ++w) {
    const uint64_t ticket = workers[w].ticket.load(std::memory_order_relaxed);
    for (int spin = 0; workers[w].done.load(std::memory_order_acquire) != ticket; ++spin)
      wait_before_look(spin % kSpins, kCallersLoneSpins);
  }
}

namespace {

constexpr int64_t kMostThreads = 1024;

/// KAWARA_THREADS; nothing where it is not set, 0 where it is no number of threads.
std::optional<int64_t> asked_threads() {
  const char* text = std::getenv("KAWARA_THREADS");
  if (text == nullptr || *text == '\0')
    return std::nullopt;
  int64_t threads = 0;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, threads);
  return error == std::errc{} && rest == end && threads <= kMostThreads
             ? std::max<int64_t>(threads, 0)
             : 0;
}

} // namespace

int64_t default_threads() {
  const int64_t asked = asked_threads().value_or(0);
  return asked > 0 ? asked : usable_processors();
}

Result<Done, Diagnostic> check_threads() {
  if (asked_threads().value_or(1) > 0)
    return Done{};
  Diagnostic d;
  d.code = "K0451";
  d.headline =
      "`KAWARA_THREADS=" + printable(std::getenv("KAWARA_THREADS")) + "` is no number of threads";
  d.body.push_back("It is a whole number from 1 to " + std::to_string(kMostThreads) +
                   "; without it, all processors are used.");
  d.help.push_back({"for example", "KAWARA_THREADS=4", false});
  return fail(std::move(d));
}

ThreadPool::ThreadPool(int64_t threads) : state_(std::make_unique<State>(threads)) {}

ThreadPool::~ThreadPool() {
  state_->is_ending.store(true, std::memory_order_release);
  for (Worker& worker : state_->workers)
    if (worker.thread.joinable()) {
      worker.ticket.fetch_add(1, std::memory_order_seq_cst);
      wake_up(worker);
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
  s.job = Job{lo, step, hi, count, used, body, env};
  s.deal(partition);
  const auto others = static_cast<size_t>(used - 1);
  s.call_workers(others);
  s.run_shares(0, 0);
  s.wait_for_workers(others);
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

void ThreadPool::release(Buffer buffer) {
  const std::lock_guard lock(lending_);
  lent_back_.push_back(std::move(buffer));
}

} // namespace kawara::run
