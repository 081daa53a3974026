#include "schedule/loops/extend.h"

#include "poly/affine.h"
#include "poly/isl/coalesced.h"
#include "poly/isl/dimensions.h"
#include "poly/isl/pieces.h"
#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/loops/neutral.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"

#include <set>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;
using scalar::BinaryOp;
using scalar::Expr;

namespace {

/// What iterations of one block of the loop have in common: the other loops' values and iterators,
/// and the block.
std::vector<Expr> keys_of(const Schedule& schedule, StmtId id, size_t depth, uint32_t iter,
                          int64_t to) {
  std::vector<Expr> keys;
  const std::vector<Expr>& rows = schedule.order.rows[id.value];
  for (size_t k = 0; k < rows.size(); ++k)
    keys.push_back(k == depth ? scalar::simplify(scalar::binary(BinaryOp::FloorDiv, rows[k],
                                                                scalar::int_lit(to)))
                              : rows[k]);
  for (uint32_t d = 0; d < schedule.scop[id].text.iters.size(); ++d)
    if (d != iter)
      keys.push_back(scalar::iter(d));
  return keys;
}

/// All iterations of the blocks that the statement has iterations of.
isl::set whole_blocks(const Schedule& schedule, StmtId id, size_t depth, uint32_t iter,
                      int64_t to) {
  const poly::Scop& scop = schedule.scop;
  const isl::set domain = scop[id].domain.intersect_params(scop.context);
  const std::vector<Expr> keys = keys_of(schedule, id, depth, iter, to);
  const isl::set universe = poly::statement_universe(
      scop.context_owner->get(), scop.params, scop[id].text.name, scop[id].text.iters.size());
  const isl::set blocks = map_of(keys, domain, scop.params).range();
  const isl::set wide =
      poly::coalesced(blocks.apply(map_of(keys, universe, scop.params).reverse()));
  // Between plain ends where that is the same: isl finds loops without divisions then.
  const isl::set plain = poly::in_one_piece(wide);
  return plain.is_equal(wide) ? plain : wide;
}

/// Whether two of the iterations run at one time: a loop in steps of 2 counts 0 and 1 as one, and
/// an iterator that another one fixes (compute_at) has no loop.
bool run_together(const Schedule& schedule, StmtId id, const isl::set& iterations) {
  const std::vector<Expr>& times = schedule.order.rows[id.value];
  return !map_of(times, iterations, schedule.scop.params).is_injective();
}

} // namespace

Proposed propose(const Schedule& schedule, const Extend& directive,
                 const Environment& environment) {
  const std::string request = request_of(directive);
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, directive.loop, request));
  const Span where = schedule.order[loop].where;
  constexpr int64_t kMost = int64_t{1} << 20;
  if (directive.to < 1 || directive.to > kMost)
    return fail(shape_refusal(kBadSize, request, where, "",
                              {"The number was " + std::to_string(directive.to) + "; 1 to " +
                               std::to_string(kMost) + " are possible."}));
  if (auto refused = refuse_if_bound(schedule.order, loop, request))
    return fail(*std::move(refused));
  const auto refused = [&](std::string_view code, std::vector<std::string> why) {
    return fail(shape_refusal(code, request, where, "would run on", std::move(why)));
  };
  const size_t depth = *poly::depth_of(schedule.order, loop);
  Proposal made{schedule.scop, schedule.order};
  std::vector<Added> added;
  std::optional<Change> change;
  std::optional<StmtId> doubled;
  for (const StmtId id : poly::statements_below(schedule.order, loop)) {
    const std::set<uint32_t> iters = iterators_of(schedule.order.rows[id.value][depth]);
    if (iters.size() > 1)
      return refused(kChangesResults,
                     {schedule.scop[id].text.name + " follows " + quoted(directive.loop) +
                      " along several iterators: which of them should go on?"});
  }
  const bool finished = poly::within_quota(*schedule.scop.context_owner, environment.quota, [&] {
    for (const StmtId id : poly::statements_below(schedule.order, loop)) {
      const std::set<uint32_t> iters = iterators_of(schedule.order.rows[id.value][depth]);
      if (iters.empty())
        continue;
      const isl::set whole = whole_blocks(schedule, id, depth, *iters.begin(), directive.to);
      const isl::set more = whole.subtract(schedule.scop[id].domain);
      if (more.is_empty())
        continue;
      if (run_together(schedule, id, whole)) {
        doubled = id;
        return;
      }
      made.scop.statements[id.value].domain = whole;
      added.push_back({id, *iters.begin(), poly::coalesced(more)});
    }
    change = change_by(made.scop, added, directive.to);
  });
  if (!finished)
    return refused(kChangesResults,
                   {"The proof that results stay needs more than " +
                    std::to_string(environment.quota) + " operations on integer sets."});
  if (doubled)
    return refused(
        kChangesResults,
        {schedule.scop[*doubled].text.name + " does not run for every value of `" +
             schedule.scop[*doubled]
                 .text.iters[*iterators_of(schedule.order.rows[doubled->value][depth]).begin()] +
             "`: it is not clear which ones should follow.",
         "A loop without a step can run on: `for i in range(N // 2)` with `2 * i` "
         "instead of `for i in range(0, N, 2)`."});
  if (change)
    return refused(change->is_forbidden ? kNumericsForbid : kChangesResults, change->why);
  made.scop = poly::rebuilt(std::move(made.scop));
  return made;
}

} // namespace kawara::schedule
