#include "validate/runs.h"

#include "poly/affine.h"
#include "validate/conditions.h"

#include <algorithm>
#include <map>

namespace kawara::validate {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::int_lit;

constexpr const char* kTuple = "run";

/// { x -> y } of a run's domain to its first `count` dimensions.
isl::map first_dimensions(const poly::Scop& scop, const isl::set& domain, size_t count) {
  std::vector<Expr> functions;
  for (uint32_t d = 0; d < count; ++d)
    functions.push_back(scalar::iter(d));
  const isl::set range =
      poly::statement_universe(scop.context_owner->get(), scop.params, "outside", count);
  return poly::map_from_exprs(functions, domain, range, scop.params);
}

uint32_t thread_x(const std::vector<Step>& path) {
  const auto found = std::find_if(path.begin(), path.end(),
                                  [](const Step& step) { return step.kind == Step::Kind::Thread; });
  return found->at;
}

class Maker {
public:
  Maker(const poly::Scop& scop, const Reading& reading, bool joins_copies, bool goes_back)
      : scop_(scop), reading_(reading), joins_copies_(joins_copies), goes_back_(goes_back) {
    runs_.unread_statements = reading.unread_statements;
  }

  Runs make() {
    std::vector<size_t> first; // run of each group
    std::vector<std::pair<Leaf, const BlockPlace*>> leaves;
    for (const Group& group : reading_.groups) {
      first.push_back(runs_.all.size());
      for (Leaf& leaf :
           joins_copies_ ? group.copies.joined(group.place->loops) : group.copies.apart()) {
        add_run(leaf, *group.place);
        leaves.emplace_back(std::move(leaf), group.place.get());
      }
    }
    first.push_back(runs_.all.size());
    const bool all_go_back = std::all_of(runs_.all.begin(), runs_.all.end(),
                                         [](const Run& run) { return run.inverse.has_value(); });
    for (size_t r = 0; r < leaves.size() && (!all_go_back || !reading_.arms.empty()); ++r)
      add_domain(leaves[r].first, *leaves[r].second, runs_.all[r]);
    for (const Arms& arms : reading_.arms)
      compare(first[arms.first], first[arms.middle], first[arms.end], arms.loops);
    return std::move(runs_);
  }

private:
  void compare(size_t first, size_t middle, size_t end, size_t loops) {
    std::map<uint32_t, std::pair<isl::map, isl::map>> arms;
    for (size_t r = first; r < end; ++r) {
      const Run& run = runs_.all[r];
      const isl::map from_outside =
          first_dimensions(scop_, *run.domain, loops).reverse().apply_range(*run.instances);
      auto& [then, otherwise] = arms[run.statement];
      isl::map& side = r < middle ? then : otherwise;
      side = side.is_null() ? from_outside : side.unite(from_outside);
    }
    for (const auto& [statement, sides] : arms) {
      const auto& [then, otherwise] = sides;
      if (then.is_null() || otherwise.is_null() || !then.is_equal(otherwise))
        runs_.faults.push_back("the arms of a condition on data run different instances of " +
                               scop_.statements[statement].text.name);
    }
  }

  /// Points of the loops around a block, with `points` more dimensions: made once for all its statements.
  isl::set domain_of(const BlockPlace& place, size_t points) {
    if (place_ != &place) {
      place_ = &place;
      domains_.clear();
    }
    const auto known = domains_.find(points);
    if (known != domains_.end())
      return known->second;
    isl::set domain = poly::statement_universe(scop_.context_owner->get(), scop_.params, kTuple,
                                               place.loops + points)
                          .intersect_params(scop_.context);
    for (const Expr& condition : place.conditions)
      domain = restricted(domain, condition, scop_.params);
    domains_[points] = domain;
    return domain;
  }

  void add_run(const Leaf& leaf, const BlockPlace& place) {
    Run run;
    run.statement = leaf.statement;
    run.path = place.path;
    run.path.push_back({Step::Kind::Position, leaf.position});
    run.last_copy = leaf.last;
    run.is_padded = leaf.is_padded;
    run.is_per_thread = leaf.is_per_thread;
    run.is_then = place.is_then;
    run.is_otherwise = place.is_otherwise;
    if (goes_back_)
      add_inverse(leaf, place, universe_of(leaf), run);
    runs_.all.push_back(std::move(run));
  }

  isl::set universe_of(const Leaf& leaf) const {
    return poly::statement_universe(scop_.context_owner->get(), scop_.params,
                                    scop_.statements[leaf.statement].text.name, leaf.iters.size());
  }

  void add_domain(const Leaf& leaf, const BlockPlace& place, Run& run) {
    isl::set domain = domain_of(place, leaf.points.size());
    const auto restrict = [&](const Expr& condition) {
      domain = restricted(domain, condition, scop_.params);
    };
    if (leaf.is_per_thread)
      restrict(binary(BinaryOp::Eq, scalar::iter(thread_x(place.path)), int_lit(0)));
    for (size_t n = 0; n < leaf.points.size(); ++n) {
      const Expr point = scalar::iter(static_cast<uint32_t>(place.loops + n));
      restrict(binary(BinaryOp::Ge, point, int_lit(0)));
      restrict(binary(BinaryOp::Lt, point, leaf.points[n]));
    }
    run.domain = domain;
    run.instances = poly::map_from_exprs(leaf.iters, domain, universe_of(leaf), scop_.params);
  }

  /// The instances as conditions on themselves, in functions of them: far cheaper than the image of the dimensions, of which isl has to
  /// eliminate each.
  void add_inverse(const Leaf& leaf, const BlockPlace& place, const isl::set& universe,
                   Run& run) const {
    DimensionRanges ranges = ranges_in(place.conditions);
    for (uint32_t n = 0; n < leaf.points.size(); ++n)
      if (const auto count = scalar::constant_of(leaf.points[n]))
        ranges[static_cast<uint32_t>(place.loops) + n] = {0, *count - 1};
    if (leaf.is_per_thread)
      ranges[thread_x(place.path)] = {0, 0};
    run.inverse = inverse_of(leaf.iters, place.loops + leaf.points.size(), ranges);
    if (!run.inverse)
      return;
    const auto back = [&](const Expr& e) {
      return scalar::simplify(scalar::substitute_iters(e, run.inverse->dimensions));
    };
    isl::set all = universe.intersect_params(scop_.context);
    const auto restrict = [&](const Expr& condition) {
      const Expr there = back(condition);
      if (scalar::constant_of(there) != 1)
        all = restricted(all, there, scop_.params);
    };
    for (const Expr& condition : place.conditions)
      restrict(condition);
    for (uint32_t n = 0; n < leaf.points.size(); ++n) {
      const Expr point = scalar::iter(static_cast<uint32_t>(place.loops) + n);
      restrict(binary(BinaryOp::Ge, point, int_lit(0)));
      restrict(binary(BinaryOp::Lt, point, leaf.points[n]));
    }
    for (uint32_t d = 0; d < leaf.iters.size(); ++d)
      if (!run.inverse->is_sum_of_digits[d])
        all = restricted(all, binary(BinaryOp::Eq, scalar::iter(d), back(leaf.iters[d])),
                         scop_.params);
    run.range = all;
  }

  const poly::Scop& scop_;
  const Reading& reading_;
  bool joins_copies_, goes_back_;
  Runs runs_;
  const BlockPlace* place_ = nullptr;
  std::map<size_t, isl::set> domains_; ///< of that place, by the number of points
};

} // namespace

Runs runs_of(const poly::Scop& scop, const Reading& reading, bool joins_copies, bool goes_back) {
  return Maker(scop, reading, joins_copies, goes_back).make();
}

} // namespace kawara::validate
