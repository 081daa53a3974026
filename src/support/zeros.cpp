#include "support/zeros.h"

#include "support/aligned.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace kawara {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;
/// Blocks that are worth huge pages, and such as are taken from the system one by one.
constexpr size_t kWorthHugePages = size_t{4} << 20, kMappedFrom = size_t{1} << 20;

/// Whole pages, fresh from the system, at a multiple of `alignment`, itself a number of pages.
std::byte* map_pages(size_t bytes, size_t alignment) {
  void* found = ::mmap(nullptr, bytes + alignment, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED)
    throw std::bad_alloc();
  auto* begin = static_cast<std::byte*>(found);
  const size_t before = (alignment - reinterpret_cast<uintptr_t>(begin) % alignment) % alignment;
  if (before > 0)
    ::munmap(begin, before);
  ::munmap(begin + before + bytes, alignment - before);
  return begin + before;
}

size_t page_bytes() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

size_t in_pages(size_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max() - 2 * kHugePageBytes)
    throw std::bad_alloc();
  return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

} // namespace

void* allocate_zeros(size_t bytes) {
  if (bytes < kMappedFrom) {
    void* data = allocate_aligned(bytes);
    if (bytes > 0)
      std::memset(data, 0, bytes);
    return data;
  }
  const size_t whole = in_pages(bytes);
  std::byte* data = map_pages(whole, bytes >= kWorthHugePages ? kHugePageBytes : page_bytes());
  if (bytes >= kWorthHugePages)
    ::madvise(data, whole, MADV_HUGEPAGE);
  return data;
}

void free_zeros(void* data, size_t bytes) {
  if (bytes < kMappedFrom)
    free_aligned(data);
  else
    ::munmap(data, in_pages(bytes));
}

} // namespace kawara
