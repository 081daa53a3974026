#include "kawara/shown_elements.h"

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
  explicit Rows(const ShownElements& elements) : elements_(elements) {
    for (int64_t k = 0; k < elements.elements(); ++k) {
      texts_.push_back(elements.element(k));
      width_ = std::max(width_, texts_.back().size());
    }
  }

  std::string text(size_t indent) { return dimension(0, indent); }

private:
  std::string dimension(size_t d, size_t indent) {
    if (d == elements_.shape.size())
      return fmt::format("{:>{}}", texts_[next_++], elements_.shape.size() > 1 ? width_ : 0);
    constexpr size_t kColumns = 100;
    std::string text = "[";
    const bool is_row = d + 1 == elements_.shape.size();
    size_t column = indent;
    for (int64_t k = 0; k < elements_.shape[d]; ++k) {
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

  const ShownElements& elements_;
  std::vector<std::string> texts_;
  size_t width_ = 0, next_ = 0;
};

std::string shape_of(const ShownElements& elements) {
  std::string text;
  for (const int64_t extent : elements.shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return elements.shape.empty() ? "" : "[" + text + "]";
}

} // namespace

int64_t ShownElements::elements() const {
  int64_t count = 1;
  for (const int64_t extent : shape)
    count *= extent;
  return count;
}

std::string shown(const std::string& name, const ShownElements& elements, int64_t most) {
  const std::string head = printable(name) + ": " + elements.type + shape_of(elements);
  if (elements.elements() > most)
    return head + "  " + text_of(summary_of(elements.elements(), elements.number)) + "\n";
  const std::string in_one = head + " = " + Rows(elements).text(head.size() + 3);
  if (elements.shape.size() < 2 && in_one.find('\n') == std::string::npos)
    return in_one + "\n";
  return head + " =\n  " + Rows(elements).text(2) + "\n";
}

std::string csv_of(const ShownElements& elements) {
  KAWARA_CHECK(elements.shape.size() <= 2, "more dimensions than a table has");
  const int64_t columns = elements.shape.size() == 2 ? elements.shape[1] : 1;
  std::string text;
  for (int64_t k = 0; k < elements.elements(); ++k)
    text += elements.exact(k) + ((k + 1) % columns == 0 ? "\n" : ",");
  return text;
}

} // namespace kawara::tools
