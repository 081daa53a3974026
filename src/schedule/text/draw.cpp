#include "schedule/text/draw.h"

#include "support/text.h"

#include <algorithm>
#include <vector>

namespace kawara::schedule {

using poly::Marks;
using poly::Order;
using poly::Scop;
using poly::StmtId;
using poly::TreeNode;

namespace {

std::string marks_text(const poly::OrderLoop& loop) {
  const Marks& m = loop.marks;
  std::vector<std::string> words;
  if (m.is_parallel)
    words.push_back("parallel");
  if (m.vector_width != 0)
    words.push_back((m.is_scan ? "scan " : "vector ") + std::to_string(m.vector_width));
  if (m.unroll != 0)
    words.push_back(m.unroll == poly::kFullUnroll ? "unroll"
                                                  : "unroll " + std::to_string(m.unroll));
  if (!m.instruction.empty())
    words.push_back(m.instruction);
  if (m.is_isolated)
    words.push_back("isolated");
  if (m.axis != poly::Axis::None)
    words.emplace_back(poly::name_of(m.axis));
  if (m.stages != 0)
    words.push_back("pipeline " + std::to_string(m.stages));
  if (loop.is_coalesced_into_parent)
    words.push_back("one with the loop around it");
  return join(words, ", ");
}

/// "C[i, j] += A[i, k] * B[k, j]"
std::string statement_text(const Scop& scop, StmtId id) {
  const program::Statement& s = scop[id].text;
  const scalar::Names names = poly::names_of(scop, id);
  std::vector<std::string> index;
  for (const scalar::Expr& e : s.index)
    index.push_back(scalar::to_string(e, names));
  const std::string element =
      scop.tensors[s.tensor].name + (index.empty() ? "" : "[" + join(index, ", ") + "]");
  const std::string value = scalar::to_string(s.value, names);
  switch (s.op) {
  case scalar::ReduceOp::None:
    return element + " = " + value;
  case scalar::ReduceOp::Sum:
    return element + " += " + value;
  case scalar::ReduceOp::Prod:
    return element + " *= " + value;
  default:
    return element + " " + std::string(scalar::name_of(s.op)) + "= " + value;
  }
}

/// What one line of the picture says: the node in strong type, and a remark.
struct DrawnLine {
  std::string title, remark;
};

DrawnLine line_of(const Scop& scop, const Order& order, const TreeNode& node) {
  if (node.is_loop())
    return {"for " + order[node.loop()].name, marks_text(order[node.loop()])};
  return {scop[node.statement()].text.name, statement_text(scop, node.statement())};
}

void draw_body(const Scop& scop, const Order& order, const std::vector<TreeNode>& body,
               const std::string& prefix, std::string& out) {
  for (size_t i = 0; i < body.size(); ++i) {
    const bool is_last = i + 1 == body.size();
    const DrawnLine line = line_of(scop, order, body[i]);
    out += prefix + (is_last ? "└─ " : "├─ ") + line.title;
    out += line.remark.empty() ? "\n" : "  " + line.remark + "\n";
    draw_body(scop, order, body[i].body, prefix + (is_last ? "   " : "│  "), out);
  }
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text))
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

/// One box per node, a row each, indented by depth; lines lead from a loop to what is inside.
class Svg {
public:
  Svg(const Scop& scop, const Order& order) : scop_(scop), order_(order) {}

  std::string document() {
    body(order_.body, 0, -1);
    const int height = rows_ * kRow + kMargin * 2;
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width_) +
           "\" height=\"" + std::to_string(height) + "\" viewBox=\"0 0 " + std::to_string(width_) +
           " " + std::to_string(height) +
           "\" font-family=\"ui-monospace, monospace\" font-size=\"13\">\n"
           "<title>schedule tree</title>\n" +
           edges_ + boxes_ + "</svg>\n";
  }

private:
  static constexpr int kRow = 34, kBox = 24, kIndent = 28, kMargin = 10, kLetter = 8;

  static int letters(const std::string& text) {
    return static_cast<int>(display_width(printable(text))) * kLetter;
  }

  void body(const std::vector<TreeNode>& nodes, int depth, int parent_row) {
    for (const TreeNode& node : nodes) {
      const int row = rows_++;
      if (parent_row >= 0)
        edge(depth, parent_row, row);
      box(node, depth, row);
      body(node.body, depth + 1, row);
    }
  }

  void edge(int depth, int from, int to) {
    const int x = kMargin + (depth - 1) * kIndent + kIndent / 2;
    edges_ += "<path d=\"M" + std::to_string(x) + " " + std::to_string(top(from) + kBox) + " V" +
              std::to_string(top(to) + kBox / 2) + " H" +
              std::to_string(kMargin + depth * kIndent) + "\" fill=\"none\" stroke=\"#8a8f98\"/>\n";
  }

  void box(const TreeNode& node, int depth, int row) {
    const DrawnLine line = line_of(scop_, order_, node);
    const int x = kMargin + depth * kIndent, y = top(row);
    const int wide = letters(line.title) + 16;
    // Strong mid tones with white letters stand out on white and on black alike.
    const bool is_marked = node.is_loop() && !line.remark.empty();
    const std::string colour = !node.is_loop() ? "#4b5563" : is_marked ? "#b45309" : "#2563a8";
    const std::string baseline = std::to_string(y + kBox / 2 + 5);
    boxes_ += "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" width=\"" +
              std::to_string(wide) + "\" height=\"" + std::to_string(kBox) + "\" rx=\"5\" fill=\"" +
              colour + "\"/>\n<text x=\"" + std::to_string(x + 8) + "\" y=\"" + baseline +
              "\" fill=\"#ffffff\">" + escaped(line.title) + "</text>\n";
    if (!line.remark.empty())
      boxes_ += "<text x=\"" + std::to_string(x + wide + 8) + "\" y=\"" + baseline +
                "\" fill=\"#808790\">" + escaped(line.remark) + "</text>\n";
    width_ = std::max(width_, x + wide + 8 + letters(line.remark) + kMargin);
  }

  static int top(int row) { return kMargin + row * kRow; }

  const Scop& scop_;
  const Order& order_;
  std::string edges_, boxes_;
  int rows_ = 0, width_ = 2 * kMargin;
};

} // namespace

std::string draw_text(const Scop& scop, const Order& order) {
  std::string out;
  draw_body(scop, order, order.body, "", out);
  return out;
}

std::string draw_svg(const Scop& scop, const Order& order) { return Svg(scop, order).document(); }

} // namespace kawara::schedule
