#include "kernel/from_schedule/from_schedule.h"

#include "kernel/from_schedule/from_schedule_copies.h"
#include "kernel/from_schedule/from_schedule_expr.h"
#include "kernel/from_schedule/from_schedule_guards.h"
#include "kernel/from_schedule/from_schedule_tree.h"
#include "kernel/index/fold_divisions.h"
#include "kernel/memory/shrink_buffers.h"
#include "kernel/walk.h"
#include "poly/isl/ast.h"
#include "poly/legality/legality.h"
#include "schedule/buffers/window_fill.h"
#include "support/check.h"

#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace kawara::kernel {
namespace {

using poly::LoopId;
using poly::StmtId;
using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

std::string c_name(std::string_view name) {
  std::string text;
  for (const char c : name)
    text += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0)
    text.insert(0, "_");
  return text;
}

std::string kernel_name(const poly::Scop& scop) {
  if (!scop.source)
    return "kernel";
  std::string_view name = scop.source->name;
  if (const size_t slash = name.rfind('/'); slash != std::string_view::npos)
    name.remove_prefix(slash + 1);
  if (const size_t dot = name.rfind('.'); dot != std::string_view::npos && dot != 0)
    name = name.substr(0, dot);
  const std::string text = c_name(name);
  return text.find_first_not_of('_') == std::string::npos ? "kernel" : text;
}

/// a + 1 with min kept outermost, so that passes see the bounds one by one.
Expr plus_one(const Expr& e) {
  const auto* n = scalar::as<scalar::Binary>(e);
  if (n != nullptr && n->op == BinaryOp::Min)
    return binary(BinaryOp::Min, plus_one(n->lhs), plus_one(n->rhs));
  return scalar::simplify(e + int_lit(1));
}

/// What isl makes of an order.
struct Loops {
  isl::ast_node ast;
  std::map<uint32_t, Expr>
      conditions;          ///< under which statements run, where the loops do not say it all
  bool keeps_axes = false; ///< of a GPU
};

class Converter {
public:
  /// `single_copies`: the loop whose iterations have one copy each, by tensor.
  Converter(const schedule::Schedule& s, const Loops& loops, Kernel& kernel,
            std::map<uint32_t, LoopId> single_copies)
      : schedule_(s), loops_(loops), kernel_(kernel), single_copies_(std::move(single_copies)) {
    for (uint32_t id = 0; id < s.scop.statements.size(); ++id)
      statements_[s.scop.statements[id].text.name] = id;
    for (uint32_t p = 0; p < kernel.params.size(); ++p)
      values_[kernel.params[p].name] = scalar::param(p);
  }

  void node(const isl::ast_node& n, std::optional<LoopId> loop, Block& out) {
    if (n.isa<isl::ast_node_for>())
      return one(n.as<isl::ast_node_for>(), loop, out);
    if (n.isa<isl::ast_node_if>())
      return one(n.as<isl::ast_node_if>(), loop, out);
    if (n.isa<isl::ast_node_user>())
      return one(n.as<isl::ast_node_user>(), out);
    if (n.isa<isl::ast_node_mark>()) {
      const auto mark = n.as<isl::ast_node_mark>();
      return marked(mark.node(), loop_of_mark(mark.id()), out);
    }
    sequence(children_of(n), loop, out);
  }

private:
  /// Of a block and of blocks in it; the node itself when it is something else.
  static std::vector<isl::ast_node> children_of(const isl::ast_node& n) {
    if (!n.isa<isl::ast_node_block>())
      return {n};
    const isl::ast_node_list list = n.as<isl::ast_node_block>().children();
    std::vector<isl::ast_node> nodes;
    for (unsigned i = 0; i < list.size(); ++i)
      for (isl::ast_node& child : children_of(list.at(static_cast<int>(i))))
        nodes.push_back(std::move(child));
    return nodes;
  }

  /// isl repeats the marks of loops that it left out before each statement of the sequence inside:
  /// those are one body, and share what it allocates.
  void sequence(const std::vector<isl::ast_node>& nodes, std::optional<LoopId> loop, Block& out) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      const auto left_out = bare_mark(nodes[i]);
      if (!left_out) {
        node(nodes[i], loop, out);
        continue;
      }
      std::vector<isl::ast_node> inside;
      for (; i < nodes.size() && bare_mark(nodes[i]) == left_out; ++i)
        for (isl::ast_node& child : children_of(nodes[i].as<isl::ast_node_mark>().node()))
          inside.push_back(std::move(child));
      --i;
      Block body;
      sequence(inside, std::nullopt, body);
      for (Stmt& stmt : allocated(*left_out, std::move(body)))
        out.push_back(std::move(stmt));
    }
  }

  /// The loop whose mark this is, when isl left the loop out.
  std::optional<LoopId> bare_mark(const isl::ast_node& n) const {
    if (!n.isa<isl::ast_node_mark>())
      return std::nullopt;
    const auto mark = n.as<isl::ast_node_mark>();
    return has_loop(mark.node()) ? std::nullopt : std::optional(loop_of_mark(mark.id()));
  }

  /// What stands for a loop: several loops, where isl cut it in parts, and bare bodies, where it
  /// knew the value and left the loop out.
  void marked(const isl::ast_node& n, LoopId loop, Block& out) {
    if (has_loop(n))
      return n.isa<isl::ast_node_block>() ? parts(n.as<isl::ast_node_block>(), loop, out)
                                          : node(n, loop, out);
    for (Stmt& stmt : body_of(loop, n))
      out.push_back(std::move(stmt));
  }

  /// Bare bodies side by side run one after the other, so they can share what an iteration
  /// allocates.
  void parts(const isl::ast_node_block& block, LoopId loop, Block& out) {
    Block bare;
    std::vector<isl::ast_node> together;
    const auto flush = [&] {
      sequence(std::exchange(together, {}), std::nullopt, bare);
      for (Stmt& stmt : allocated(loop, std::exchange(bare, {})))
        out.push_back(std::move(stmt));
    };
    for (const isl::ast_node& child : children_of(block)) {
      if (!has_loop(child)) {
        together.push_back(child);
        continue;
      }
      flush();
      node(child, loop, out);
    }
    flush();
  }

  /// Whether there is a loop below that no other mark stands around.
  static bool has_loop(const isl::ast_node& n) {
    if (n.isa<isl::ast_node_if>()) {
      const auto branch = n.as<isl::ast_node_if>();
      return has_loop(branch.then_node()) ||
             (branch.has_else_node() && has_loop(branch.else_node()));
    }
    if (!n.isa<isl::ast_node_block>())
      return n.isa<isl::ast_node_for>();
    const isl::ast_node_list list = n.as<isl::ast_node_block>().children();
    for (unsigned i = 0; i < list.size(); ++i)
      if (has_loop(list.at(static_cast<int>(i))))
        return true;
    return false;
  }

  Lookup lookup() const {
    return [this](const std::string& name) {
      const auto found = values_.find(name);
      KAWARA_CHECK(found != values_.end(), "isl names " + name);
      return found->second;
    };
  }

  Expr expr(const isl::ast_expr& e) const { return expr_from_ast(e, lookup()); }

  void one(const isl::ast_node_for& n, std::optional<LoopId> loop, Block& out) {
    const std::string iterator = n.iterator().as<isl::ast_expr_id>().id().name();
    const Expr lo = expr(n.init());
    if (!loop) {
      // Where isl does not see that the loops around leave one iteration of a statement, it names
      // that one by a loop of its own.
      KAWARA_CHECK(n.is_degenerate(), "isl made a loop that the order does not have");
      values_[iterator] = lo;
      return node(n.body(), std::nullopt, out);
    }
    if (n.is_degenerate()) {
      values_[iterator] = lo;
      for (Stmt& stmt : body_of(*loop, n.body()))
        out.push_back(std::move(stmt));
      return;
    }
    For result;
    const std::string name = free_name(*loop);
    result.var = variable_called(name);
    open_.insert(name);
    result.lo = lo;
    values_[iterator] = scalar::var(result.var);
    result.hi = upper_bound(n.cond());
    const auto step = scalar::constant_of(expr(n.inc()));
    KAWARA_CHECK(step && *step > 0, "step of an isl loop");
    result.step = *step;
    result.marks = schedule_.order[*loop].marks;
    result.marks.vector_width = lanes_of(*loop, result.step);
    if (!loops_.keeps_axes)
      result.marks.axis = poly::Axis::None;
    result.joins_child = joins_child(*loop);
    result.body = body_of(*loop, n.body());
    values_.erase(iterator);
    open_.erase(name);
    out.emplace_back(std::move(result));
  }

  /// The body of a loop, inside the Allocates of what has one copy in each of its iterations.
  Block body_of(LoopId loop, const isl::ast_node& n) {
    Block body;
    node(n, std::nullopt, body);
    return allocated(loop, std::move(body));
  }

  Block allocated(LoopId loop, Block body) const {
    for (const auto& [buffer, at] : single_copies_)
      if (at == loop && touches(body, buffer))
        body = block_of(Allocate{buffer, std::move(body)});
    return body;
  }

  static bool touches(const Block& body, uint32_t buffer) {
    Kernel part;
    part.body = body;
    return used_buffers(part).contains(buffer);
  }

  /// Lanes are proved for consecutive values of a loop. Lanes of a loop that isl found to skip
  /// values reach further: they need a proof of their own, or there are fewer of them.
  int64_t lanes_of(LoopId loop, int64_t step) const {
    const int64_t width = schedule_.order[loop].marks.vector_width;
    if (width <= 1 || step == 1)
      return width;
    poly::Order reaching = schedule_.order;
    reaching[loop].marks.vector_width = (width - 1) * step + 1;
    if (std::holds_alternative<poly::Legal>(poly::judge(schedule_.scop, reaching)))
      return width;
    int64_t lanes = width;
    while (lanes > 1 && (lanes - 1) * step >= width)
      lanes /= 2;
    return lanes > 1 ? lanes : 0;
  }

  Expr upper_bound(const isl::ast_expr& cond) const {
    const poly::AstOp op = poly::operator_of(cond);
    KAWARA_CHECK(op == poly::AstOp::Le || op == poly::AstOp::Lt, "isl loop condition");
    const Expr bound = expr(cond.as<isl::ast_expr_op>().arg(1));
    return op == poly::AstOp::Lt ? bound : plus_one(bound);
  }

  /// The loop's name, marked apart from an enclosing loop of the same name: fusing nests whose
  /// loops stand in different orders makes such pairs.
  std::string free_name(LoopId loop) const {
    std::string name = schedule_.order[loop].name;
    while (open_.contains(name))
      name += "_in";
    return name;
  }

  /// Loops of one name that do not nest share the variable: the parts that isl makes of one loop,
  /// and loops of separate nests.
  uint32_t variable_called(const std::string& name) {
    const auto known = variables_.find(name);
    if (known != variables_.end())
      return known->second;
    const uint32_t var = add_variable(kernel_, c_name(name), scalar::kIndex);
    variables_[name] = var;
    return var;
  }

  bool joins_child(LoopId loop) const {
    const poly::TreeNode* found = poly::find_node(schedule_.order, loop);
    return found != nullptr && found->body.size() == 1 && found->body[0].is_loop() &&
           schedule_.order[found->body[0].loop()].is_coalesced_into_parent;
  }

  void one(const isl::ast_node_if& n, std::optional<LoopId> loop, Block& out) {
    If result;
    result.cond = condition_from_ast(n.cond(), lookup());
    branch(n.then_node(), loop, result.then);
    if (n.has_else_node())
      branch(n.else_node(), loop, result.otherwise);
    out.emplace_back(std::move(result));
  }

  /// Parts of the loop, where only the condition stands between it and its mark: isl may have left
  /// the loop out in one branch and not in the other.
  void branch(const isl::ast_node& n, std::optional<LoopId> loop, Block& out) {
    if (loop)
      marked(n, *loop, out);
    else
      node(n, loop, out);
  }

  void one(const isl::ast_node_user& n, Block& out) {
    const std::vector<Expr> iters = call_arguments(n.expr(), lookup());
    const uint32_t id = statements_.at(called_name(n.expr()));
    const program::Statement& text = schedule_.scop[StmtId{id}].text;
    std::vector<Expr> values = iters;
    const auto at = [&](const Expr& root) {
      const Expr moved = scalar::rewrite(root, [&](const Expr& e) {
        const auto* load = scalar::as<scalar::Load>(e);
        return load != nullptr && single_copies_.contains(load->tensor)
                   ? scalar::load(load->tensor, element_of(load->tensor, load->index), e.type())
                   : Expr();
      });
      return scalar::simplify(scalar::substitute_iters(moved, values));
    };
    For over;
    if (text.over) {
      over.lo = at(text.over->lo);
      over.hi = at(text.over->hi);
      over.var = add_variable(kernel_, c_name(text.over->name), scalar::kIndex);
      values.push_back(scalar::var(over.var));
    }
    Store store{text.tensor, {}, text.op, at(text.value)};
    store.origins = {Origin{id, iters}};
    for (const Expr& e : element_of(text.tensor, text.index))
      store.index.push_back(at(e));
    Block whole = block_of(std::move(store));
    if (text.over) {
      over.body = std::move(whole);
      whole = block_of(std::move(over));
    }
    if (const auto condition = loops_.conditions.find(id); condition != loops_.conditions.end())
      out.emplace_back(If{at(condition->second), std::move(whole), {}});
    else
      out.push_back(std::move(whole.front()));
  }

  /// The index without the copy dimensions that a single copy does not need.
  std::vector<Expr> element_of(uint32_t tensor, const std::vector<Expr>& index) const {
    const size_t dropped =
        single_copies_.contains(tensor) ? schedule_.scop.tensors[tensor].private_dims : 0;
    return {index.begin() + static_cast<std::ptrdiff_t>(dropped), index.end()};
  }

  const schedule::Schedule& schedule_;
  const Loops& loops_;
  Kernel& kernel_;
  std::map<std::string, uint32_t> statements_;
  std::map<std::string, Expr> values_;
  std::map<std::string, uint32_t> variables_; ///< by the name of the loop
  std::set<std::string> open_;                ///< names of the loops around the current node
  std::map<uint32_t, LoopId> single_copies_;
};

/// What `pad` added to a tensor, by dimension; a later `layout` makes it part of the dimensions.
void add_pads(const schedule::Schedule& s, const std::vector<schedule::Directive>& directives,
              const std::map<uint32_t, LoopId>& places, Pads& pads) {
  const auto number_of = [&](const std::string& name) -> std::optional<uint32_t> {
    for (uint32_t t = 0; t < s.scop.tensors.size(); ++t)
      if (s.scop.tensors[t].name == name && s.scop.tensors[t].role == program::Role::Temp)
        return t;
    return std::nullopt;
  };
  for (const schedule::Directive& directive : directives) {
    if (const auto* group = std::get_if<schedule::Group>(&directive))
      add_pads(s, group->members, places, pads);
    if (const auto* layout = std::get_if<schedule::Layout>(&directive))
      if (const auto tensor = number_of(layout->tensor))
        pads.erase(*tensor);
    const auto* pad = std::get_if<schedule::Pad>(&directive);
    // Zeros that fill a tensor up are stored: they are part of what it needs.
    const auto tensor = pad != nullptr && !pad->to ? number_of(pad->tensor) : std::nullopt;
    if (!tensor)
      continue;
    const program::Tensor& padded = s.scop.tensors[*tensor];
    const size_t dropped = places.contains(*tensor) ? padded.private_dims : 0;
    std::vector<int64_t>& by = pads[*tensor];
    by.resize(padded.shape.size() - dropped, 0);
    const size_t dim = padded.private_dims - dropped + static_cast<size_t>(pad->dim);
    if (dim < by.size())
      by[dim] += pad->by;
  }
}

/// The kernel with one copy, at these loops, of each of these tensors.
Kernel kernel_with_copies(const schedule::Schedule& s, const std::map<uint32_t, LoopId>& places,
                          const Loops& loops) {
  Kernel kernel;
  kernel.name = kernel_name(s.scop);
  kernel.params = s.scop.params;
  kernel.numerics = s.scop.numerics;
  for (const program::Tensor& t : s.scop.tensors) {
    const bool is_temp = t.role == program::Role::Temp;
    kernel.buffers.push_back({t.name, t.elem, t.shape, is_temp ? Scope::Workspace : Scope::Argument,
                              t.role, t.is_packed, t.is_constant});
    if (is_temp)
      kernel.buffers.back().window =
          schedule::inlined_window(s.scop, static_cast<uint32_t>(kernel.buffers.size() - 1));
  }
  for (const uint32_t tensor : s.scop.zeroed_outputs)
    kernel.body.emplace_back(Zero{tensor});
  for (const auto& [tensor, at] : places) {
    std::vector<Expr>& shape = kernel.buffers[tensor].shape;
    shape.erase(shape.begin(), shape.begin() + s.scop.tensors[tensor].private_dims);
  }
  if (!loops.ast.is_null())
    Converter(s, loops, kernel, places).node(loops.ast, std::nullopt, kernel.body);
  Pads pads;
  add_pads(s, s.applied, places, pads);
  return shrink_buffers(fold_divisions(std::move(kernel)), pads);
}

/// Memory of blocks and threads is of constant size.
bool fits_on_chip(const Buffer& buffer) {
  if (buffer.scope != Scope::Shared && buffer.scope != Scope::Private)
    return true;
  constexpr int64_t kMostElements = 64 * 1024;
  int64_t elements = 1;
  for (const Expr& extent : buffer.shape) {
    const auto n = scalar::constant_of(extent);
    if (!n || *n > kMostElements)
      return false;
    elements *= *n;
  }
  return elements <= kMostElements;
}

bool is_thread_loop(const For& loop) { return poly::is_thread(loop.marks.axis); }

/// Buffers allocated in one thread loop and touched in another inside it: neither a block nor a
/// thread has them to itself.
std::set<uint32_t> allocated_between_threads(const Block& body) {
  std::set<uint32_t> found;
  LoopsAround around;
  visit_scoped(body, around, [&](const Allocate& allocate) {
    const bool is_in_thread = std::any_of(around.loops.begin(), around.loops.end(),
                                          [](const For* loop) { return is_thread_loop(*loop); });
    if (is_in_thread && has(allocate.body, is_thread_loop))
      found.insert(allocate.buffer);
  });
  return found;
}

} // namespace

Kernel kernel_from_schedule(const schedule::Schedule& s, bool is_for_gpu) {
  const Guarded guards = guarded(s.scop);
  Loops loops{ast_of_few_cases(guards.scop, s.order, false), guards.conditions, is_for_gpu};
  std::map<uint32_t, LoopId> places;
  for (const SingleCopy& copy : single_copies(s))
    places[copy.tensor] = copy.at;
  Kernel kernel = kernel_with_copies(s, places, loops);
  if (has_torn_copy(s, places, kernel.body)) {
    loops.ast = ast_of_few_cases(guards.scop, s.order, true);
    kernel = kernel_with_copies(s, places, loops);
  }
  if (!is_for_gpu)
    return kernel;
  const std::set<uint32_t> between = allocated_between_threads(kernel.body);
  const auto does_not_fit = [&](const auto& place) {
    return !fits_on_chip(kernel.buffers[place.first]) || between.contains(place.first);
  };
  if (std::erase_if(places, does_not_fit) > 0)
    kernel = kernel_with_copies(s, places, loops);
  return kernel;
}

} // namespace kawara::kernel
