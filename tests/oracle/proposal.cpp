#include "oracle/proposal.h"

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
#include "schedule/unroll.h"
#include "schedule/unroll_and_jam.h"
#include "schedule/vectorize.h"

#include <algorithm>

namespace kawara::oracle {

using namespace schedule;

namespace {

template <class D, class... Others> constexpr bool is_any_of = (std::is_same_v<D, Others> || ...);

Proposed proposal_of_group(Schedule schedule, const Group& group, const Environment& environment) {
  for (const Directive& member : group.members) {
    KAWARA_TRY(Proposal made, proposal_of(schedule, member, environment));
    schedule.scop = std::move(made.scop);
    schedule.order = std::move(made.order);
  }
  return Proposal{std::move(schedule.scop), std::move(schedule.order)};
}

} // namespace

Proposed proposal_of(const Schedule& schedule, const Directive& directive,
                     const Environment& environment) {
  if (auto refused = refuse_unknown_cells(schedule, directive))
    return fail(*std::move(refused));
  return std::visit(
      [&](const auto& d) -> Proposed {
        using D = std::decay_t<decltype(d)>;
        if constexpr (std::is_same_v<D, Group>)
          return proposal_of_group(schedule, d, environment);
        else
          return propose(schedule, d, environment);
      },
      directive);
}

bool rewrites_statements(const Directive& directive) {
  if (const auto* group = std::get_if<Group>(&directive))
    return std::any_of(group->members.begin(), group->members.end(), rewrites_statements);
  return std::visit(
      []<class D>(const D&) {
        return is_any_of<D, Cut, Inline, ComputeAt, Stage, Pack, StoreAt, StoreIn, Layout, Pad,
                         Extend, Fold, Promote, Rfactor, Online, Auto>;
      },
      directive);
}

} // namespace kawara::oracle
