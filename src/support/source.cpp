#include "support/source.h"

#include <algorithm>

namespace kawara {

SourcePtr make_source(std::string name, std::string text) {
  return std::make_shared<const Source>(Source{std::move(name), std::move(text)});
}

LineColumn line_column(const Source& source, uint32_t offset) {
  const std::string_view text(source.text);
  const std::string_view before = text.substr(0, std::min<size_t>(offset, text.size()));
  const auto newlines = std::count(before.begin(), before.end(), '\n');
  const size_t last = before.rfind('\n');
  const size_t line_begin = last == std::string_view::npos ? 0 : last + 1;
  return {static_cast<uint32_t>(newlines + 1),
          static_cast<uint32_t>(before.size() - line_begin + 1)};
}

std::string_view line_text(const Source& source, uint32_t line) {
  std::string_view rest(source.text);
  for (uint32_t n = 1; n < line; ++n) {
    const size_t newline = rest.find('\n');
    if (newline == std::string_view::npos)
      return {};
    rest.remove_prefix(newline + 1);
  }
  std::string_view text = rest.substr(0, rest.find('\n'));
  if (!text.empty() && text.back() == '\r')
    text.remove_suffix(1);
  return text;
}

} // namespace kawara
