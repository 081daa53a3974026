#pragma once

#include "run/functions/function.h"

#include <cstring>

namespace kawara::run {

/// A tensor around one axis: [outer, n, inner].
struct Around {
  int64_t outer = 1, n = 1, inner = 1;
};

inline Around around(const Shape& shape, int64_t axis) {
  Around a;
  for (int64_t k = 0; k < static_cast<int64_t>(shape.size()); ++k)
    (k < axis ? a.outer : k == axis ? a.n : a.inner) *= shape[static_cast<size_t>(k)];
  return a;
}

/// `bytes` that do not overlap; of few a copy of known size is quicker than a call.
inline void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes) {
  constexpr int64_t kPart = 16, kFewParts = 16;
  if (bytes == 4)
    std::memcpy(to, from, 4);
  else if (bytes == 8)
    std::memcpy(to, from, 8);
  else if (bytes % kPart == 0 && bytes <= kFewParts * kPart)
    for (int64_t k = 0; k < bytes; k += kPart)
      std::memcpy(to + k, from + k, kPart);
  else
    std::memcpy(to, from, static_cast<size_t>(bytes));
}

inline void copy_elements(Tensor& to, int64_t target, const Tensor& from, int64_t source,
                          int64_t elements) {
  const int64_t bytes = graph::bytes_of(from.type());
  copy_bytes(to.data() + target * bytes, from.data() + source * bytes, elements * bytes);
}

} // namespace kawara::run
