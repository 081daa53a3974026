#include "graph/rewrite/formula.h"
#include "graph/rewrite/rule.h"
#include "graph/rewrite/term.h"
#include "support/text.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <set>

namespace kawara::rewrite {
namespace {

constexpr FormulaFunction kFunctions[] = {
    {"rank", 1},     {"dims", 1},     {"dim", 2},      {"constant", 1}, {"float", 1},
    {"size", 1},     {"at", 2},       {"join", 2},     {"take", 2},     {"set", 3},
    {"fill", 2},     {"remove", 2},   {"contains", 2}, {"sorted", 1},   {"inverse", 1},
    {"identity", 1}, {"disjoint", 2}, {"swap_last", 1}};

struct Token {
  enum class Kind : uint8_t { Name, Number, Mark, End };
  Kind kind = Kind::End;
  std::string text;
  uint32_t begin = 0;
};

std::vector<Token> tokens_of(const std::string& text) {
  std::vector<Token> tokens;
  size_t at = 0;
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  while (at < text.size()) {
    const char c = text[at];
    const size_t begin = at;
    Token::Kind kind = Token::Kind::Mark;
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (std::isdigit(static_cast<unsigned char>(c))) {
      kind = Token::Kind::Number;
      while (at < text.size() &&
             (is_name(text[at]) || (text[at] == '.' && text.compare(at, 2, "..") != 0)))
        ++at;
    } else if (is_name(c)) {
      kind = Token::Kind::Name;
      while (at < text.size() && is_name(text[at]))
        ++at;
    } else {
      at += 1;
      for (const char* longer : {"...", "..", "->", "==", "!=", "<="})
        if (text.compare(begin, std::string_view(longer).size(), longer) == 0) {
          at = begin + std::string_view(longer).size();
          break;
        }
    }
    tokens.push_back({kind, text.substr(begin, at - begin), static_cast<uint32_t>(begin)});
  }
  tokens.push_back({Token::Kind::End, "the end", static_cast<uint32_t>(text.size())});
  return tokens;
}

/// A pattern in which `...` is still to be written out.
struct Wide {
  Pattern pattern;
  std::vector<Wide> operands;
  bool repeats = false;
};

/// The wide pattern with `count` copies of what repeats; variables of copies are numbered.
Pattern narrowed(const Wide& wide, int count, int copy) {
  Pattern pattern = wide.pattern;
  if (pattern.kind == Pattern::Kind::Variable && copy > 0)
    pattern.name += std::to_string(copy);
  for (const Wide& operand : wide.operands) {
    if (!operand.repeats)
      pattern.operands.push_back(narrowed(operand, count, copy));
    for (int k = 1; operand.repeats && k <= count; ++k)
      pattern.operands.push_back(narrowed(operand, count, k));
  }
  return pattern;
}

bool is_wide(const Wide& wide) {
  bool found = wide.repeats;
  for (const Wide& operand : wide.operands)
    found = found || is_wide(operand);
  return found;
}

/// Names that a pattern or formula mentions.
void add_names(const Formula& formula, std::set<std::string>& names) {
  if (formula.kind == Formula::Kind::Variable)
    names.insert(formula.name);
  for (const Formula& part : formula.parts)
    add_names(part, names);
}
void add_names(const Pattern& pattern, std::set<std::string>& names) {
  if (pattern.kind != Pattern::Kind::Operator && !pattern.name.empty())
    names.insert(pattern.name);
  for (const std::string& more : {pattern.rest, pattern.as})
    if (!more.empty())
      names.insert(more);
  for (const AttributePattern& attribute : pattern.attributes)
    add_names(attribute.value, names);
  for (const Pattern& operand : pattern.operands)
    add_names(operand, names);
}

class RuleParser {
public:
  explicit RuleParser(const SourcePtr& source)
      : source_(source), tokens_(tokens_of(source->text)) {}

  Parsed<std::vector<Rule>> run() {
    std::vector<Rule> rules;
    while (next().kind != Token::Kind::End && errors_.empty())
      rule(rules);
    if (!errors_.empty())
      return fail(std::move(errors_));
    return rules;
  }

private:
  const Token& next() const { return tokens_[at_]; }
  bool takes(std::string_view text) {
    if (next().text != text || next().kind == Token::Kind::End)
      return false;
    ++at_;
    return true;
  }
  void expect(std::string_view text) {
    if (!takes(text))
      complain(fmt::format("`{}` is expected here, not `{}`", text, printable(next().text)));
  }
  void complain(std::string why) { complain_at(std::move(why), next()); }
  void complain_at(std::string why, const Token& token) {
    if (!errors_.empty())
      return;
    Diagnostic d;
    d.code = "K0580";
    d.headline = "the text is no rule: " + std::move(why);
    d.source = source_;
    d.where = {token.begin,
               token.begin + static_cast<uint32_t>(std::max<size_t>(1, token.text.size()))};
    d.body.push_back(
        "A rule reads `rule NAME exact|rounding|fast`, a pattern, `->`, a pattern, and perhaps\n"
        "`where` with conditions.");
    d.help.push_back({"for example", "rule relu_twice exact  Relu(Relu(x)) -> Relu(x)", false});
    errors_.push_back(std::move(d));
    at_ = tokens_.size() - 1;
  }
  std::string name() {
    if (next().kind != Token::Kind::Name) {
      complain(fmt::format("a name is expected here, not `{}`", printable(next().text)));
      return "";
    }
    return tokens_[at_++].text;
  }

  void rule(std::vector<Rule>& rules) {
    const Token begin = next();
    expect("rule");
    Rule rule;
    rule.name = name();
    rule.needs = contract();
    if (!takes("for"))
      return body(rule, begin, rules);
    family_ = name();
    std::vector<std::string> members;
    expect("in");
    expect("(");
    do
      members.push_back(name());
    while (takes(","));
    expect(")");
    const size_t start = at_;
    for (const std::string& one : members) {
      if (!errors_.empty())
        return;
      at_ = start;
      member_ = one;
      Rule copy = rule;
      copy.name += "_" + one;
      body(copy, begin, rules);
    }
    family_.clear();
  }

  void body(Rule rule, const Token& begin, std::vector<Rule>& rules) {
    const std::vector<Wide> left = sides();
    expect("->");
    const std::vector<Wide> right = sides();
    if (takes("where"))
      do
        rule.conditions.push_back(formula());
      while (takes(","));
    if (!errors_.empty())
      return;
    rule.text = std::string(
        trim(std::string_view(source_->text).substr(begin.begin, next().begin - begin.begin)));
    if (left.size() != right.size())
      return complain_at("both sides must have as many patterns", begin);
    bool wide = false;
    for (const Wide& one : left)
      wide = wide || is_wide(one);
    for (int count = 2; count <= (wide ? 4 : 2); ++count) {
      Rule copy = rule;
      if (wide)
        copy.name += "_" + std::to_string(count);
      for (const Wide& one : left)
        copy.left.push_back(narrowed(one, count, 0));
      for (const Wide& one : right)
        copy.right.push_back(narrowed(one, count, 0));
      check_bound(copy, begin);
      rules.push_back(std::move(copy));
    }
  }

  void check_bound(const Rule& rule, const Token& at) {
    std::set<std::string> bound, used;
    for (const Pattern& pattern : rule.left)
      add_names(pattern, bound);
    for (const Pattern& pattern : rule.right)
      add_names(pattern, used);
    for (const Formula& condition : rule.conditions)
      add_names(condition, used);
    for (const std::string& one : used)
      if (bound.count(one) == 0)
        complain_at(fmt::format("`{}` of rule `{}` is not bound on the left", one, rule.name), at);
    for (const Pattern& pattern : rule.left)
      if (pattern.kind != Pattern::Kind::Operator)
        complain_at("the left side must be an operator", at);
  }

  Numerics contract() {
    for (const Numerics one : {Numerics::Exact, Numerics::Rounding, Numerics::Fast})
      if (takes(name_of(one)))
        return one;
    complain("a contract is expected here: exact, rounding or fast");
    return Numerics::Exact;
  }

  std::vector<Wide> sides() {
    std::vector<Wide> all;
    do
      all.push_back(pattern());
    while (takes(","));
    return all;
  }

  Wide pattern() {
    Wide wide;
    const Token begin = next();
    if (begin.kind == Token::Kind::Number || begin.text == "-") {
      const bool is_negative = takes("-");
      wide.pattern.kind = Pattern::Kind::Number;
      wide.pattern.number = std::strtod(next().text.c_str(), nullptr) * (is_negative ? -1 : 1);
      ++at_;
      return wide;
    }
    wide.pattern.name = name();
    if (wide.pattern.name == "number" && takes("(")) {
      wide.pattern.kind = Pattern::Kind::Number;
      wide.pattern.name = name();
      expect(")");
    } else if (takes("(")) {
      if (!family_.empty() && wide.pattern.name == family_)
        wide.pattern.name = member_;
      wide.pattern.kind = Pattern::Kind::Operator;
      operands(wide);
      check_operator(wide, begin);
      if (takes("as"))
        wide.pattern.as = name();
    }
    wide.repeats = takes("...");
    return wide;
  }

  void operands(Wide& wide) {
    do {
      if (takes("..")) {
        wide.pattern.rest = name();
      } else if (next().kind == Token::Kind::Name && tokens_[at_ + 1].text == "=") {
        AttributePattern attribute;
        attribute.name = name();
        expect("=");
        attribute.value = formula();
        wide.pattern.attributes.push_back(std::move(attribute));
      } else {
        wide.operands.push_back(pattern());
      }
    } while (takes(","));
    expect(")");
  }

  void check_operator(const Wide& wide, const Token& at) {
    const OperatorInfo* info = find_operator_info(wide.pattern.name);
    if (!info)
      return complain_at(fmt::format("no operator of rules is called `{}`", wide.pattern.name), at);
    const size_t given = wide.operands.size();
    if (given < 1 || given > info->most || (given < info->least && !is_wide(wide)))
      return complain_at(fmt::format("`{}` does not take {} operands", info->name, given), at);
    for (const AttributePattern& attribute : wide.pattern.attributes)
      if (std::find(info->attributes.begin(), info->attributes.end(), attribute.name) ==
          info->attributes.end())
        return complain_at(fmt::format("`{}` has no attribute `{}`", info->name, attribute.name),
                           at);
    if (wide.pattern.rest.empty() && wide.pattern.attributes.size() != info->attributes.size())
      complain_at(fmt::format("`{}` needs its attributes: {}", info->name,
                              join({info->attributes.begin(), info->attributes.end()}, ", ")),
                  at);
  }

  Formula call_of(std::string function, std::vector<Formula> parts) {
    return {Formula::Kind::Call, 0, std::move(function), std::move(parts)};
  }

  Formula formula() {
    Formula left = comparison();
    for (const char* mark : {"and", "or"})
      while (takes(mark)) {
        Formula right = comparison();
        left = call_of(mark, {std::move(left), std::move(right)});
      }
    return left;
  }

  Formula comparison() {
    Formula left = sum();
    for (const char* mark : {"==", "!=", "<=", "<"})
      if (takes(mark)) {
        Formula right = sum();
        return call_of(mark, {std::move(left), std::move(right)});
      }
    return left;
  }

  Formula sum() {
    Formula left = product();
    while (next().text == "+" || next().text == "-") {
      const std::string mark = tokens_[at_++].text;
      Formula right = product();
      left = call_of(mark, {std::move(left), std::move(right)});
    }
    return left;
  }

  Formula product() {
    Formula left = factor();
    while (takes("*")) {
      Formula right = factor();
      left = call_of("*", {std::move(left), std::move(right)});
    }
    return left;
  }

  Formula factor() {
    if (takes("[")) {
      Formula list{Formula::Kind::List, 0, "", {}};
      if (!takes("]")) {
        do
          list.parts.push_back(formula());
        while (takes(","));
        expect("]");
      }
      return list;
    }
    if (takes("(")) {
      Formula inner = formula();
      expect(")");
      return inner;
    }
    const bool is_negative = takes("-");
    if (next().kind == Token::Kind::Number) {
      const int64_t value = std::strtoll(tokens_[at_++].text.c_str(), nullptr, 10);
      return {Formula::Kind::Integer, is_negative ? -value : value, "", {}};
    }
    const Token begin = next();
    std::string called = name();
    if (!takes("("))
      return {Formula::Kind::Variable, 0, std::move(called), {}};
    Formula call = call_of(std::move(called), {});
    do
      call.parts.push_back(formula());
    while (takes(","));
    expect(")");
    const FormulaFunction* function = find_formula_function(call.name);
    if (!function)
      complain_at(fmt::format("no function is called `{}`", call.name), begin);
    else if (function->arguments != call.parts.size())
      complain_at(fmt::format("`{}` takes {} arguments", call.name, function->arguments), begin);
    return call;
  }

  const SourcePtr& source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::string family_, member_; ///< name of an operator variable, and what it stands for now
  Diagnostics errors_;
};

} // namespace

const FormulaFunction* find_formula_function(std::string_view name) {
  for (const FormulaFunction& function : kFunctions)
    if (function.name == name)
      return &function;
  return nullptr;
}

Parsed<std::vector<Rule>> parse_rules(const SourcePtr& source) { return RuleParser(source).run(); }

} // namespace kawara::rewrite
