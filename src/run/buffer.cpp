#include "run/buffer.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace kawara::run {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kHugeFrom = size_t{4} << 20;

} // namespace

Buffer::Buffer(int64_t bytes) : bytes_(bytes) {
  if (bytes <= 0) {
    bytes_ = 0;
    return;
  }
  const auto wanted = static_cast<size_t>(bytes);
  const size_t alignment = wanted >= kHugeFrom ? kHugePage : kAlignment;
  const size_t rounded = (wanted + alignment - 1) / alignment * alignment;
  data_ = std::aligned_alloc(alignment, rounded);
  if (data_ == nullptr)
    throw std::bad_alloc();
  if (wanted >= kHugeFrom)
    ::madvise(data_, rounded, MADV_HUGEPAGE); // only advice: nothing depends on it
  std::memset(data_, 0, wanted);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() { std::free(data_); }

} // namespace kawara::run
