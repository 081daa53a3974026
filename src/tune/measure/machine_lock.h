#pragma once

#include <string>

namespace kawara::tune {

/// Lets the processes of one machine agree on when candidates are timed: many may compile at once,
/// and one at a time is alone. Movable. Held by a process; given back when it ends, however it
/// does.
class MachineLock {
public:
  /// No turns at all: never waits.
  MachineLock() = default;
  /// Those who name the same file share the turns. Where it cannot be made there are none.
  explicit MachineLock(const std::string& path);
  MachineLock(MachineLock&& other) noexcept;
  MachineLock& operator=(MachineLock&& other) noexcept;
  ~MachineLock();

  void together() const; ///< waits while somebody is alone
  void alone() const;    ///< waits until nobody else is there
  void leave() const;

private:
  int descriptor_ = -1;
};

/// The file for this user on this machine.
std::string turns_of_this_machine();

} // namespace kawara::tune
