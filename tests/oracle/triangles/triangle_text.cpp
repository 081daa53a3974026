#include "oracle/triangles/triangle.h"

namespace kawara::oracle {
namespace {

std::string text_of(const Triangle& program, const Linear& e) {
  std::string text;
  const auto term = [&](int64_t factor, const std::string& name) {
    if (factor == 0)
      return;
    const bool is_first = text.empty();
    text += is_first ? (factor < 0 ? "-" : "") : (factor < 0 ? " - " : " + ");
    const int64_t size = factor < 0 ? -factor : factor;
    text += (size == 1 ? "" : std::to_string(size) + " * ") + name;
  };
  // What is added first: a text may not begin with a minus and a product.
  for (const bool is_negative : {false, true}) {
    for (size_t p = 0; p < e.params.size(); ++p)
      if ((e.params[p] < 0) == is_negative)
        term(e.params[p], program.params[p]);
    for (size_t l = 0; l < e.loops.size(); ++l)
      if ((e.loops[l] < 0) == is_negative)
        term(e.loops[l], program.loops[l]);
    if (!is_negative && (e.constant > 0 || text.empty()))
      text += (text.empty() ? "" : " + ") + std::to_string(e.constant);
  }
  if (e.constant < 0 && text != std::to_string(e.constant))
    text += " - " + std::to_string(-e.constant);
  return e.divisor == 1 ? text : "(" + text + ") // " + std::to_string(e.divisor);
}

std::string text_of(const Triangle& program, const std::vector<Linear>& list, const char* choice) {
  std::string text;
  for (const Linear& e : list)
    text += (text.empty() ? "" : ", ") + text_of(program, e);
  return list.size() > 1 ? std::string(choice) + "(" + text + ")" : text;
}

std::string element_text(const Triangle& program, size_t tensor, const std::vector<Linear>& index) {
  std::string text;
  for (const Linear& e : index)
    text += (text.empty() ? "" : ", ") + text_of(program, e);
  return program.tensors[tensor].name + "[" + text + "]";
}

std::string value_text(const Triangle& program, const TriangleValue& v) {
  using Kind = TriangleValue::Kind;
  if (v.kind == Kind::Load)
    return element_text(program, v.tensor, v.index);
  if (v.kind == Kind::Number)
    return std::to_string(v.number);
  if (v.kind == Kind::Loop)
    return program.loops[static_cast<size_t>(v.number)];
  const std::string a = value_text(program, v.operands[0]), b = value_text(program, v.operands[1]);
  if (v.kind == Kind::Max || v.kind == Kind::Min)
    return (v.kind == Kind::Max ? "max(" : "min(") + a + ", " + b + ")";
  return "(" + a +
         (v.kind == Kind::Add        ? " + "
          : v.kind == Kind::Subtract ? " - "
                                     : " * ") +
         b + ")";
}

void append(const Triangle& program, const std::vector<TriangleNode>& nodes, size_t depth,
            std::string& text) {
  for (const TriangleNode& node : nodes) {
    text += std::string(4 * depth, ' ');
    if (!node.is_loop) {
      text += element_text(program, node.tensor, node.index) + " " + node.op + " " +
              value_text(program, node.value) + "\n";
      continue;
    }
    text += "for " + node.name + " in range(" + text_of(program, node.lo, "max") + ", " +
            text_of(program, node.hi, "min");
    text += (node.step == 1 ? "" : ", " + std::to_string(node.step)) + "):\n";
    append(program, node.body, depth + 1, text);
  }
}

} // namespace

std::string text_of(const Triangle& program) {
  std::string text;
  for (const std::string& name : program.params)
    text += "param " + name + "\n";
  if (!program.numerics.empty())
    text += "numerics " + program.numerics + "\n";
  for (const TriangleTensor& tensor : program.tensors) {
    text += tensor.role + " " + tensor.name + ": " + tensor.elem + "[";
    for (size_t d = 0; d < tensor.shape.size(); ++d)
      text += (d == 0 ? "" : ", ") + text_of(program, tensor.shape[d]);
    text += "]\n";
  }
  append(program, program.body, 0, text);
  return text;
}

} // namespace kawara::oracle
