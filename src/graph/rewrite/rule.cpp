#include "graph/rewrite/rule.h"

#include "graph/rewrite/rules_text.h"
#include "support/check.h"
#include "support/text.h"

#include <fmt/format.h>

#include <array>

namespace kawara::rewrite {
namespace {

std::vector<std::string> texts_of(const std::vector<Formula>& formulas) {
  std::vector<std::string> texts;
  for (const Formula& formula : formulas)
    texts.push_back(text_of(formula));
  return texts;
}

std::vector<std::string> texts_of(const std::vector<Pattern>& patterns) {
  std::vector<std::string> texts;
  for (const Pattern& pattern : patterns)
    texts.push_back(text_of(pattern));
  return texts;
}

std::vector<Rule> read_standard_rules() {
  auto rules = parse_rules(make_source("standard.rules", std::string(rules_text())));
  KAWARA_CHECK(rules, render(rules.error()));
  return *std::move(rules);
}

} // namespace

std::string_view name_of(Numerics numerics) {
  constexpr std::array<std::string_view, 3> names{"exact", "rounding", "fast"};
  return names[static_cast<size_t>(numerics)];
}

std::string text_of(const Formula& formula) {
  switch (formula.kind) {
  case Formula::Kind::Integer:
    return std::to_string(formula.integer);
  case Formula::Kind::Variable:
    return formula.name;
  case Formula::Kind::List:
    return "[" + join(texts_of(formula.parts), ", ") + "]";
  case Formula::Kind::Call:
    break;
  }
  if (!std::isalpha(static_cast<unsigned char>(formula.name[0])) || formula.name == "and" ||
      formula.name == "or")
    return "(" + join(texts_of(formula.parts), " " + formula.name + " ") + ")";
  return formula.name + "(" + join(texts_of(formula.parts), ", ") + ")";
}

std::string text_of(const Pattern& pattern) {
  if (pattern.kind == Pattern::Kind::Variable)
    return pattern.name;
  if (pattern.kind == Pattern::Kind::Number)
    return pattern.name.empty() ? fmt::format("{}", pattern.number)
                                : "number(" + pattern.name + ")";
  std::vector<std::string> parts = texts_of(pattern.operands);
  for (const AttributePattern& attribute : pattern.attributes)
    parts.push_back(attribute.name + "=" + text_of(attribute.value));
  if (!pattern.rest.empty())
    parts.push_back(".." + pattern.rest);
  return pattern.name + "(" + join(parts, ", ") + ")" +
         (pattern.as.empty() ? "" : " as " + pattern.as);
}

std::string text_of(const Rule& rule) {
  std::string text = join(texts_of(rule.left), ", ") + " -> " + join(texts_of(rule.right), ", ");
  if (!rule.conditions.empty())
    text += " where " + join(texts_of(rule.conditions), ", ");
  return text;
}

const std::vector<Rule>& standard_rules() {
  static const std::vector<Rule> rules = read_standard_rules(); // never changes
  return rules;
}

} // namespace kawara::rewrite
