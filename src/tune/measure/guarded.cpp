#include "tune/measure/guarded.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace kawara::tune {
namespace {

constexpr size_t kAlignment = 64;
constexpr std::byte kMark{0xA5};

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

} // namespace

Guarded::Guarded(size_t bytes) : bytes_(bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t inner = rounded_up(std::max<size_t>(bytes, 1), page);
  length_ = inner + 2 * page;
  void* pages = ::mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    throw std::bad_alloc();
  pages_ = static_cast<std::byte*>(pages);
  if (::mprotect(pages_ + page, inner, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(pages_, length_);
    throw std::bad_alloc();
  }
  // At the end of its pages: running over the end is what happens most.
  data_ = pages_ + page + (inner - rounded_up(bytes, kAlignment));
  std::fill(pages_ + page, data_, kMark);
  std::fill(data_ + bytes, pages_ + page + inner, kMark);
}

Guarded::Guarded(Guarded&& other) noexcept
    : pages_(std::exchange(other.pages_, nullptr)), length_(other.length_), data_(other.data_),
      bytes_(other.bytes_) {}

Guarded::~Guarded() {
  if (pages_ != nullptr)
    ::munmap(pages_, length_);
}

bool Guarded::is_intact() const {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto is_marked = [](std::byte b) { return b == kMark; };
  return std::all_of(pages_ + page, data_, is_marked) &&
         std::all_of(data_ + bytes_, pages_ + length_ - page, is_marked);
}

} // namespace kawara::tune
