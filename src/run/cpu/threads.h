#pragma once

#include "emit/runtime_api.h"
#include "run/buffer.h"
#include "support/diagnostic.h"
#include "support/result.h"

#include <memory>
#include <mutex>
#include <vector>

namespace kawara::run {

/// Number of threads asked for by KAWARA_THREADS; all processors this process may use when it is
/// not set or not a number from 1 to 1024.
int64_t default_threads();
/// Refuses a KAWARA_THREADS that is no such number (K0451).
Result<Done, Diagnostic> check_threads();

/// Threads that stay alive between parallel loops. A waiting thread spins for some hundred
/// microseconds and then sleeps, so that loops in quick succession start fast and an idle pool
/// costs nothing. Every thread has a share of the iterations and takes it in pieces; who is done
/// takes pieces of others, the caller too. On a machine that is busy a loop so takes little longer
/// than on the processors that are free. A thread that comes late again and again, or runs on its
/// caller's processor, is sent to another one.
///
/// Safe to use from several threads: while one caller's loop runs, another caller's loop runs on
/// that caller alone. A body that starts a parallel loop of its own runs it alone as well.
class ThreadPool {
public:
  explicit ThreadPool(int64_t threads = default_threads());
  ~ThreadPool(); ///< waits for the threads to end
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int64_t threads() const; ///< the caller counts as one

  /// Runs lo, lo+step, ... < hi in contiguous pieces, smaller ones for a dynamic partition, and
  /// returns when all have finished. `body` must not throw; its thread number is below `threads()`,
  /// 0 for the caller, and tells who runs a piece, not which piece it is.
  void parallel_for(int64_t lo, int64_t hi, int64_t step, emit::Partition, emit::ParallelBody body,
                    void* env);

  /// Memory for one call, of at least so many bytes, which holds anything; given back after it.
  /// Calls one after the other share one piece, as large as the largest of them needs. Throws
  /// std::bad_alloc.
  Buffer lend(int64_t bytes);
  void release(Buffer);

private:
  struct State;
  std::unique_ptr<State> state_;
  std::mutex lending_;
  std::vector<Buffer> lent_back_; ///< guarded by `lending_`
};

} // namespace kawara::run
