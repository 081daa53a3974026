#include "schedule/storage/inline.h"

#include "poly/accesses.h"
#include "poly/affine.h"
#include "poly/isl/dimensions.h"
#include "poly/legality/legality.h"
#include "scalar/affine_sum.h"
#include "schedule/buffers/window_fill.h"
#include "schedule/codes.h"
#include "schedule/legality/instance_text.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"

#include <algorithm>

namespace kawara::schedule {

using poly::Access;
using poly::Scop;
using poly::StmtId;
using scalar::Expr;

namespace {

/// Why a statement cannot go away, or nothing.
using Reason = std::optional<std::string>;

Reason unfit_statement(const Scop& scop, StmtId id, const std::vector<Access>& all) {
  const program::Statement& text = scop[id].text;
  const program::Tensor& tensor = scop.tensors[text.tensor];
  if (tensor.role != program::Role::Temp)
    return "`" + tensor.name + "` is an " + std::string(name_of(tensor.role)) +
           ": it must be stored, so only statements that write a temp can be inlined.";
  if (text.op != scalar::ReduceOp::None)
    return text.name + " is an update: its value is the sum of many iterations and has no "
                       "expression that could take its place.";
  for (const Access& access : all) {
    if (access.tensor != text.tensor)
      continue;
    if (access.statement != id && access.is_write)
      return scop[access.statement].text.name + " writes `" + tensor.name +
             "` too, so a read of it "
             "is not always the value of " +
             text.name + ".";
    if (access.statement == id && !access.is_write)
      return text.name + " reads `" + tensor.name + "` itself, so its value would contain itself.";
  }
  return std::nullopt;
}

/// Iterators of the writer as functions of the element, given as expressions over Iter p = index p;
/// empty when the element does not tell them.
std::optional<std::vector<Expr>> iterators_from_element(const program::Statement& text) {
  std::vector<Expr> solved(text.iters.size());
  for (uint32_t p = 0; p < text.index.size(); ++p) {
    scalar::AffineSum rest = scalar::affine_sum(text.index[p]);
    std::optional<uint32_t> only;
    int64_t sign = 0;
    size_t others = 0;
    for (size_t t = 0; t < rest.terms.size(); ++t) {
      const auto* it = scalar::as<scalar::Iter>(rest.terms[t].first);
      if (it && !only && (rest.terms[t].second == 1 || rest.terms[t].second == -1)) {
        only = it->index;
        sign = rest.terms[t].second;
        rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(t--));
      } else if (!scalar::as<scalar::Param>(rest.terms[t].first)) {
        ++others;
      }
    }
    if (!only || others != 0 || solved[*only])
      continue;
    const Expr apart = scalar::iter(p) - scalar::expr_of(rest);
    solved[*only] = scalar::simplify(sign > 0 ? apart : scalar::int_lit(0) - apart);
  }
  if (std::any_of(solved.begin(), solved.end(), [](const Expr& e) { return !e; }))
    return std::nullopt;
  return solved;
}

/// { S0[x] -> R[y] : R reads at y what S0 wrote at x, and W changes an operand of S0 in between }
/// for the first writer W that there is; the answer names all three.
Reason overwritten_operand(const Scop& scop, StmtId id, const std::vector<Access>& all) {
  const auto before = [&](StmtId x, StmtId y) {
    return poly::before(scop, scop.source_order, x, y);
  };
  const Access* own = nullptr;
  for (const Access& access : all)
    if (access.statement == id && access.is_write)
      own = &access;
  for (const Access& use : all) {
    if (use.tensor != own->tensor || use.is_write)
      continue;
    for (const Access& operand : all) {
      if (operand.statement != id || operand.is_write)
        continue;
      for (const Access& change : all) {
        if (change.tensor != operand.tensor || !change.is_write)
          continue;
        const poly::Meeting meeting = poly::meet(scop.source_order, id, change.statement);
        if (meeting.shared_loops == 0 && meeting.order > 0)
          continue; // all before
        const auto same_element = [&](const Access& a, const Access& b) {
          return poly::relation_of(scop, a).apply_range(poly::relation_of(scop, b).reverse());
        };
        const isl::map changes =
            same_element(operand, change).intersect(before(id, change.statement));
        const isl::map late = changes.apply_range(before(change.statement, use.statement))
                                  .intersect(same_element(*own, use));
        if (late.is_empty())
          continue;
        return "`" + scop.tensors[change.tensor].name + "`, which " + scop[id].text.name +
               " reads, is overwritten by " + scop[change.statement].text.name + " before " +
               instance_text(scop, use.statement, poly::first_point(late.range())) +
               " uses the value.";
      }
    }
  }
  return std::nullopt;
}

/// The value that a read of the element `index` stands for.
Expr value_at(const program::Statement& producer, const program::Tensor& tensor,
              const std::vector<Expr>& solved, const std::vector<Expr>& index) {
  std::vector<Expr> iters;
  for (const Expr& e : solved)
    iters.push_back(scalar::simplify(scalar::substitute_iters(e, index)));
  return scalar::cast(scalar::substitute_iters(producer.value, iters),
                      scalar::Type{tensor.elem, 1});
}

} // namespace

namespace {

/// The schedule without the statements that fill a window; the tensor stands for the elements of
/// the image from now on.
Proposal without_fill(const Schedule& schedule, const WindowFill& fill) {
  Proposal made{schedule.scop, schedule.order};
  for (const StmtId id : fill.statements) {
    made.scop.statements[id.value].is_removed = true;
    remove_leaf(made.scop.source_order, id);
    remove_leaf(made.order, id);
  }
  made.scop = poly::rebuilt(std::move(made.scop));
  return made;
}

} // namespace

Proposed propose(const Schedule& schedule, const Inline& directive, const Environment&) {
  const std::string request = "cannot inline `" + directive.statement + "`";
  KAWARA_TRY(const StmtId id, resolve_statement(schedule, directive.statement, request));
  const Scop& scop = schedule.scop;
  const program::Statement producer = scop[id].text;
  const auto refused = [&](const std::string& why) {
    return fail(
        shape_refusal(kCannotInline, request, producer.where, "must stay a statement", {why}));
  };
  const auto fill = window_fill(scop, producer.tensor, false);
  if (fill && (fill->statements.size() == 2 || !iterators_from_element(producer)))
    return without_fill(schedule, *fill);
  const std::vector<Access> all = poly::bare_accesses(scop);
  if (const Reason why = unfit_statement(scop, id, all))
    return refused(*why);
  const auto solved = iterators_from_element(producer);
  if (!solved)
    return refused("The index of `" + scop.tensors[producer.tensor].name +
                   "` does not tell which iteration of " + producer.name +
                   " wrote an element: each loop must stand alone in one index, plus or minus a "
                   "constant.");
  if (const Reason why = overwritten_operand(scop, id, all))
    return refused(*why);

  Proposal made{scop, schedule.order};
  for (poly::ScopStatement& statement : made.scop.statements)
    if (!statement.is_removed)
      statement.text.value = scalar::rewrite(statement.text.value, [&](const Expr& e) -> Expr {
        const auto* load = scalar::as<scalar::Load>(e);
        if (!load || load->tensor != producer.tensor)
          return {};
        return value_at(producer, scop.tensors[producer.tensor], *solved, load->index);
      });
  made.scop.statements[id.value].is_removed = true;
  remove_leaf(made.scop.source_order, id);
  remove_leaf(made.order, id);
  made.scop = poly::rebuilt(std::move(made.scop));
  return made;
}

} // namespace kawara::schedule
