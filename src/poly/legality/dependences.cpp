#include "poly/legality/dependences.h"

#include "poly/accesses.h"
#include "poly/affine.h"
#include "poly/isl/coalesced.h"
#include "poly/isl/dimensions.h"
#include "poly/isl/text.h"
#include "poly/legality/legality.h"
#include "poly/legality/levels.h"
#include "poly/legality/unchanged.h"
#include "poly/legality/witness.h"
#include "poly/syntactic/prover.h"
#include "scalar/loads.h"
#include "support/check.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace kawara::poly {
namespace {

bool is_same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), scalar::equal);
}

/// How a statement touches one tensor.
struct Touch {
  bool is_write = false;
  scalar::ReduceOp op = scalar::ReduceOp::None; ///< of a write
  const std::vector<Expr>* index = nullptr;
};

std::vector<Touch> touches_of(const program::Statement& text, uint32_t tensor) {
  std::vector<Touch> all;
  program::visit_exprs(text, [&](const Expr& root) {
    for (const scalar::Load* load : scalar::loads_in(root))
      if (load->tensor == tensor)
        all.push_back({false, scalar::ReduceOp::None, &load->index});
  });
  if (text.tensor == tensor)
    all.push_back({true, text.op, &text.index});
  return all;
}

/// What stands before the earlier index in the later one; nothing when that is not all that is new.
std::optional<std::vector<Expr>> put_before(const std::vector<Expr>& later,
                                            const std::vector<Expr>& earlier) {
  if (later.size() < earlier.size())
    return std::nullopt;
  const auto more = static_cast<std::ptrdiff_t>(later.size() - earlier.size());
  if (!is_same({later.begin() + more, later.end()}, earlier))
    return std::nullopt;
  return std::vector<Expr>(later.begin(), later.begin() + more);
}

/// The functions that one statement's indices of one tensor have got in front, all of them the same
/// ones; nothing when anything else about them has changed.
std::optional<std::vector<Expr>> put_before_all(const program::Statement& later,
                                                const program::Statement& earlier,
                                                uint32_t tensor) {
  const auto now = touches_of(later, tensor), then = touches_of(earlier, tensor);
  std::optional<std::vector<Expr>> all;
  if (now.size() != then.size())
    return std::nullopt;
  for (size_t k = 0; k < now.size(); ++k) {
    const auto own = put_before(*now[k].index, *then[k].index);
    if (!own || now[k].is_write != then[k].is_write || now[k].op != then[k].op ||
        (all && !is_same(*all, *own)))
      return std::nullopt;
    all = own;
  }
  return all ? all : std::vector<Expr>{};
}

/// Dependences of a scop, pair of accesses by pair of accesses; known ones are taken over.
class MemoryDependences {
public:
  explicit MemoryDependences(const Scop& scop) : scop_(scop), prover_(scop) {
    for (uint32_t s = 0; s < scop.statements.size(); ++s)
      has_same_iterations_.push_back(
          scop.analysed && s < scop.analysed->statements.size() &&
          scop.statements[s].is_removed == scop.analysed->statements[s].is_removed &&
          is_plainly_equal(scop.statements[s].domain, scop.analysed->statements[s].domain));
  }

  std::vector<Dependence> all() {
    for (const Dependence& d : scop_.dependences)
      if (is_known(d.source, d.sink, d.tensor))
        take_over(d);
    accesses_ = bare_accesses(scop_);
    has_relation_.assign(accesses_.size(), false);
    for (size_t a = 0; a < accesses_.size(); ++a)
      first_alike_.push_back(first_alike(a));
    for (size_t a = 0; a < accesses_.size(); ++a)
      for (size_t b = 0; b < accesses_.size(); ++b)
        if (may_conflict(accesses_[a], accesses_[b]))
          add(a, b);
    std::vector<Dependence> out;
    for (auto& [key, found] : found_) {
      const auto& [source, sink, tensor, kind, is_reduction] = key;
      const bool is_new = found.shown == nullptr;
      out.push_back({kind, tensor, StmtId{source}, StmtId{sink}, is_reduction,
                     is_new ? in_fewer_pieces(found.pairs) : found.pairs,
                     is_new ? std::make_shared<ProofCache>() : found.shown});
    }
    compare_unchanged(scop_, out, [&](const Access& a, const Access& b) {
      return is_known(a.statement, b.statement, a.tensor);
    });
    return out;
  }

private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t, DependenceKind, bool>;
  struct Found {
    isl::map pairs;
    std::shared_ptr<ProofCache> shown; ///< of pairs that are known from before
  };

  /// Kinds with the same pairs share one relation.
  const isl::map& in_fewer_pieces(const isl::map& pairs) {
    const auto [at, is_new] = in_fewer_pieces_.try_emplace(pairs.get());
    if (is_new)
      at->second = coalesced(pairs);
    return at->second;
  }

  bool may_conflict(const Access& a, const Access& b) {
    return a.tensor == b.tensor && (a.is_write || b.is_write) &&
           !is_known(a.statement, b.statement, a.tensor) &&
           prover_.are_disjoint(a, b) == Answer::Unknown;
  }

  /// Neither the iterations of the statements nor which of them come first have changed, and the
  /// tensor's elements are the same but for loops that have got copies of their own.
  bool is_known(StmtId a, StmtId b, uint32_t tensor) {
    if (!has_same_iterations_[a.value] || !has_same_iterations_[b.value])
      return false;
    const auto [at, is_new] = is_known_pair_.try_emplace(
        {std::min(a.value, b.value), std::max(a.value, b.value), tensor}, false);
    if (is_new) {
      const auto &one = copies(a, tensor), &other = copies(b, tensor);
      at->second = one && other && one->size() == other->size() &&
                   prover_.remembered(Question::Unchanged,
                                      yes_or_unknown(is_ordered_as_before(a, b) ||
                                                     is_kept(a, b, tensor))) == Answer::Yes;
    }
    return at->second;
  }

  /// What the statement's indices of the tensor have got in front.
  const std::optional<std::vector<Expr>>& copies(StmtId id, uint32_t tensor) {
    const auto [at, is_new] = copies_.try_emplace({id.value, tensor});
    if (is_new)
      at->second =
          put_before_all(scop_[id].text, scop_.analysed->statements[id.value].text, tensor);
    return at->second;
  }

  bool is_ordered_as_before(StmtId a, StmtId b) const {
    const Order &now = scop_.source_order, &then = scop_.analysed->source_order;
    const Meeting meeting = meet(now, a, b), earlier = meet(then, a, b);
    if (meeting.shared_loops != earlier.shared_loops || meeting.order != earlier.order)
      return false;
    for (const StmtId id : {a, b})
      for (size_t k = 0; k < meeting.shared_loops; ++k)
        if (!scalar::equal(now.rows[id.value][k], then.rows[id.value][k]))
          return false;
    return true;
  }

  /// It has been proved that all pairs which touch one element of the tensor come in the order in
  /// which they came: then they are the dependences of the new order, too.
  bool is_kept(StmtId a, StmtId b, uint32_t tensor) const {
    return std::all_of(
        scop_.dependences.begin(), scop_.dependences.end(), [&](const Dependence& d) {
          const bool is_between = (d.source == a && d.sink == b) || (d.source == b && d.sink == a);
          return d.tensor != tensor || !is_between ||
                 is_known_to_keep(scop_, scop_.source_order, d);
        });
  }

  /// With copies for iterations of loops only pairs in the same iterations are left.
  void take_over(const Dependence& d) {
    const std::vector<Expr>&one = *copies(d.source, d.tensor), &other = *copies(d.sink, d.tensor);
    Found found{d.relation, d.shown};
    if (!one.empty()) {
      const Equalities equalities = d.shown && d.shown->equalities
                                        ? *d.shown->equalities
                                        : prover_.equalities_of(d.relation, d.source, d.sink);
      const RowPairs rows(scop_, d.source, d.sink);
      for (size_t k = 0; k < one.size(); ++k)
        if (prover_.are_equal(equalities, one[k], other[k]) != Answer::Yes)
          found = {found.pairs.intersect(rows.equal(one[k], other[k])), nullptr};
    }
    if (found.shown || !found.pairs.is_empty())
      found_.emplace(Key{d.source.value, d.sink.value, d.tensor, d.kind, d.is_reduction},
                     std::move(found));
  }

  void add(size_t a, size_t b) {
    const Access &source = accesses_[a], &sink = accesses_[b];
    const bool is_reduction = commute(scop_, source, sink);
    const DependenceKind kind = kind_of(source, sink);
    // The three kinds between two updates are one relation; the flow stands for them.
    if (is_reduction && kind != DependenceKind::Flow)
      return;
    const auto& pairs = conflicts(first_alike_[a], first_alike_[b]);
    if (!pairs)
      return;
    const Key key{source.statement.value, sink.statement.value, source.tensor, kind, is_reduction};
    const auto [at, is_new] = found_.try_emplace(key, Found{*pairs, nullptr});
    if (!is_new)
      at->second.pairs = at->second.pairs.unite(*pairs);
  }

  /// The first access by which the same statement touches the same elements: an update reads what
  /// it writes, and takes part in three kinds of dependences that are the same pairs.
  size_t first_alike(size_t access) const {
    const Access& own = accesses_[access];
    size_t a = 0;
    while (accesses_[a].statement != own.statement || accesses_[a].tensor != own.tensor ||
           !is_same(accesses_[a].index, own.index))
      ++a;
    return a;
  }

  /// Pairs of instances that touch the same element through these accesses, in source order;
  /// nothing where there are none.
  const std::optional<isl::map>& conflicts(size_t a, size_t b) {
    const auto [at, is_new] = conflicts_.try_emplace({a, b});
    if (is_new) {
      at->second = found_conflicts(a, b);
      if (at->second &&
          prover_.are_in_conflict(scop_.source_order, accesses_[a], accesses_[b]) != Answer::Yes &&
          at->second->is_empty())
        at->second.reset();
    }
    return at->second;
  }

  /// The same; may be an empty relation.
  std::optional<isl::map> found_conflicts(size_t a, size_t b) {
    const StmtId source = accesses_[a].statement, sink = accesses_[b].statement;
    const Meeting meeting = meet(scop_.source_order, source, sink);
    const std::vector<Step> steps =
        prover_.steps(scop_.source_order, prover_.equalities_of(accesses_[a], accesses_[b]),
                      meeting.shared_loops);
    if (steps.empty() && meeting.order >= 0)
      return std::nullopt;
    return pairs_in_order(scop_, relation(a).apply_range(relation(b).reverse()), source, sink,
                          steps, meeting.order);
  }

  const isl::map& relation(size_t access) {
    if (!has_relation_[access])
      accesses_[access].relation = relation_of(scop_, accesses_[access]);
    has_relation_[access] = true;
    return accesses_[access].relation;
  }

  const Scop& scop_;
  const SyntacticProver prover_;
  std::vector<Access> accesses_;
  std::vector<bool> has_relation_; ///< of these: worked out when they are needed
  std::vector<size_t> first_alike_;
  std::map<std::pair<size_t, size_t>, std::optional<isl::map>> conflicts_;
  std::vector<bool> has_same_iterations_;
  std::map<std::pair<uint32_t, uint32_t>, std::optional<std::vector<Expr>>> copies_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, bool> is_known_pair_;
  std::map<Key, Found> found_;
  std::map<const isl_map*, isl::map> in_fewer_pieces_;
};

StmtId statement_named(const Scop& scop, const std::string& name) {
  for (uint32_t s = 0; s < scop.statements.size(); ++s)
    if (scop.statements[s].text.name == name)
      return StmtId{s};
  KAWARA_CHECK(false, "a statement called " + name);
}

/// Longest time vector, sequence positions included.
size_t time_length(const Scop& scop, const Order& order) {
  size_t loops = 0;
  for (uint32_t s = 0; s < scop.statements.size(); ++s)
    loops = std::max(loops, order.rows[s].size());
  return 2 * loops + 1;
}

void collect_times(const Scop& scop, const std::vector<TreeNode>& body,
                   std::vector<int64_t>& positions, const Order& order, size_t length,
                   isl::union_map& out) {
  for (size_t k = 0; k < body.size(); ++k) {
    positions.push_back(static_cast<int64_t>(k));
    if (body[k].is_loop())
      collect_times(scop, body[k].body, positions, order, length, out);
    else
      out = out.unite(isl::union_map(time_of(scop, order, body[k].statement(), positions, length)));
    positions.pop_back();
  }
}

void add_kind(const Scop& scop, const isl::union_map& relation, DependenceKind kind,
              uint32_t tensor, std::vector<Dependence>& out) {
  relation.foreach_map([&](const isl::map& map) {
    const StmtId source = statement_named(scop, domain_tuple_name(map));
    const StmtId sink = statement_named(scop, range_tuple_name(map));
    const auto& a = scop[source].text;
    const auto& b = scop[sink].text;
    const bool is_reduction =
        a.op != scalar::ReduceOp::None && a.op == b.op && a.tensor == tensor && b.tensor == tensor;
    if (!map.is_empty())
      out.push_back({kind, tensor, source, sink, is_reduction, coalesced(map)});
  });
}

} // namespace

isl::map time_of(const Scop& scop, const Order& order, StmtId id,
                 const std::vector<int64_t>& positions, size_t length) {
  const isl::set& domain = scop[id].domain;
  const std::vector<isl::pw_aff> rows = row_functions(scop, order, id);
  isl::pw_aff_list functions(domain.ctx(), static_cast<int>(length));
  const isl::pw_aff zero = pw_aff_from_expr(scalar::int_lit(0), domain, scop.params);
  for (size_t k = 0; k < length; ++k) {
    const size_t level = k / 2;
    if (k % 2 == 0)
      functions = functions.add(
          zero.add_constant(level < positions.size() ? static_cast<long>(positions[level]) : 0L));
    else
      functions = functions.add(level < rows.size() ? rows[level] : zero);
  }
  const isl::space space =
      pairs_of(domain, statement_universe(domain.ctx(), scop.params, "", length)).space();
  return isl::multi_pw_aff(space, functions).as_map().intersect_domain(domain);
}

isl::union_map times_of(const Scop& scop, const Order& order) {
  isl::union_map out = isl::union_map::empty(scop.context_owner->get());
  std::vector<int64_t> positions;
  collect_times(scop, order.body, positions, order, time_length(scop, order), out);
  return out;
}

Scop with_elements_moved(Scop scop) {
  compare_unchanged(scop, scop.dependences, [](const Access&, const Access&) { return true; });
  scop.analysed = std::make_shared<Analysed>(Analysed{scop.statements, scop.source_order});
  return scop;
}

Scop rebuilt(Scop scop) {
  scop.dependences = MemoryDependences(scop).all();
  scop.analysed = std::make_shared<Analysed>(Analysed{scop.statements, scop.source_order});
  return scop;
}

std::vector<Dependence> exact_dependences(const Scop& scop) {
  const isl::union_map times = times_of(scop, scop.source_order);
  const std::vector<Access> all = accesses(scop);
  const auto gather = [&](uint32_t tensor, bool writes, std::optional<bool> is_sure = {}) {
    isl::union_map relation = isl::union_map::empty(scop.context_owner->get());
    for (const Access& access : all)
      if (access.tensor == tensor && access.is_write == writes &&
          is_sure.value_or(access.is_sure) == access.is_sure)
        relation = relation.unite(isl::union_map(access.relation));
    return relation;
  };
  // Those of values are among those of memory.
  const auto may_have_some = [&](uint32_t tensor) {
    return std::any_of(scop.dependences.begin(), scop.dependences.end(),
                       [&](const Dependence& d) { return d.tensor == tensor; });
  };
  std::vector<Dependence> out;
  for (uint32_t t = 0; t < scop.tensors.size(); ++t) {
    if (!may_have_some(t))
      continue;
    const isl::union_map reads = gather(t, false);
    const isl::union_map writes = gather(t, true);
    // A write of which nobody knows the element leaves older values in all of them.
    const isl::union_map sure_writes = gather(t, true, true), others = gather(t, true, false);
    if (writes.is_empty())
      continue;
    const auto flow = isl::union_access_info(reads)
                          .set_must_source(sure_writes)
                          .set_may_source(others)
                          .set_schedule_map(times)
                          .compute_flow();
    add_kind(scop, flow.may_dependence(), DependenceKind::Flow, t, out);
    const auto anti = isl::union_access_info(writes)
                          .set_may_source(reads)
                          .set_kill(sure_writes)
                          .set_schedule_map(times)
                          .compute_flow();
    add_kind(scop, anti.may_dependence(), DependenceKind::Anti, t, out);
    const auto output = isl::union_access_info(writes)
                            .set_must_source(sure_writes)
                            .set_may_source(others)
                            .set_schedule_map(times)
                            .compute_flow();
    add_kind(scop, output.may_dependence(), DependenceKind::Output, t, out);
  }
  // isl names them in the order of its hash tables.
  std::sort(out.begin(), out.end(), [](const Dependence& a, const Dependence& b) {
    return std::tuple(a.tensor, a.kind, a.source, a.sink) <
           std::tuple(b.tensor, b.kind, b.source, b.sink);
  });
  return out;
}

std::string_view name_of(DependenceKind kind) {
  switch (kind) {
  case DependenceKind::Flow:
    return "write before read";
  case DependenceKind::Anti:
    return "read before write";
  case DependenceKind::Output:
    return "write before write";
  }
  return "";
}

std::vector<Summary> summaries(const Scop& scop, const std::vector<Dependence>& dependences) {
  std::vector<Summary> out;
  for (const Dependence& d : dependences) {
    Summary s;
    s.kind = d.kind;
    s.tensor = scop.tensors[d.tensor].name;
    s.source = scop[d.source].text.name;
    s.sink = scop[d.sink].text.name;
    s.is_reduction = d.is_reduction;
    s.distance = distance_text(scop, d);
    const size_t shared = s.distance.size();
    const std::vector<LoopId> path = path_of(scop.source_order, d.source);
    for (size_t k = 0; k < shared; ++k)
      s.loops.push_back(scop.source_order[path[k]].name);
    s.condition = condition_text(d.relation.domain().params(), scop.context);
    s.relation = text_of(d.relation);
    out.push_back(std::move(s));
  }
  return out;
}

} // namespace kawara::poly
