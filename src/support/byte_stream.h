#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace kawara {

/// Numbers, texts and lists as bytes, in the byte order of the machine.
class ByteWriter {
public:
  void integer(int64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    integer(static_cast<int64_t>(value.size()));
    bytes_.append(value);
  }
  void integers(const std::vector<int64_t>& values) {
    integer(static_cast<int64_t>(values.size()));
    for (const int64_t value : values)
      integer(value);
  }
  const std::string& bytes() const { return bytes_; }

private:
  std::string bytes_;
};

/// Reads what a ByteWriter wrote. Reading past the end, or a count that the rest cannot hold, makes
/// it fail: from then on it gives zeros and empty texts, so that callers need to look once, at the
/// end.
class ByteReader {
public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  int64_t integer() {
    int64_t value = 0;
    if (!has(sizeof value))
      return 0;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  /// A number of things of which each takes at least `least` bytes.
  size_t count(size_t least = 8) {
    const int64_t value = integer();
    if (value < 0 || static_cast<uint64_t>(value) > rest_.size() / least) {
      has_failed_ = true;
      return 0;
    }
    return static_cast<size_t>(value);
  }
  /// A number from 0 up to, but not including, `limit`.
  int64_t below(int64_t limit) {
    const int64_t value = integer();
    has_failed_ = has_failed_ || value < 0 || value >= limit;
    return has_failed_ ? 0 : value;
  }
  std::string_view text() {
    const size_t size = count(1);
    const std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
  }
  std::vector<int64_t> integers() {
    std::vector<int64_t> values(count());
    for (int64_t& value : values)
      value = integer();
    return values;
  }
  bool has_failed() const { return has_failed_; }
  bool is_at_end() const { return !has_failed_ && rest_.empty(); }
  void fail() { has_failed_ = true; }

private:
  bool has(size_t bytes) {
    has_failed_ = has_failed_ || rest_.size() < bytes;
    return !has_failed_;
  }

  std::string_view rest_;
  bool has_failed_ = false;
};

} // namespace kawara
