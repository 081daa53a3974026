#include "tune/measure/turns.h"

#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace kawara::tune {

Turns::Turns(const std::string& path)
    : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {}

Turns::Turns(Turns&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Turns& Turns::operator=(Turns&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Turns::~Turns() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

void Turns::together() const {
  if (descriptor_ >= 0)
    ::flock(descriptor_, LOCK_SH);
}

void Turns::alone() const {
  if (descriptor_ < 0)
    return;
  // From together to alone the system lets go in between: two who ask at once do not wait for ever.
  ::flock(descriptor_, LOCK_EX);
}

void Turns::leave() const {
  if (descriptor_ >= 0)
    ::flock(descriptor_, LOCK_UN);
}

std::string turns_of_this_machine() {
  std::error_code ignored;
  auto folder = std::filesystem::temp_directory_path(ignored);
  return (folder / ("kawara-tune-" + std::to_string(::getuid()) + ".lock")).string();
}

} // namespace kawara::tune
