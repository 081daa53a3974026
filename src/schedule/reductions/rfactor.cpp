#include "schedule/reductions/rfactor.h"

#include "poly/affine.h"
#include "poly/isl/dimensions.h"
#include "schedule/codes.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"
#include "schedule/tree/solve_iterators.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::Scop;
using poly::StmtId;
using poly::TreeNode;
using scalar::Expr;

namespace {

bool touches(const program::Statement& text, uint32_t tensor) {
  bool found = text.tensor == tensor;
  scalar::visit(text.value, [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    found = found || (load && load->tensor == tensor);
  });
  return found;
}

/// Loops around the largest part of the tree that holds `update` but no other statement touching
/// its tensor. `in_the_way` is the statement that keeps the part from being larger.
struct Clear {
  size_t depth = 0;
  std::optional<StmtId> in_the_way;
};
Clear clear_around(const Scop& scop, const Order& order, StmtId update) {
  const uint32_t tensor = scop[update].text.tensor;
  Clear clear;
  const std::vector<LoopId> path = poly::path_of(order, update);
  for (; clear.depth < path.size(); ++clear.depth) {
    std::optional<StmtId> other;
    for (const StmtId id : poly::statements_below(order, path[clear.depth]))
      if (id != update && touches(scop[id].text, tensor))
        other = id;
    if (!other)
      break;
    clear.in_the_way = other;
  }
  return clear;
}

/// What a reduction is made of. The combine runs once for each value of `keys`: the source loops
/// that stay around it, the element, and the loop's value.
struct Reduction {
  StmtId update;
  Clear in_source, in_order;
  std::vector<Expr> keys;         ///< over the iterators of the update
  std::vector<std::string> names; ///< of the keys
  std::vector<size_t> element;    ///< key that gives each index of the tensor
};

Reduction reduction_of(const Scop& scop, const Order& order, StmtId update) {
  Reduction r;
  r.update = update;
  r.in_source = clear_around(scop, scop.source_order, update);
  r.in_order = clear_around(scop, order, update);
  const program::Statement& text = scop[update].text;
  const std::vector<LoopId> source_path = poly::path_of(scop.source_order, update);
  for (size_t d = 0; d < r.in_source.depth; ++d) {
    r.keys.push_back(scop.source_order.rows[update.value][d]);
    r.names.push_back(fresh_name(scop.source_order[source_path[d]].name, ".c", r.names));
  }
  for (size_t p = 0; p < text.index.size(); ++p) {
    const auto known = std::find_if(r.keys.begin(), r.keys.end(), [&](const Expr& key) {
      return scalar::equal(key, text.index[p]);
    });
    r.element.push_back(static_cast<size_t>(known - r.keys.begin()));
    if (known != r.keys.end())
      continue;
    const auto* it = scalar::as<scalar::Iter>(text.index[p]);
    const std::string name = it ? text.iters[it->index] : "c" + std::to_string(p);
    r.keys.push_back(text.index[p]);
    r.names.push_back(fresh_name(name, ".c", r.names));
  }
  return r;
}

/// Whether the update adds to one element in several iterations of the loop with that row, without
/// leaving the part of the source where only it touches the tensor.
bool is_carried(const Scop& scop, const Reduction& r, const Expr& row) {
  const isl::set& domain = scop[r.update].domain;
  const isl::map values =
      map_of(r.keys, domain, scop.params).reverse().apply_range(map_of({row}, domain, scop.params));
  return !values.is_single_valued();
}

struct Refused {
  std::string_view code;
  std::string why;
};

Result<Reduction, Refused> find_reduction(const Schedule& schedule, LoopId loop,
                                          const std::string& loop_name) {
  const Scop& scop = schedule.scop;
  const size_t depth = *poly::depth_of(schedule.order, loop);
  std::vector<Reduction> found;
  std::optional<Reduction> crossed;
  for (const StmtId id : poly::statements_below(schedule.order, loop)) {
    if (scop[id].text.op == scalar::ReduceOp::None)
      continue;
    Reduction r = reduction_of(scop, schedule.order, id);
    if (is_carried(scop, r, schedule.order.rows[id.value][depth]))
      found.push_back(std::move(r));
    else if (r.in_source.in_the_way)
      crossed = std::move(r);
  }
  if (found.empty() && crossed)
    return fail(Refused{kNotAReduction,
                        "In the source " + scop[*crossed->in_source.in_the_way].text.name +
                            " touches `" + scop.tensors[scop[crossed->update].text.tensor].name +
                            "` between the updates of " + scop[crossed->update].text.name +
                            ", so they cannot be gathered."});
  if (found.empty())
    return fail(Refused{kNotAReduction, "No update below " + loop_name +
                                            " adds to one element in several iterations of it."});
  if (found.size() > 1)
    return fail(Refused{kNotAReduction, "Several reductions are carried by " + loop_name + ": " +
                                            scop[found[0].update].text.name + " and " +
                                            scop[found[1].update].text.name +
                                            "; distribute the loop first."});
  const program::Statement& text = scop[found[0].update].text;
  bool reads_itself = false;
  scalar::visit(text.value, [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    reads_itself = reads_itself || (load && load->tensor == text.tensor);
  });
  if (reads_itself)
    return fail(
        Refused{kNotAReduction, text.name + " reads `" + scop.tensors[text.tensor].name +
                                    "` in what it adds, so its steps depend on each other."});
  if (found[0].in_order.depth > depth)
    return fail(Refused{kNotAReduction, scop[*found[0].in_order.in_the_way].text.name +
                                            " touches `" + scop.tensors[text.tensor].name +
                                            "` inside " + loop_name +
                                            "; distribute the loop first."});
  return std::move(found[0]);
}

class Factoring {
public:
  Factoring(const Schedule& schedule, Reduction r, LoopId loop, std::optional<scalar::Elem> type)
      : made_{schedule.scop, schedule.order}, r_(std::move(r)), loop_(loop), type_(type),
        row_(schedule.order.rows[r_.update.value][*poly::depth_of(schedule.order, loop)]) {}

  /// Empty when a loop that stays around has a value which the partial results do not know.
  std::optional<Proposal> proposal() {
    const program::Statement& update = made_.scop[r_.update].text;
    const std::vector<Expr> solved = iterators_from_keys(r_.keys, update.iters.size());
    for (size_t d = 0; d < r_.in_order.depth; ++d) {
      outer_rows_.push_back(in_solved(made_.order.rows[r_.update.value][d], solved));
      if (!outer_rows_.back())
        return std::nullopt;
    }
    loop_key_ = r_.keys.size();
    r_.keys.push_back(row_);
    r_.names.push_back(fresh_name(made_.order[loop_].name, ".c", r_.names));
    domain_ = map_of(r_.keys, made_.scop[r_.update].domain, made_.scop.params).range();
    add_partials();
    const StmtId combine = add_combine();
    const StmtId start = add_start();
    redirect_update();
    place(made_.scop.source_order, r_.in_source.depth, {}, start, combine);
    place(made_.order, r_.in_order.depth, outer_rows_, start, combine);
    made_.scop = poly::rebuilt(std::move(made_.scop));
    return std::move(made_);
  }

private:
  void add_partials() {
    const Ends ends = ends_of(domain_, static_cast<unsigned>(loop_key_), made_.scop.params);
    low_ = ends.low;
    const program::Tensor& whole = made_.scop.tensors[made_.scop[r_.update].text.tensor];
    std::vector<std::string> taken;
    for (const program::Tensor& tensor : made_.scop.tensors)
      taken.push_back(tensor.name);
    program::Tensor partial;
    partial.name = fresh_name(whole.name + "_partial", "_", taken);
    partial.role = program::Role::Temp;
    partial.elem = type_.value_or(whole.elem);
    partial.shape = {extent_of(ends)};
    partial.shape.insert(partial.shape.end(), whole.shape.begin(), whole.shape.end());
    partial.where = whole.where;
    partial.is_hidden = true;
    partials_ = static_cast<uint32_t>(made_.scop.tensors.size());
    made_.scop.tensors.push_back(std::move(partial));
  }

  std::vector<Expr> element_from_keys() const {
    std::vector<Expr> element;
    for (const size_t key : r_.element)
      element.push_back(scalar::iter(static_cast<uint32_t>(key)));
    return element;
  }

  std::vector<Expr> partial_element(const Expr& value, const std::vector<Expr>& element) const {
    std::vector<Expr> index{scalar::simplify(value - low_)};
    index.insert(index.end(), element.begin(), element.end());
    return index;
  }

  std::vector<Expr> partial_from_keys() const {
    return partial_element(scalar::iter(static_cast<uint32_t>(loop_key_)), element_from_keys());
  }

  StmtId add_combine() {
    const program::Statement& update = made_.scop[r_.update].text;
    program::Statement text = update;
    text.iters = r_.names;
    text.index = element_from_keys();
    const scalar::Type stored{made_.scop.tensors[partials_].elem, 1};
    text.value =
        scalar::cast(scalar::load(partials_, partial_from_keys(), stored), update.value.type());
    return add_statement(made_, std::move(text), domain_);
  }

  StmtId add_start() {
    const program::Statement& update = made_.scop[r_.update].text;
    program::Statement text = update;
    text.iters = r_.names;
    text.tensor = partials_;
    text.index = partial_from_keys();
    // Neutral in the stored type: the lowest i32 would not stay lowest in an i8 element.
    const scalar::Type stored{made_.scop.tensors[partials_].elem, 1};
    text.value = scalar::cast(scalar::identity_of(update.op, stored),
                              {scalar::compute_type(stored.elem), 1});
    text.op = scalar::ReduceOp::None;
    return add_statement(made_, std::move(text), domain_);
  }

  void redirect_update() {
    program::Statement& text = made_.scop.statements[r_.update.value].text;
    text.index = partial_element(row_, text.index);
    text.tensor = partials_;
    text.value =
        scalar::cast(text.value, {scalar::compute_type(made_.scop.tensors[partials_].elem), 1});
  }

  /// Puts `start` before and `combine` after the part of the tree below the first `depth` loops
  /// around the update. `outer` are their rows; without, the first keys are.
  void place(Order& order, size_t depth, std::vector<Expr> outer, StmtId start, StmtId combine) {
    const std::vector<LoopId> path = poly::path_of(order, r_.update);
    for (size_t d = outer.size(); d < depth; ++d)
      outer.push_back(scalar::iter(static_cast<uint32_t>(d)));
    std::vector<std::string> taken;
    for (size_t d = 0; d < depth; ++d)
      taken.push_back(order[path[d]].name);
    std::vector<TreeNode>* sequence = &order.body;
    if (depth > 0)
      sequence = &poly::find_node(order, path[depth - 1])->body;
    size_t at = 0;
    const auto holds_update = [&](const TreeNode& node) {
      const std::vector<StmtId> below = poly::statements_below(node);
      return std::find(below.begin(), below.end(), r_.update) != below.end();
    };
    while (!holds_update((*sequence)[at]))
      ++at;
    TreeNode after = nest_around(order, combine, outer, taken);
    TreeNode before = nest_around(order, start, outer, taken);
    sequence->insert(sequence->begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(after));
    sequence->insert(sequence->begin() + static_cast<std::ptrdiff_t>(at), std::move(before));
  }

  /// Loops over the keys that no loop around counts yet, and the rows to go with them.
  TreeNode nest_around(Order& order, StmtId id, const std::vector<Expr>& outer,
                       std::vector<std::string> taken) {
    std::vector<Expr>& rows = order.rows[id.value];
    rows = outer;
    std::vector<LoopId> loops;
    for (size_t k = 0; k < r_.keys.size(); ++k) {
      const Expr key = scalar::iter(static_cast<uint32_t>(k));
      if (std::any_of(outer.begin(), outer.end(),
                      [&](const Expr& row) { return scalar::equal(row, key); }))
        continue;
      taken.push_back(fresh_name(r_.names[k], ".c", taken));
      loops.push_back(poly::add_loop(order, taken.back(), made_.scop[r_.update].text.where));
      rows.push_back(key);
    }
    TreeNode node{id, {}};
    for (size_t k = loops.size(); k-- > 0;)
      node = TreeNode{loops[k], {std::move(node)}};
    return node;
  }

  Proposal made_;
  Reduction r_;
  LoopId loop_;
  std::optional<scalar::Elem> type_; ///< of the partial results
  Expr row_;
  size_t loop_key_ = 0;
  std::vector<Expr> outer_rows_;
  isl::set domain_;
  Expr low_;
  uint32_t partials_ = 0;
};

bool may_hold_partials(scalar::Elem type, scalar::Elem result, program::Numerics numerics) {
  const bool are_floats = scalar::is_float(type) && scalar::is_float(result);
  return scalar::holds_all_of(type, result) || (are_floats && numerics == program::Numerics::Fast);
}

} // namespace

Proposed propose(const Schedule& schedule, const Rfactor& directive, const Environment&) {
  const std::string name = quoted(directive.loop);
  const std::string request = "cannot factor the reduction at loop " + name;
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, directive.loop, request));
  const Span where = schedule.order[loop].where;
  if (auto refused = refuse_if_bound(schedule.order, loop, request))
    return fail(*std::move(refused));
  auto reduction = find_reduction(schedule, loop, name);
  if (!reduction)
    return fail(shape_refusal(reduction.error().code, request, where, "", {reduction.error().why}));
  const std::string update = schedule.scop[reduction->update].text.name;
  if (schedule.scop.numerics == program::Numerics::Exact)
    return fail(shape_refusal(
        kNumericsForbid, request, where, "carries the reduction of " + update,
        {"Partial results add up in another order than " + update +
             " does, and `numerics exact` keeps the order of every floating-point operation.",
         "Ask for `--numerics rounding` to let reductions be reassociated."}));
  const scalar::Elem elem =
      schedule.scop.tensors[schedule.scop[reduction->update].text.tensor].elem;
  if (directive.type && !may_hold_partials(*directive.type, elem, schedule.scop.numerics))
    return fail(
        shape_refusal(kNumericsForbid, request, where, "carries the reduction of " + update,
                      {"Partial results of type " + std::string(scalar::name_of(*directive.type)) +
                           " do not hold every value that the result of type " +
                           std::string(scalar::name_of(elem)) + " can have.",
                       "Floats may be rounded in between under `--numerics fast`."}));
  auto made = Factoring(schedule, *std::move(reduction), loop, directive.type).proposal();
  if (!made)
    return fail(shape_refusal(
        kNotAReduction, request, where, "",
        {"A loop around " + name + " takes values that the partial results of " + update +
         " do not know, so there is no place for the combine. Bring the loops over the result "
         "outside first."}));
  return *std::move(made);
}

} // namespace kawara::schedule
