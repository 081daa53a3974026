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

isl::set universe_of(const poly::Scop& scop, const Leaf& leaf) {
  return poly::statement_universe(scop.context_owner->get(), scop.params,
                                  scop.statements[leaf.statement].text.name, leaf.iters.size());
}

class Maker {
public:
  Maker(const poly::Scop& scop, const DomainFacts& reading, bool joins_copies, bool goes_back)
      : scop_(scop), reading_(reading), joins_copies_(joins_copies), goes_back_(goes_back) {
    runs_.unread_statements = reading.unread_statements;
  }

  Runs make() {
    std::vector<size_t> first; // run of each group
    for (const Group& group : reading_.groups) {
      first.push_back(runs_.all.size());
      for (const Leaf& leaf : joins_copies_ ? group.copies.joined(group.place->loops)
                                            : group.copies.run_in_subprocess()) {
        add_run(leaf, group.place);
      }
    }
    first.push_back(runs_.all.size());
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
          first_dimensions(scop_, run.domain(), loops).reverse().apply_range(run.instances());
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

  void add_run(const Leaf& leaf, const std::shared_ptr<const BlockPlace>& at) {
    const BlockPlace& place = *at;
    Run run;
    run.statement = leaf.statement;
    run.path = place.path;
    run.path.push_back({Step::Kind::Position, leaf.position});
    run.last_copy = leaf.last;
    run.is_padded = leaf.is_padded;
    run.is_per_thread = leaf.is_per_thread;
    if (leaf.is_scan && !leaf.points.empty())
      run.scanned_lane = static_cast<uint32_t>(place.loops + leaf.points.size() - 1);
    run.is_then = place.is_then;
    run.is_otherwise = place.is_otherwise;
    run.sets = std::make_shared<LoopSets>(scop_, leaf, at, loops_);
    if (goes_back_)
      add_inverse(leaf, place, universe_of(scop_, leaf), run);
    runs_.all.push_back(std::move(run));
  }

  /// The instances as conditions on themselves, in functions of them: far cheaper than the image of
  /// the dimensions, of which isl has to eliminate each.
  void add_inverse(const Leaf& leaf, const BlockPlace& place, const isl::set& universe,
                   Run& run) const {
    DimensionRanges ranges = ranges_in(place.conditions);
    for (uint32_t n = 0; n < leaf.points.size(); ++n)
      if (const auto most = scalar::bounds_of(leaf.points[n]).high)
        ranges[static_cast<uint32_t>(place.loops) + n] = {0, *most - 1};
    if (leaf.is_per_thread)
      ranges[thread_x(place.path)] = {0, 0};
    run.inverse = inverse_of(leaf.iters, place.loops + leaf.points.size(), ranges,
                             steps_in(place.conditions));
    if (!run.inverse)
      return;
    isl::set all = universe.intersect_params(scop_.context);
    const auto restrict_to = [&](const Expr& there) {
      if (scalar::constant_of(there) != 1)
        all = restricted(all, there, scop_.params);
    };
    const auto restrict = [&](const Expr& condition) {
      restrict_to(run.inverse->of_instance(condition));
    };
    for (const Expr& condition : run.inverse->conditions())
      restrict_to(scalar::simplify(condition));
    for (const Expr& condition : place.conditions)
      restrict(condition);
    for (uint32_t n = 0; n < leaf.points.size(); ++n) {
      const Expr point = scalar::iter(static_cast<uint32_t>(place.loops) + n);
      restrict(binary(BinaryOp::Ge, point, int_lit(0)));
      restrict(binary(BinaryOp::Lt, point, leaf.points[n]));
    }
    for (uint32_t d = 0; d < leaf.iters.size(); ++d)
      if (!run.inverse->is_sum_of_digits[d])
        restrict_to(binary(BinaryOp::Eq, scalar::iter(d), run.inverse->of_instance(leaf.iters[d])));
    run.range = all;
  }

  const poly::Scop& scop_;
  const DomainFacts& reading_;
  bool joins_copies_, goes_back_;
  Runs runs_;
  std::shared_ptr<LoopSets::Shared> loops_ = std::make_shared<LoopSets::Shared>();
};

} // namespace

isl::set LoopSets::points_of_loops() {
  const size_t points = leaf_.points.size();
  const auto known = shared_->find({place_.get(), points});
  if (known != shared_->end())
    return known->second;
  isl::set all = poly::statement_universe(scop_.context_owner->get(), scop_.params, kTuple,
                                          place_->loops + points)
                     .intersect_params(scop_.context);
  for (const Expr& condition : place_->conditions)
    all = restricted(all, condition, scop_.params);
  shared_->emplace(std::pair(place_.get(), points), all);
  return all;
}

const isl::set& LoopSets::domain() {
  if (domain_)
    return *domain_;
  isl::set all = points_of_loops();
  const auto restrict = [&](const Expr& condition) {
    all = restricted(all, condition, scop_.params);
  };
  if (leaf_.is_per_thread)
    restrict(binary(BinaryOp::Eq, scalar::iter(thread_x(place_->path)), int_lit(0)));
  for (size_t n = 0; n < leaf_.points.size(); ++n) {
    const Expr point = scalar::iter(static_cast<uint32_t>(place_->loops + n));
    restrict(binary(BinaryOp::Ge, point, int_lit(0)));
    restrict(binary(BinaryOp::Lt, point, leaf_.points[n]));
  }
  domain_ = all;
  return *domain_;
}

const isl::map& LoopSets::instances() {
  if (!instances_)
    instances_ =
        poly::map_from_exprs(leaf_.iters, domain(), universe_of(scop_, leaf_), scop_.params);
  return *instances_;
}

Runs runs_of(const poly::Scop& scop, const DomainFacts& reading, bool joins_copies,
             bool goes_back) {
  return Maker(scop, reading, joins_copies, goes_back).make();
}

} // namespace kawara::validate
