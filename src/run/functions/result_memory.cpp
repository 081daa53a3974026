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

  std::byte* take(size_t size) {
    const std::lock_guard lock(mutex_);
    for (size_t k = free_.size(); k-- > 0;)
      if (const auto [found, block] = free_[k]; found >= size && found / 2 <= size) {
        free_.erase(free_.begin() + static_cast<int64_t>(k));
        kept_ -= found;
        sizes_.emplace_back(block, found);
        return block;
      }
    auto* const block = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
    if (block == nullptr)
      throw std::bad_alloc();
    sizes_.emplace_back(block, size);
    return block;
  }

  void give_back(std::byte* block) {
    const std::lock_guard lock(mutex_);
    size_t size = 0;
    for (size_t k = sizes_.size(); k-- > 0;)
      if (sizes_[k].first == block) {
        size = sizes_[k].second;
        sizes_.erase(sizes_.begin() + static_cast<int64_t>(k));
        break;
      }
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
  std::vector<std::pair<std::byte*, size_t>> sizes_; ///< of blocks in use
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
  std::shared_ptr<std::byte> memory(blocks->take(size),
                                    [held = blocks](std::byte* block) { held->give_back(block); });
  return graph::Tensor(type, std::move(shape), std::move(memory));
}

} // namespace kawara::run
