#include "schedule/tree/extent.h"

#include "poly/syntactic/prover.h"

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::Scop;

bool is_rectangular_block(const Scop& scop, const Order& order, LoopId outer, LoopId inner) {
  const poly::Answer seen = poly::SyntacticProver(scop).is_rectangle(order, outer, inner);
  if (seen != poly::Answer::Unknown)
    return seen == poly::Answer::Yes;
  return poly::is_rectangle(loop_values(scop, order, inner), *poly::depth_of(order, outer),
                            *poly::depth_of(order, inner));
}

std::optional<ConstantRange> constant_range(const Scop& scop, const Order& order, LoopId loop) {
  if (const auto range = poly::SyntacticProver(scop).range(order, loop))
    return range;
  return poly::ends_of_values(loop_values(scop, order, loop), *poly::depth_of(order, loop));
}

std::optional<int64_t> longest_run(const Scop& scop, const Order& order, LoopId loop) {
  const poly::SyntacticProver text(scop);
  auto run = text.longest_run(order, loop);
  if (run && (*run <= kUnknownExtent || scop.params.empty() || text.range(order, loop)))
    return run;
  const isl::set values = loop_values(scop, order, loop);
  const size_t depth = *poly::depth_of(order, loop);
  if (!run)
    run = poly::longest_run(values, depth);
  const bool is_bound = run && *run > kUnknownExtent && !scop.params.empty() &&
                        poly::run_depends_on_params(values, depth);
  return is_bound ? std::nullopt : run;
}

} // namespace kawara::schedule
