#include "schedule/reductions/online_rewrite.h"

#include "poly/accesses.h"
#include "poly/affine.h"
#include "poly/isl/coalesced.h"
#include "poly/legality/directions.h"
#include "scalar/expand/expansion.h"
#include "schedule/tree/element_nest.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/rebase.h"
#include "schedule/tree/rewrite.h"
#include "support/check.h"

#include <algorithm>
#include <limits>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::StmtId;
using poly::TreeNode;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::ReduceOp;

namespace {

std::vector<Expr> iters_from(size_t first, size_t count) {
  std::vector<Expr> iters;
  for (size_t k = 0; k < count; ++k)
    iters.push_back(scalar::iter(static_cast<uint32_t>(first + k)));
  return iters;
}

class Rewriting {
public:
  Rewriting(const Schedule& schedule, const Chain& chain, bool says_bounds)
      : made_{schedule.scop, schedule.order}, chain_(chain), inside_(chain.depth + 1),
        says_bounds_(says_bounds) {}

  Proposal proposal() {
    for (const auto& [id, value] : chain_.values)
      made_.scop.statements[id.value].text.value = value;
    if (chain_.extreme)
      follow_extreme();
    for (const Accumulator& a : chain_.accumulators)
      correct(a);
    for (const uint32_t tensor : chain_.local)
      give_copies(tensor);
    made_.scop.source_order = without_marks(made_.order);
    made_.scop = poly::rebuilt(std::move(made_.scop));
    fuse();
    return std::move(made_);
  }

private:
  poly::ScopStatement& statement(StmtId id) { return made_.scop.statements[id.value]; }
  const program::Tensor& tensor(uint32_t id) const { return made_.scop.tensors[id]; }
  scalar::Type compute(uint32_t id) const { return {scalar::compute_type(tensor(id).elem), 1}; }
  Expr value_of(uint32_t id, std::vector<Expr> index, scalar::Type type) const {
    const scalar::Type stored{tensor(id).elem, 1};
    return scalar::cast(scalar::load(id, std::move(index), stored), type);
  }

  bool is_max() const { return made_.scop[*chain_.extreme].text.op == ReduceOp::Max; }
  /// The finite number that stands for the infinity that the maximum starts from.
  Expr bound() const {
    const scalar::Type type = compute(reference());
    const double highest = type.elem == scalar::Elem::F64
                               ? std::numeric_limits<double>::max()
                               : static_cast<double>(std::numeric_limits<float>::max());
    return scalar::float_lit(is_max() ? -highest : highest, type);
  }
  uint32_t reference() const { return made_.scop[*chain_.extreme].text.tensor; }

  /// Keeps the reference before and after each iteration, and the factors that lead from one to the
  /// other.
  void follow_extreme() {
    const ElementKeys keys = element_keys(made_, *chain_.extreme, inside_);
    const uint32_t m = reference();
    const scalar::Type type = compute(m);
    const std::vector<Expr>& element = keys.element;
    const Expr clamped = scalar::binary(is_max() ? BinaryOp::Max : BinaryOp::Min,
                                        value_of(m, element, type), bound());
    const uint32_t old = add_copy("_old", keys);
    now_ = add_copy("_now", keys);
    std::vector<TreeNode> before, after;
    before.push_back(
        add(keys, old, copy_index(iters_from(0, inside_), element), ReduceOp::None, clamped));
    after.push_back(
        add(keys, now_, copy_index(iters_from(0, inside_), element), ReduceOp::None, clamped));
    for (const Accumulator& a : chain_.accumulators) {
      if (a.law.rate.empty() || factor_for(a.law.rate))
        continue;
      const uint32_t factor = add_copy("_factor", keys);
      factors_.emplace_back(a.law.rate, factor);
      const std::vector<Expr> at = copy_index(iters_from(0, inside_), element);
      after.push_back(
          add(keys, factor, at, ReduceOp::None,
              correction(a.law.rate, value_of(old, at, type), value_of(now_, at, type))));
    }
    std::vector<TreeNode>& body = body_of(chain_.extreme_loop);
    body.insert(body.begin(), before.begin(), before.end());
    body.insert(body.end(), after.begin(), after.end());
    redirect_reads();
  }

  /// exp(rate * (old - now)). Where the running value only ever shrinks the sum, an old value that
  /// stands for the infinity gives 0 by itself; else it has to be said.
  Expr correction(const scalar::Polynomial& rate, const Expr& old, const Expr& now) const {
    const auto number = scalar::constant_of(rate);
    Expr exponent = old - now;
    if (number != 1.0)
      exponent = scalar::expr_of(rate, exponent.type()) * exponent;
    else if (says_bounds_ && is_max() && exponent.type().elem == scalar::Elem::F32)
      exponent = never_positive(exponent);
    const Expr factor = scalar::unary(scalar::UnaryOp::Exp, exponent);
    if (number && (*number > 0) == is_max())
      return factor;
    const Expr is_first = scalar::binary(BinaryOp::Eq, old, bound());
    return scalar::select(is_first, scalar::zero_of(factor.type()), factor);
  }

  std::optional<uint32_t> factor_for(const scalar::Polynomial& rate) const {
    for (const auto& [known, tensor] : factors_)
      if (equal(known, rate))
        return tensor;
    return std::nullopt;
  }

  /// A temp with one copy of the reference's elements for each iteration of the loops.
  uint32_t add_copy(const std::string& suffix, const ElementKeys& keys) {
    std::vector<std::string> taken;
    for (const program::Tensor& t : made_.scop.tensors)
      taken.push_back(t.name);
    const program::Tensor& whole = tensor(reference());
    program::Tensor copy;
    copy.name = fresh_name(whole.name + suffix, "_", taken);
    copy.role = program::Role::Temp;
    copy.elem = compute(reference()).elem;
    lows_.clear();
    for (unsigned d = 0; d < inside_; ++d) {
      const Ends ends = ends_of(keys.domain, d, made_.scop.params);
      lows_.push_back(ends.low);
      copy.shape.push_back(extent_of(ends));
    }
    copy.shape.insert(copy.shape.end(), whole.shape.begin(), whole.shape.end());
    copy.where = whole.where;
    copy.is_hidden = true;
    copy.private_dims = static_cast<uint32_t>(inside_);
    made_.scop.tensors.push_back(std::move(copy));
    return static_cast<uint32_t>(made_.scop.tensors.size() - 1);
  }

  std::vector<Expr> copy_index(const std::vector<Expr>& loops,
                               const std::vector<Expr>& element) const {
    std::vector<Expr> index;
    for (size_t d = 0; d < inside_; ++d)
      index.push_back(scalar::simplify(loops[d] - lows_[d]));
    index.insert(index.end(), element.begin(), element.end());
    return index;
  }

  static Expr never_positive(const Expr& e) {
    return scalar::binary(BinaryOp::NanMin, scalar::float_lit(0, e.type()), e);
  }

  bool reads_reference(const Expr& e) const {
    bool found = false;
    scalar::visit(e, [&](const Expr& part) {
      const auto* load = scalar::as<scalar::Load>(part);
      found = found || (load != nullptr && load->tensor == reference());
    });
    return found;
  }

  /// exp(e - m) becomes exp(nan_min(0, e - m)): e is among what the maximum m took in
  /// (schedule/reductions/online_bound.h), and exponentials of what is never positive are cheaper
  /// in f32 (scalar/expand/expansion.h). Not where m may have been rounded down.
  Expr with_bounds(const Expr& value) const {
    if (!says_bounds_ || !is_max() || tensor(reference()).elem != scalar::Elem::F32)
      return value;
    return scalar::rewrite(value, [&](const Expr& e) -> Expr {
      const scalar::Load* m = scalar::element_below_exp(e);
      if (m == nullptr || m->tensor != reference())
        return Expr();
      const Expr& exponent = scalar::as<scalar::Unary>(e)->arg;
      return reads_reference(scalar::as<scalar::Binary>(exponent)->lhs)
                 ? Expr()
                 : scalar::unary(scalar::UnaryOp::Exp, never_positive(exponent));
    });
  }

  /// What read the final value reads the one of its iteration.
  void redirect_reads() {
    for (const auto& [id, value] : chain_.values) {
      const std::vector<Expr>& rows = made_.order.rows[id.value];
      const scalar::Type stored{tensor(now_).elem, 1};
      Expr& own = statement(id).text.value;
      own = scalar::rewrite(with_bounds(own), [&](const Expr& e) -> Expr {
        const auto* load = scalar::as<scalar::Load>(e);
        if (load == nullptr || load->tensor != reference())
          return {};
        return scalar::cast(scalar::load(now_, copy_index(rows, load->index), stored), e.type());
      });
    }
  }

  void correct(const Accumulator& a) {
    if (!a.law.rate.empty()) {
      ElementKeys keys = element_keys(made_, a.update, inside_);
      const Law law = substituted(a.law, keys.element);
      keys.domain = where_reference_moves(a, keys, law);
      const Expr factor =
          value_of(*factor_for(a.law.rate), copy_index(iters_from(0, inside_), law.element),
                   compute(a.tensor));
      const TreeNode node = add(keys, a.tensor, keys.element, ReduceOp::Prod, factor);
      std::vector<TreeNode>& body = body_of(a.loop);
      body.insert(body.begin(), node);
    }
    finish(a);
  }

  /// Iterations of the loops and elements of the sum for which the reference may have moved.
  isl::set where_reference_moves(const Accumulator& a, const ElementKeys& keys, const Law& law) {
    const std::vector<program::Param>& params = made_.scop.params;
    const isl::set all =
        poly::statement_universe(made_.scop.context_owner->get(), params, "", keys.keys.size());
    const auto joined = [&](size_t loops, const std::vector<Expr>& element) {
      std::vector<Expr> point = iters_from(0, loops);
      point.insert(point.end(), element.begin(), element.end());
      return map_of(point, all, params);
    };
    return poly::coalesced(joined(inside_, law.element)
                               .intersect_range(points_of(*chain_.extreme, inside_))
                               .domain()
                               .intersect(joined(chain_.depth, keys.element)
                                              .intersect_range(points_of(a.update, chain_.depth))
                                              .domain()));
  }

  /// Values of the first `depth` loops and the element that a statement writes, over all its
  /// iterations.
  isl::set points_of(StmtId id, size_t depth) const {
    const std::vector<Expr>& rows = made_.order.rows[id.value];
    std::vector<Expr> point(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(depth));
    const program::Statement& text = made_.scop[id].text;
    point.insert(point.end(), text.index.begin(), text.index.end());
    return map_of(point, made_.scop[id].domain, made_.scop.params).range();
  }

  /// What is left to do once the loop has ended: the NaN of a maximum that never left its infinity,
  /// and the factors that waited.
  void finish(const Accumulator& a) {
    const ElementKeys keys = element_keys(made_, a.update, chain_.depth);
    const std::vector<Expr>& element = keys.element;
    const Law law = substituted(a.law, element);
    const scalar::Type type = compute(a.tensor);
    std::vector<TreeNode> nodes;
    if (!law.rate.empty()) {
      const Expr result = value_of(reference(), law.element, compute(reference()));
      const Expr never = scalar::binary(is_max() ? BinaryOp::Lt : BinaryOp::Gt, result, bound());
      const Expr nan = scalar::float_lit(std::numeric_limits<double>::quiet_NaN(), type);
      nodes.push_back(add(keys, a.tensor, element, ReduceOp::Sum,
                          scalar::select(never, nan, scalar::zero_of(type))));
    }
    if (!law.factors.empty()) {
      Expr value = value_of(a.tensor, element, type);
      for (const Law::Factor& f : law.factors)
        value = scalar::binary(f.is_divisor ? BinaryOp::Div : BinaryOp::Mul, value,
                               scalar::cast(f.value, type));
      nodes.push_back(add(keys, a.tensor, element, ReduceOp::None, value));
    }
    const Place place = place_of(made_.order, chain_.loops[a.loop]);
    place.sequence->insert(place.sequence->begin() + static_cast<std::ptrdiff_t>(place.index) + 1,
                           nodes.begin(), nodes.end());
  }

  /// A temp that lives within an iteration of the loops gets one copy for each, so that storage can
  /// be reused: T[element] becomes T[loops, element].
  void give_copies(uint32_t tensor) {
    isl::set loops;
    for (const poly::Access& access : poly::bare_accesses(made_.scop)) {
      if (access.tensor != tensor || !access.is_write)
        continue;
      const isl::set own = map_of(loops_around(access.statement),
                                  made_.scop[access.statement].domain, made_.scop.params)
                               .range();
      loops = loops.is_null() ? own : loops.unite(own);
    }
    lows_.clear();
    std::vector<Expr> shape;
    for (unsigned d = 0; d < inside_; ++d) {
      const Ends ends = ends_of(loops, d, made_.scop.params);
      lows_.push_back(ends.low);
      shape.push_back(extent_of(ends));
    }
    program::Tensor& whole = made_.scop.tensors[tensor];
    whole.shape.insert(whole.shape.begin(), shape.begin(), shape.end());
    whole.private_dims += static_cast<uint32_t>(inside_);
    for (uint32_t s = 0; s < made_.scop.statements.size(); ++s)
      if (!made_.scop.statements[s].is_removed)
        widen_accesses(StmtId{s}, tensor);
  }

  std::vector<Expr> loops_around(StmtId id) const {
    const std::vector<Expr>& rows = made_.order.rows[id.value];
    return {rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(inside_)};
  }

  void widen_accesses(StmtId id, uint32_t tensor) {
    program::Statement& text = statement(id).text;
    const std::vector<Expr>& rows = made_.order.rows[id.value];
    if (text.tensor == tensor)
      text.index = copy_index(rows, text.index);
    text.value = scalar::rewrite(text.value, [&](const Expr& e) -> Expr {
      const auto* load = scalar::as<scalar::Load>(e);
      if (load == nullptr || load->tensor != tensor)
        return {};
      return scalar::load(tensor, copy_index(rows, load->index), e.type());
    });
  }

  TreeNode add(const ElementKeys& keys, uint32_t to, std::vector<Expr> index, ReduceOp op,
               Expr value) {
    program::Statement text;
    text.tensor = to;
    text.index = std::move(index);
    text.op = op;
    text.value = std::move(value);
    return add_element_statement(made_, keys, std::move(text));
  }

  std::vector<TreeNode>& body_of(size_t loop) {
    return poly::find_node(made_.order, chain_.loops[loop])->body;
  }

  /// One loop out of all; what stood between them goes before it, or after it when it needs it.
  void fuse() {
    const Place first = place_of(made_.order, chain_.loops.front());
    const size_t begin = first.index;
    const size_t end = place_of(made_.order, chain_.loops.back()).index + 1;
    std::vector<TreeNode>& sequence = *first.sequence;
    TreeNode fused{chain_.loops.front(), {}};
    std::vector<TreeNode> before, after;
    std::vector<StmtId> needed;
    for (size_t k = begin; k < end; ++k) {
      TreeNode& node = sequence[k];
      const std::vector<StmtId> below = poly::statements_below(node);
      const bool is_loop =
          node.is_loop() && std::count(chain_.loops.begin(), chain_.loops.end(), node.loop()) > 0;
      if (is_loop || needs(below, needed))
        needed.insert(needed.end(), below.begin(), below.end());
      if (is_loop)
        std::move(node.body.begin(), node.body.end(), std::back_inserter(fused.body));
      else
        (needs(below, needed) ? after : before).push_back(std::move(node));
    }
    for (const LoopId loop : chain_.loops)
      if (made_.order[loop].tile_size != made_.order[fused.loop()].tile_size)
        made_.order[fused.loop()].tile_size = 0;
    before.push_back(std::move(fused));
    std::move(after.begin(), after.end(), std::back_inserter(before));
    const auto at = sequence.begin() + static_cast<std::ptrdiff_t>(begin);
    sequence.erase(at, sequence.begin() + static_cast<std::ptrdiff_t>(end));
    sequence.insert(sequence.begin() + static_cast<std::ptrdiff_t>(begin), before.begin(),
                    before.end());
  }

  bool needs(const std::vector<StmtId>& sinks, const std::vector<StmtId>& sources) const {
    const auto has = [](const std::vector<StmtId>& ids, StmtId id) {
      return std::find(ids.begin(), ids.end(), id) != ids.end();
    };
    return std::any_of(
        made_.scop.dependences.begin(), made_.scop.dependences.end(),
        [&](const poly::Dependence& d) {
          return has(sources, d.source) && has(sinks, d.sink) &&
                 !poly::tied_above(made_.scop, made_.order, d, chain_.depth).is_empty();
        });
  }

  Proposal made_;
  const Chain& chain_;
  size_t inside_; ///< loops around what runs in one iteration
  bool says_bounds_;
  std::vector<Expr> lows_;
  uint32_t now_ = 0;
  std::vector<std::pair<scalar::Polynomial, uint32_t>> factors_; ///< by rate
};

} // namespace

Proposal rewrite_online(const Schedule& schedule, const Chain& chain, bool says_bounds) {
  return Rewriting(schedule, chain, says_bounds).proposal();
}

} // namespace kawara::schedule
