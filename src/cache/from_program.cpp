#include "cache/from_program.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::cache {
namespace {

using program::Statement;
using scalar::as;
using scalar::Expr;

Diagnostic unknown_addresses(const Statement& statement) {
  Diagnostic d;
  d.code = "K0457";
  d.headline = fmt::format("the addresses of `{}` are not known before it runs", statement.name);
  d.body.push_back(
      "An index or the end of a loop is read from memory: where it leads, only running "
      "it shows.");
  d.help.push_back({"`kawara bench` measures what caches make of it", "", false});
  return d;
}

class TextReader : private LinearMaker {
public:
  TextReader(const program::Program& program, std::span<const int64_t> sizes, AccessProgram& made)
      : LinearMaker(made), program_(program), sizes_(sizes), made_(made) {
    for (const program::Tensor& tensor : program.tensors) {
      Layout layout;
      int64_t bytes = scalar::bytes_of(tensor.elem);
      for (size_t d = tensor.shape.size(); d-- > 0;) {
        layout.strides.insert(layout.strides.begin(), bytes);
        bytes *= linear(tensor.shape[d]).value_or(Linear{}).constant;
      }
      if (!tensor.shape.empty()) {
        layout.array = static_cast<uint32_t>(made.arrays.size());
        made.arrays.push_back({tensor.name, bytes, 0});
      }
      layouts_.push_back(std::move(layout));
    }
  }

  /// The statement that is not known before it runs, if there is one.
  std::optional<uint32_t> read() {
    add(program_.body, made_.code);
    return unknown_;
  }

private:
  struct Layout {
    std::optional<uint32_t> array; ///< none of a scalar
    std::vector<int64_t> strides;  ///< in bytes
  };

  Linear leaf(const Expr& e) override {
    if (const auto* param = as<scalar::Param>(e))
      return {sizes_[param->index], {}, {}};
    return {0, {{around_[as<scalar::Iter>(e)->index].variable, 1}}, {}};
  }

  void add(const program::Body& body, Code& code) {
    for (const program::BodyNode& node : body)
      std::visit([&](const auto& n) { one(n, code); }, node);
  }
  void one(const program::Loop& loop, Code& code) {
    Loop made;
    made.lo = linear(loop.lo).value_or(Linear{});
    made.hi = linear(loop.hi).value_or(Linear{});
    made.step = loop.step;
    made.variable = made_.variables++;
    made.number = static_cast<uint32_t>(made_.loops.size());
    made_.loops.push_back({loop.name, inside()});
    around_.push_back({made.variable, made.number});
    add(loop.body, made.body);
    around_.pop_back();
    code.push_back({std::move(made)});
  }
  void one(const program::If& branch, Code& code) {
    Branch made{linear(branch.cond).value_or(Linear{}), {}, {}};
    add(branch.then, made.then);
    add(branch.otherwise, made.otherwise);
    code.push_back({std::move(made)});
  }
  void one(const program::StatementRef& ref, Code& code) {
    const Statement& s = program_.statements[ref.statement];
    if (program::depends_on_data(s)) {
      unknown_ = unknown_.value_or(ref.statement);
      return;
    }
    statement_ = &s;
    if (s.op != scalar::ReduceOp::None)
      touch(Reference::Kind::Read, s.tensor, s.index, {}, code);
    add_reads(s.value, {}, code);
    touch(Reference::Kind::Write, s.tensor, s.index, {}, code);
  }

  void add_reads(const Expr& e, const std::optional<Linear>& guard, Code& code) {
    if (const auto* choice = as<scalar::Select>(e)) {
      add_reads(choice->cond, guard, code);
      const auto cond = scalar::reads_data(choice->cond) ? std::nullopt : linear(choice->cond);
      if (!cond) {
        ++made_.assumed;
        add_reads(choice->then, guard, code);
        return add_reads(choice->otherwise, guard, code);
      }
      Linear other{1, {}, {}};
      cache::add(other, *cond, -1);
      add_reads(choice->then, both(guard, *cond), code);
      return add_reads(choice->otherwise, both(guard, other), code);
    }
    if (const auto* load = as<scalar::Load>(e))
      return touch(Reference::Kind::Read, load->tensor, load->index, guard, code);
    for (const Expr& child : scalar::children(e))
      add_reads(child, guard, code);
  }
  Linear both(const std::optional<Linear>& guard, const Linear& cond) {
    if (!guard)
      return cond;
    made_.formulas.push_back({Formula::Op::And, *guard, cond, {}});
    return {0, {}, {{static_cast<uint32_t>(made_.formulas.size() - 1), 1}}};
  }

  void touch(Reference::Kind kind, uint32_t tensor, const std::vector<Expr>& index,
             const std::optional<Linear>& guard, Code& code) {
    const Layout& layout = layouts_[tensor];
    if (!layout.array)
      return;
    Touch made;
    made.reference = static_cast<uint32_t>(made_.references.size());
    made.bytes = scalar::bytes_of(program_.tensors[tensor].elem);
    made.guard = guard;
    const scalar::Names names = program::names_of(program_, *statement_);
    std::string text = program_.tensors[tensor].name;
    for (size_t d = 0; d < index.size(); ++d) {
      cache::add(made.at, linear(index[d]).value_or(Linear{}), layout.strides[d]);
      text += (d == 0 ? "[" : ", ") + scalar::index_text(index[d], names);
    }
    made_.references.push_back({kind, *layout.array, statement_->name, text + "]", inside()});
    code.push_back({std::move(made)});
  }

  std::optional<uint32_t> inside() const {
    return around_.empty() ? std::nullopt : std::optional(around_.back().number);
  }

  struct Around {
    uint32_t variable = 0, number = 0;
  };
  const program::Program& program_;
  std::span<const int64_t> sizes_;
  AccessProgram& made_;
  std::vector<Layout> layouts_;
  std::vector<Around> around_; ///< loops, outermost first
  const Statement* statement_ = nullptr;
  std::optional<uint32_t> unknown_;
};

} // namespace

Result<AccessProgram, Diagnostic> accesses_of_text(const program::Program& program,
                                                   std::span<const int64_t> sizes, int64_t unit) {
  AccessProgram made;
  if (const auto unknown = TextReader(program, sizes, made).read())
    return fail(unknown_addresses(program.statements[*unknown]));
  place_arrays(made, unit);
  return made;
}

} // namespace kawara::cache
