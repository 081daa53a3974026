#include "oracle/proposal.h"

#include "schedule/auto/auto.h"
#include "schedule/legality/known_elements.h"
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
  if (auto refused = refuse_unknown_elements(schedule, directive))
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
