#include "schedule/buffers/zero_fill.h"

#include "poly/affine.h"
#include "poly/isl/coalesced.h"
#include "poly/isl/dimensions.h"
#include "scalar/affine_sum.h"
#include "schedule/buffers/staged_reads.h"
#include "schedule/tree/rewrite.h"

#include <algorithm>

namespace kawara::schedule {

using poly::Access;
using poly::LoopId;
using poly::StmtId;
using poly::TreeNode;
using scalar::Expr;

namespace {

/// Each piece is a loop nest of its own, and every question about the zeros asks about each.
constexpr unsigned kMostPiecesOfRest = 8;
/// isl operations for the elements that nothing else writes: some tenths of a second.
constexpr unsigned long kQuotaOfRest = 4'000'000;

class ZeroFill {
public:
  ZeroFill(Proposal made, uint32_t tensor)
      : made_(std::move(made)), tensor_(tensor), copies_(whole().private_dims) {
    for (Access& access : poly::accesses(made_.scop))
      if (access.tensor == tensor &&
          !made_.scop[access.statement].domain.intersect_params(made_.scop.context).is_empty())
        uses_.push_back(std::move(access));
  }

  Result<Proposal, std::string> run() {
    if (!find_copies())
      return fail("The loops around do not tell the copies of `" + whole().name + "` apart.");
    const isl::set elements = zero_elements();
    if (elements.is_empty())
      return std::move(made_);
    const StmtId zeros = add_zeros(elements);
    place_in_source(made_.scop, zeros, 0);
    place(zeros);
    made_.scop = poly::rebuilt(std::move(made_.scop));
    return std::move(made_);
  }

private:
  const program::Tensor& whole() const { return made_.scop.tensors[tensor_]; }

  /// The loop whose iterations have a copy each, and what its value and those around it exceed the
  /// first indices by.
  bool find_copies() {
    for (const Access& use : uses_) {
      const std::vector<LoopId> path = poly::path_of(made_.order, use.statement);
      if (path.size() < copies_)
        return false;
      if (copies_ > 0 && loop_ && *loop_ != path[copies_ - 1])
        return false;
      for (size_t d = 0; d < copies_; ++d) {
        const Expr low = scalar::expr_of(
            scalar::affine_sum(made_.order.rows[use.statement.value][d] - use.index[d]));
        if (has_iterators(low) || (loop_ && !scalar::equal(low, lows_[d])))
          return false;
        if (!loop_)
          lows_.push_back(low);
      }
      if (copies_ > 0)
        loop_ = path[copies_ - 1];
    }
    return !uses_.empty();
  }

  static bool has_iterators(const Expr& e) {
    bool found = false;
    scalar::visit(e, [&](const Expr& n) { found |= scalar::as<scalar::Iter>(n) != nullptr; });
    return found;
  }

  isl::set elements_of(bool is_written) const {
    isl::set elements = isl::set::empty(universe().space());
    for (const Access& use : uses_)
      if (use.is_write || !is_written)
        elements = elements.unite(
            map_of(use.index, made_.scop[use.statement].domain.intersect_params(made_.scop.context),
                   made_.scop.params)
                .range());
    return elements;
  }

  isl::set universe() const {
    return poly::statement_universe(made_.scop.context_owner->get(), made_.scop.params, "",
                                    whole().shape.size());
  }

  /// Of all copies that there are.
  isl::set all_elements() const {
    isl::set elements = universe().intersect_params(made_.scop.context);
    std::vector<Expr> copy;
    for (uint32_t d = 0; d < whole().shape.size(); ++d) {
      const isl::pw_aff at = poly::dimension_function(elements, d);
      if (d < copies_)
        copy.push_back(scalar::iter(d));
      else
        elements = elements.intersect(at.ge_set(at.scale(0)))
                       .intersect(at.lt_set(
                           poly::pw_aff_from_expr(whole().shape[d], elements, made_.scop.params)));
    }
    if (copies_ == 0)
      return elements;
    const isl::map copy_of = map_of(copy, universe(), made_.scop.params);
    return elements.intersect(elements_of(false).apply(copy_of).apply(copy_of.reverse()));
  }

  /// Those that nothing else writes; all, which the others then write again, where the rest of them
  /// has very many pieces.
  isl::set zero_elements() const {
    const isl::set all = all_elements();
    isl::set rest;
    const bool finished = poly::within_quota(*made_.scop.context_owner, kQuotaOfRest, [&] {
      rest = poly::coalesced(all.subtract(elements_of(true)));
    });
    return finished && rest.n_basic_set() <= kMostPiecesOfRest ? rest : all;
  }

  StmtId add_zeros(const isl::set& elements) {
    program::Statement text;
    const std::vector<LoopId> path = poly::path_of(made_.order, uses_.front().statement);
    for (size_t d = 0; d < whole().shape.size(); ++d) {
      text.index.push_back(scalar::iter(static_cast<uint32_t>(d)));
      text.iters.push_back(d < copies_
                               ? made_.order[path[d]].name
                               : fresh_name("d" + std::to_string(d - copies_), "_", text.iters));
    }
    text.tensor = tensor_;
    text.value = scalar::zero_of({scalar::compute_type(whole().elem), 1});
    text.where = whole().where;
    return add_statement(made_, std::move(text), elements);
  }

  /// Before everything in the iteration that has the copy.
  void place(StmtId zeros) {
    poly::Order& order = made_.order;
    const program::Statement text = made_.scop[zeros].text;
    TreeNode node{zeros, {}};
    for (size_t d = 0; d < text.iters.size(); ++d) {
      const Expr at = scalar::iter(static_cast<uint32_t>(d));
      order.rows[zeros.value].push_back(d < copies_ ? scalar::simplify(at + lows_[d]) : at);
    }
    for (size_t d = text.iters.size(); d-- > copies_;)
      node = TreeNode{poly::add_loop(order, text.iters[d], text.where), {std::move(node)}};
    insert_before_reads(order, loop_, uses_, std::move(node));
  }

  Proposal made_;
  uint32_t tensor_;
  size_t copies_; ///< dimensions that count copies
  std::vector<Access> uses_;
  std::optional<LoopId> loop_;
  std::vector<Expr> lows_;
};

} // namespace

Result<Proposal, std::string> zero_filled(Proposal made, uint32_t tensor) {
  return ZeroFill(std::move(made), tensor).run();
}

Expr rounded_up(const Expr& extent, int64_t to) {
  const Expr by = scalar::int_lit(to);
  return scalar::simplify(
      scalar::binary(scalar::BinaryOp::FloorDiv, extent + scalar::int_lit(to - 1), by) * by);
}

} // namespace kawara::schedule
