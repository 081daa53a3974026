#include "schedule/buffers/relocate.h"

#include "poly/accesses.h"
#include "poly/affine.h"
#include "poly/isl/dimensions.h"
#include "poly/isl/pieces.h"
#include "schedule/tree/rewrite.h"

#include <algorithm>
#include <utility>

namespace kawara::schedule {

using poly::Access;
using poly::StmtId;
using poly::TreeNode;
using scalar::Expr;

namespace {

/// Whether rounding to that type changes nothing: elements of it, zeros, and what is chosen among
/// such.
bool has_only_values_of(scalar::Elem narrow, const Expr& value) {
  if (const auto* cast = scalar::as<scalar::Cast>(value))
    return scalar::holds_all_of(value.type().elem, cast->arg.type().elem) &&
           has_only_values_of(narrow, cast->arg);
  if (const auto* choice = scalar::as<scalar::Select>(value))
    return has_only_values_of(narrow, choice->then) &&
           has_only_values_of(narrow, choice->otherwise);
  if (scalar::as<scalar::Load>(value) != nullptr)
    return scalar::holds_all_of(narrow, value.type().elem);
  return scalar::equal(value, scalar::zero_of(value.type()));
}

class ElementMove {
public:
  ElementMove(const Schedule& schedule, uint32_t tensor, const Placement& placement)
      : made_{schedule.scop, schedule.order}, from_(tensor), to_(tensor), placement_(placement) {}

  Proposal in_place() { return placed(); }

  Proposal through_a_copy(const std::string& suffix) {
    const isl::set read = touched(false), written = touched(true);
    const program::Role role = made_.scop.tensors[from_].role;
    add_tensor(suffix);
    rewrite_accesses(from_, to_, [](const std::vector<Expr>& element) { return element; });
    // What is copied back without having been written must have come in.
    if (role == program::Role::Inout)
      place(add_copy(around(read.unite(written)), true), true);
    else if (role == program::Role::Input && !read.is_empty())
      place(add_copy(read, true), true);
    if (role != program::Role::Input && !written.is_empty())
      place(add_copy(written, false), false);
    made_.scop = poly::rebuilt(std::move(made_.scop));
    return placed();
  }

private:
  void add_tensor(const std::string& suffix) {
    program::Tensor moved = made_.scop.tensors[from_];
    std::vector<std::string> taken;
    for (const program::Tensor& tensor : made_.scop.tensors)
      taken.push_back(tensor.name);
    moved.name = fresh_name(moved.name + suffix, "_", taken);
    moved.role = program::Role::Temp;
    moved.is_hidden = true;
    moved.is_constant = false;
    to_ = static_cast<uint32_t>(made_.scop.tensors.size());
    made_.scop.tensors.push_back(std::move(moved));
  }

  /// Accesses of one tensor become accesses of another, at the index that `there` gives.
  void rewrite_accesses(uint32_t tensor, uint32_t other, const Placement::Index& there) {
    for (poly::ScopStatement& statement : made_.scop.statements) {
      if (statement.is_removed)
        continue;
      program::Statement& text = statement.text;
      text.value = scalar::rewrite(text.value, [&](const Expr& e) -> Expr {
        const auto* load = scalar::as<scalar::Load>(e);
        return load != nullptr && load->tensor == tensor
                   ? scalar::load(other, there(load->index), e.type())
                   : Expr();
      });
      if (text.tensor != tensor)
        continue;
      text.index = there(text.index);
      text.tensor = other;
    }
  }

  /// Elements that some statement reads, or writes, and some around them: in one piece and without
  /// strides, because a copy of a few elements more costs less than loops that find their way
  /// around them.
  isl::set touched(bool is_write) const {
    isl::set elements;
    for (const Access& access : poly::accesses(made_.scop)) {
      if (access.tensor != from_)
        continue;
      const isl::set domain =
          made_.scop[access.statement].domain.intersect_params(made_.scop.context);
      isl::set part = map_of(access.index, domain, made_.scop.params).range();
      if (access.is_write != is_write)
        part = part.subtract(part);
      elements = elements.is_null() ? part : elements.unite(part);
    }
    return around(elements);
  }

  isl::set around(const isl::set& elements) const {
    isl::set whole = poly::in_one_piece(elements);
    const std::vector<Expr>& shape = made_.scop.tensors[from_].shape;
    for (uint32_t d = 0; d < shape.size(); ++d) {
      const isl::pw_aff at = poly::dimension_function(whole, d);
      whole = whole.intersect(at.ge_set(at.scale(0)))
                  .intersect(at.lt_set(poly::pw_aff_from_expr(shape[d], whole, made_.scop.params)));
    }
    return whole.intersect_params(made_.scop.context);
  }

  StmtId add_copy(const isl::set& elements, bool is_in) {
    program::Statement text;
    std::vector<Expr> element;
    for (size_t d = 0; d < made_.scop.tensors[from_].shape.size(); ++d) {
      element.push_back(scalar::iter(static_cast<uint32_t>(d)));
      text.iters.push_back("d" + std::to_string(d));
    }
    const scalar::Type stored{made_.scop.tensors[from_].elem, 1};
    text.tensor = is_in ? to_ : from_;
    text.index = element;
    text.value = scalar::cast(scalar::load(is_in ? from_ : to_, element, stored),
                              {scalar::compute_type(stored.elem), 1});
    text.where = made_.scop.tensors[from_].where;
    return add_statement(made_, std::move(text), elements);
  }

  /// Before or after everything, in the source as in the order.
  void place(StmtId copy, bool is_first) {
    for (poly::Order* order : {&made_.order, &made_.scop.source_order}) {
      const program::Statement& text = made_.scop[copy].text;
      TreeNode node{copy, {}};
      for (size_t d = text.iters.size(); d-- > 0;) {
        order->rows[copy.value].insert(order->rows[copy.value].begin(),
                                       scalar::iter(static_cast<uint32_t>(d)));
        node = TreeNode{poly::add_loop(*order, text.iters[d], text.where), {std::move(node)}};
      }
      order->body.insert(is_first ? order->body.begin() : order->body.end(), std::move(node));
    }
  }

  /// The elements where they shall be. Different elements stay different.
  Proposal placed() {
    made_.scop.tensors[to_].shape = placement_.shape;
    rewrite_accesses(to_, to_, placement_.index);
    if (placement_.elem)
      convert(*placement_.elem);
    made_.scop = poly::with_elements_moved(std::move(made_.scop));
    return std::move(made_);
  }

  /// Elements in a type that holds all their values. What is stored is rounded as the tensor's own
  /// type would round it, and what was converted where it is read is so already.
  void convert(scalar::Elem elem) {
    const scalar::Elem narrow = std::exchange(made_.scop.tensors[to_].elem, elem);
    for (poly::ScopStatement& statement : made_.scop.statements) {
      if (statement.is_removed)
        continue;
      program::Statement& text = statement.text;
      text.value = with_elements_as(text.value, to_, elem);
      if (text.tensor == to_)
        text.value = scalar::cast(has_only_values_of(narrow, text.value)
                                      ? text.value
                                      : scalar::cast(text.value, {narrow, 1}),
                                  {scalar::compute_type(elem), 1});
    }
  }

  Proposal made_;
  uint32_t from_, to_;
  const Placement& placement_;
};

/// A statement that combines elements of the tensor with what they held; empty when there is none.
std::string updated_by(const poly::Scop& scop, uint32_t tensor) {
  for (const poly::ScopStatement& statement : scop.statements)
    if (!statement.is_removed && statement.text.tensor == tensor &&
        statement.text.op != scalar::ReduceOp::None)
      return statement.text.name;
  return "";
}

} // namespace

Result<Proposal, std::string> relocated(const Schedule& schedule, uint32_t tensor,
                                        const Placement& placement, const std::string& suffix) {
  const poly::Scop& scop = schedule.scop;
  const program::Tensor& whole = scop.tensors[tensor];
  const std::vector<Access> all = poly::bare_accesses(scop);
  if (std::none_of(all.begin(), all.end(), [&](const Access& a) { return a.tensor == tensor; }))
    return fail("Nothing reads or writes `" + whole.name + "`.");
  if (placement.elem && !scalar::holds_all_of(*placement.elem, whole.elem))
    return fail("`" + whole.name + "` holds " + std::string(scalar::name_of(whole.elem)) +
                ", and not every such value is one of " +
                std::string(scalar::name_of(*placement.elem)) + ".");
  if (placement.elem && placement.elem != whole.elem)
    if (const std::string name = updated_by(scop, tensor); !name.empty())
      return fail(name + " adds up in `" + whole.name + "`, whose " +
                  std::string(scalar::name_of(whole.elem)) +
                  " rounds every step: another type would not.");
  ElementMove move(schedule, tensor, placement);
  if (whole.role == program::Role::Temp)
    return move.in_place();
  if (std::count(scop.zeroed_outputs.begin(), scop.zeroed_outputs.end(), tensor) > 0)
    return fail("`" + whole.name +
                "` begins as zeros where nothing writes it, and a copy would not.");
  return move.through_a_copy(suffix);
}

} // namespace kawara::schedule
