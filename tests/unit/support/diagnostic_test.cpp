#include "support/diagnostic.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kawara {
namespace {

constexpr const char* kJacobi =
    "for t in 0..T:\n"
    "  for i in 1..N-1:\n"
    "    A[t+1, i] = (A[t, i-1] + A[t, i] + A[t, i+1]) / 3        # S0\n";

/// Where the first `piece` stands in `text`.
Span span_of(const std::string& text, const std::string& piece) {
  const auto begin = static_cast<uint32_t>(text.find(piece));
  return {begin, begin + static_cast<uint32_t>(piece.size())};
}

Diagnostic at(const std::string& text, Span where, const std::string& label = "") {
  Diagnostic d;
  d.code = "K0101";
  d.headline = "headline";
  d.source = make_source("a.kw", text);
  d.where = where;
  d.label = label;
  return d;
}

TEST(Render, shows_everything_in_order) {
  Diagnostic d = at(kJacobi, span_of(kJacobi, "for i in 1..N-1:"), "would become the outer loop");
  d.code = "K0203";
  d.headline = "cannot interchange loops `t` and `i` of statement S0";
  d.source = make_source("jacobi.kw", kJacobi);
  d.body = {"S0 at (t=0, i=2) writes A[1, 2]; S0 at (t=1, i=1) reads that value.\n"
            "As written, the write runs first.",
            "dependence: write before read"};
  d.help = {{"skew first", "skew(i, by=t, factor=1); interchange(t, i)", true},
            {"or block only space", "tile(i, 32)", true}};
  EXPECT_EQ(render(d), R"(error[K0203]: cannot interchange loops `t` and `i` of statement S0

  jacobi.kw:2:3
   1 | for t in 0..T:
   2 |   for i in 1..N-1:
     |   ^^^^^^^^^^^^^^^^ would become the outer loop
   3 |     A[t+1, i] = (A[t, i-1] + A[t, i] + A[t, i+1]) / 3        # S0

  S0 at (t=0, i=2) writes A[1, 2]; S0 at (t=1, i=1) reads that value.
  As written, the write runs first.

  dependence: write before read

  help: skew first:           skew(i, by=t, factor=1); interchange(t, i)     checked: legal
  help: or block only space:  tile(i, 32)                                    checked: legal
)");
}

TEST(Render, warning_without_source_is_one_line) {
  Diagnostic d;
  d.code = "K0150";
  d.severity = Severity::Warning;
  d.headline = "element C[0] is never written";
  EXPECT_EQ(render(d), "warning[K0150]: element C[0] is never written\n");
}

TEST(Render, nowhere_names_only_the_file) {
  EXPECT_EQ(render(at("x\n", {0, 0})), "error[K0101]: headline\n\n  a.kw\n");
}

TEST(Render, span_over_lines_underlines_the_first) {
  EXPECT_EQ(render(at("ab cd\nef\n", {3, 8}, "here")),
            "error[K0101]: headline\n\n  a.kw:1:4\n   1 | ab cd\n     |    ^^ here\n   2 | ef\n");
}

TEST(Render, span_past_the_end_points_behind_the_text) {
  EXPECT_EQ(render(at("ab", {2, 9})),
            "error[K0101]: headline\n\n  a.kw:1:3\n   1 | ab\n     |   ^\n");
  EXPECT_EQ(render(at("ab\n", {90, 91})),
            "error[K0101]: headline\n\n  a.kw:2:1\n   1 | ab\n   2 |\n     | ^\n");
}

TEST(Render, empty_span_still_gets_a_caret) {
  EXPECT_EQ(render(at("ab\n", {1, 1})),
            "error[K0101]: headline\n\n  a.kw:1:2\n   1 | ab\n     |  ^\n");
}

TEST(Render, blank_neighbours_are_left_out) {
  EXPECT_EQ(render(at("\nab\n  \n", {1, 3})),
            "error[K0101]: headline\n\n  a.kw:2:1\n   2 | ab\n     | ^^\n");
}

TEST(Render, tabs_keep_the_caret_in_place) {
  const std::string text = "\tab\tcd\n";
  EXPECT_EQ(render(at(text, span_of(text, "cd"))),
            "error[K0101]: headline\n\n  a.kw:1:5\n   1 |     ab  cd\n     |         ^^\n");
}

TEST(Render, utf8_keeps_the_caret_in_place) {
  const std::string narrow = "αβ x\n";
  EXPECT_EQ(render(at(narrow, span_of(narrow, "x"))),
            "error[K0101]: headline\n\n  a.kw:1:6\n   1 | αβ x\n     |    ^\n");
  const std::string wide = "瓦 x\n";
  EXPECT_EQ(render(at(wide, span_of(wide, "瓦"))),
            "error[K0101]: headline\n\n  a.kw:1:1\n   1 | 瓦 x\n     | ^^\n");
}

TEST(Render, bytes_a_terminal_would_obey_are_replaced) {
  const std::string text = "a\x1b[2J\xff b\r\n";
  EXPECT_EQ(render(at(text, span_of(text, "b"))),
            "error[K0101]: headline\n\n  a.kw:1:8\n   1 | a?[2J? b\n     |        ^\n");
}

TEST(Render, gutter_grows_with_the_line_number) {
  const std::string text = std::string(9998, '\n') + "ab\ncd\n";
  EXPECT_EQ(render(at(text, span_of(text, "ab"))),
            "error[K0101]: headline\n\n  a.kw:9999:1\n  9999 | ab\n       | ^^\n 10000 | cd\n");
}

TEST(Render, help_without_check_or_introduction) {
  Diagnostic d;
  d.code = "K0102";
  d.headline = "unknown tensor `Bx`";
  d.help = {{"", "did you mean `B`?", false}, {"declare it", "input Bx: f32[N]", false}};
  EXPECT_EQ(render(d), "error[K0102]: unknown tensor `Bx`\n\n"
                       "  help: did you mean `B`?\n"
                       "  help: declare it:  input Bx: f32[N]\n");
}

TEST(Render, several_are_parted_by_a_blank_line) {
  Diagnostic d;
  d.code = "K0101";
  d.headline = "one";
  EXPECT_EQ(render(Diagnostics{d, d}), "error[K0101]: one\n\nerror[K0101]: one\n");
  EXPECT_EQ(render(Diagnostics{}), "");
}

TEST(RenderJson, holds_the_fields) {
  Diagnostic d = at(kJacobi, span_of(kJacobi, "for i"));
  d.help = {{"skew first", "skew(i, by=t)", true}};
  const auto json = nlohmann::json::parse(render_json(d));
  EXPECT_EQ(json["code"], "K0101");
  EXPECT_EQ(json["severity"], "error");
  EXPECT_EQ(json["line"], 2);
  EXPECT_EQ(json["column"], 3);
  EXPECT_EQ(json["help"][0]["checked"], true);
}

TEST(RenderJson, survives_bytes_that_are_not_utf8) {
  Diagnostic d = at("\xff\n", {0, 1}, "\xff");
  EXPECT_NO_THROW(render_json(d));
}

} // namespace
} // namespace kawara
