#include "kawara/waiting.h"

#include <fmt/core.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <thread>

#include <unistd.h>

namespace kawara::tools {
namespace {

using Clock = std::chrono::steady_clock;

/// One line and one thread for all that is waited for.
class WaitingLine {
public:
  std::list<std::string>::iterator add(std::string what) {
    const std::lock_guard lock(mutex_);
    if (texts_.empty() && isatty(STDERR_FILENO) != 0)
      thread_ = std::jthread([this](const std::stop_token& stop) { show_each_second(stop); });
    return texts_.insert(texts_.end(), std::move(what));
  }

  void say(std::list<std::string>::iterator at, std::string what) {
    const std::lock_guard lock(mutex_);
    *at = std::move(what);
  }

  void remove(std::list<std::string>::iterator at) {
    std::jthread ended; // joined without the lock
    const std::lock_guard lock(mutex_);
    texts_.erase(at);
    clear();
    if (texts_.empty()) {
      thread_.request_stop();
      ended.swap(thread_);
    }
  }

  void take_away() {
    const std::lock_guard lock(mutex_);
    clear();
  }

private:
  void show_each_second(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait_until(lock, stop, shown_at_ + std::chrono::seconds(1), [] { return false; });
      if (stop.stop_requested() || texts_.empty())
        return;
      shown_at_ = Clock::now();
      const std::chrono::duration<double> passed = shown_at_ - begin_;
      fmt::print(stderr, "\r\033[K{}, {:.0f} s", texts_.back(), passed.count());
      std::fflush(stderr);
      is_shown_ = true;
    }
  }

  void clear() {
    if (!is_shown_)
      return;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
    is_shown_ = false;
  }

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::list<std::string> texts_;
  // One after the other, works that take less than a second each are a silence, too: it counts from
  // the last line on.
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_at_ = begin_;
  bool is_shown_ = false;
  std::jthread thread_;
};

WaitingLine& waiting_line() {
  static WaitingLine line;
  return line;
}

} // namespace

Waiting::Waiting(std::string what) : what_(waiting_line().add(std::move(what))) {}
Waiting::~Waiting() { waiting_line().remove(what_); }
void Waiting::say(std::string what) { waiting_line().say(what_, std::move(what)); }

void clear_waiting_line() { waiting_line().take_away(); }

} // namespace kawara::tools
