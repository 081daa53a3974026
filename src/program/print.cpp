#include "program/program.h"

#include <fmt/format.h>

namespace kawara::program {

namespace {

class Printer {
public:
  explicit Printer(const Program& program) : program_(program), names_(names_of(program)) {}

  std::string print() {
    declarations();
    if (!text_.empty() && !program_.body.empty())
      text_ += '\n';
    body(program_.body);
    return std::move(text_);
  }

private:
  std::string shown(const Expr& e) const { return scalar::to_string(e, names_); }

  std::string shown_index(const Expr& e) const { return scalar::index_text(e, names_); }

  std::string list(const std::vector<Expr>& items) const {
    std::string text;
    for (const Expr& e : items)
      text += (text.empty() ? "" : ", ") + shown(e);
    return items.empty() ? "" : "[" + text + "]";
  }

  void line(const std::string& text) {
    text_.append(4 * names_.iters.size() + 4 * ifs_, ' ');
    text_ += text + "\n";
  }

  void declarations() {
    std::string params;
    for (const Param& p : program_.params)
      params +=
          (params.empty() ? "" : ", ") + p.name + (p.value ? fmt::format(" = {}", *p.value) : "");
    if (!params.empty())
      line("param " + params);
    for (const Expr& e : program_.assumptions)
      line("assume " + shown(e));
    if (program_.numerics != Numerics::Rounding)
      line(fmt::format("numerics {}", name_of(program_.numerics)));
    for (const Tensor& t : program_.tensors)
      line(fmt::format("{} {}: {}{}",
                       t.is_constant && t.role == Role::Input ? "const" : name_of(t.role), t.name,
                       scalar::name_of(t.elem), list(t.shape)));
    for (const Tensor& t : program_.tensors)
      if (t.values)
        line(fmt::format("assume {} in range({}, {})", t.name, shown(t.values->lo),
                         shown(t.values->hi)));
  }

  void body(const Body& nodes) {
    for (const BodyNode& node : nodes) {
      if (const auto* loop = std::get_if<Loop>(&node))
        print_loop(*loop);
      else if (const auto* branch = std::get_if<If>(&node))
        print_if(*branch);
      else
        print_statement(program_.statements[std::get<StatementRef>(node).statement]);
    }
  }

  void print_loop(const Loop& loop) {
    std::string range = shown(loop.hi);
    if (loop.step != 1 || scalar::constant_of(loop.lo) != 0)
      range = shown(loop.lo) + ", " + range;
    if (loop.step != 1)
      range += fmt::format(", {}", loop.step);
    line(fmt::format("for {} in range({}):", loop.name, range));
    names_.iters.push_back(loop.name);
    body(loop.body);
    names_.iters.pop_back();
  }

  void print_if(const If& branch) {
    line(fmt::format("if {}:", shown(branch.cond)));
    ++ifs_;
    body(branch.then);
    --ifs_;
    if (branch.otherwise.empty())
      return;
    line("else:");
    ++ifs_;
    body(branch.otherwise);
    --ifs_;
  }

  void print_statement(const Statement& s) {
    if (s.over) {
      // Bounds are printed as indices are.
      line(fmt::format("for {} in range({}, {}):", s.over->name, shown_index(s.over->lo),
                       shown_index(s.over->hi)));
      names_.iters.push_back(s.over->name);
    }
    const scalar::Elem elem = program_.tensors[s.tensor].elem;
    line(fmt::format("{} {} {}", shown(scalar::load(s.tensor, s.index, {elem, 1})),
                     scalar::update_sign(s.op), shown(s.value)));
    if (s.over)
      names_.iters.pop_back();
  }

  const Program& program_;
  scalar::Names names_;
  size_t ifs_ = 0;
  std::string text_;
};

} // namespace

std::string print(const Program& program) { return Printer(program).print(); }

} // namespace kawara::program
