#include "tune/measure/channel.h"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace kawara::tune {
namespace {

/// Larger messages are no messages of ours.
constexpr uint32_t kMostBytes = 64U << 20;

using Clock = std::chrono::steady_clock;

/// Fills the bytes before the deadline.
Channel::State read_all(int descriptor, char* to, size_t bytes, double seconds,
                        Clock::time_point begin) {
  while (bytes > 0) {
    int wait = -1;
    if (seconds >= 0) {
      const double left = seconds - std::chrono::duration<double>(Clock::now() - begin).count();
      wait = left <= 0 ? 0 : static_cast<int>(left * 1000) + 1;
    }
    pollfd ready{descriptor, POLLIN, 0};
    const int found = ::poll(&ready, 1, wait);
    if (found < 0 && errno == EINTR)
      continue;
    if (found == 0)
      return Channel::State::TimedOut;
    const ssize_t got = ::recv(descriptor, to, bytes, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return Channel::State::Closed;
    to += got;
    bytes -= static_cast<size_t>(got);
  }
  return Channel::State::Message;
}

} // namespace

Channel::Channel(Channel&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Channel::~Channel() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

std::optional<std::pair<Channel, Channel>> Channel::make_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return std::nullopt;
  return std::pair(Channel(ends[0]), Channel(ends[1]));
}

bool Channel::send(const std::string& message) {
  const auto size = static_cast<uint32_t>(message.size());
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  bytes += message;
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t now = ::send(descriptor_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR)
      continue;
    if (now <= 0)
      return false;
    sent += static_cast<size_t>(now);
  }
  return true;
}

Channel::State Channel::receive(std::string& message, double seconds) {
  const auto begin = Clock::now();
  uint32_t size = 0;
  State state = read_all(descriptor_, reinterpret_cast<char*>(&size), sizeof size, seconds, begin);
  if (state != State::Message)
    return state;
  if (size > kMostBytes)
    return State::Closed;
  message.resize(size);
  return read_all(descriptor_, message.data(), size, seconds, begin);
}

} // namespace kawara::tune
