#include "program/text/lex.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace kawara::program {

bool starts_line(std::string_view word) {
  static constexpr std::array<std::string_view, 15> kWords = {
      "param", "assume", "numerics", "input", "const", "output", "inout", "temp",
      "for",   "if",     "elif",     "else",  "let",   "def",    "return"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

bool is_reserved(std::string_view word) {
  static constexpr std::array<std::string_view, 12> kWords = {
      "in", "range", "and", "or", "not", "true", "false", "inf", "nan", "max", "min"};
  return starts_line(word) || std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

namespace {

constexpr size_t kMaxText = size_t(16) << 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

class Lexer {
public:
  explicit Lexer(Report& report) : report_(report), text_(report.source()->text) {}

  Tokens run() {
    if (text_.size() > kMaxText) {
      report_.error(code::kTooLarge, {0, 1}, "the text is larger than 16 MiB", "",
                    {{"split it", "one file per program"}});
      text_ = {};
    }
    while (pos_ < text_.size()) {
      if (at_line_start_)
        start_line();
      else
        step();
    }
    finish();
    return std::move(tokens_);
  }

private:
  struct Open {
    char bracket;
    Span where;
  };

  Span span_from(size_t begin) const { return {uint32_t(begin), uint32_t(pos_)}; }

  void push(TokenKind kind, size_t begin) {
    tokens_.push_back({kind, span_from(begin), text_.substr(begin, pos_ - begin), 0, 0});
  }

  // Measures the indentation of a line and compares it with the open blocks. Lines that hold
  // nothing, and lines inside brackets, have no indentation of their own.
  void start_line() {
    const size_t begin = pos_;
    bool has_tab = false;
    size_t column = 0;
    for (; pos_ < text_.size() && is_blank(text_[pos_]); ++pos_) {
      has_tab |= text_[pos_] == '\t';
      column = text_[pos_] == '\t' ? (column / 4 + 1) * 4 : column + 1;
    }
    at_line_start_ = false;
    if (pos_ == text_.size() || text_[pos_] == '\n' || text_[pos_] == '#')
      return;
    if (!open_.empty() && !begins_line_here())
      return;
    if (!open_.empty())
      close_line();
    if (has_tab)
      complain_tab(begin);
    indent_to(column, begin);
  }

  std::string_view word_here() const {
    size_t end = pos_;
    while (end < text_.size() && is_name_part(text_[end]))
      ++end;
    return text_.substr(pos_, end - pos_);
  }

  // `if` and `else` also stand inside expressions; as line starts they end with a colon.
  bool begins_line_here() const {
    const std::string_view word = word_here();
    if (word != "if" && word != "else")
      return starts_line(word);
    std::string_view line = text_.substr(pos_, text_.find('\n', pos_) - pos_);
    line = line.substr(0, line.find('#'));
    while (!line.empty() && is_blank(line.back()))
      line.remove_suffix(1);
    return !line.empty() && line.back() == ':';
  }

  // A line start was found inside brackets: the bracket was meant to close before it.
  void close_line() {
    complain_open();
    tokens_.push_back({TokenKind::Bad, {uint32_t(pos_), uint32_t(pos_)}, {}, 0, 0});
    tokens_.push_back({TokenKind::Newline, {uint32_t(pos_), uint32_t(pos_)}, {}, 0, 0});
  }

  void complain_open() {
    const Open& open = open_.back();
    const char close = open.bracket == '(' ? ')' : ']';
    report_.error(code::kBracket, open.where, fmt::format("`{}` is never closed", open.bracket),
                  "opened here", {{"", fmt::format("add the missing `{}`", close)}});
    open_.clear();
  }

  // One complaint is enough. A tab then counts as four columns, and as that is a guess,
  // indentation is no longer complained about.
  void complain_tab(size_t begin) {
    if (!tab_seen_)
      report_.error(
          code::kTab, span_from(begin), "a tab in the indentation", "",
          {{"indent with spaces only", "four per level"}},
          {"Editors show tabs with different widths, so the block a line belongs to would "
           "depend on the editor."});
    tab_seen_ = true;
  }

  void indent_to(size_t column, size_t begin) {
    if (column > indents_.back()) {
      indents_.push_back(column);
      push(TokenKind::Indent, begin);
      return;
    }
    size_t inner = indents_.back();
    while (column < indents_.back()) {
      inner = indents_.back();
      indents_.pop_back();
      push(TokenKind::Dedent, pos_);
    }
    if (column != indents_.back() && !tab_seen_) {
      report_.error(code::kIndentation, span_from(begin),
                    "this indentation matches no enclosing block", "",
                    {{"", fmt::format("indent by {} or by {} spaces", indents_.back(), inner)}});
      tokens_.push_back({TokenKind::Bad, span_from(begin), {}, 0, 0});
    }
  }

  void step() {
    const char c = text_[pos_];
    const size_t begin = pos_;
    if (is_blank(c)) {
      ++pos_;
    } else if (c == '#') {
      while (pos_ < text_.size() && text_[pos_] != '\n')
        ++pos_;
    } else if (c == '\n') {
      end_line();
    } else if (is_name_start(c)) {
      name();
    } else if (is_digit(c) || (c == '.' && pos_ + 1 < text_.size() && is_digit(text_[pos_ + 1]))) {
      number();
    } else if (!symbol()) {
      unexpected(begin);
    }
  }

  void end_line() {
    const size_t begin = pos_++;
    at_line_start_ = true;
    if (open_.empty() && !tokens_.empty() && !is_line_empty())
      push(TokenKind::Newline, begin);
  }

  bool is_line_empty() const {
    const TokenKind last = tokens_.back().kind;
    return last == TokenKind::Newline || last == TokenKind::Dedent || last == TokenKind::Indent;
  }

  void name() {
    const size_t begin = pos_;
    while (pos_ < text_.size() && is_name_part(text_[pos_]))
      ++pos_;
    const std::string_view word = text_.substr(begin, pos_ - begin);
    const bool is_update = (word == "max" || word == "min") && pos_ < text_.size() &&
                           text_[pos_] == '=' && text_.substr(pos_, 2) != "==";
    if (is_update)
      ++pos_;
    push(is_update ? TokenKind::Symbol : TokenKind::Name, begin);
  }

  void digits() {
    while (pos_ < text_.size() && is_digit(text_[pos_]))
      ++pos_;
  }

  void number() {
    const size_t begin = pos_;
    bool is_real = false;
    digits();
    if (pos_ < text_.size() && text_[pos_] == '.') {
      is_real = true;
      ++pos_;
      digits();
    }
    if (pos_ < text_.size() && (text_[pos_] == 'e' || text_[pos_] == 'E')) {
      size_t exponent = pos_ + 1;
      if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-'))
        ++exponent;
      if (exponent < text_.size() && is_digit(text_[exponent])) {
        is_real = true;
        pos_ = exponent;
        digits();
      }
    }
    if (pos_ < text_.size() && (is_name_part(text_[pos_]) || text_[pos_] == '.'))
      return malformed_number(begin);
    is_real ? real(begin) : integer(begin);
  }

  void malformed_number(size_t begin) {
    while (pos_ < text_.size() && (is_name_part(text_[pos_]) || text_[pos_] == '.'))
      ++pos_;
    const std::string_view text = text_.substr(begin, pos_ - begin);
    const std::string_view digits = text.substr(0, text.find_last_not_of("fFlLuU") + 1);
    std::vector<Help> help{{"numbers look like", "12, 0.5, 1e-3"}};
    if (text.find("..") != std::string_view::npos)
      help = {{"what a loop counts is written", "range(0, N)"}};
    else if (digits.find_first_not_of("0123456789.") == std::string_view::npos)
      help.push_back({"numbers have no suffix", std::string(digits)});
    else
      help.push_back({"for a product write", "2 * x"});
    report_.error(code::kNumber, span_from(begin),
                  fmt::format("`{}` is not a number", shown(begin)), "", std::move(help));
    push(TokenKind::Bad, begin);
  }

  std::string shown(size_t begin) const {
    const std::string_view word = text_.substr(begin, pos_ - begin);
    return word.size() <= 40 ? std::string(word) : std::string(word.substr(0, 37)) + "...";
  }

  void integer(size_t begin) {
    const char* first = text_.data() + begin;
    const char* last = text_.data() + pos_;
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(first, last, value);
    if (error != std::errc() || value > uint64_t(1) << 63)
      return too_large(begin, "integers go up to 9223372036854775807");
    push(TokenKind::Integer, begin);
    tokens_.back().integer = value;
  }

  void real(size_t begin) {
    double value = 0;
    const char* first = text_.data() + begin;
    const auto [end, error] = std::from_chars(first, text_.data() + pos_, value);
    // Too small a number is the zero it rounds to; from_chars tells both cases by one error.
    if (error == std::errc::result_out_of_range && !is_underflow(begin))
      return too_large(begin, "f64 goes up to about 1.8e308; write `inf` for infinity");
    push(TokenKind::Real, begin);
    tokens_.back().real = error == std::errc() && std::isfinite(value) ? value : 0;
  }

  bool is_underflow(size_t begin) const {
    const std::string_view word = text_.substr(begin, pos_ - begin);
    return word.find("e-") != word.npos || word.find("E-") != word.npos || word[0] == '.' ||
           word.substr(0, 2) == "0.";
  }

  void too_large(size_t begin, const char* limit) {
    report_.error(code::kNumber, span_from(begin), fmt::format("`{}` is too large", shown(begin)),
                  "", {}, {limit});
    push(TokenKind::Bad, begin);
  }

  bool symbol() {
    static constexpr std::array<std::string_view, 31> kSymbols = {
        "**", "//", "==", "!=", "<=", ">=", "<<", ">>", "+=", "-=", "*=",
        "/=", "&&", "||", "+",  "-",  "*",  "/",  "%",  "<",  ">",  "=",
        "(",  ")",  "[",  "]",  ",",  "&",  "|",  "^",  "~"};
    const size_t begin = pos_;
    if (text_[pos_] == ':') {
      ++pos_;
      push(TokenKind::Symbol, begin);
      return true;
    }
    for (std::string_view s : kSymbols) {
      if (text_.substr(pos_, s.size()) != s)
        continue;
      pos_ += s.size();
      if (s == "&&" || s == "||") {
        const char* word = s == "&&" ? "and" : "or";
        report_.error(code::kCharacter, span_from(begin), fmt::format("unexpected `{}`", s), "",
                      {{"write", word}});
        push(TokenKind::Bad, begin);
      } else {
        push(bracket(s, begin) ? TokenKind::Symbol : TokenKind::Bad, begin);
      }
      return true;
    }
    return false;
  }

  // Keeps the stack of open brackets; false when this one has no partner.
  bool bracket(std::string_view s, size_t begin) {
    if (s == "(" || s == "[")
      open_.push_back({s[0], span_from(begin)});
    if (s != ")" && s != "]")
      return true;
    const char partner = s == ")" ? '(' : '[';
    if (!open_.empty() && open_.back().bracket == partner) {
      open_.pop_back();
      return true;
    }
    if (open_.empty()) {
      report_.error(code::kBracket, span_from(begin), fmt::format("`{}` closes nothing", s), "",
                    {{"", fmt::format("remove it, or open it with `{}`", partner)}});
      return false;
    }
    const Open open = open_.back();
    open_.pop_back();
    report_.error(code::kBracket, span_from(begin),
                  fmt::format("`{}` does not close the `{}` before it", s, open.bracket), "",
                  {{"", fmt::format("write `{}`", open.bracket == '(' ? ')' : ']')}});
    return false;
  }

  void unexpected(size_t begin) {
    const auto is_foreign = [](char c) {
      return (uint8_t(c) >= 0x80) || (uint8_t(c) < 0x20 && c != '\n' && c != '\r' && c != '\t');
    };
    ++pos_;
    if (is_foreign(text_[begin]))
      while (pos_ < text_.size() && is_foreign(text_[pos_]))
        ++pos_;
    const char c = text_[begin];
    std::vector<Help> help;
    if (c == ';' && is_header_of_c()) {
      while (pos_ < text_.size() && text_[pos_] != '\n') // one error for the whole line
        ++pos_;
      help.push_back({"a loop is written", "for i in range(N):"});
      open_.clear();
    } else if (c == ';')
      help.push_back({"one statement per line", ""});
    if (c == '!')
      help.push_back({"write", "not x"});
    if (c == '{' || c == '}')
      help.push_back({"blocks are made by indentation", "four spaces per level"});
    if (c == '?')
      help.push_back({"a choice is written", "a if c else b"});
    if (c == '@')
      help.push_back({"a product of matrices is written", "C[i, j] = sum(k, A[i, k] * B[k, j])"});
    if (c == '.')
      add_member_help(begin, help);
    const std::string what =
        is_foreign(c) ? fmt::format("byte 0x{:02X}", unsigned(uint8_t(c))) : fmt::format("`{}`", c);
    report_.error(code::kCharacter, span_from(begin), "unexpected " + what, "", std::move(help));
    push(TokenKind::Bad, begin);
  }

  // `for (i = 0; ...`: the line began as a loop of C.
  bool is_header_of_c() const {
    for (size_t k = tokens_.size(); k-- > 1;)
      if (tokens_[k].text == "(" && tokens_[k - 1].text == "for")
        return true;
      else if (tokens_[k].kind == TokenKind::Newline)
        return false;
    return false;
  }

  // `np.exp(x)`, `A.T`: nothing has members.
  void add_member_help(size_t dot, std::vector<Help>& help) const {
    const std::string_view member = word_here();
    if (member.empty() || tokens_.empty() || tokens_.back().kind != TokenKind::Name ||
        tokens_.back().where.end != dot)
      return;
    const std::string_view owner = tokens_.back().text;
    const bool is_call = pos_ + member.size() < text_.size() && text_[pos_ + member.size()] == '(';
    if (is_call && (member == "zeros" || member == "ones" || member == "full"))
      help.push_back({"an array is a temp that a statement fills", "t[i] = 0"});
    else if (is_call)
      help.push_back(
          {"functions are written without what is before the dot", fmt::format("{}(...)", member)});
    else if (member == "T")
      help.push_back(
          {"a transposed tensor is read by its indices", fmt::format("{}[j, i]", owner)});
    else
      help.push_back({"names have no dots", std::string(member)});
  }

  void finish() {
    if (!open_.empty()) {
      complain_open();
      push(TokenKind::Bad, pos_);
    }
    if (!tokens_.empty() && !is_line_empty())
      push(TokenKind::Newline, pos_);
    for (; indents_.size() > 1; indents_.pop_back())
      push(TokenKind::Dedent, pos_);
    push(TokenKind::End, pos_);
  }

  Report& report_;
  std::string_view text_;
  size_t pos_ = 0;
  bool at_line_start_ = true;
  bool tab_seen_ = false;
  std::vector<size_t> indents_ = {0};
  std::vector<Open> open_;
  Tokens tokens_;
};

} // namespace

Tokens lex(Report& report) { return Lexer(report).run(); }

} // namespace kawara::program
