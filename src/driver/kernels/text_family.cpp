#include "driver/kernels/text_family.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace kawara::driver {
namespace {

/// Behind an integer that is written as a float.
constexpr std::string_view kWhole = ".0";

/// A text cut at its integers, also those with `.0` behind them, which begins the next piece.
/// Digits in names and in other numbers stay in pieces.
struct CutText {
  std::vector<std::string> pieces;
  std::vector<int64_t> numbers;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Where the name or number that begins at `at` ends; an exponent may have a sign.
size_t end_of_word(const std::string& text, size_t at) {
  const bool is_number = is_digit(text[at]);
  size_t end = at;
  while (end < text.size() && (is_word(text[end]) || (is_number && text[end] == '.') ||
                               (is_number && (text[end] == '-' || text[end] == '+') && end > at &&
                                (text[end - 1] == 'e' || text[end - 1] == 'E'))))
    ++end;
  return end;
}

CutText cut(const std::string& text) {
  CutText out;
  std::string piece;
  for (size_t at = 0; at < text.size();) {
    if (!is_word(text[at]) && text[at] != '.') {
      piece += text[at++];
      continue;
    }
    const size_t end = std::max(end_of_word(text, at), at + 1);
    int64_t value = 0;
    const auto read = std::from_chars(text.data() + at, text.data() + end, value);
    const std::string_view rest(read.ptr, static_cast<size_t>(text.data() + end - read.ptr));
    if (is_digit(text[at]) && read.ec == std::errc() && (rest.empty() || rest == kWhole)) {
      out.pieces.push_back(std::move(piece));
      out.numbers.push_back(value);
      piece = rest;
    } else {
      piece.append(text, at, end - at);
    }
    at = end;
  }
  out.pieces.push_back(std::move(piece));
  return out;
}

/// Products of sizes stay far from what 64 bits hold.
constexpr int64_t kMostElements = int64_t{1} << 31;

} // namespace

std::optional<TextFamily> TextFamily::of(const std::string& first, const std::string& second) {
  const CutText a = cut(first), b = cut(second);
  if (a.pieces != b.pieces)
    return std::nullopt;
  std::optional<size_t> key;
  const auto change = [&](size_t k) { return b.numbers[k] - a.numbers[k]; };
  for (size_t k = 0; k < a.numbers.size(); ++k)
    if (change(k) != 0 && (!key || std::abs(change(k)) < std::abs(change(*key))))
      key = k;
  if (!key)
    return std::nullopt;
  TextFamily family;
  family.pieces_ = a.pieces;
  family.key_ = *key;
  family.most_ = kMostElements;
  family.least_met_ = std::min(a.numbers[*key], b.numbers[*key]);
  for (size_t k = 0; k < a.numbers.size(); ++k) {
    if (change(k) % change(*key) != 0)
      return std::nullopt;
    const int64_t factor = change(k) / change(*key);
    const int64_t offset = a.numbers[k] - factor * a.numbers[*key];
    family.numbers_.push_back({factor, offset});
    // What shrinks as the size grows is a number of the text as long as it is not negative.
    if (factor != 0)
      family.most_ =
          std::min(family.most_,
                   factor < 0 ? offset / -factor : (kMostElements - std::abs(offset)) / factor);
  }
  if (family.most_ < std::max(a.numbers[*key], b.numbers[*key]))
    return std::nullopt;
  return family;
}

std::string TextFamily::text() const {
  std::string out =
      fmt::format("param size\nassume size >= {}\nassume size <= {}\n", least_, most_);
  // Parameters are integers, and take the type of what they are computed with.
  const auto piece = [&](size_t k) {
    const bool is_whole = k > 0 && numbers_[k - 1].factor != 0 && pieces_[k].rfind(kWhole, 0) == 0;
    return pieces_[k].substr(is_whole ? kWhole.size() : 0);
  };
  for (size_t k = 0; k < numbers_.size(); ++k) {
    const auto& [factor, offset] = numbers_[k];
    out += piece(k);
    if (factor == 0)
      out += std::to_string(offset);
    else if (factor == 1 && offset == 0)
      out += "size";
    else
      out += fmt::format("({} * size {} {})", factor, offset < 0 ? "-" : "+", std::abs(offset));
  }
  return out + piece(numbers_.size());
}

std::string TextFamily::at(int64_t size) const {
  std::string out;
  for (size_t k = 0; k < numbers_.size(); ++k)
    out += pieces_[k] + std::to_string(numbers_[k].factor * size + numbers_[k].offset);
  return out + pieces_.back();
}

std::optional<int64_t> TextFamily::size_in(const std::string& text) const {
  const CutText other = cut(text);
  if (other.numbers.size() != numbers_.size())
    return std::nullopt;
  const int64_t size = other.numbers[key_];
  if (size < least_ || size > most_ || at(size) != text)
    return std::nullopt;
  return size;
}

} // namespace kawara::driver
