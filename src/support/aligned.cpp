#include "support/aligned.h"

#include <cstdlib>
#include <limits>
#include <new>
#include <sys/mman.h>

namespace kawara {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;

} // namespace

void* allocate_aligned(size_t bytes) {
  if (bytes == 0)
    return nullptr;
  const size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  if (bytes > std::numeric_limits<size_t>::max() - alignment)
    throw std::bad_alloc();
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* data = std::aligned_alloc(alignment, rounded);
  if (data == nullptr)
    throw std::bad_alloc();
  if (bytes >= kHugePage)
    ::madvise(data, rounded, MADV_HUGEPAGE); // only advice: nothing depends on it
  return data;
}

void free_aligned(void* data) { std::free(data); }

} // namespace kawara
