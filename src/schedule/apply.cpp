#include "poly/isl/context.h"
#include "poly/isl/pieces.h"
#include "schedule/auto.h"
#include "schedule/bind.h"
#include "schedule/coalesce.h"
#include "schedule/compute_at.h"
#include "schedule/cut.h"
#include "schedule/distribute.h"
#include "schedule/extend.h"
#include "schedule/fold.h"
#include "schedule/fuse.h"
#include "schedule/inline.h"
#include "schedule/interchange.h"
#include "schedule/isolate.h"
#include "schedule/known_cells.h"
#include "schedule/layout.h"
#include "schedule/online.h"
#include "schedule/pack.h"
#include "schedule/pad.h"
#include "schedule/parallel.h"
#include "schedule/pipeline.h"
#include "schedule/prefetch.h"
#include "schedule/promote.h"
#include "schedule/reorder.h"
#include "schedule/require_legal.h"
#include "schedule/reverse.h"
#include "schedule/rfactor.h"
#include "schedule/shift.h"
#include "schedule/skew.h"
#include "schedule/split.h"
#include "schedule/stage.h"
#include "schedule/store_at.h"
#include "schedule/store_in.h"
#include "schedule/tensorize.h"
#include "schedule/tile.h"
#include "schedule/unproved.h"
#include "schedule/unroll.h"
#include "schedule/unroll_and_jam.h"
#include "schedule/vectorize.h"

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
  if (auto refused = refuse_unknown_cells(schedule, directive))
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
