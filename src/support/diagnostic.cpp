#include "support/diagnostic.h"

#include "support/text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kawara {
namespace {

std::string_view name_of(Severity severity) {
  return severity == Severity::Error ? "error" : "warning";
}

/// "   7 | text"; the number is left out for the caret line.
std::string gutter_line(const std::string& number, size_t width, const std::string& text) {
  const size_t pad = width - std::min(width, number.size());
  std::string line = std::string(pad, ' ') + number + " |";
  if (!text.empty())
    line += " " + text;
  return line + "\n";
}

/// What the caret line shows below the first line of `where`: "    ^^^^ label".
std::string underline(const Source& source, Span where, LineColumn at, const std::string& label) {
  const std::string_view line = line_text(source, at.line);
  const size_t begin = std::min<size_t>(at.column - 1, line.size());
  const size_t length = where.end > where.begin ? where.end - where.begin : 0;
  const size_t end = std::min(begin + length, line.size());
  const size_t first = display_width(printable(line.substr(0, begin)));
  const size_t last = display_width(printable(
      trim(line.substr(begin, end - begin)).empty() ? line.substr(0, begin) : line.substr(0, end)));
  std::string carets(std::max<size_t>(last - first, 1), '^');
  return std::string(first, ' ') + carets + (label.empty() ? "" : " " + label);
}

/// Location, and the underlined line between its neighbours; blank neighbours are left out.
std::string excerpt(const Diagnostic& d) {
  if (d.where.is_nowhere())
    return "  " + printable(d.source->name) + "\n";
  const LineColumn at = line_column(*d.source, d.where.begin);
  std::string text = "  " + printable(d.source->name) + ":" + std::to_string(at.line) + ":" +
                     std::to_string(at.column) + "\n";
  const size_t width = std::max<size_t>(4, std::to_string(at.line + 1).size() + 1);
  const auto add_line = [&](uint32_t line) {
    text += gutter_line(std::to_string(line), width, printable(line_text(*d.source, line)));
  };
  const auto add_neighbour = [&](uint32_t line) {
    if (!trim(line_text(*d.source, line)).empty())
      add_line(line);
  };
  if (at.line > 1)
    add_neighbour(at.line - 1);
  add_line(at.line);
  text += gutter_line("", width, underline(*d.source, d.where, at, d.label));
  add_neighbour(at.line + 1);
  return text;
}

std::string indented(const std::string& paragraph) {
  std::string text;
  for (const std::string_view line : split(paragraph, '\n'))
    text += line.empty() ? "\n" : "  " + std::string(line) + "\n";
  return text;
}

std::string padded(const std::string& text, size_t width) {
  const size_t columns = display_width(text);
  return text + std::string(width > columns ? width - columns : 0, ' ');
}

/// The ways out as a table: introductions, what to type, and whether that was checked.
std::string help_lines(const std::vector<Help>& help) {
  size_t intro_width = 0, text_width = 0;
  for (const Help& h : help) {
    if (h.text.empty() || h.intro.empty())
      continue;
    intro_width = std::max(intro_width, display_width(h.intro) + 3);
  }
  for (const Help& h : help)
    if (h.checked_legal)
      text_width = std::max(text_width, display_width(h.text) + 5);
  std::string lines;
  for (const Help& h : help) {
    std::string line = "  help: ";
    if (h.text.empty())
      line += h.intro;
    else if (h.intro.empty() && !h.checked_legal)
      line += h.text;
    else
      line += padded(h.intro.empty() ? "" : h.intro + ":", intro_width) +
              (h.checked_legal ? padded(h.text, text_width) + "checked: legal" : h.text);
    lines += line + "\n";
  }
  return lines;
}

} // namespace

std::string render(const Diagnostic& d) {
  std::string text = std::string(name_of(d.severity)) + "[" + d.code + "]: " + d.headline + "\n";
  if (d.source)
    text += "\n" + excerpt(d);
  for (const std::string& paragraph : d.body)
    text += "\n" + indented(paragraph);
  if (!d.help.empty())
    text += "\n" + help_lines(d.help);
  return text;
}

std::string render(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics)
    text += (text.empty() ? "" : "\n") + render(d);
  return text;
}

std::string render_json(const Diagnostic& d) {
  nlohmann::ordered_json json;
  json["code"] = d.code;
  json["severity"] = name_of(d.severity);
  json["message"] = d.headline;
  if (d.source) {
    json["file"] = d.source->name;
    if (!d.where.is_nowhere()) {
      const LineColumn at = line_column(*d.source, d.where.begin);
      json["line"] = at.line;
      json["column"] = at.column;
    }
  }
  if (!d.label.empty())
    json["label"] = d.label;
  json["body"] = d.body;
  json["help"] = nlohmann::ordered_json::array();
  for (const Help& h : d.help)
    json["help"].push_back({{"intro", h.intro}, {"text", h.text}, {"checked", h.checked_legal}});
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace kawara
