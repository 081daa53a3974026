#pragma once

#include <list>
#include <string>
#include <utility>

namespace kawara::tools {

/// While it lives, a line on standard error says what is waited for, and how long the command has
/// been at work, a second after the last such line or after the first work began. Only on a
/// terminal. Of several at a time the latest is shown. Who prints meanwhile calls
/// `clear_waiting_line` first. Processes that are forked meanwhile have neither the line nor its
/// thread: they must end by `_exit` and wait for nothing.
class Waiting {
public:
  explicit Waiting(std::string what);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  void say(std::string what);

private:
  std::list<std::string>::iterator what_;
};

/// Takes the line away; it comes back with the next second.
void clear_waiting_line();

/// `work()`, with a line about it where it takes long.
template <class Work> auto while_waiting(std::string what, Work&& work) {
  const Waiting waiting(std::move(what));
  return std::forward<Work>(work)();
}

} // namespace kawara::tools
