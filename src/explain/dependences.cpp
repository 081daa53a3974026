#include "explain/dependences.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::explain {
namespace {

using poly::DependenceKind;
using poly::Summary;

/// "(t +1, i -1)"; "no shared loop" without any.
std::string distance_text(const Summary& s) {
  if (s.loops.empty())
    return "no shared loop";
  std::string text = "(";
  for (size_t k = 0; k < s.loops.size(); ++k)
    text += (k ? ", " : "") + s.loops[k] + " " + s.distance[k];
  return text + ")";
}

/// "(<, =, *)": the sign of each distance, as textbooks write direction vectors.
std::string direction_text(const Summary& s) {
  std::string text = "(";
  for (size_t k = 0; k < s.distance.size(); ++k) {
    const std::string& d = s.distance[k];
    const bool goes_both_ways = d.find("..") != std::string::npos;
    const bool is_forward = d[0] == '+' || (d.rfind(">=", 0) == 0 && d != ">=0");
    const bool is_backward = d[0] == '-' || (d.rfind("<=", 0) == 0 && d != "<=0");
    text += k ? ", " : "";
    text += d == "0"         ? "="
            : goes_both_ways ? "*"
            : is_forward     ? "<"
            : is_backward    ? ">"
            : d == ">=0"     ? "<="
            : d == "<=0"     ? ">="
                             : "*";
  }
  return text + ")";
}

/// "distance (t +1, i 0)  direction (<, =)" with the direction in its column; "no shared loop".
std::string place_text(const Summary& s, size_t width) {
  if (s.loops.empty())
    return distance_text(s);
  return fmt::format("distance {:<{}}  direction {}", distance_text(s), width, direction_text(s));
}

std::string colour_of(DependenceKind kind) {
  switch (kind) {
  case DependenceKind::Flow:
    return "#2f7d4f";
  case DependenceKind::Anti:
    return "#b8621b";
  case DependenceKind::Output:
    return "#7a5ea8";
  }
  return "#000000";
}

std::string edge_label(const Summary& s) {
  return fmt::format("{} {} {}{}", short_name(s.kind), s.tensor, distance_text(s),
                     s.is_reduction ? " reduction" : "");
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

} // namespace

std::string_view short_name(DependenceKind kind) {
  switch (kind) {
  case DependenceKind::Flow:
    return "flow";
  case DependenceKind::Anti:
    return "anti";
  case DependenceKind::Output:
    return "output";
  }
  return "";
}

std::string line_of(const Summary& s) {
  return fmt::format("{} -> {}, {}, {}, {}{}", s.source, s.sink, s.tensor, place_text(s, 0),
                     s.condition.empty() ? "always" : "whenever " + s.condition,
                     s.is_reduction ? "; reduction" : "");
}

std::string dependence_text(const std::vector<Summary>& all) {
  if (all.empty())
    return "no dependences: every order is legal\n";
  size_t ends = 0, tensor = 0, distance = 0, place = 0;
  for (const Summary& s : all) {
    ends = std::max(ends, s.source.size() + s.sink.size() + 4);
    tensor = std::max(tensor, s.tensor.size());
    distance = std::max(distance, s.loops.empty() ? 0 : distance_text(s).size());
  }
  for (const Summary& s : all)
    place = std::max(place, place_text(s, distance).size());
  std::string out;
  for (const Summary& s : all)
    out += fmt::format("{:<6}  {:<{}}  {:<{}}  {:<{}}  {}{}\n", short_name(s.kind),
                       s.source + " -> " + s.sink, ends, s.tensor, tensor, place_text(s, distance),
                       place, s.condition.empty() ? "always" : "whenever " + s.condition,
                       s.is_reduction ? "; reduction" : "");
  return out;
}

std::string dependence_dot(const std::vector<Summary>& all,
                           const std::vector<std::string>& statements) {
  std::string out =
      "digraph dependences {\n  node [shape=box, style=rounded, fontname=monospace];\n"
      "  edge [fontname=monospace, fontsize=10];\n";
  for (const std::string& s : statements)
    out += fmt::format("  {};\n", s);
  for (const Summary& s : all)
    out += fmt::format("  {} -> {} [label=\"{}\", color=\"{}\", fontcolor=\"{}\"{}];\n", s.source,
                       s.sink, edge_label(s), colour_of(s.kind), colour_of(s.kind),
                       s.is_reduction ? ", style=dashed" : "");
  return out + "}\n";
}

std::string dependence_svg(const std::vector<Summary>& all,
                           const std::vector<std::string>& statements) {
  // Statements stand in a column; every dependence is an arc of its own to the right, its label
  // beside it.
  constexpr int kRow = 28, kBox = 70, kTop = 30;
  const int rows = static_cast<int>(std::max(all.size(), 3 * statements.size()));
  const int height = kTop * 2 + rows * kRow;
  const auto y_of = [&](const std::string& name) {
    const auto at = std::find(statements.begin(), statements.end(), name) - statements.begin();
    return kTop + (2 * static_cast<int>(at) + 1) * (height - 2 * kTop) /
                      (2 * std::max<int>(1, static_cast<int>(statements.size())));
  };
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"{}\" "
      "font-family=\"monospace\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#fbfaf7\"/>\n<defs>",
      height);
  for (const auto kind : {DependenceKind::Flow, DependenceKind::Anti, DependenceKind::Output})
    out += fmt::format(
        "<marker id=\"{0}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" "
        "markerHeight=\"8\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"{1}\"/></marker>",
        short_name(kind), colour_of(kind));
  out += "</defs>\n";
  for (size_t k = 0; k < all.size(); ++k) {
    const Summary& s = all[k];
    const int label_y = kTop + static_cast<int>(k) * kRow + kRow / 2;
    const int from = y_of(s.source) - 5, to = y_of(s.sink) + 5;
    out += fmt::format(
        "<path d=\"M{0},{1} C{2},{1} {2},{3} {4},{3} C{2},{3} {2},{5} {6},{5}\" fill=\"none\" "
        "stroke=\"{7}\" stroke-width=\"1.5\"{8} marker-end=\"url(#{9})\"/>\n",
        20 + kBox, from, 200, label_y, 250, to, 22 + kBox, colour_of(s.kind),
        s.is_reduction ? " stroke-dasharray=\"5 3\"" : "", short_name(s.kind));
    out += fmt::format("<text x=\"258\" y=\"{}\" fill=\"{}\">{} -&gt; {}  {}  {}</text>\n",
                       label_y + 4, colour_of(s.kind), s.source, s.sink, escaped(edge_label(s)),
                       s.condition.empty() ? "" : escaped("whenever " + s.condition));
  }
  for (const std::string& s : statements)
    out +=
        fmt::format("<rect x=\"20\" y=\"{}\" width=\"{}\" height=\"30\" rx=\"6\" fill=\"#ffffff\" "
                    "stroke=\"#444\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                    y_of(s) - 15, kBox, 20 + kBox / 2, y_of(s) + 5, s);
  return out + "</svg>\n";
}

} // namespace kawara::explain
