#include "schedule/storage/pack.h"

#include "poly/affine.h"
#include "poly/isl/coalesced.h"
#include "schedule/buffers/footprint.h"
#include "schedule/buffers/private_buffer.h"
#include "schedule/buffers/staged_reads.h"
#include "schedule/codes.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"

#include <algorithm>
#include <set>

namespace kawara::schedule {

using poly::Access;
using poly::LoopId;
using poly::Order;
using poly::StmtId;
using poly::TreeNode;
using scalar::Expr;
using scalar::iter;

namespace {

std::vector<Expr> iterators_in(const std::vector<Expr>& index) {
  std::set<uint32_t> found;
  for (const Expr& e : index)
    scalar::visit(e, [&](const Expr& n) {
      if (const auto* it = scalar::as<scalar::Iter>(n))
        found.insert(it->index);
    });
  std::vector<Expr> list;
  for (const uint32_t d : found)
    list.push_back(scalar::iter(d));
  return list;
}

/// The loops below the one that is packed at which decide what element the reader
/// reads.
class Packing {
public:
  Packing(const Schedule& schedule, uint32_t tensor, std::optional<LoopId> loop,
          std::optional<scalar::Elem> type, StagedReads reads)
      : made_{schedule.scop, schedule.order}, tensor_(tensor), loop_(loop),
        elem_(type.value_or(schedule.scop.tensors[tensor].elem)),
        depth_(loop ? *poly::depth_of(schedule.order, *loop) + 1 : 0), reads_(std::move(reads)),
        reader_(reads_.reads.front().statement), index_(reads_.reads.front().index),
        path_(poly::path_of(schedule.order, reader_)),
        domain_(schedule.scop[reader_].domain.intersect_params(schedule.scop.context)),
        iterators_(iterators_in(index_)) {}

  /// Empty when the loops do not give the reader's iterators as one function.
  std::optional<Proposal> proposal() {
    choose_loops();
    if (!solve_iterators())
      return std::nullopt;
    find_boxes();
    add_buffer();
    const StmtId copy = add_copy();
    rewrite_reader();
    place_in_source(made_.scop, copy, reads_.source_root);
    place_in_order(copy);
    made_.scop = poly::rebuilt(std::move(made_.scop));
    return std::move(made_);
  }

private:
  isl::map map(const std::vector<Expr>& functions) const {
    return map_of(functions, domain_, made_.scop.params);
  }
  poly::SyntacticProver prover() const { return poly::SyntacticProver(made_.scop); }
  const std::vector<Expr>& rows() const { return made_.order.rows[reader_.value]; }
  std::vector<Expr> outer_rows() const {
    return {rows().begin(), rows().begin() + static_cast<std::ptrdiff_t>(depth_)};
  }
  isl::map outer_map() const { return map(outer_rows()); }
  std::vector<Expr> rows_at(const std::vector<size_t>& positions) const {
    std::vector<Expr> list;
    for (const size_t p : positions)
      list.push_back(rows()[p]);
    return list;
  }

  /// { [outer, chosen] -> [iterators] }
  isl::map iterators_by_loops(const std::vector<size_t>& chosen) const {
    return map(keys_of(chosen)).reverse().apply_range(map(iterators_));
  }
  std::vector<Expr> keys_of(const std::vector<size_t>& chosen) const {
    std::vector<Expr> keys = outer_rows();
    const std::vector<Expr> inner = rows_at(chosen);
    keys.insert(keys.end(), inner.begin(), inner.end());
    return keys;
  }

  /// As few loops as still decide the iterators in the index. Those that run
  /// over other iterators are left out at once; sets are asked where several
  /// run over the same.
  void choose_loops() {
    for (size_t p = depth_; p < path_.size(); ++p)
      if (runs_over_index(p))
        chosen_.push_back(p);
    is_solved_ = are_decided_by(chosen_);
    if (!is_solved_) {
      chosen_.clear();
      for (size_t p = depth_; p < path_.size(); ++p)
        chosen_.push_back(p);
      is_solved_ = are_decided_by(chosen_);
    }
    const std::vector<size_t> candidates = chosen_;
    for (const size_t p : candidates) {
      std::vector<size_t> fewer = chosen_;
      fewer.erase(std::find(fewer.begin(), fewer.end(), p));
      if (!may_leave_out(p, fewer) || !are_decided_by(fewer))
        continue;
      chosen_ = fewer;
      is_solved_ = true;
    }
  }

  /// Whether these loops, with those outside, give the iterators in the index.
  bool are_decided_by(const std::vector<size_t>& chosen) const {
    const poly::Answer seen = prover().give_iterators(reader_, keys_of(chosen), iterators_);
    if (seen != poly::Answer::Unknown)
      return seen == poly::Answer::Yes;
    return iterators_by_loops(chosen).is_single_valued();
  }

  static bool has(const std::vector<Expr>& iterators, const Expr& one) {
    return std::any_of(iterators.begin(), iterators.end(),
                       [&](const Expr& e) { return scalar::equal(e, one); });
  }

  bool runs_over_index(size_t position) const {
    const std::vector<Expr> found = iterators_in({rows()[position]});
    return std::any_of(found.begin(), found.end(),
                       [&](const Expr& e) { return has(iterators_, e); });
  }

  /// Every iterator of the index that the loop runs over is also in another
  /// row, or has one value only.
  bool may_leave_out(size_t position, const std::vector<size_t>& others) const {
    const std::vector<Expr> covered = iterators_in(keys_of(others));
    const std::vector<Expr> found = iterators_in({rows()[position]});
    return std::all_of(found.begin(), found.end(), [&](const Expr& e) {
      return !has(iterators_, e) || has(covered, e) || is_fixed(scalar::as<scalar::Iter>(e)->index);
    });
  }

  bool is_fixed(uint32_t iter) const {
    const int at = static_cast<int>(iter);
    const isl::val low = domain_.dim_min_val(at);
    return low.is_int() && low.eq(domain_.dim_max_val(at));
  }

  bool solve_iterators() {
    if (!is_solved_)
      return false;
    solved_.assign(made_.scop[reader_].text.iters.size(), Expr());
    if (const auto known = prover().iterators_from(reader_, keys_of(chosen_), iterators_)) {
      elements_ = map(keys_of(chosen_)).range();
      for (size_t k = 0; k < iterators_.size(); ++k)
        solved_[scalar::as<scalar::Iter>(iterators_[k])->index] = (*known)[k];
      return true;
    }
    const isl::map by_loops = iterators_by_loops(chosen_);
    elements_ = by_loops.domain();
    const isl::pw_multi_aff function = by_loops.as_pw_multi_aff();
    for (size_t k = 0; k < iterators_.size(); ++k) {
      const Expr solved = poly::expr_from_pw_aff(poly::coalesced(function.at(static_cast<int>(k))),
                                                 made_.scop.params);
      if (!solved)
        return false;
      solved_[scalar::as<scalar::Iter>(iterators_[k])->index] = solved;
    }
    return true;
  }

  void find_boxes() {
    const std::vector<Expr> inner = rows_at(chosen_);
    if (const auto plain = prover().boxes(reader_, outer_rows(), inner))
      boxes_ = *plain;
    else
      boxes_ = boxes_of(outer_map().reverse().apply_range(map(inner)), depth_, chosen_.size(),
                        made_.scop.params, made_.scop.context, *made_.scop.context_owner);
  }

  void add_buffer() {
    buffer_ = add_private_buffer(made_, tensor_, "_packed", elements_, depth_, boxes_.extent);
    program::Tensor& buffer = made_.scop.tensors[buffer_.tensor];
    buffer.elem = elem_;
    buffer.is_packed = true;
  }

  std::vector<Expr> buffer_element(const std::vector<Expr>& outer,
                                   const std::vector<Expr>& inner) const {
    return buffer_.element(outer, positions_in(boxes_, outer, inner));
  }

  /// Iterators of the copying statement: the outer loops' values, then the
  /// chosen loops'.
  StmtId add_copy() {
    program::Statement text;
    std::vector<Expr> outer, inner;
    for (size_t d = 0; d < depth_; ++d) {
      outer.push_back(iter(d));
      text.iters.push_back(made_.order[path_[d]].name);
    }
    for (size_t d = 0; d < chosen_.size(); ++d) {
      inner.push_back(iter(depth_ + d));
      text.iters.push_back(fresh_name(made_.order[path_[chosen_[d]]].name, "_", text.iters));
    }
    text.tensor = buffer_.tensor;
    text.index = buffer_element(outer, inner);
    std::vector<Expr> from;
    for (const Expr& e : index_)
      from.push_back(scalar::simplify(scalar::substitute_iters(e, solved_)));
    const scalar::Type stored{made_.scop.tensors[tensor_].elem, 1};
    text.value =
        scalar::cast(scalar::load(tensor_, from, stored), {scalar::compute_type(elem_), 1});
    text.where = made_.scop[reader_].text.where;
    return add_statement(made_, std::move(text), elements_);
  }

  void rewrite_reader() {
    program::Statement& text = made_.scop.statements[reader_.value].text;
    const std::vector<Expr> element = buffer_element(outer_rows(), rows_at(chosen_));
    text.value = scalar::rewrite(text.value, [&](const Expr& e) -> Expr {
      const auto* load = scalar::as<scalar::Load>(e);
      return load != nullptr && load->tensor == tensor_
                 ? scalar::load(buffer_.tensor, element, e.type())
                 : Expr();
    });
    text.value = with_elements_as(text.value, buffer_.tensor, elem_);
  }

  void place_in_order(StmtId copy) {
    Order& order = made_.order;
    TreeNode node{copy, {}};
    for (size_t d = 0; d < depth_ + chosen_.size(); ++d)
      order.rows[copy.value].push_back(iter(d));
    for (size_t k = chosen_.size(); k-- > 0;) {
      const poly::OrderLoop like = order[path_[chosen_[k]]];
      const LoopId id = poly::add_loop(order, like.name, like.where);
      order[id].tile_size = like.tile_size;
      node = TreeNode{id, {std::move(node)}};
    }
    insert_before_reads(order, loop_, reads_.reads, std::move(node));
  }

  Proposal made_;
  uint32_t tensor_;
  std::optional<LoopId> loop_;
  scalar::Elem elem_; ///< of the buffer
  size_t depth_;      ///< loops from the outermost to the one that is packed at
  StagedReads reads_;
  StmtId reader_;
  std::vector<Expr> index_;  ///< of the read
  std::vector<LoopId> path_; ///< loops around the reader
  isl::set domain_;
  std::vector<Expr> iterators_; ///< in the index
  std::vector<size_t> chosen_;  ///< positions in the path, below the loop
  bool is_solved_ = false;      ///< those and the loops outside give the iterators
  std::vector<Expr> solved_;    ///< iterators of the reader in those of the copy
  isl::set elements_;           ///< { [outer, chosen] }
  Boxes boxes_;
  PrivateBuffer buffer_;
};

/// The statements that read, each once, in the order of the text; none if it is a single one.
std::vector<std::string> readers_of(const poly::Scop& scop, const std::vector<Access>& reads) {
  std::vector<std::string> names;
  for (const Access& read : reads)
    if (const std::string& name = scop[read.statement].text.name;
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  return names.size() > 1 ? names : std::vector<std::string>();
}

bool is_one_read(const std::vector<Access>& reads) {
  return std::all_of(reads.begin(), reads.end(), [&](const Access& read) {
    return read.statement == reads.front().statement &&
           std::equal(read.index.begin(), read.index.end(), reads.front().index.begin(),
                      [](const Expr& a, const Expr& b) { return scalar::equal(a, b); });
  });
}

} // namespace

Proposed propose(const Schedule& schedule, const Pack& directive, const Environment&) {
  const std::string loop_name = directive.loop ? quoted(*directive.loop) : "the whole program";
  const std::string request =
      "cannot pack `" + directive.tensor + "`" + (directive.loop ? " at loop " + loop_name : "");
  KAWARA_TRY(const uint32_t tensor, resolve_tensor(schedule.scop, directive.tensor, request));
  std::optional<LoopId> loop;
  if (directive.loop) {
    KAWARA_TRY(loop, resolve_loop(schedule, *directive.loop, request));
    if (auto refused = refuse_if_bound(schedule.order, *loop, request))
      return fail(*std::move(refused));
  }
  const Span where = loop ? schedule.order[*loop].where : schedule.scop.tensors[tensor].where;
  const auto refused = [&](const std::string& why) {
    return fail(shape_refusal(kCannotStage, request, where, "cannot pack here", {why}));
  };
  std::optional<StmtId> reader;
  if (directive.reader) {
    KAWARA_TRY(reader, resolve_statement(schedule, *directive.reader, request));
  }
  auto reads = staged_reads(schedule, tensor, loop, loop_name, reader);
  if (!reads)
    return refused(reads.error());
  if (!is_one_read(reads->reads)) {
    const std::vector<std::string> readers = readers_of(schedule.scop, reads->reads);
    auto several =
        shape_refusal(kCannotStage, request, where, "cannot pack here",
                      {"`" + directive.tensor + "` is read in several places " +
                       (directive.loop ? "below " + loop_name : "of the program") +
                       ", each in an order of its own; `stage` keeps the order of the tensor" +
                       (readers.empty() ? "." : ", `reader=` copies what one statement reads.")});
    if (directive.loop)
      several.ways_out.push_back({Stage{directive.tensor, *directive.loop, {}, {}}});
    for (const std::string& name : readers) {
      Pack one = directive;
      one.reader = name;
      several.ways_out.push_back({one});
    }
    return fail(std::move(several));
  }
  const scalar::Elem elem = schedule.scop.tensors[tensor].elem;
  if (directive.type && !scalar::holds_all_of(*directive.type, elem))
    return refused("`" + directive.tensor + "` holds " + std::string(scalar::name_of(elem)) +
                   ", and not every such value is one of " +
                   std::string(scalar::name_of(*directive.type)) + ".");
  auto made = Packing(schedule, tensor, loop, directive.type, *std::move(reads)).proposal();
  if (!made)
    return refused("The loops below " + loop_name + " do not give the elements of `" +
                   directive.tensor + "` as one function of their values.");
  return *std::move(made);
}

} // namespace kawara::schedule
