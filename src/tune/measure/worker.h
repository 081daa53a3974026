#pragma once

#include "tune/measure/bench.h"
#include "tune/measure/channel.h"

#include <memory>
#include <optional>
#include <string>

namespace kawara::tune {

/// What a worker process may use.
struct Limits {
  double start_seconds = 60; ///< until the bench is made: the default schedule compiled and checked
  double prepare_seconds = 10;       ///< for a candidate's proof and code; its first run has more
  double time_seconds = 10;          ///< for its samples, besides what they may take
  int64_t memory = int64_t{4} << 30; ///< bytes beside what is there already
};

/// A child process with a bench of its own. What kills it or makes it hang concerns only the
/// candidate at hand.
///
/// Made by `fork`, so the process that calls must not be running threads of its own. The child ends
/// with its parent, ignores interrupts from the keyboard (the parent decides), and leaves no core
/// file.
class Worker {
public:
  /// Nothing when the system cannot make a process.
  static std::optional<Worker> start(const MakeBench&, const Limits&);
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&& other) noexcept;
  ~Worker(); ///< ends the process

  /// Waits for the bench. An error is why there is none.
  Parsed<Done> await_start();

  // Questions without waiting, and their answers. One question at a time.
  void ask_prepare(uint32_t id, const std::string& directives);
  void ask_time(uint32_t id, const Effort&);
  void tell_drop(uint32_t id);

  /// Seconds until the answer is late.
  double patience() const;
  int descriptor() const { return channel_.descriptor(); }

  Prepared prepared(); ///< after `ask_prepare`; waits
  /// After `ask_time`; waits. Else why there are no samples.
  Result<Samples, Prepared> samples();

  /// False after the process was lost: crashed, or killed because it was late.
  bool is_alive() const { return is_alive_; }

private:
  Worker(int process, Channel channel, const Limits& limits);
  std::optional<std::string> answer(Prepared& lost);
  Prepared bury(bool is_late);

  int process_;
  Channel channel_;
  Limits limits_;
  double asked_at_ = 0, allowed_ = 0, call_seconds_ = 0;
  bool is_alive_ = true;
};

} // namespace kawara::tune
