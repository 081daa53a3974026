#include "kawara/shown_cells.h"

#include "kawara/arrays.h"
#include "support/check.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::tools {
namespace {

/// Rows in brackets, as NumPy prints them; columns of one width.
class Rows {
public:
  explicit Rows(const ShownCells& cells) : cells_(cells) {
    for (int64_t k = 0; k < cells.cells(); ++k) {
      texts_.push_back(cells.cell(k));
      width_ = std::max(width_, texts_.back().size());
    }
  }

  std::string text(size_t indent) { return dimension(0, indent); }

private:
  std::string dimension(size_t d, size_t indent) {
    if (d == cells_.shape.size())
      return fmt::format("{:>{}}", texts_[next_++], cells_.shape.size() > 1 ? width_ : 0);
    constexpr size_t kColumns = 100;
    std::string text = "[";
    const bool is_row = d + 1 == cells_.shape.size();
    size_t column = indent;
    for (int64_t k = 0; k < cells_.shape[d]; ++k) {
      const std::string item = dimension(d + 1, indent + 1);
      const bool is_new_line = k > 0 && (!is_row || column + item.size() > kColumns);
      text +=
          (k > 0 ? "," : "") +
          (is_new_line ? "\n" + std::string(indent + 1, ' ') : std::string(k > 0 ? 1 : 0, ' ')) +
          item;
      column = (is_new_line ? indent : column) + item.size() + 2;
    }
    return text + "]";
  }

  const ShownCells& cells_;
  std::vector<std::string> texts_;
  size_t width_ = 0, next_ = 0;
};

std::string shape_of(const ShownCells& cells) {
  std::string text;
  for (const int64_t extent : cells.shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return cells.shape.empty() ? "" : "[" + text + "]";
}

} // namespace

int64_t ShownCells::cells() const {
  int64_t count = 1;
  for (const int64_t extent : shape)
    count *= extent;
  return count;
}

std::string shown(const std::string& name, const ShownCells& cells, int64_t most) {
  const std::string head = printable(name) + ": " + cells.type + shape_of(cells);
  if (cells.cells() > most)
    return head + "  " + text_of(summary_of(cells.cells(), cells.number)) + "\n";
  const std::string in_one = head + " = " + Rows(cells).text(head.size() + 3);
  if (cells.shape.size() < 2 && in_one.find('\n') == std::string::npos)
    return in_one + "\n";
  return head + " =\n  " + Rows(cells).text(2) + "\n";
}

std::string csv_of(const ShownCells& cells) {
  KAWARA_CHECK(cells.shape.size() <= 2, "more dimensions than a table has");
  const int64_t columns = cells.shape.size() == 2 ? cells.shape[1] : 1;
  std::string text;
  for (int64_t k = 0; k < cells.cells(); ++k)
    text += cells.exact(k) + ((k + 1) % columns == 0 ? "\n" : ",");
  return text;
}

} // namespace kawara::tools
