#include "emit/c/c_from_kernel.h"
#include "emit/c/expr.h"
#include "emit/c/prelude.h"
#include "kernel/interpret/interpret.h"
#include "kernel/passes.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "support/check.h"
#include "support/text.h"

#include <optional>

namespace kawara::emit {
namespace {

using kernel::Block;
using kernel::Buffer;
using kernel::For;
using kernel::Kernel;
using kernel::Scope;
using scalar::as;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::ReduceOp;

/// Local arrays up to this size; larger ones are allocated.
constexpr int64_t kMaxLocalBytes = 4096;

class Writer {
public:
  Writer(const Kernel& k, const CNames& names) : kernel_(k), names_(names), expr_(k, names) {
    const auto note = [&](const Expr& root) {
      scalar::visit(root, [&](const Expr& e) {
        if (const auto* v = as<scalar::Var>(e))
          used_variables_.insert(v->id);
        if (const auto* p = as<scalar::Param>(e))
          used_params_.insert(p->index);
        if (const auto* l = as<scalar::Load>(e)) {
          touch(l->tensor, inner_extents(l->tensor, l->index));
          read_buffers_.insert(l->tensor);
        }
      });
    };
    note_ = note;
    kernel::visit_exprs(k.body, note);
    kernel::visit(k.body, [&](const kernel::Store& store) {
      touch(store.buffer, inner_extents(store.buffer, store.index));
    });
    kernel::visit(k.body, [&](const kernel::Zero& zero) { touch(zero.buffer, Extents::All); });
  }

  std::string body() {
    ++depth_;
    for (uint32_t p = 0; p < kernel_.params.size(); ++p)
      if (used_params_.count(p) == 0)
        line("(void)" + names_.params[p] + ";");
    for (uint32_t b = 0; b < kernel_.buffers.size(); ++b)
      if (kernel_.buffers[b].scope == Scope::Argument && used_buffers_.count(b) == 0)
        line("(void)" + names_.buffers[b] + ";");
    std::vector<uint32_t> freed;
    for (uint32_t b = 0; b < kernel_.buffers.size(); ++b)
      if (kernel_.buffers[b].scope == Scope::Workspace && used_buffers_.count(b) != 0)
        if (declare(b))
          freed.push_back(b);
    block(kernel_.body);
    for (const uint32_t b : freed)
      line("free(" + names_.buffers[b] + ");");
    --depth_;
    return text_;
  }
  const std::set<std::string>& helpers() const { return expr_.helpers(); }

private:
  void line(const std::string& text) { text_ += std::string(2 * depth_, ' ') + text + "\n"; }

  /// Which extents of a buffer stand in the text of an access.
  enum class Extents : uint8_t { None, Inner, All };

  Extents inner_extents(uint32_t buffer, const std::vector<Expr>& index) const {
    return index.size() < kernel_.buffers[buffer].shape.size() ? Extents::None : Extents::Inner;
  }

  /// Marks the buffer used, with the parameters in these extents (all, for one with a declaration).
  void touch(uint32_t buffer, Extents extents) {
    const Buffer& b = kernel_.buffers[buffer];
    used_buffers_.insert(buffer);
    if (b.scope != Scope::Argument)
      extents = Extents::All;
    if (extents == Extents::None || !noted_.insert({buffer, extents}).second)
      return;
    for (size_t d = extents == Extents::All ? 0 : 1; d < b.shape.size(); ++d)
      note_(b.shape[d]);
  }

  std::string count(const Buffer& b) {
    std::optional<Expr> product;
    for (const Expr& extent : b.shape)
      product = product ? *product * extent : extent;
    return product ? expr_(scalar::simplify(*product)) : "1";
  }

  static std::optional<int64_t> constant_count(const Buffer& b) {
    int64_t elements = 1;
    for (const Expr& extent : b.shape) {
      const auto n = scalar::constant_of(scalar::simplify(extent));
      if (!n)
        return std::nullopt;
      elements *= *n;
    }
    return elements;
  }

  /// Declares a local buffer; true when it must be freed.
  bool declare(uint32_t id) {
    const Buffer& b = kernel_.buffers[id];
    const std::string type = c_type(b.elem), name = names_.buffers[id];
    expr_.need_type(b.elem);
    const auto elements = constant_count(b);
    if (elements && *elements * scalar::bytes_of(b.elem) <= kMaxLocalBytes) {
      line(type + " " + name + "[" + std::to_string(std::max<int64_t>(*elements, 1)) + "];");
      if (read_buffers_.count(id) == 0)
        line("(void)" + name + ";");
      return false;
    }
    expr_.need("alloc");
    line(type + "* restrict " + name + " = kw_alloc(sizeof(" + type + "), " + count(b) + ");");
    return true;
  }

  void block(const Block& statements) {
    for (const kernel::Stmt& stmt : statements)
      std::visit([&](const auto& s) { one(s); }, stmt);
  }

  void nested(const Block& statements) {
    ++depth_;
    block(statements);
    --depth_;
  }

  /// `reduction(+: x)` for a variable from outside that the body only accumulates into; none when a
  /// variable is used otherwise.
  std::optional<std::string> reductions(const For& loop) const {
    std::string clauses;
    kernel::VarSet inside{loop.var};
    kernel::visit(loop.body, [&](const kernel::OneOf<kernel::Define, For> auto& stmt) {
      inside.insert(stmt.var);
    });
    bool is_fine = true;
    kernel::visit(loop.body, [&](const kernel::Assign& assign) {
      if (inside.contains(assign.var))
        return;
      const auto* n = as<scalar::Binary>(assign.value);
      const auto* old = n != nullptr ? as<scalar::Var>(n->lhs) : nullptr;
      const bool accumulates =
          old != nullptr && old->id == assign.var && !kernel::mentions(n->rhs, assign.var);
      const char* sign = n == nullptr             ? nullptr
                         : n->op == BinaryOp::Add ? "+"
                         : n->op == BinaryOp::Mul ? "*"
                                                  : nullptr;
      is_fine = is_fine && accumulates && sign != nullptr;
      if (is_fine)
        clauses += std::string(" reduction(") + sign + ": " + names_.variables[assign.var] + ")";
    });
    return is_fine ? std::optional(clauses) : std::nullopt;
  }

  /// Every store goes to another element in every iteration.
  static bool stores_move(const For& loop) {
    return !kernel::has(loop.body, [&](const kernel::Store& store) {
      bool moves = false;
      for (const Expr& e : store.index)
        moves |= kernel::mentions(e, loop.var);
      return !moves;
    });
  }

  void pragma(const For& loop) {
    std::string words = loop.marks.is_parallel ? " parallel for" : "";
    if (loop.marks.vector_width > 1 && !loop.marks.is_scan && stores_move(loop) &&
        !kernel::has<For>(loop.body))
      if (const auto clauses = reductions(loop))
        words += " simd safelen(" + std::to_string(loop.marks.vector_width) + ")" + *clauses;
    if (words.empty())
      return;
    text_ += "#ifdef _OPENMP\n";
    line("#pragma omp" + words);
    text_ += "#endif\n";
  }

  void one(const For& s) {
    pragma(s);
    const std::string i = names_.variables[s.var];
    const std::string step = s.step == 1 ? "++" + i : i + " += " + std::to_string(s.step);
    line("for (int64_t " + i + " = " + expr_(s.lo) + "; " + i + " < " + expr_(s.hi) + "; " + step +
         ") {");
    nested(s.body);
    line("}");
  }
  void one(const kernel::If& s) {
    line("if (" + expr_(s.cond) + ") {");
    nested(s.then);
    if (!s.otherwise.empty()) {
      line("} else {");
      nested(s.otherwise);
    }
    line("}");
  }
  void one(const kernel::Allocate& s) {
    if (used_buffers_.count(s.buffer) == 0)
      return block(s.body);
    line("{");
    ++depth_;
    const bool must_free = declare(s.buffer);
    block(s.body);
    if (must_free)
      line("free(" + names_.buffers[s.buffer] + ");");
    --depth_;
    line("}");
  }
  void one(const kernel::Store& s) {
    const scalar::Elem elem = kernel_.buffers[s.buffer].elem;
    const std::string target = expr_.element(s.buffer, s.index);
    const bool is_wide = scalar::compute_type(elem) == elem && elem != scalar::Elem::I32;
    if (is_wide && (s.op == ReduceOp::Sum || s.op == ReduceOp::Prod)) {
      line(target + (s.op == ReduceOp::Sum ? " += " : " *= ") + expr_(s.value) + ";");
      return;
    }
    const Expr old =
        scalar::cast(scalar::load(s.buffer, s.index, {elem, 1}), {scalar::compute_type(elem), 1});
    const Expr value = scalar::combine(s.op, old, s.value);
    line(target + " = " + expr_.converted(value, elem) + ";");
  }
  void one(const kernel::Define& s) {
    if (used_variables_.count(s.var) == 0)
      return;
    const scalar::Elem elem = kernel_.variables[s.var].type.elem;
    line(c_type(elem) + " " + names_.variables[s.var] + " = " + expr_.converted(s.value, elem) +
         ";");
  }
  void one(const kernel::Assign& s) {
    if (used_variables_.count(s.var) == 0)
      return;
    const std::string name = names_.variables[s.var];
    const auto* n = as<scalar::Binary>(s.value);
    const auto* old = n != nullptr ? as<scalar::Var>(n->lhs) : nullptr;
    if (old != nullptr && old->id == s.var && n->op == BinaryOp::Add &&
        s.value.type().elem != scalar::Elem::I32)
      line(name + " += " + expr_(n->rhs) + ";");
    else
      line(name + " = " + expr_(s.value) + ";");
  }
  void one(const kernel::Zero& s) {
    const Buffer& b = kernel_.buffers[s.buffer];
    line("memset(" + names_.buffers[s.buffer] + ", 0, sizeof(" + c_type(b.elem) + ") * (size_t)(" +
         count(b) + "));");
  }
  void one(const kernel::Prefetch& s) {
    expr_.need("prefetch");
    line("kw_prefetch(&" + expr_.element(s.buffer, s.index) + ");");
  }
  /// Launches, barriers and combinations: of kernels for a GPU only.
  template <class GpuStmt> void one(const GpuStmt&) { KAWARA_CHECK(false, "code of a GPU as C"); }
  void one(const kernel::Comment& s) { line("// " + s.text); }

  const Kernel& kernel_;
  const CNames& names_;
  CExpr expr_;
  std::function<void(const Expr&)> note_;
  std::set<uint32_t> used_variables_, used_params_, used_buffers_, read_buffers_;
  std::set<std::pair<uint32_t, Extents>> noted_;
  std::string text_;
  size_t depth_ = 0;
};

std::string signature(const Kernel& k, const CNames& names) {
  std::vector<std::string> parts;
  for (const std::string& p : names.params)
    parts.push_back("int64_t " + p);
  for (size_t b = 0; b < k.buffers.size(); ++b) {
    if (k.buffers[b].scope != Scope::Argument)
      continue;
    const bool is_input = k.buffers[b].role == program::Role::Input;
    parts.push_back((is_input ? "const " : "") + c_type(k.buffers[b].elem) + "* restrict " +
                    names.buffers[b]);
  }
  return "void " + names.function + "(" + (parts.empty() ? "void" : join(parts, ", ")) + ")";
}

} // namespace

CUnit c_from_kernel(const Kernel& given, const COptions& options) {
  const Kernel k = options.is_naive ? given : kernel::optimise_for_text(given);
  const CNames names = c_names_of(k, options.function);
  Writer writer(k, names);
  const std::string body = writer.body();
  std::set<std::string> helpers = writer.helpers();
  for (const Buffer& b : k.buffers)
    if (has_own_type(b.elem))
      helpers.insert(std::string(scalar::name_of(b.elem)));
  const std::string prototype = signature(k, names);
  CUnit unit;
  unit.function = names.function;
  unit.header_text = c_header(prototype, names.function, helpers);
  unit.text = c_prelude(helpers, k.numerics == program::Numerics::Exact) + prototype + ";\n\n" +
              prototype + " {\n" + body + "}\n";
  return unit;
}

} // namespace kawara::emit
