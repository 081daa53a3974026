#include "support/text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace kawara {
namespace {

struct CodePoint {
  uint32_t value;
  size_t bytes; ///< 0 when the bytes are not UTF-8
};

CodePoint first_code_point(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80)
    return {lead, 1};
  const size_t bytes = lead >= 0xF0 && lead < 0xF5   ? 4
                       : lead >= 0xE0 && lead < 0xF0 ? 3
                       : lead >= 0xC2 && lead < 0xE0 ? 2
                                                     : 0;
  if (bytes == 0 || text.size() < bytes)
    return {0, 0};
  uint32_t value = lead & (0xFFU >> (bytes + 1));
  for (size_t k = 1; k < bytes; ++k) {
    const auto next = static_cast<unsigned char>(text[k]);
    if ((next & 0xC0) != 0x80)
      return {0, 0};
    value = value << 6 | (next & 0x3FU);
  }
  const bool is_overlong = (bytes == 3 && value < 0x800) || (bytes == 4 && value < 0x10000);
  const bool is_surrogate = value >= 0xD800 && value < 0xE000;
  if (is_overlong || is_surrogate || value > 0x10FFFF)
    return {0, 0};
  return {value, bytes};
}

struct Range {
  uint32_t first, last;
};

bool is_in(uint32_t value, const Range* begin, const Range* end) {
  return std::any_of(begin, end, [value](Range r) { return r.first <= value && value <= r.last; });
}

/// Coarse blocks of Unicode's East Asian Width: what source comments really contain.
constexpr std::array<Range, 9> kWide{{{0x1100, 0x115F},
                                      {0x2E80, 0x303E},
                                      {0x3041, 0xA4CF},
                                      {0xAC00, 0xD7A3},
                                      {0xF900, 0xFAFF},
                                      {0xFE30, 0xFE6F},
                                      {0xFF00, 0xFF60},
                                      {0xFFE0, 0xFFE6},
                                      {0x1F300, 0x3FFFD}}};
constexpr std::array<Range, 5> kZeroWidth{
    {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}}};

size_t columns_of(uint32_t value) {
  if (is_in(value, kZeroWidth.data(), kZeroWidth.data() + kZeroWidth.size()))
    return 0;
  return is_in(value, kWide.data(), kWide.data() + kWide.size()) ? 2 : 1;
}

bool is_control(uint32_t value) {
  const bool is_bidi_override =
      (value >= 0x202A && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069);
  return value < 0x20 || (value >= 0x7F && value < 0xA0) || is_bidi_override;
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

/// Edits between two names, counting a swap of neighbours as one.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({replaced, d[i - 1][j] + 1, d[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

} // namespace

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (size_t k = 0; k < parts.size(); ++k) {
    if (k > 0)
      joined += separator;
    joined += parts[k];
  }
  return joined;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    pieces.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  pieces.push_back(text);
  return pieces;
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::optional<std::string> closest(std::string_view name,
                                   const std::vector<std::string>& candidates) {
  // Nobody mistypes a name this long into another one; the table would only cost time.
  constexpr size_t kLongest = 64;
  std::optional<std::string> best;
  size_t fewest = SIZE_MAX;
  for (const std::string& candidate : candidates) {
    const size_t longer = std::max(name.size(), candidate.size());
    if (longer > kLongest)
      continue;
    // The other case is the most likely mistake: `k` for `K`, before `M`.
    if (name != candidate && equal_but_for_case(name, candidate))
      return candidate;
    const size_t edits = edit_distance(name, candidate);
    if (edits > 0 && edits < fewest && edits * 3 <= std::max<size_t>(longer, 3)) {
      fewest = edits;
      best = candidate;
    }
  }
  return best;
}

std::string printable(std::string_view line, size_t tab) {
  std::string shown;
  size_t column = 0;
  while (!line.empty()) {
    const CodePoint point = first_code_point(line);
    if (point.bytes == 1 && point.value == '\t') {
      const size_t blanks = tab - column % tab;
      shown.append(blanks, ' ');
      column += blanks;
    } else if (point.bytes == 0 || is_control(point.value)) {
      shown += '?';
      ++column;
    } else {
      shown += line.substr(0, point.bytes);
      column += columns_of(point.value);
    }
    line.remove_prefix(std::max<size_t>(point.bytes, 1));
  }
  return shown;
}

size_t display_width(std::string_view printable_text) {
  size_t columns = 0;
  while (!printable_text.empty()) {
    const CodePoint point = first_code_point(printable_text);
    columns += point.bytes == 0 ? 1 : columns_of(point.value);
    printable_text.remove_prefix(std::max<size_t>(point.bytes, 1));
  }
  return columns;
}

} // namespace kawara
