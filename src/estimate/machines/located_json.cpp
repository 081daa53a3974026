#include "estimate/machines/located_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace kawara::estimate {
namespace {

constexpr size_t kDeepest = 32;

/// Reads a text and says how far it has come.
class CountedText {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountedText(const char* at, uint32_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountedText& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountedText operator++(int) {
    CountedText before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountedText& a, const CountedText& b) { return a.at_ == b.at_; }

private:
  const char* at_;
  uint32_t* count_;
};

/// Behind blanks, commas, colons and comments.
uint32_t token_begin(std::string_view text, size_t at) {
  while (at < text.size()) {
    if (text.substr(at, 2) == "//")
      at = std::min(text.find('\n', at), text.size());
    else if (text.substr(at, 2) == "/*")
      at = std::min(text.find("*/", at + 2), text.size() - 2) + 2;
    else if (std::string_view(" \t\r\n,:").find(text[at]) != std::string_view::npos)
      ++at;
    else
      break;
  }
  return static_cast<uint32_t>(at);
}

/// Builds the tree from what the parser calls out.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
public:
  Builder(const SourcePtr& source, const uint32_t& read) : source_(source), read_(read) {}

  bool null() override { return add(of(LocatedJson::Kind::Null)); }
  bool boolean(bool value) override {
    LocatedJson made = of(LocatedJson::Kind::Bool);
    made.text = value ? "true" : "false";
    return add(std::move(made));
  }
  bool number_integer(number_integer_t value) override {
    return add(number(static_cast<double>(value), true, value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    const bool fits = value <= static_cast<number_unsigned_t>(INT64_MAX);
    return add(number(static_cast<double>(value), fits, fits ? static_cast<int64_t>(value) : 0));
  }
  bool number_float(number_float_t value, const string_t&) override {
    // 2e6 is a whole number, too.
    const bool is_whole = std::floor(value) == value && std::abs(value) < 9e15;
    return add(number(value, is_whole, is_whole ? static_cast<int64_t>(value) : 0));
  }
  bool string(string_t& value) override {
    LocatedJson made = of(LocatedJson::Kind::Text);
    made.text = value;
    return add(std::move(made));
  }
  bool binary(binary_t&) override { return false; } // JSON text has none
  bool start_object(std::size_t) override { return open(LocatedJson::Kind::Object); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(LocatedJson::Kind::List); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    const Span where = token(read_);
    for (const LocatedJson::Member& member : open_.back().members)
      if (member.name == name)
        return refuse(where, fmt::format("`{}` stands here twice", printable_name(name)),
                      "The second one would hide the first.");
    open_.back().members.push_back({name, where, {}});
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& e) override {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: WHY"
    std::string why = e.what();
    if (const size_t colon = why.find(": "); colon != std::string::npos)
      why = why.substr(colon + 2);
    const auto last = static_cast<uint32_t>(source_->text.size());
    const uint32_t end = std::min(static_cast<uint32_t>(std::max<size_t>(position, 1)), last);
    return refuse({end > 0 ? end - 1 : 0, end}, "this is no JSON", why + ".");
  }

  LocatedJson root;
  std::optional<Diagnostic> refused;

private:
  static std::string printable_name(const std::string& name) { return printable(name); }

  Span token(uint32_t end) {
    const uint32_t begin = token_begin(source_->text, end_);
    end_ = end;
    return {begin, end};
  }
  LocatedJson of(LocatedJson::Kind kind) {
    LocatedJson made;
    made.kind = kind;
    made.where = token(read_);
    return made;
  }
  LocatedJson number(double value, bool is_whole, int64_t whole) {
    LocatedJson made;
    made.kind = LocatedJson::Kind::Number;
    // What ends a number has been read, too, but at the end of the text.
    const bool is_last = read_ == source_->text.size() &&
                         std::isdigit(static_cast<unsigned char>(source_->text.back())) != 0;
    made.where = token(is_last ? read_ : read_ - 1);
    made.number = value;
    made.is_whole = is_whole;
    made.whole = whole;
    return made;
  }
  bool add(LocatedJson value) {
    if (open_.empty())
      root = std::move(value);
    else if (open_.back().kind == LocatedJson::Kind::Object)
      open_.back().members.back().value = std::move(value);
    else
      open_.back().items.push_back(std::move(value));
    return true;
  }
  bool open(LocatedJson::Kind kind) {
    open_.push_back(of(kind));
    return open_.size() <= kDeepest ||
           refuse(open_.back().where, fmt::format("more than {} lists in each other", kDeepest),
                  "No such file is that deep.");
  }
  bool close() {
    token(read_);
    LocatedJson done = std::move(open_.back());
    open_.pop_back();
    return add(std::move(done));
  }
  bool refuse(Span where, std::string headline, std::string why) {
    Diagnostic d;
    d.code = "K0470";
    d.headline = std::move(headline);
    d.source = source_;
    d.where = where;
    d.body.push_back(std::move(why));
    refused = std::move(d);
    return false;
  }

  const SourcePtr& source_;
  const uint32_t& read_;
  uint32_t end_ = 0; ///< of the last token
  std::vector<LocatedJson> open_;
};

} // namespace

std::string_view name_of(LocatedJson::Kind kind) {
  constexpr std::string_view names[] = {"null", "true or false", "a number",
                                        "text", "a list",        "an object"};
  return names[static_cast<size_t>(kind)];
}

Result<LocatedJson, Diagnostic> located_json(const SourcePtr& source) {
  uint32_t read = 0;
  Builder builder(source, read);
  const char* begin = source->text.data();
  nlohmann::json::sax_parse(CountedText(begin, &read),
                            CountedText(begin + source->text.size(), &read), &builder,
                            nlohmann::json::input_format_t::json, true, true);
  if (builder.refused)
    return fail(*std::move(builder.refused));
  return std::move(builder.root);
}

} // namespace kawara::estimate
