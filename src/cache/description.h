#pragma once

#include "support/diagnostic.h"
#include "support/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kawara::cache {

/// Which line of a full set makes room: the one that was used longest ago, the one that bits in a
/// binary tree point to (each use turns those on its way to the other side), or the one that came
/// first.
enum class Policy : uint8_t { Lru, Plru, Fifo };
std::string_view name_of(Policy);

/// Ways of a set of which a tree can choose.
inline constexpr int64_t kMostTreeWays = 64;

/// One cache. Line k is in set k modulo the number of sets.
struct Description {
  std::string name;        ///< "L1"
  int64_t bytes = 0;       ///< of all lines
  int64_t line_bytes = 64; ///< a power of two
  int64_t ways = 0;        ///< lines of a set; 0: one set holds them all
  Policy policy = Policy::Lru;
  bool allocates =
      true; ///< a store that misses brings its line in; else it goes on to what is behind
  bool writes_back =
      true; ///< a changed line goes on when it makes room; else each store goes on at once

  int64_t lines() const { return bytes / line_bytes; }
  int64_t lines_of_set() const { return ways == 0 ? lines() : ways; }
  int64_t sets() const { return lines() / lines_of_set(); }
};

/// The cache that `BYTES[,LINE[,WAYS[,POLICY[,through][,around]]]]` describes, as level `number`
/// from 1 on: `32K,64,8,lru`, `2M,64,full,lru`; `through`: each store goes on at once, `around`:
/// one that misses brings no line in. Without more it has lines of 64 bytes in one set, and the
/// policy `otherwise`. Errors: K0458, also for sizes that do not fit each other.
Result<Description, Diagnostic> description_from_text(std::string_view, size_t number,
                                                      Policy otherwise = Policy::Lru);

/// The buffer of addresses that `ENTRIES[,PAGE[,WAYS[,POLICY]]]` describes, as level `number` from
/// 1 on: a cache whose lines are pages, of 4 KiB without more. Errors: K0458.
Result<Description, Diagnostic> tlb_from_text(std::string_view, size_t number);

/// "32 KiB", "1000 bytes".
std::string size_text(int64_t bytes);

/// Refuses a cache whose lines are smaller than those of the one before it (K0458).
Result<Done, Diagnostic> check(const std::vector<Description>&);

/// "32 KiB, 8-way LRU, lines of 64 bytes".
std::string print(const Description&);

} // namespace kawara::cache
