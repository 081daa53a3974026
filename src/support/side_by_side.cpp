#include "support/side_by_side.h"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace kawara {

void side_by_side(size_t threads, const std::function<void()>& work) {
  std::exception_ptr thrown;
  std::mutex mutex;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!thrown)
        thrown = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (size_t k = 1; k < threads; ++k)
    others.emplace_back(guarded);
  guarded();
  for (std::thread& other : others)
    other.join();
  if (thrown)
    std::rethrow_exception(thrown);
}

} // namespace kawara
