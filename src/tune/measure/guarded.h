#pragma once

#include <cstddef>
#include <cstdint>

namespace kawara::tune {

/// Memory that tells when something is written beside it: pages on both sides that may not be
/// touched, and marked bytes where the block does not fill its pages. Starts at a multiple of 64
/// bytes. Movable.
class Guarded {
public:
  /// Throws std::bad_alloc when the system has no such block.
  explicit Guarded(size_t bytes);
  Guarded(Guarded&& other) noexcept;
  Guarded& operator=(Guarded&&) = delete;
  ~Guarded();

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

  /// Whether the marked bytes are as they were.
  bool is_intact() const;

private:
  std::byte* pages_ = nullptr; ///< with the guards
  size_t length_ = 0;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

} // namespace kawara::tune
