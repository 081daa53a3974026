#include "graph/attributes.h"

#include "graph/attribute_table.h"
#include "graph/errors.h"
#include "support/check.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace kawara::graph {
namespace {

/// One word of a row.
struct Entry {
  enum class Use : uint8_t { Read, None, StandardOnly };
  Use use = Use::Read;
  std::string name;
  char kind = 'i';
  std::optional<std::string> standard;
};

Entry entry_of(std::string_view word) {
  Entry entry;
  entry.use = word[0] == '-'   ? Entry::Use::None
              : word[0] == '!' ? Entry::Use::StandardOnly
                               : Entry::Use::Read;
  if (entry.use != Entry::Use::Read)
    word.remove_prefix(1);
  const size_t colon = word.find(':');
  entry.name = word.substr(0, colon);
  entry.kind = word[colon + 1];
  if (const size_t equals = word.find('='); equals != std::string_view::npos)
    entry.standard = word.substr(equals + 1);
  return entry;
}

std::vector<Entry> entries_of(std::string_view attributes) {
  std::vector<Entry> entries;
  for (const std::string_view word : split(attributes, ' '))
    if (!word.empty())
      entries.push_back(entry_of(word));
  return entries;
}

/// Rows of one operator.
std::span<const AttributeRow> rows_of(std::string_view op) {
  const auto rows = attribute_rows();
  const auto [begin, end] =
      std::equal_range(rows.begin(), rows.end(), AttributeRow{op, 0, ""},
                       [](const AttributeRow& a, const AttributeRow& b) { return a.op < b.op; });
  return {begin, end};
}

/// The row in force. Nodes that passes make may be older than their operator: the first row counts
/// for them.
const AttributeRow* row_of(std::string_view op, int64_t opset) {
  const AttributeRow* found = nullptr;
  for (const AttributeRow& row : rows_of(op))
    if (!found || row.since <= opset)
      found = &row;
  return found;
}

bool has_kind(const Attribute& value, char kind) {
  switch (kind) {
  case 'i':
    return std::holds_alternative<int64_t>(value);
  case 'f':
    return std::holds_alternative<double>(value);
  case 's':
    return std::holds_alternative<std::string>(value);
  case 'I':
    return std::holds_alternative<std::vector<int64_t>>(value);
  case 'F':
    return std::holds_alternative<std::vector<double>>(value);
  case 'S':
    return std::holds_alternative<std::vector<std::string>>(value);
  case 't':
    return std::holds_alternative<Tensor>(value);
  case 'g':
    return std::holds_alternative<GraphPtr>(value);
  default:
    return false;
  }
}

std::string_view name_of_kind(char kind) {
  switch (kind) {
  case 'i':
    return "an integer";
  case 'f':
    return "a number";
  case 's':
    return "a text";
  case 'I':
    return "a list of integers";
  case 'F':
    return "a list of numbers";
  case 'S':
    return "a list of texts";
  case 't':
    return "a tensor";
  case 'g':
    return "a graph";
  default:
    return "something that Kawara has no values of";
  }
}

bool is_standard_value(const Entry& entry, const Attribute& value) {
  if (!entry.standard)
    return false;
  const std::string& standard = *entry.standard;
  if (const auto* integer = std::get_if<int64_t>(&value))
    return *integer == std::strtoll(standard.c_str(), nullptr, 10);
  if (const auto* real = std::get_if<double>(&value))
    return static_cast<float>(*real) == std::strtof(standard.c_str(), nullptr);
  if (const auto* text = std::get_if<std::string>(&value))
    return *text == standard;
  std::vector<std::string> words;
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&value))
    for (const int64_t item : *integers)
      words.push_back(std::to_string(item));
  else if (const auto* texts = std::get_if<std::vector<std::string>>(&value))
    words = *texts;
  else
    return false;
  return join(words, ",") == standard;
}

const Entry* find(const std::vector<Entry>& entries, const std::string& name) {
  for (const Entry& entry : entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

Diagnostic refusal(const Node& node, const std::string& name, std::string why) {
  return model_error(
      "K0512",
      fmt::format("node `{}` ({}) has the attribute {} = {}, which Kawara does not know",
                  printable(node.name), printable(node.op), printable(name),
                  text_of_attribute(node.attributes.at(name))),
      std::move(why), "");
}

} // namespace

std::optional<Diagnostic> refused_attribute(const Node& node, int64_t opset) {
  const AttributeRow* row = node.domain.empty() ? row_of(node.op, opset) : nullptr;
  if (!row)
    return std::nullopt;
  const std::vector<Entry> entries = entries_of(row->attributes);
  for (const auto& [name, value] : node.attributes) {
    const Entry* entry = find(entries, name);
    if (!entry) {
      std::vector<std::string> names;
      for (const Entry& known : entries)
        names.push_back(known.name);
      Diagnostic d =
          refusal(node, name,
                  fmt::format("In version {} of the operators the attributes of {} are {}.", opset,
                              node.op, names.empty() ? "none" : join(names, ", ")));
      if (const auto meant = closest(name, names))
        d.help.push_back({"did you mean", *meant, false});
      return d;
    }
    if (entry->use == Entry::Use::None)
      continue;
    if (!has_kind(value, entry->kind))
      return refusal(
          node, name,
          fmt::format("It must be {}, not {}.", name_of_kind(entry->kind), kind_of(value)));
    if (entry->use == Entry::Use::StandardOnly && !is_standard_value(*entry, value))
      return refusal(node, name,
                     entry->standard
                         ? fmt::format("Only its standard value is: {}.", *entry->standard)
                         : "Nodes that have it cannot be run.");
  }
  return std::nullopt;
}

std::optional<Diagnostic> unread_attribute(const Node& node, int64_t opset,
                                           const std::set<std::string>& reads) {
#ifndef NDEBUG
  KAWARA_CHECK(unlisted_attributes(node.op, reads).empty(), "attributes of " + node.op);
#endif
  // Operators of Kawara's own have what passes gave them, and others without attributes were
  // refused at import.
  if (rows_of(node.op).empty())
    return std::nullopt;
  for (const auto& [name, value] : node.attributes) {
    if (reads.count(name) > 0)
      continue;
    const AttributeRow* row = node.domain.empty() ? row_of(node.op, opset) : nullptr;
    const std::vector<Entry> entries = entries_of(row ? row->attributes : "");
    const Entry* entry = find(entries, name);
    const bool is_harmless =
        entry && (entry->use == Entry::Use::None || is_standard_value(*entry, value));
    if (!is_harmless)
      return refusal(node, name, "For these inputs nothing is computed from it.");
  }
  return std::nullopt;
}

std::set<std::string> unlisted_attributes(const std::string& op,
                                          const std::set<std::string>& names) {
  std::set<std::string> unlisted = rows_of(op).empty() ? std::set<std::string>{} : names;
  for (const AttributeRow& row : rows_of(op))
    for (const Entry& entry : entries_of(row.attributes))
      unlisted.erase(entry.name);
  return unlisted;
}

} // namespace kawara::graph
