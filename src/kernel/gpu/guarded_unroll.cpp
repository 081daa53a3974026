#include "kernel/gpu/guarded_unroll.h"

#include "kernel/analysis/intervals.h"
#include "kernel/analysis/ranges.h"
#include "kernel/loops/unroll.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using scalar::int_lit;

/// Iterations that every thread has, and that any has.
struct Trips {
  int64_t least = 0, most = 0;
};

class UnequalLoops {
public:
  UnequalLoops(Kernel& kernel, const Launch& launch) : kernel_(kernel) { intervals_.enter(launch); }

  Block replaced(const Block& block) {
    return rewrite_scoped(
        block, intervals_, [](const Stmt&) {},
        [&](For loop) {
          const auto trips = unequal_trips(loop);
          return trips ? copies(loop, *trips) : block_of(std::move(loop));
        });
  }

private:
  std::optional<Trips> unequal_trips(const For& loop) const {
    const auto first = scalar::constant_of(loop.lo);
    if (loop.marks.unroll != poly::kFullUnroll || loop.marks.vector_width != 0 ||
        !loop.marks.instruction.empty() || loop.step != 1 || !first || trip_count(loop))
      return std::nullopt;
    const scalar::Bounds end = intervals_.of(loop.hi);
    if (!end.low || !end.high || *end.low < *first || *end.high - *end.low > kMostUnequal)
      return std::nullopt;
    const auto size = static_cast<int64_t>(count_of(loop.body));
    const Trips trips = {*end.low - *first, *end.high - *first};
    return trips.most * size <= kMaxCopies ? std::optional(trips) : std::nullopt;
  }

  Block copies(const For& loop, const Trips& trips) {
    Block all = copies_of_body(kernel_, loop, loop.lo, trips.least);
    for (int64_t turn = trips.least; turn < trips.most; ++turn) {
      const Expr at = scalar::simplify(loop.lo + int_lit(turn));
      Block body = substitute_var(with_fresh_defines(kernel_, loop.body), loop.var, at);
      all.emplace_back(If{scalar::binary(scalar::BinaryOp::Lt, at, loop.hi), std::move(body), {}});
    }
    return all;
  }

  Kernel& kernel_;
  Intervals intervals_;
};

} // namespace

Kernel guarded_unroll(Kernel kernel, const Launch& launch) {
  kernel.body = UnequalLoops(kernel, launch).replaced(kernel.body);
  return kernel;
}

} // namespace kawara::kernel
