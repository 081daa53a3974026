#pragma once

#include <optional>
#include <string>

namespace kawara::tune {

/// One end of a two-way stream of messages between processes. Movable, owns its file descriptor.
class Channel {
public:
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  ~Channel();

  /// Two connected ends; nothing when the system has no more of them.
  static std::optional<std::pair<Channel, Channel>> make_pair();

  /// Whole message or nothing; false when the other end is gone.
  bool send(const std::string& message);
  /// The next message, waiting for it at most `seconds` (for ever when negative).
  enum class State { Message, Closed, TimedOut };
  State receive(std::string& message, double seconds);

  int descriptor() const { return descriptor_; }

private:
  int descriptor_;
};

} // namespace kawara::tune
