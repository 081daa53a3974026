#include "schedule/codes.h"
#include "schedule/schedule.h"
#include "schedule/text/build.h"
#include "schedule/text/lex.h"
#include "support/text.h"

#include <charconv>

namespace kawara::schedule {
namespace {

constexpr size_t kMostErrors = 20;
constexpr size_t kDeepestGroup = 8;

class Parser {
public:
  explicit Parser(SourcePtr source) : source_(std::move(source)), tokens_(lex(*source_)) {}

  Parsed<std::vector<Directive>> run() {
    std::vector<Directive> directives;
    while (parse_list(directives, 0) && at().kind != TokenKind::End) {
      unexpected("nothing was opened that this could close");
      take();
    }
    if (!errors_.empty())
      return fail(std::move(errors_));
    return directives;
  }

private:
  const Token& at() const { return tokens_[next_]; }
  const Token& take() { return at().kind == TokenKind::End ? at() : tokens_[next_++]; }
  bool is_full() const { return errors_.size() >= kMostErrors; }

  void report(std::string_view code, std::string headline, Span where, std::string label,
              std::vector<Help> help = {}) {
    if (is_full())
      return;
    Diagnostic d;
    d.code = code;
    d.headline = std::move(headline);
    d.source = source_;
    d.where = where;
    d.label = std::move(label);
    d.help = std::move(help);
    errors_.push_back(std::move(d));
  }

  /// The current token in words, for headlines.
  std::string shown() const {
    switch (at().kind) {
    case TokenKind::End:
      return "the end of the text";
    case TokenKind::Separator:
      return at().text == ";" ? "`;`" : "the end of the line";
    default:
      return "`" + printable(at().text) + "`";
    }
  }

  void unexpected(std::string label) {
    // The end of the text has no extent, but must not read as "nowhere".
    const Span where{at().where.begin, std::max(at().where.end, at().where.begin + 1)};
    report(kUnexpectedText, "did not expect " + shown() + " in a list of directives", where,
           std::move(label));
  }

  /// Directives up to the end or a closing bracket; false when there were too many errors.
  bool parse_list(std::vector<Directive>& directives, size_t depth) {
    while (!is_full()) {
      while (at().kind == TokenKind::Separator)
        take();
      if (at().kind == TokenKind::End || at().kind == TokenKind::CloseGroup)
        return true;
      parse_item(directives, depth);
      if (at().kind != TokenKind::Separator && at().kind != TokenKind::End &&
          at().kind != TokenKind::CloseGroup) {
        unexpected("a `;` or a new line comes between two directives");
        skip_item();
      }
    }
    return false;
  }

  void parse_item(std::vector<Directive>& directives, size_t depth) {
    if (at().kind == TokenKind::OpenGroup)
      return parse_group(directives, depth);
    if (at().kind != TokenKind::Word) {
      unexpected("expected the name of a directive");
      return skip_item();
    }
    const Token name = take();
    std::vector<Argument> arguments;
    if (form_of(name.text).empty()) {
      report_unknown(name);
      return skip_item();
    }
    if (at().kind == TokenKind::Open && !parse_arguments(arguments))
      return skip_item();
    const Span whole{name.where.begin, tokens_[next_ - 1].where.end};
    auto built = build_directive(name.text, arguments);
    if (built) {
      directives.push_back(*std::move(built));
      return;
    }
    const WrongArguments& wrong = built.error();
    report(kWrongArguments, "wrong arguments of `" + std::string(name.text) + "`: " + wrong.why,
           wrong.where.is_nowhere() ? whole : wrong.where, "",
           {{"write", form_of(name.text), false}});
  }

  void parse_group(std::vector<Directive>& directives, size_t depth) {
    const Token open = take();
    if (depth >= kDeepestGroup) {
      report(kNestedTooDeep, "groups are nested deeper than " + std::to_string(kDeepestGroup),
             open.where, "one too many");
      return skip_group();
    }
    Group group;
    if (!parse_list(group.members, depth + 1))
      return;
    if (at().kind != TokenKind::CloseGroup) {
      report(kUnexpectedText, "a group has no end", open.where, "this `[` has no `]`");
      return;
    }
    take();
    directives.emplace_back(std::move(group));
  }

  void report_unknown(const Token& name) {
    std::vector<Help> help;
    if (const auto meant = closest(name.text, directive_names()))
      help.push_back({"did you mean", form_of(*meant), false});
    else
      help.push_back({"directives", join(directive_names(), ", "), false});
    report(kNotADirective, "there is no directive `" + printable(name.text) + "`", name.where, "",
           std::move(help));
  }

  /// From `(` to `)`; false when an error was reported.
  bool parse_arguments(std::vector<Argument>& arguments) {
    take();
    skip_line_ends();
    if (at().kind == TokenKind::Close) {
      take();
      return true;
    }
    while (true) {
      skip_line_ends();
      Argument argument;
      if (!parse_argument(argument))
        return false;
      arguments.push_back(std::move(argument));
      skip_line_ends();
      if (at().kind == TokenKind::Close) {
        take();
        return true;
      }
      if (at().kind != TokenKind::Comma) {
        unexpected("a `,` or `)` comes after an argument");
        return false;
      }
      take();
    }
  }

  bool parse_argument(Argument& argument) {
    argument.where = at().where;
    if (at().kind == TokenKind::Word && tokens_[next_ + 1].kind == TokenKind::Equals) {
      argument.keyword = take().text;
      take();
    }
    argument.where.end = at().where.end;
    if (at().kind == TokenKind::Number)
      return parse_number(argument);
    if (at().kind != TokenKind::Word) {
      unexpected("expected the name of a loop or a number");
      return false;
    }
    argument.value = std::string(take().text);
    return at().kind != TokenKind::OpenGroup || parse_inside(argument);
  }

  /// `[0, i, 0, j+1]` behind a statement.
  bool parse_inside(Argument& argument) {
    take();
    argument.has_inside = true;
    while (at().kind != TokenKind::CloseGroup) {
      skip_line_ends();
      Argument entry;
      entry.where = at().where;
      if (at().kind == TokenKind::Word) {
        entry.value = std::string(take().text);
        if (at().kind == TokenKind::Number && (at().text[0] == '+' || at().text[0] == '-')) {
          Argument added;
          if (!parse_number(added))
            return false;
          entry.added = std::get<int64_t>(added.value);
        }
      } else if (at().kind != TokenKind::Number) {
        unexpected("expected a place or the name of a loop");
        return false;
      } else if (!parse_number(entry)) {
        return false;
      }
      argument.inside.push_back(std::move(entry));
      skip_line_ends();
      if (at().kind == TokenKind::Comma)
        take();
      else if (at().kind != TokenKind::CloseGroup) {
        unexpected("a `,` or `]` comes after a place or a loop");
        return false;
      }
    }
    argument.where.end = take().where.end;
    return true;
  }

  bool parse_number(Argument& argument) {
    const Token token = take();
    int64_t value = 0;
    const char* end = token.text.data() + token.text.size();
    const char* begin = token.text.data() + (token.text[0] == '+' ? 1 : 0);
    const auto [stop, error] = std::from_chars(begin, end, value);
    constexpr int64_t kLargest = int64_t{1} << 40;
    if (error != std::errc() || stop != end || value > kLargest || value < -kLargest) {
      report(kNumberOutOfRange, "number `" + printable(token.text) + "` is out of range",
             token.where, "at most 2^40");
      return false;
    }
    argument.value = value;
    return true;
  }

  void skip_line_ends() {
    while (at().kind == TokenKind::Separator && at().text == "\n")
      take();
  }

  /// To the end of the directive: the next separator or closing bracket outside parentheses.
  void skip_item() {
    size_t open = 0;
    while (at().kind != TokenKind::End) {
      const TokenKind kind = at().kind;
      if (kind == TokenKind::Open)
        ++open;
      if (kind == TokenKind::Close && open > 0)
        --open;
      if (kind == TokenKind::CloseGroup ||
          (kind == TokenKind::Separator && (open == 0 || at().text == ";")))
        return;
      take();
    }
  }

  /// Past the bracket that closes a group whose `[` was taken.
  void skip_group() {
    for (size_t open = 1; open > 0 && at().kind != TokenKind::End;) {
      const TokenKind kind = take().kind;
      open += kind == TokenKind::OpenGroup ? 1 : 0;
      open -= kind == TokenKind::CloseGroup ? 1 : 0;
    }
  }

  SourcePtr source_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  Diagnostics errors_;
};

} // namespace

Parsed<std::vector<Directive>> parse_directives(SourcePtr text) { return Parser(text).run(); }

} // namespace kawara::schedule
