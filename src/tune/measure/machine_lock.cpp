#include "tune/measure/machine_lock.h"

#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace kawara::tune {

MachineLock::MachineLock(const std::string& path)
    : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {}

MachineLock::MachineLock(MachineLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

MachineLock& MachineLock::operator=(MachineLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

MachineLock::~MachineLock() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

void MachineLock::together() const {
  if (descriptor_ >= 0)
    ::flock(descriptor_, LOCK_SH);
}

void MachineLock::alone() const {
  if (descriptor_ < 0)
    return;
  // From together to alone the system lets go in between: two who ask at once do not wait for ever.
  ::flock(descriptor_, LOCK_EX);
}

void MachineLock::leave() const {
  if (descriptor_ >= 0)
    ::flock(descriptor_, LOCK_UN);
}

std::string turns_of_this_machine() {
  std::error_code ignored;
  auto folder = std::filesystem::temp_directory_path(ignored);
  return (folder / ("kawara-tune-" + std::to_string(::getuid()) + ".lock")).string();
}

} // namespace kawara::tune
