#include "program/errors.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::program {

void Report::error(const char* code, Span where, std::string headline, std::string label,
                   std::vector<Help> help, std::vector<std::string> body) {
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
  d.body = std::move(body);
  d.help = std::move(help);
  errors_.push_back(std::move(d));
}

std::string Report::line_of(Span span) const {
  return fmt::format("line {}", line_column(*source_, span.begin).line);
}

Diagnostics Report::finish() && {
  std::stable_sort(errors_.begin(), errors_.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return a.where.begin < b.where.begin;
  });
  if (count_ > kShown) {
    const size_t hidden = count_ - kShown;
    errors_.resize(std::min(errors_.size(), kShown));
    Diagnostic more;
    more.code = code::kMoreErrors;
    more.headline = fmt::format("and {} more error{}", hidden, hidden == 1 ? "" : "s");
    errors_.push_back(std::move(more));
  }
  return std::move(errors_);
}

} // namespace kawara::program
