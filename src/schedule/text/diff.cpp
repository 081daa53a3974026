#include "schedule/text/diff.h"

#include "support/text.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

using Lines = std::vector<std::string>;

/// Length of the longest common subsequence of a[i..] and b[j..], for all i and j.
std::vector<std::vector<size_t>> common_lengths(const Lines& a, const Lines& b) {
  std::vector<std::vector<size_t>> length(a.size() + 1, std::vector<size_t>(b.size() + 1, 0));
  for (size_t i = a.size(); i-- > 0;)
    for (size_t j = b.size(); j-- > 0;)
      length[i][j] =
          a[i] == b[j] ? length[i + 1][j + 1] + 1 : std::max(length[i + 1][j], length[i][j + 1]);
  return length;
}

/// One row of the comparison; an empty side has no counterpart.
struct Row {
  const std::string* left = nullptr;
  const std::string* right = nullptr;
};

std::vector<Row> aligned(const Lines& a, const Lines& b) {
  const auto length = common_lengths(a, b);
  std::vector<Row> rows;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j])
      rows.push_back({&a[i++], &b[j++]});
    else if (j == b.size() || (i < a.size() && length[i + 1][j] >= length[i][j + 1]))
      rows.push_back({&a[i++], nullptr});
    else
      rows.push_back({nullptr, &b[j++]});
  }
  return rows;
}

Lines directive_lines(const Schedule& schedule) {
  Lines lines;
  for (const Directive& directive : schedule.applied)
    lines.push_back(print(directive));
  return lines;
}

Lines loop_lines(const Schedule& schedule) {
  const std::string text = poly::print(schedule.order, poly::names_of_statements(schedule.scop));
  Lines lines;
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty())
      lines.emplace_back(line);
  return lines;
}

std::string side_by_side(const Lines& a, const Lines& b) {
  size_t width = 0;
  for (const std::string& line : a)
    width = std::max(width, display_width(line));
  std::string text;
  for (const Row& row : aligned(a, b)) {
    const std::string left = row.left ? *row.left : "";
    text += left + std::string(width - display_width(left), ' ');
    text += row.left && row.right ? "   " : row.left ? " <" : " > ";
    text += (row.right ? *row.right : "") + "\n";
  }
  return text;
}

} // namespace

std::string diff(const Schedule& a, const Schedule& b) {
  std::string text;
  const Lines of_a = directive_lines(a), of_b = directive_lines(b);
  for (const Row& row : aligned(of_a, of_b))
    text += (row.left && row.right ? "  " + *row.left
             : row.left            ? "- " + *row.left
                                   : "+ " + *row.right) +
            "\n";
  if (!text.empty())
    text += "\n";
  return text + side_by_side(loop_lines(a), loop_lines(b));
}

} // namespace kawara::schedule
