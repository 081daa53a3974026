#include "run/buffer.h"

#include "support/zeros.h"

namespace kawara::run {

Buffer::Buffer(int64_t bytes) : bytes_(bytes) {
  if (bytes <= 0) {
    bytes_ = 0;
    return;
  }
  data_ = allocate_zeros(static_cast<size_t>(bytes));
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() { free_zeros(data_, static_cast<size_t>(bytes_)); }

} // namespace kawara::run
