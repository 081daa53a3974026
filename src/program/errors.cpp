#include "program/errors.h"

#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace kawara::program {

namespace {

constexpr size_t kColumns = 76;

// Paragraphs are broken into lines that a terminal shows whole.
std::string folded(const std::string& paragraph) {
  std::string text;
  size_t column = 0;
  for (const std::string_view word : split(paragraph, ' ')) {
    const bool fits = column + 1 + word.size() <= kColumns;
    if (!text.empty())
      text += fits ? ' ' : '\n';
    column = text.empty() || !fits ? word.size() : column + 1 + word.size();
    text += word;
  }
  return text;
}

} // namespace

void Report::error(const char* code, Span where, std::string headline, std::string label,
                   std::vector<Help> help, std::vector<std::string> body) {
  if (is_muted())
    return;
  if (!context_.empty())
    body.push_back(context_);
  ++count_;
  if (errors_.size() >= kKept)
    return;
  // `{0, 0}` would mean "nowhere"; an error at the very start still has a place.
  if (where.end == 0)
    where.end = std::min<uint32_t>(1, uint32_t(source_->text.size()));
  Diagnostic d;
  d.code = code;
  d.headline = std::move(headline);
  d.source = source_;
  d.where = where;
  d.label = std::move(label);
  for (const std::string& paragraph : body)
    d.body.push_back(folded(paragraph));
  d.help = std::move(help);
  errors_.push_back(std::move(d));
}

std::string Report::set_context(std::string context) {
  return std::exchange(context_, std::move(context));
}

std::string Report::line_of(Span span) const {
  if (is_full())
    return "an earlier line";
  return fmt::format("line {}", line_column(*source_, span.begin).line);
}

Diagnostics Report::finish() && {
  std::vector<size_t> order(errors_.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(errors_[a].where.begin, a) < std::pair(errors_[b].where.begin, b);
  });
  Diagnostics shown;
  for (size_t i = 0; i < std::min(order.size(), kShown); ++i)
    shown.push_back(std::move(errors_[order[i]]));
  if (count_ > kShown) {
    const size_t hidden = count_ - kShown;
    Diagnostic more;
    more.code = code::kMoreErrors;
    more.headline = fmt::format("and {} more error{}", hidden, hidden == 1 ? "" : "s");
    shown.push_back(std::move(more));
  }
  return shown;
}

} // namespace kawara::program
