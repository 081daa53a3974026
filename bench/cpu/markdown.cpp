#include "cpu/markdown.h"

#include "support/text.h"

#include <algorithm>

namespace kawara::bench {

std::string markdown(std::vector<std::vector<std::string>> table) {
  std::vector<size_t> widths(table.front().size(), 3);
  for (const auto& row : table)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  std::string text;
  for (size_t r = 0; r < table.size(); ++r) {
    for (size_t i = 0; i < table[r].size(); ++i) {
      const std::string blanks(widths[i] - display_width(table[r][i]), ' ');
      text += "| " + (i == 0 ? table[r][i] + blanks : blanks + table[r][i]) + " ";
    }
    text += "|\n";
    if (r == 0) {
      for (size_t i = 0; i < widths.size(); ++i)
        text += i == 0 ? "|" + std::string(widths[i] + 2, '-')
                       : "|" + std::string(widths[i] + 1, '-') + ":";
      text += "|\n";
    }
  }
  return text;
}

} // namespace kawara::bench
