#include "run/functions/result_memory.h"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace kawara::run {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSlack = 256;                 ///< that vectors may read past the end
constexpr size_t kMostKept = size_t{64} << 20; ///< bytes of all blocks that wait for their next use

/// Blocks that wait. A block is used again for what needs at least half of it.
class Blocks {
public:
  ~Blocks() {
    for (const auto& [size, block] : free_)
      std::free(block);
  }

  /// A block of at least that size, and its own.
  std::pair<std::byte*, size_t> take(size_t size) {
    const std::lock_guard lock(mutex_);
    for (size_t k = free_.size(); k-- > 0;)
      if (const auto [found, block] = free_[k]; found >= size && found / 2 <= size) {
        free_.erase(free_.begin() + static_cast<int64_t>(k));
        kept_ -= found;
        return {block, found};
      }
    auto* const block = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
    if (block == nullptr)
      throw std::bad_alloc();
    return {block, size};
  }

  void give_back(std::byte* block, size_t size) {
    const std::lock_guard lock(mutex_);
    if (kept_ + size > kMostKept) {
      std::free(block);
      return;
    }
    kept_ += size;
    free_.emplace_back(size, block);
  }

private:
  std::mutex mutex_;
  std::vector<std::pair<size_t, std::byte*>> free_;
  size_t kept_ = 0;
};

} // namespace

graph::Tensor result_tensor(graph::DataType type, graph::Shape shape) {
  // Tensors may outlive the end of main; the blocks then live as long.
  static const auto blocks = std::make_shared<Blocks>();
  const auto elements = graph::elements_of(shape);
  const int64_t bytes = elements ? *elements * graph::bytes_of(type) : 0;
  if (!elements || bytes > static_cast<int64_t>(kMostKept))
    return graph::Tensor(type, std::move(shape)); // which asks first whether there is so much
  const size_t size =
      (static_cast<size_t>(bytes) + kSlack + kAlignment - 1) / kAlignment * kAlignment;
  const auto [block, taken] = blocks->take(size);
  std::shared_ptr<std::byte> memory(block, [held = blocks, size_of_block = taken](std::byte* p) {
    held->give_back(p, size_of_block);
  });
  return graph::Tensor(type, std::move(shape), std::move(memory));
}

} // namespace kawara::run
