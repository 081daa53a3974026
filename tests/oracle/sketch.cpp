#include "oracle/sketch.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kawara::oracle {
namespace {

/// Ends of a range of values, each affine in the parameters alone.
struct Range {
  Affine low, high;
};
using Scope = std::map<std::string, Range>;

void add_term(Affine& sum, const std::string& name, int64_t coefficient) {
  for (auto& [known, c] : sum.terms)
    if (known == name) {
      c += coefficient;
      return;
    }
  sum.terms.emplace_back(name, coefficient);
}

Affine plus(Affine a, const Affine& b, int64_t factor) {
  a.constant += factor * b.constant;
  for (const auto& [name, c] : b.terms)
    add_term(a, name, factor * c);
  return a;
}

/// `e` with each loop replaced by the end of its range that makes the value smallest (largest).
Affine end_of(const Affine& e, const Scope& scope, bool is_high) {
  Affine end{e.constant, {}};
  for (const auto& [name, c] : e.terms) {
    const auto loop = scope.find(name);
    if (loop == scope.end())
      add_term(end, name, c);
    else
      end = plus(end, (c > 0) == is_high ? loop->second.high : loop->second.low, c);
  }
  return end;
}

/// A bound that holds for both, parameters being non-negative: the larger (smaller) of each
/// coefficient.
Affine wider(const Affine& a, const Affine& b, bool is_high) {
  const auto pick = [&](int64_t x, int64_t y) { return is_high ? std::max(x, y) : std::min(x, y); };
  Affine out{pick(a.constant, b.constant), {}};
  std::map<std::string, std::pair<int64_t, int64_t>> both;
  for (const auto& [name, c] : a.terms)
    both[name].first += c;
  for (const auto& [name, c] : b.terms)
    both[name].second += c;
  for (const auto& [name, c] : both)
    add_term(out, name, pick(c.first, c.second));
  return out;
}

/// Finds how far every dimension of every tensor is reached.
class Reach {
public:
  explicit Reach(const Sketch& sketch) : sketch_(sketch), reached_(sketch.tensors.size()) {
    for (size_t t = 0; t < sketch.tensors.size(); ++t)
      reached_[t].resize(sketch.tensors[t].rank);
    // First what readers reach; loops that fill a tensor then run over that.
    walk(sketch.body, {}, false);
    walk(sketch.body, {}, true);
  }
  const Range& of(size_t tensor, size_t dimension) const { return reached_[tensor][dimension]; }
  size_t number_of(const std::string& name) const {
    size_t t = 0;
    while (sketch_.tensors.at(t).name != name)
      ++t;
    return t;
  }

private:
  void walk(const std::vector<SketchNode>& body, const Scope& scope, bool with_fills) {
    for (const SketchNode& node : body) {
      if (node.fills) {
        if (!with_fills)
          continue;
        Scope inner = scope;
        inner[node.name] = reached_[node.fills->first][node.fills->second];
        walk(node.body, inner, with_fills);
      } else if (node.kind == SketchNode::Kind::Loop) {
        Scope inner = scope;
        const bool is_up = node.step > 0;
        const Affine first = end_of(node.lo, scope, !is_up);
        const Affine last = end_of(node.hi, scope, is_up);
        inner[node.name] =
            is_up ? Range{first, plus(last, {1, {}}, -1)} : Range{plus(last, {1, {}}, 1), first};
        walk(node.body, inner, with_fills);
      } else if (node.kind == SketchNode::Kind::If) {
        walk(node.body, scope, with_fills);
        walk(node.otherwise, scope, with_fills);
      } else {
        touch(node.target, scope);
        if (node.over) {
          touch({number_of("P"), {*node.over}}, scope);
          touch({number_of("P"), {plus(*node.over, {1, {}}, 1)}}, scope);
        }
        for (const SketchLoad& load : node.loads)
          touch(load, scope);
      }
    }
  }

  void touch(const SketchLoad& load, const Scope& scope) {
    for (size_t d = 0; d < load.index.size(); ++d) {
      if (load.index[d].data != Affine::Data::None) {
        if (load.index[d].data != Affine::Data::Range)
          touch({number_of(load.index[d].through), {{load.index[d].constant, load.index[d].terms}}},
                scope);
        continue;
      }
      Range& range = reached_[load.tensor][d];
      range.low = wider(range.low, end_of(load.index[d], scope, false), false);
      range.high = wider(range.high, end_of(load.index[d], scope, true), true);
    }
  }

  const Sketch& sketch_;
  std::vector<std::vector<Range>> reached_;
};

class Printer {
public:
  Printer(const Sketch& sketch, Spelling spelling)
      : sketch_(sketch), is_short_(spelling == Spelling::Short), reach_(sketch) {}

  std::string text() {
    for (const auto& [name, value] : sketch_.params)
      out_ += "param " + name +
              (sketch_.has_forms && is_short_ ? " = " + std::to_string(value) : "") + "\n";
    if (!sketch_.numerics.empty())
      out_ += "numerics " + sketch_.numerics + "\n";
    for (size_t t = 0; t < sketch_.tensors.size(); ++t)
      declare(t);
    if (sketch_.has_forms && is_short_)
      out_ += "let seven = 7\n"
              "def twice(a, b): a + a - b\n"
              "def bent(a, b):\n"
              "    let c = a * 2\n"
              "    return max(c, b) - seven\n";
    const std::string declared = std::exchange(out_, "");
    print(sketch_.body, 0);
    return declared + names_ + out_;
  }

private:
  void declare(size_t t) {
    const SketchTensor& tensor = sketch_.tensors[t];
    out_ += tensor.role + " " + tensor.name + ": " + tensor.elem;
    for (size_t d = 0; d < tensor.rank; ++d) {
      const Range& range = reach_.of(t, d);
      const Affine size = plus(plus(range.high, range.low, -1), {1, {}}, 1);
      out_ += (d == 0 ? "[" : ", ") + to_string(size);
    }
    out_ += tensor.rank == 0 ? "\n" : "]\n";
  }

  void print(const std::vector<SketchNode>& body, int depth) {
    for (const SketchNode& node : body) {
      if (node.kind == SketchNode::Kind::Statement) {
        if (node.over)
          line(depth, "for q in range(" + element_of("P", *node.over) + ", " +
                          element_of("P", plus(*node.over, {1, {}}, 1)) + "):");
        if (node.has_name)
          name_last_term(node, depth);
        line(depth + (node.over ? 1 : 0), statement(node));
      } else if (node.kind == SketchNode::Kind::Loop) {
        if (node.body.empty())
          continue;
        line(depth, "for " + node.name + " in " + range(node) + ":");
        print(node.body, depth + 1);
      } else if (!node.body.empty()) {
        line(depth, "if " + condition(node) + ":");
        print(node.body, depth + 1);
        if (!node.otherwise.empty()) {
          line(depth, "else:");
          print(node.otherwise, depth + 1);
        }
      } else {
        print(node.otherwise, depth);
      }
    }
  }

  std::string range(const SketchNode& node) const {
    if (node.fills) {
      const Range& range = reach_.of(node.fills->first, node.fills->second);
      return "range(" + to_string(range.low) + ", " + to_string(plus(range.high, {1, {}}, 1)) + ")";
    }
    std::string hi = to_string(node.hi);
    for (const Affine& other : node.hi_min)
      hi = "min(" + hi + ", " + to_string(other) + ")";
    return "range(" + to_string(node.lo) + ", " + hi +
           (node.step == 1 ? "" : ", " + std::to_string(node.step)) + ")";
  }

  static std::string condition(const SketchNode& node) {
    const std::string left =
        node.modulus == 0 ? to_string(node.left)
                          : "(" + to_string(node.left) + ") % " + std::to_string(node.modulus);
    return left + " " + node.relation + " " + to_string(node.right);
  }

  /// An element of a tensor of one dimension.
  std::string element_of(const std::string& tensor, const Affine& e) const {
    const Range& range = reach_.of(reach_.number_of(tensor), 0);
    return tensor + "[" + to_string(plus({e.constant, e.terms}, range.low, -1)) + "]";
  }

  std::string index(const Affine& e, const Range& range) const {
    if (e.data == Affine::Data::None)
      return to_string(plus(e, range.low, -1));
    if (e.data == Affine::Data::Range)
      return "q";
    const std::string read = element_of(e.through, e);
    if (e.data == Affine::Data::Read)
      return read;
    return "min(max(i64(" + read + "), 0), " + to_string(plus(range.high, range.low, -1)) + ")";
  }

  std::string access(const SketchLoad& load) const {
    std::string text = sketch_.tensors[load.tensor].name;
    for (size_t d = 0; d < load.index.size(); ++d)
      text += (d == 0 ? "[" : ", ") + index(load.index[d], reach_.of(load.tensor, d));
    return load.index.empty() ? text : text + "]";
  }

  std::string term(const SketchNode& node, size_t k) const {
    std::string text = access(node.loads[k]);
    if (node.factors[k] != 1)
      text = std::to_string(node.factors[k]) + " * " + text;
    return node.forms.empty() ? text : formed(text, node.forms[k]);
  }

  std::string formed(const std::string& t, const SketchForm& form) const {
    const std::string n = std::to_string(form.number);
    const std::string power = std::to_string(int64_t{1} << form.number);
    const auto either = [&](const std::string& brief, const std::string& long_one) {
      return "(" + (is_short_ ? brief : long_one) + ")";
    };
    switch (form.kind) {
    case SketchForm::Kind::Plain:
      return t;
    case SketchForm::Kind::Choice: {
      const std::string is_chosen = to_string(form.left) + " < " + to_string(form.right);
      return either(t + " if " + is_chosen + " else " + n,
                    "select(" + is_chosen + ", " + t + ", " + n + ")");
    }
    case SketchForm::Kind::Larger:
      return either(t + " if " + t + " > " + n + " else " + n, "max(" + t + ", " + n + ")");
    case SketchForm::Kind::And:
      return either(t + " & 3", "(" + t + ") % 4");
    case SketchForm::Kind::Left:
      return either(t + " << " + n, "(" + t + ") * " + power);
    case SketchForm::Kind::Right:
      return either("(" + t + ") >> " + n, "(" + t + ") // " + power);
    case SketchForm::Kind::Not:
      return either("~(" + t + ")", "-1 - " + t);
    case SketchForm::Kind::Xor:
      return either(t + " ^ 5", "(" + t + " | 5) - (" + t + " & 5)");
    case SketchForm::Kind::Clamp:
      return either("clamp(" + t + ", -" + n + ", seven)", "min(max(" + t + ", -" + n + "), 7)");
    case SketchForm::Kind::Call:
      return either("twice(" + t + ", " + n + ")", t + " + " + t + " - " + n);
    case SketchForm::Kind::LongCall:
      return either("bent(" + t + ", " + n + ")", "max((" + t + ") * 2, " + n + ") - 7");
    }
    return t;
  }

  /// The type in which elements of a type are computed with.
  static std::string computed_as(const std::string& elem) {
    if (elem == "u32")
      return "i64";
    return elem == "i16" || elem == "i8" || elem == "u16" || elem == "u8" ? "i32" : elem;
  }

  /// The last term keeps its value while a line in between changes what it may have read.
  void name_last_term(const SketchNode& node, int depth) {
    const size_t last = node.loads.size() - 1;
    const std::string name = "kept" + std::to_string(named_++);
    if (!is_short_)
      names_ +=
          "temp " + name + ": " + computed_as(sketch_.tensors[node.loads[last].tensor].elem) + "\n";
    line(depth, (is_short_ ? "let " : "") + name + " = " + term(node, last));
    line(depth, access(node.target) + " += 1");
  }

  std::string statement(const SketchNode& node) const {
    std::string value = std::to_string(node.constant);
    for (size_t k = 0; k < node.loads.size(); ++k) {
      const bool is_kept = node.has_name && k + 1 == node.loads.size();
      const std::string term = is_kept ? "kept" + std::to_string(named_ - 1) : this->term(node, k);
      value = node.takes_max ? "max(" + term + ", " + value + ")" : term + " + " + value;
    }
    return access(node.target) + " " + node.op + " " + value;
  }

  void line(int depth, const std::string& text) {
    out_ += std::string(static_cast<size_t>(4 * depth), ' ') + text + "\n";
  }

  const Sketch& sketch_;
  bool is_short_;
  Reach reach_;
  std::string out_, names_;
  size_t named_ = 0;
};

} // namespace

std::string to_string(const Affine& e) {
  std::string text;
  for (const auto& [name, c] : e.terms) {
    if (c == 0)
      continue;
    const std::string sign = c < 0 ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ");
    const int64_t size = c < 0 ? -c : c;
    text += sign + (size == 1 ? "" : std::to_string(size) + " * ") + name;
  }
  if (text.empty())
    return std::to_string(e.constant);
  if (e.constant != 0)
    text +=
        e.constant < 0 ? " - " + std::to_string(-e.constant) : " + " + std::to_string(e.constant);
  return text;
}

std::string text_of(const Sketch& sketch, Spelling spelling) {
  return sketch.text.empty() ? Printer(sketch, spelling).text() : sketch.text;
}

std::vector<int64_t> values_of(const Sketch& sketch) {
  std::vector<int64_t> values;
  for (const auto& [name, value] : sketch.params)
    values.push_back(value);
  return values;
}

} // namespace kawara::oracle
