#include "support/side_by_side.h"

#include <thread>
#include <vector>

namespace kawara {

void side_by_side(size_t threads, const std::function<void()>& work) {
  std::vector<std::thread> others;
  for (size_t k = 1; k < threads; ++k)
    others.emplace_back(work);
  work();
  for (std::thread& other : others)
    other.join();
}

} // namespace kawara
