#include "schedule/reductions/online_chain.h"

#include "poly/accesses.h"
#include "poly/legality/directions.h"
#include "schedule/codes.h"
#include "schedule/reductions/online_bound.h"
#include "schedule/tree/rewrite.h"
#include "schedule/tree/solve_iterators.h"
#include "support/check.h"

#include <algorithm>
#include <set>

namespace kawara::schedule {

using poly::LoopId;
using poly::Scop;
using poly::StmtId;
using scalar::Expr;
using scalar::ReduceOp;

namespace {

bool contains(const std::vector<StmtId>& ids, StmtId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool is_zero_literal(const Expr& e) {
  if (const auto* c = scalar::as<scalar::Cast>(e))
    return is_zero_literal(c->arg);
  const auto* f = scalar::as<scalar::FloatLit>(e);
  return f != nullptr && f->value == 0;
}

/// A tensor that some loop of the list reduces into, over its iterations.
struct Reduced {
  size_t loop = 0;
  std::vector<StmtId> updates;
  ReduceOp op = ReduceOp::None;
};

class Finder {
public:
  Finder(const Schedule& schedule, std::vector<LoopId> loops)
      : scop_(schedule.scop), order_(schedule.order) {
    chain_.loops = std::move(loops);
    chain_.depth = *poly::depth_of(order_, chain_.loops.front());
    for (const LoopId loop : chain_.loops)
      below_.push_back(poly::statements_below(order_, loop));
    for (size_t q = 0; q < below_.size(); ++q)
      for (const StmtId id : below_[q])
        loop_of_[id] = q;
    find_reduced();
  }

  Result<Chain, NoChain> chain() {
    for (size_t q = 1; q < below_.size(); ++q)
      for (const StmtId id : below_[q])
        if (const auto refused = add_statement(id, q))
          return fail(*refused);
    if (!has_law_)
      return fail(NoChain{kNoChain, "No statement below " + others() +
                                        " needs the final result of a reduction of the loops "
                                        "before it. `fuse` is enough to run them together."});
    for (const auto& [tensor, law] : scaled_) {
      if (const auto refused = check_scaled(tensor))
        return fail(*refused);
      chain_.local.push_back(tensor);
    }
    for (const auto& [tensor, reduced] : reduced_)
      if (const auto refused = check_final(tensor, reduced))
        return fail(*refused);
    for (const Accumulator& accumulator : chain_.accumulators)
      if (const auto refused = check_accumulator(accumulator))
        return fail(*refused);
    return std::move(chain_);
  }

private:
  const program::Statement& text(StmtId id) const { return scop_[id].text; }
  std::string tensor_name(uint32_t tensor) const { return "`" + scop_.tensors[tensor].name + "`"; }
  std::string name_of(StmtId id) const { return text(id).name; }
  std::string others() const {
    std::string names;
    for (size_t q = 1; q < chain_.loops.size(); ++q)
      names += (q == 1 ? "`" : ", `") + order_[chain_.loops[q]].name + "`";
    return names;
  }

  /// Whether an update adds to one element in several iterations of its loop of the list.
  bool is_carried(StmtId id) const {
    const std::vector<Expr>& rows = order_.rows[id.value];
    std::vector<Expr> keys(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(chain_.depth));
    keys.insert(keys.end(), text(id).index.begin(), text(id).index.end());
    const isl::set& domain = scop_[id].domain;
    return !map_of(keys, domain, scop_.params)
                .reverse()
                .apply_range(map_of({rows[chain_.depth]}, domain, scop_.params))
                .is_single_valued();
  }

  void find_reduced() {
    for (size_t q = 0; q < below_.size(); ++q)
      for (const StmtId id : below_[q]) {
        if (text(id).op == ReduceOp::None || !is_carried(id))
          continue;
        Reduced& reduced = reduced_[text(id).tensor];
        reduced.loop = q;
        reduced.updates.push_back(id);
        reduced.op = text(id).op;
      }
  }

  /// The tensor is reduced by a loop before `q`: its value is final there.
  bool is_final(uint32_t tensor, size_t q) const {
    const auto found = reduced_.find(tensor);
    return found != reduced_.end() && found->second.loop < q;
  }

  LoadFacts facts(StmtId id, size_t q) const {
    LoadFacts facts;
    facts.is_final = [this, q](uint32_t tensor) { return is_final(tensor, q); };
    facts.is_extreme = [this](uint32_t tensor) {
      const ReduceOp op = reduced_.at(tensor).op;
      return op == ReduceOp::Max || op == ReduceOp::Min;
    };
    facts.is_constant = [this](const scalar::Load& load) {
      return load.index.empty() && scop_.tensors[load.tensor].role == program::Role::Input;
    };
    facts.law_of_load = [this](const scalar::Load& load) { return law_at(load); };
    facts.text = [this, id](const Expr& e) { return to_string(e, poly::names_of(scop_, id)); };
    return facts;
  }

  Law law_at(const scalar::Load& load) const {
    const auto found = scaled_.find(load.tensor);
    return found == scaled_.end() ? Law{} : substituted(found->second, load.index);
  }

  /// The law over the index of what the statement writes.
  Result<Law, std::string> law_by_element(StmtId id, const Law& law) const {
    const std::vector<Expr> solved = iterators_from_keys(text(id).index, text(id).iters.size());
    Law out = law;
    const auto solve = [&](Expr& e) {
      const Expr was = e;
      e = in_solved(e, solved);
      return e ? std::optional<std::string>()
               : "`" + to_string(was, poly::names_of(scop_, id)) +
                     "` is not the same for all that " + name_of(id) +
                     " puts into one element of " + tensor_name(text(id).tensor) + ".";
    };
    if (!out.rate.empty())
      for (Expr& e : out.element)
        if (const auto wrong = solve(e))
          return fail(*wrong);
    for (Law::Factor& f : out.factors)
      if (const auto wrong = solve(f.value))
        return fail(*wrong);
    return out;
  }

  NoChain refusal(StmtId id, const std::string& why) const {
    return {kNoLaw, "In " + name_of(id) + " " + why};
  }

  std::optional<NoChain> add_statement(StmtId id, size_t q) {
    auto derived = derive_law(text(id).value, facts(id, q));
    if (!derived)
      return refusal(id, derived.error());
    const uint32_t tensor = text(id).tensor;
    if (derived->law.is_trivial())
      return std::nullopt;
    has_law_ = true;
    if (const auto refused = add_reference(id, *derived))
      return refused;
    if (const auto refused = check_factors(id, q, derived->law))
      return refused;
    chain_.values[id] = derived->value;
    auto law = law_by_element(id, derived->law);
    if (!law)
      return refusal(id, law.error());
    const ReduceOp op = text(id).op;
    if (op != ReduceOp::None && op != ReduceOp::Sum)
      return refusal(id, "`" + std::string(scalar::name_of(op)) +
                             "` does not let a factor through; only sums do.");
    if (reduced_.contains(tensor))
      return add_accumulator(id, q, *law);
    const auto [at, is_new] = scaled_.try_emplace(tensor, *law);
    if (!is_new && !equal(at->second, *law))
      return refusal(id, tensor_name(tensor) + " gets values that change by different factors.");
    return std::nullopt;
  }

  std::optional<NoChain> add_accumulator(StmtId id, size_t q, const Law& law) {
    const uint32_t tensor = text(id).tensor;
    for (const Accumulator& known : chain_.accumulators)
      if (known.tensor == tensor)
        return known.loop == q && equal(known.law, law)
                   ? std::nullopt
                   : std::optional(refusal(id, tensor_name(tensor) +
                                                   " gets sums that change by different factors."));
    chain_.accumulators.push_back({tensor, id, q, law});
    return std::nullopt;
  }

  /// Every exponential refers to one and the same maximum, and to a bounded exponent.
  std::optional<NoChain> add_reference(StmtId id, const Derived& derived) {
    for (const Exponent& exponent : derived.exponents) {
      const Reduced& reduced = reduced_.at(derived.law.reference);
      const StmtId extreme = reduced.updates.front();
      if (reduced.updates.size() != 1)
        return refusal(id, tensor_name(derived.law.reference) + " has several updates, " +
                               name_of(extreme) + " and " + name_of(reduced.updates[1]) + ".");
      if (chain_.extreme && *chain_.extreme != extreme)
        return refusal(id, "another maximum is needed than the one of " + name_of(*chain_.extreme) +
                               "; run them together one after the other.");
      chain_.extreme = extreme;
      chain_.extreme_loop = reduced.loop;
      if (const auto why =
              unbounded_exponent(scop_, order_, chain_.depth + 1, id, exponent, extreme))
        return refusal(id, *why);
    }
    return std::nullopt;
  }

  /// Factors are applied later than they are read now, so they must not change in between.
  std::optional<NoChain> check_factors(StmtId id, size_t q, const Law& law) {
    std::optional<NoChain> refused;
    for (const Law::Factor& f : law.factors)
      scalar::visit(f.value, [&](const Expr& e) {
        const auto* load = scalar::as<scalar::Load>(e);
        if (load == nullptr || refused)
          return;
        if (is_final(load->tensor, q) || scop_.tensors[load->tensor].role == program::Role::Input)
          used_.insert(load->tensor);
        else
          refused = refusal(id, "`" + to_string(e, poly::names_of(scop_, id)) +
                                    "` would be read after the loop, and it is no input.");
      });
    if (!law.rate.empty())
      used_.insert(law.reference);
    return refused;
  }

  /// Nothing else writes a result that is needed, once the loop began to compute it.
  std::optional<NoChain> check_final(uint32_t tensor, const Reduced& reduced) const {
    if (!used_.contains(tensor))
      return std::nullopt;
    for (const poly::Dependence& d : scop_.dependences)
      if (d.tensor == tensor && contains(reduced.updates, d.source) &&
          !contains(reduced.updates, d.sink) && text(d.sink).tensor == tensor &&
          !poly::tied_above(scop_, order_, d, chain_.depth).is_empty())
        return NoChain{kNoLaw, name_of(d.sink) + " writes " + tensor_name(tensor) + " after " +
                                   name_of(d.source) +
                                   ", so the loop does not end with its result."};
    return std::nullopt;
  }

  /// A temp that holds values computed with a running maximum lives within one iteration.
  std::optional<NoChain> check_scaled(uint32_t tensor) const {
    if (scop_.tensors[tensor].role != program::Role::Temp)
      return NoChain{kNoLaw,
                     tensor_name(tensor) +
                         " would hold values for a result that is not final, and it is no temp."};
    for (const poly::Access& access : poly::bare_accesses(scop_))
      if (access.tensor == tensor && !loop_of_.contains(access.statement))
        return NoChain{kNoLaw, name_of(access.statement) + " uses " + tensor_name(tensor) +
                                   ", which would hold values for a result that is not final. "
                                   "Bring it into the loops, or give it a copy of its own."};
    for (const auto& [id, q] : loop_of_)
      if (text(id).tensor == tensor && !chain_.values.contains(id) &&
          !is_zero_literal(text(id).value))
        return refusal(id, tensor_name(tensor) + " gets a value of another kind than elsewhere.");
    for (const poly::Dependence& d : scop_.dependences)
      if (d.tensor == tensor && d.kind == poly::DependenceKind::Flow &&
          !d.relation.is_subset(poly::tied_above(scop_, order_, d, chain_.depth + 1)))
        return NoChain{kNoLaw, name_of(d.sink) + " reads " + tensor_name(tensor) +
                                   " in another iteration of `" +
                                   order_[chain_.loops.front()].name + "` than " +
                                   name_of(d.source) + " writes it."};
    return std::nullopt;
  }

  std::optional<NoChain> check_accumulator(const Accumulator& a) const {
    const std::vector<StmtId>& updates = reduced_.at(a.tensor).updates;
    bool crosses = false;
    std::vector<StmtId> starts;
    for (const poly::Access& access : poly::bare_accesses(scop_)) {
      const StmtId id = access.statement;
      if (access.tensor != a.tensor || contains(updates, id))
        continue;
      if (access.is_write && (text(id).op != ReduceOp::None || !is_zero_literal(text(id).value)))
        return NoChain{kNoLaw, name_of(id) + " writes " + tensor_name(a.tensor) +
                                   " too. A sum that is corrected on the way must start from 0 and "
                                   "have no other parts."};
      if (access.is_write)
        starts.push_back(id);
      const auto in_loop = loop_of_.find(id);
      if (in_loop != loop_of_.end() && in_loop->second <= a.loop)
        return NoChain{kNoLaw, name_of(id) + " uses " + tensor_name(a.tensor) +
                                   " inside the loop, where it is not final."};
    }
    for (const poly::Dependence& d : scop_.dependences)
      if (d.tensor == a.tensor && contains(updates, d.source) && contains(updates, d.sink))
        crosses =
            crosses || !d.relation.is_subset(poly::tied_above(scop_, order_, d, chain_.depth));
    if (!starts_from_zero(a, starts, crosses ? chain_.depth : 0))
      return NoChain{kNoLaw, "It could not be shown that " + tensor_name(a.tensor) +
                                 " is 0 before " + name_of(a.update) + " adds to it."};
    return std::nullopt;
  }

  /// In every iteration of the first `depth` loops the elements that the sum adds to were set to
  /// zero.
  bool starts_from_zero(const Accumulator& a, const std::vector<StmtId>& starts,
                        size_t depth) const {
    const auto elements = [&](StmtId id) {
      const std::vector<Expr>& rows = order_.rows[id.value];
      std::vector<Expr> keys(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(depth));
      keys.insert(keys.end(), text(id).index.begin(), text(id).index.end());
      return map_of(keys, scop_[id].domain, scop_.params).range();
    };
    isl::set needed;
    for (const StmtId id : reduced_.at(a.tensor).updates)
      needed = needed.is_null() ? elements(id) : needed.unite(elements(id));
    for (const StmtId start : starts) {
      if (depth > 0 && poly::meet(order_, start, a.update).shared_loops < depth)
        continue;
      for (const StmtId update : reduced_.at(a.tensor).updates)
        for (const poly::Dependence& d : scop_.dependences)
          if (d.tensor == a.tensor && d.source == update && d.sink == start &&
              !poly::tied_above(scop_, order_, d, depth).is_empty())
            return false;
      needed = needed.subtract(elements(start));
    }
    return needed.is_empty();
  }

  const Scop& scop_;
  const poly::Order& order_;
  Chain chain_;
  std::vector<std::vector<StmtId>> below_;
  std::map<StmtId, size_t> loop_of_;
  std::map<uint32_t, Reduced> reduced_;
  std::map<uint32_t, Law> scaled_; ///< laws of temps, over their index
  std::set<uint32_t> used_;        ///< reductions whose results laws refer to
  bool has_law_ = false;
};

} // namespace

Result<Chain, NoChain> find_chain(const Schedule& schedule, std::vector<LoopId> loops) {
  return Finder(schedule, std::move(loops)).chain();
}

} // namespace kawara::schedule
