#include "schedule/legality/require_legal.h"

#include "schedule/legality/request.h"
#include "schedule/tree/innermost.h"

namespace kawara::schedule {

Result<Schedule, Refusal> require_legal(const Schedule& before, Proposal proposal,
                                        const Directive& directive,
                                        const Environment& environment) {
  if (auto refused = refuse_outer_vector_loop(proposal.scop, proposal.order, request_of(directive)))
    return fail(Refusal{directive, *std::move(refused), {}});
  poly::Verdict verdict = poly::judge(proposal.scop, proposal.order, environment.quota);
  const auto refuse = [&](auto why) {
    return fail(Refusal{directive,
                        Refusal::Judged{std::move(proposal.scop), before.order,
                                        std::move(proposal.order), std::move(why)},
                        {}});
  };
  if (auto* illegal = std::get_if<poly::Illegal>(&verdict))
    return refuse(std::move(*illegal));
  if (auto* undecided = std::get_if<poly::Undecided>(&verdict))
    return refuse(std::move(*undecided));
  Schedule after{std::move(proposal.scop), std::move(proposal.order), before.applied,
                 std::move(proposal.begun)};
  after.applied.push_back(directive);
  return after;
}

} // namespace kawara::schedule
