#include "validate/happens_before.h"

#include "poly/affine.h"
#include "poly/isl/compare.h"
#include "poly/isl/dimensions.h"
#include "poly/isl/text.h"
#include "poly/proof_cache.h"
#include "poly/syntactic/prover.h"

#include <algorithm>
#include <map>

namespace kawara::validate {
namespace {

using Kind = Step::Kind;

/// Where two runs part: the loops they share, and what comes first in the block where they stand
/// side by side.
struct Parting {
  std::vector<Step> loops;
  enum class Side : uint8_t { First, Second, Same } side = Side::Same; ///< who comes first
  bool is_mixed = false; ///< copies of the one stand between copies of the other
};

Parting parting_of(const Run& a, const Run& b) {
  Parting result;
  for (size_t n = 0; n < std::min(a.path.size(), b.path.size()); ++n) {
    const Step &x = a.path[n], &y = b.path[n];
    const bool ends_a = n + 1 == a.path.size(), ends_b = n + 1 == b.path.size();
    if (x.kind == Kind::Position && (ends_a || ends_b)) {
      const uint32_t last_a = ends_a ? a.last_copy : x.at, last_b = ends_b ? b.last_copy : y.at;
      result.is_mixed = x.at <= last_b && y.at <= last_a;
      // The statement itself comes before what is in its blocks (kernel::Allocate).
      if (x.at == y.at && last_a == last_b && ends_a != ends_b)
        result.is_mixed = false;
      if (!result.is_mixed)
        result.side =
            x.at < y.at || (x.at == y.at && ends_a) ? Parting::Side::First : Parting::Side::Second;
      return result;
    }
    if (x.kind == Kind::Position && x.at != y.at) {
      result.side = x.at < y.at ? Parting::Side::First : Parting::Side::Second;
      return result;
    }
    if (x.kind != Kind::Position)
      result.loops.push_back(x);
  }
  return result;
}

bool has_threads(const Parting& parting) {
  return std::any_of(parting.loops.begin(), parting.loops.end(),
                     [](const Step& step) { return step.kind == Kind::Thread; });
}

class Order {
public:
  Order(const poly::Scop& scop, const Runs& runs, Report& report)
      : scop_(scop), runs_(runs), report_(report) {}

  bool check() {
    for (const poly::Dependence& dependence : scop_.dependences) {
      // Integers give the same in every order: instructions add up several of them at once.
      if (dependence.is_reduction && (scop_.numerics != program::Numerics::Exact ||
                                      scalar::is_integer(scop_.tensors[dependence.tensor].elem)))
        continue;
      ties_.reset();
      same_.clear();
      for (const Run& a : runs_.all)
        for (const Run& b : runs_.all)
          if (a.statement == dependence.source.value && b.statement == dependence.sink.value &&
              ((a.is_then && b.is_then) || (a.is_otherwise && b.is_otherwise)))
            check_pair(dependence, a, b);
    }
    return is_decided_;
  }

private:
  void check_pair(const poly::Dependence& dependence, const Run& a, const Run& b) {
    const Parting parting = parting_of(a, b);
    const bool is_launch = has_threads(parting);
    // Stages of a pipeline have storage of their own: what is read from one is not overwritten by
    // the next copy.
    if (is_launch && dependence.kind != poly::DependenceKind::Flow &&
        scop_.tensors[dependence.tensor].role == program::Role::Temp)
      return;
    // Between instances where both say how they go back to loops; else between the loops
    // themselves.
    const bool is_back = a.inverse && b.inverse;
    // Loops in which both always are in the same iteration decide nothing. Threads go in step, as
    // far as barriers make them.
    const auto decides_nothing = [&](const Step& loop) {
      return loop.kind == Kind::Thread ||
             (is_back && is_one_iteration(dependence, a.inverse->dimensions[loop.at],
                                          b.inverse->dimensions[loop.at]));
    };
    std::vector<Step> loops;
    for (const Step& loop : parting.loops)
      if (!decides_nothing(loop))
        loops.push_back(loop);
    if (loops.empty() && parting.side == Parting::Side::First)
      return;
    const isl::map dependent =
        is_back
            ? dependence.relation.intersect_domain(*a.range).intersect_range(*b.range)
            : a.instances().apply_range(dependence.relation).apply_range(b.instances().reverse());
    if (dependent.is_empty())
      return;
    const isl::space pairs = poly::points_of_pairs(dependent.space());
    const auto before = [&](const Step& loop) {
      return is_back ? function_of(a.inverse->dimensions[loop.at], 0, pairs)
                     : poly::dimension_function(pairs, loop.at);
    };
    const auto after = [&](const Step& loop) {
      return is_back ? function_of(b.inverse->dimensions[loop.at], poly::dimension_count(*a.range),
                                   pairs)
                     : poly::dimension_function(pairs, poly::dimension_count(a.domain()) + loop.at);
    };
    isl::map tied = dependent;
    for (const Step& loop : loops) {
      isl::map late = tied.intersect(poly::greater_map(before(loop), after(loop)));
      if (loop.kind == Kind::Parallel)
        late = late.unite(tied.intersect(poly::less_map(before(loop), after(loop))));
      if (!late.is_empty())
        return fault(dependence, a, b, late,
                     loop.kind == Kind::Parallel ? "may run in another order: iterations of a "
                                                   "parallel loop depend on each other"
                                                 : "run in another order");
      tied = tied.intersect(poly::equal_map(before(loop), after(loop)));
    }
    if (parting.side == Parting::Side::First || tied.is_empty())
      return;
    // The lanes of a scan hand on what they make, each to the next.
    if (&a == &b && a.scanned_lane && dependence.kind == poly::DependenceKind::Flow) {
      const Step lane{Kind::Serial, *a.scanned_lane};
      tied = tied.subtract(poly::equal_map(before(lane).add_constant(1), after(lane)));
      if (tied.is_empty())
        return;
    }
    // Lanes all read before one writes.
    if (&a == &b && dependence.kind == poly::DependenceKind::Anti &&
        a.path.back().at == a.last_copy)
      return;
    if (parting.is_mixed && (a.path.back().at != a.last_copy || b.path.back().at != b.last_copy))
      is_decided_ = false;
    else
      fault(dependence, a, b, tied, "run in another order");
  }

  /// Of the dependence that is looked at.
  const poly::Equalities& equalities_of(const poly::Dependence& dependence) {
    if (!ties_)
      ties_ =
          dependence.shown && dependence.shown->equalities
              ? dependence.shown->equalities
              : std::make_shared<const poly::Equalities>(poly::SyntacticProver(scop_).equalities_of(
                    dependence.relation, dependence.source, dependence.sink));
    return *ties_;
  }

  /// Whether the two functions have one value in every pair of the dependence; asked once for all
  /// runs.
  bool is_one_iteration(const poly::Dependence& dependence, const scalar::Expr& of_source,
                        const scalar::Expr& of_sink) {
    const auto [known, is_new] =
        same_.try_emplace({scalar::hash_of(of_source), scalar::hash_of(of_sink)}, false);
    if (!is_new)
      return known->second;
    if (poly::SyntacticProver(scop_).are_equal(equalities_of(dependence), of_source, of_sink) ==
        poly::Answer::Yes)
      return known->second = true;
    const isl::space pairs = poly::points_of_pairs(dependence.relation.space());
    const isl::aff source = function_of(of_source, 0, pairs),
                   sink = function_of(of_sink, source_dimensions(dependence), pairs);
    const bool differ = !dependence.relation.intersect(poly::less_map(source, sink)).is_empty() ||
                        !dependence.relation.intersect(poly::greater_map(source, sink)).is_empty();
    return known->second = !differ;
  }

  uint32_t source_dimensions(const poly::Dependence& dependence) const {
    return static_cast<uint32_t>(scop_.statements[dependence.source.value].text.iters.size());
  }

  /// Of an instance whose iterators begin at dimension `first` of the pairs.
  isl::aff function_of(const scalar::Expr& e, uint32_t first, const isl::space& pairs) const {
    const scalar::Expr there = scalar::rewrite(e, [&](const scalar::Expr& n) -> scalar::Expr {
      const auto* iter = scalar::as<scalar::Iter>(n);
      return iter != nullptr ? scalar::iter(iter->index + first) : scalar::Expr();
    });
    return *poly::plain_function(there, pairs, scop_.params);
  }

  void fault(const poly::Dependence& dependence, const Run& a, const Run& b, const isl::map& pairs,
             const std::string& what) {
    const isl::map instances =
        a.inverse && b.inverse
            ? pairs
            : a.instances().reverse().apply_range(pairs).apply_range(b.instances());
    const isl::map broken = instances.intersect(dependence.relation);
    report_.faults.push_back(std::string(poly::name_of(dependence.kind)) + " of " +
                             scop_.tensors[dependence.tensor].name + ": " + what + ": " +
                             poly::text_of(isl::map(broken.lexmin())));
  }

  const poly::Scop& scop_;
  const Runs& runs_;
  Report& report_;
  std::shared_ptr<const poly::Equalities> ties_;
  std::map<std::pair<uint64_t, uint64_t>, bool> same_; ///< functions of source and sink, by hash
  bool is_decided_ = true;
};

} // namespace

bool check_order(const poly::Scop& scop, const Runs& runs, Report& report) {
  return Order(scop, runs, report).check();
}

} // namespace kawara::validate
