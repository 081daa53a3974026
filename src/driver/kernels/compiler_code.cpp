#include "driver/kernels/compiler_code.h"

#include <algorithm>
#include <malloc.h>

namespace kawara::driver {
namespace {

/// A stage of LLVM touches about as much, and the libraries that are not looked after here.
constexpr int64_t kUsualBytes = int64_t{8} << 20;

} // namespace

void CompilerCode::trim() {
  std::call_once(once_, [&] {
    pages_ = own_code();
    std::for_each(pages_.begin(), pages_.end(), bring_in_small_pieces);
    std::for_each(pages_.begin(), pages_.end(), take_out); // what came in large ones
  });
  const Resident now = resident_bytes();
  if (now.of_files <= std::max(kUsualBytes, (now.all - now.of_files) / 4))
    return;
  std::for_each(pages_.begin(), pages_.end(), take_out);
#if defined(__GLIBC__)
  ::malloc_trim(0); // freed pages between others that are in use
#endif
}

} // namespace kawara::driver
