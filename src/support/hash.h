#pragma once

#include <cstdint>
#include <string_view>

namespace kawara {

/// Hashes that are the same on every machine and in every run, so that they may be stored.
inline constexpr uint64_t kHashSeed = 0xcbf29ce484222325ULL;

/// FNV-1a of the bytes, continuing from `seed`.
constexpr uint64_t hash_text(std::string_view bytes, uint64_t seed = kHashSeed) {
  uint64_t hash = seed;
  for (const char byte : bytes)
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  return hash;
}

/// `value` folded into `seed`; the order of folding matters.
constexpr uint64_t hash_mix(uint64_t seed, uint64_t value) {
  uint64_t x = seed * 0x9e3779b97f4a7c15ULL + value;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

} // namespace kawara
