#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace kawara {

/// Half-open byte range of a source text. `{0, 0}` means "nowhere".
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool is_nowhere() const { return end == 0; }
};

/// A named text that diagnostics point into.
struct Source {
  std::string name;
  std::string text;
};
using SourcePtr = std::shared_ptr<const Source>;

SourcePtr make_source(std::string name, std::string text);

/// 1-based line and column (in bytes) of `offset`.
struct LineColumn {
  uint32_t line = 1;
  uint32_t column = 1;
};
LineColumn line_column(const Source&, uint32_t offset);

/// Text of the 1-based `line`, without its line end (LF or CRLF); empty past the end.
std::string_view line_text(const Source&, uint32_t line);

} // namespace kawara
