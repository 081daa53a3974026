#include "poly/isl/context.h"
#include "poly/isl/pieces.h"
#include "schedule/auto/auto.h"
#include "schedule/legality/known_elements.h"
#include "schedule/legality/require_legal.h"
#include "schedule/loops/arrange.h"
#include "schedule/loops/coalesce.h"
#include "schedule/loops/cut.h"
#include "schedule/loops/distribute.h"
#include "schedule/loops/extend.h"
#include "schedule/loops/fuse.h"
#include "schedule/loops/interchange.h"
#include "schedule/loops/isolate.h"
#include "schedule/loops/reorder.h"
#include "schedule/loops/reverse.h"
#include "schedule/loops/shift.h"
#include "schedule/loops/skew.h"
#include "schedule/loops/split.h"
#include "schedule/loops/tile.h"
#include "schedule/loops/unroll_and_jam.h"
#include "schedule/marks/bind.h"
#include "schedule/marks/parallel.h"
#include "schedule/marks/pipeline.h"
#include "schedule/marks/prefetch.h"
#include "schedule/marks/tensorize.h"
#include "schedule/marks/unroll.h"
#include "schedule/marks/vectorize.h"
#include "schedule/reductions/online.h"
#include "schedule/reductions/rfactor.h"
#include "schedule/storage/compute_at.h"
#include "schedule/storage/fold.h"
#include "schedule/storage/inline.h"
#include "schedule/storage/layout.h"
#include "schedule/storage/pack.h"
#include "schedule/storage/pad.h"
#include "schedule/storage/promote.h"
#include "schedule/storage/stage.h"
#include "schedule/storage/store_at.h"
#include "schedule/storage/store_in.h"
#include "schedule/unproved.h"

#include <optional>

namespace kawara::schedule {
namespace {

constexpr unsigned long kQuotaOfProposal = 4; ///< in quotas of the judge

Proposed propose_any(const Schedule& schedule, const Directive& directive,
                     const Environment& environment);

/// The members one after another, none of them judged.
Proposed propose(const Schedule& schedule, const Group& group, const Environment& environment) {
  Schedule at = schedule;
  for (const Directive& member : group.members) {
    KAWARA_TRY(Proposal proposal, propose_any(at, member, environment));
    at.scop = std::move(proposal.scop);
    at.order = std::move(proposal.order);
    at.applied.push_back(member);
  }
  return Proposal{std::move(at.scop), std::move(at.order)};
}

Proposed propose_any(const Schedule& schedule, const Directive& directive,
                     const Environment& environment) {
  if (auto refused = refuse_unknown_elements(schedule, directive))
    return fail(*std::move(refused));
  return std::visit([&](const auto& d) { return propose(schedule, d, environment); }, directive);
}

} // namespace

Result<Schedule, Refusal> apply(const Schedule& schedule, const Directive& directive,
                                const Environment& environment) {
  std::optional<Proposed> proposed;
  // The sets of a proposal can be far harder than the question whether it is legal.
  const unsigned long quota = kQuotaOfProposal * environment.quota;
  const bool finished = poly::within_quota(*schedule.scop.context_owner, quota, [&] {
    proposed.emplace(propose_any(schedule, directive, environment));
  });
  if (!finished) {
    const poly::Undecided why{"what it would make takes more than " + std::to_string(quota) +
                              " operations on integer sets, or sets of more than " +
                              std::to_string(poly::kMostDivisions) + " divisions"};
    return fail(Refusal{
        directive, Refusal::Judged{schedule.scop, schedule.order, schedule.order, why}, {}});
  }
  if (!*proposed)
    return fail(Refusal{directive, std::move(*proposed).error(), {}});
  return require_legal(schedule, *std::move(*proposed), directive, environment);
}

Result<Schedule, Refusal> apply(const Schedule& schedule, const std::vector<Directive>& directives,
                                const Environment& environment) {
  Schedule at = schedule;
  for (const Directive& directive : directives) {
    auto next = apply(at, directive, environment);
    if (!next) {
      Refusal refusal = std::move(next).error();
      refusal.after.assign(at.applied.begin() +
                               static_cast<std::ptrdiff_t>(schedule.applied.size()),
                           at.applied.end());
      return fail(std::move(refusal));
    }
    at = *std::move(next);
  }
  return at;
}

Result<Schedule, Refusal> unproved(const Schedule& schedule,
                                   const std::vector<Directive>& directives,
                                   const Environment& environment) {
  Schedule at = schedule;
  for (const Directive& directive : directives) {
    Proposed next = propose_any(at, directive, environment);
    if (!next)
      return fail(Refusal{directive, std::move(next).error(), {}});
    at.scop = std::move(next->scop);
    at.order = std::move(next->order);
    at.applied.push_back(directive);
  }
  return at;
}

} // namespace kawara::schedule
