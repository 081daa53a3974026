#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace kawara::driver {

/// Memory for results, which belong to the caller until the last copy of them is gone. It then
/// waits for the next result of about that size, so that calls one after the other do not take
/// fresh pages from the system each time. No more waits than was lent at the same time once.
class ResultMemory {
public:
  ResultMemory();

  /// At least so many bytes, at a multiple of 64, which hold anything. They may outlive this object
  /// and come back from any thread. Throws std::bad_alloc.
  std::shared_ptr<std::byte> take(int64_t bytes);
  int64_t waiting_bytes() const;

private:
  struct Piece;
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace kawara::driver
