#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace kawara::run {

/// Memory that starts at a multiple of 64 bytes. Large blocks ask for huge pages. Movable, owns its
/// bytes; an empty one has no memory. The bytes are zero at first.
class Buffer {
public:
  Buffer() = default;
  /// Throws std::bad_alloc when the system has no such block.
  explicit Buffer(int64_t bytes);
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  template <class T> T* as() const { return static_cast<T*>(data_); }

private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

} // namespace kawara::run
