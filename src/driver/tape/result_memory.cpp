#include "driver/tape/result_memory.h"

#include "graph/tensor.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <mutex>

namespace kawara::driver {
namespace {

/// Smaller ones are quickly had from the allocator.
constexpr int64_t kWorthKeeping = 16 * 1024;

/// Up to an eighth more, so that results that grow by a row with each call find what others left.
int64_t rounded_up(int64_t bytes) {
  const auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes)) / 8);
  return (bytes + step - 1) / step * step;
}

} // namespace

struct ResultMemory::Piece {
  std::shared_ptr<std::byte> memory;
  int64_t bytes = 0;
};

struct ResultMemory::State {
  std::mutex mutex;
  std::deque<Piece> waiting; ///< the longest first
  int64_t waiting_bytes = 0, lent_bytes = 0, most_lent = 0;

  Piece lend(int64_t bytes);
  void come_back(Piece);
};

/// The smallest that will do, unless it is far too large.
ResultMemory::Piece ResultMemory::State::lend(int64_t bytes) {
  Piece piece;
  {
    const std::lock_guard lock(mutex);
    auto best = waiting.end();
    for (auto it = waiting.begin(); it != waiting.end(); ++it)
      if (it->bytes >= bytes && it->bytes <= bytes + bytes / 4 &&
          (best == waiting.end() || it->bytes < best->bytes))
        best = it;
    if (best != waiting.end()) {
      piece = std::move(*best);
      waiting.erase(best);
      waiting_bytes -= piece.bytes;
    }
  }
  if (!piece.memory)
    piece = {graph::make_memory(bytes), bytes};
  const std::lock_guard lock(mutex);
  lent_bytes += piece.bytes;
  most_lent = std::max(most_lent, lent_bytes);
  return piece;
}

void ResultMemory::State::come_back(Piece piece) {
  std::deque<Piece> too_many; // freed when others may go on
  const std::lock_guard lock(mutex);
  lent_bytes -= piece.bytes;
  waiting_bytes += piece.bytes;
  waiting.push_back(std::move(piece));
  while (waiting_bytes > most_lent) {
    waiting_bytes -= waiting.front().bytes;
    too_many.push_back(std::move(waiting.front()));
    waiting.pop_front();
  }
}

ResultMemory::ResultMemory() : state_(std::make_shared<State>()) {}

std::shared_ptr<std::byte> ResultMemory::take(int64_t bytes) {
  if (bytes < kWorthKeeping)
    return graph::make_memory(bytes);
  Piece piece = state_->lend(rounded_up(bytes));
  std::byte* elements = piece.memory.get();
  return {elements, [home = std::weak_ptr(state_), piece = std::move(piece)](std::byte*) mutable {
            if (const std::shared_ptr<State> state = home.lock())
              state->come_back(std::move(piece));
          }};
}

int64_t ResultMemory::waiting_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->waiting_bytes;
}

} // namespace kawara::driver
