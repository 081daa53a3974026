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
  if (const auto run = poly::SyntacticProver(scop).longest_run(order, loop))
    return run;
  return poly::longest_run(loop_values(scop, order, loop), *poly::depth_of(order, loop));
}

std::optional<int64_t> known_run(const Scop& scop, const Order& order, LoopId loop) {
  const auto run = longest_run(scop, order, loop);
  const bool may_be_bound = run && *run > kUnknownExtent && !scop.params.empty() &&
                            !poly::SyntacticProver(scop).range(order, loop);
  const bool is_bound = may_be_bound && poly::run_depends_on_params(loop_values(scop, order, loop),
                                                                    *poly::depth_of(order, loop));
  return is_bound ? std::nullopt : run;
}

} // namespace kawara::schedule
