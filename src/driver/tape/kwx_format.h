#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kawara::driver {

// A `.kwx` file: this header, the description (ByteWriter), zeros up to a page, the data.

inline constexpr std::array<char, 8> kKwxMagic{'K', 'A', 'W', 'A', 'R', 'A', 'X', '\n'};
/// Changes whenever the description, or what generated code expects of the run time, changes.
inline constexpr int64_t kKwxVersion = 4;
inline constexpr int64_t kKwxPage = 4096;
/// The place of a constant that is not in the file, because all that reads it is prepared.
inline constexpr int64_t kKwxUsedUp = -1;
/// Start of every piece of the data, as code expects of the memory that it gets.
inline constexpr int64_t kKwxAlignment = 64;

struct KwxHeader {
  std::array<char, 8> magic = kKwxMagic;
  int64_t version = kKwxVersion;
  int64_t description_bytes = 0;
  uint64_t description_sum = 0;
  int64_t data_at = 0, data_bytes = 0;
  uint64_t data_sum = 0;
  uint64_t header_sum = 0; ///< of all before
};

/// A sum that almost every change of bytes changes.
class KwxSum {
public:
  void add(std::string_view bytes) {
    while (!bytes.empty()) {
      if (filled_ == 0 && bytes.size() >= sizeof word_) {
        std::memcpy(&word_, bytes.data(), sizeof word_);
        bytes.remove_prefix(sizeof word_);
        mix();
        continue;
      }
      reinterpret_cast<char*>(&word_)[filled_++] = bytes.front();
      bytes.remove_prefix(1);
      if (filled_ == sizeof word_)
        mix();
    }
  }
  uint64_t value() const { return filled_ == 0 ? state_ : state_ ^ (word_ + filled_); }

private:
  void mix() {
    state_ = (state_ ^ word_) * 0xff51afd7ed558ccdU;
    state_ ^= state_ >> 32;
    word_ = 0;
    filled_ = 0;
  }
  uint64_t state_ = 0x9e3779b97f4a7c15U, word_ = 0;
  size_t filled_ = 0; ///< bytes of `word_`
};
inline uint64_t kwx_sum(std::string_view bytes) {
  KwxSum sum;
  sum.add(bytes);
  return sum.value();
}

} // namespace kawara::driver
