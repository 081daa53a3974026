#include "schedule/store_at.h"

#include "poly/accesses.h"
#include "poly/definitions.h"
#include "poly/levels.h"
#include "poly/ties.h"
#include "schedule/codes.h"
#include "schedule/nest.h"
#include "schedule/resolve.h"
#include "schedule/rewrite.h"
#include "schedule/staged_reads.h"

#include <algorithm>
#include <set>

namespace kawara::schedule {

using poly::Access;
using poly::LoopId;
using poly::StmtId;
using scalar::Expr;

namespace {

std::vector<Expr> outer_rows(const poly::Order& order, StmtId id, size_t depth) {
  const std::vector<Expr>& rows = order.rows[id.value];
  return {rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(depth)};
}

/// Text shows that whoever reads a cell is in the iteration of the first `depth` loops in which it is written.
bool are_in_one_iteration(const Schedule& schedule, const Access& write, const Access& read,
                          size_t depth) {
  const auto definitions = [&](const Access& access) {
    return poly::reading_of(schedule.scop[access.statement])->definitions();
  };
  const poly::Ties ties =
      poly::ties_of_cells(write.index, read.index, definitions(write), definitions(read));
  return poly::steps_of(schedule.order, ties, write.statement, read.statement, depth).empty();
}

/// Why iterations cannot have copies of their own; empty when they can.
std::optional<std::string> shared_by_iterations(const Schedule& schedule,
                                                const std::vector<Access>& accesses, LoopId loop,
                                                const std::string& loop_name,
                                                const std::string& tensor) {
  const size_t depth = *poly::depth_of(schedule.order, loop) + 1;
  const std::vector<StmtId> below = poly::statements_below(schedule.order, loop);
  const auto name = [&](const Access& a) { return schedule.scop[a.statement].text.name; };
  for (const Access& access : accesses)
    if (std::find(below.begin(), below.end(), access.statement) == below.end())
      return name(access) + (access.is_write ? " writes `" : " reads `") + tensor +
             "` and is not inside " + loop_name + ".";
  for (const Access& write : accesses)
    for (const Access& read : accesses) {
      if (!write.is_write || read.is_write || poly::are_apart(write, read) ||
          are_in_one_iteration(schedule, write, read, depth))
        continue;
      const isl::map pairs = poly::relation_of(schedule.scop, write)
                                 .apply_range(poly::relation_of(schedule.scop, read).reverse())
                                 .intersect_params(schedule.scop.context);
      if (!poly::agree_above(schedule.scop, schedule.order, pairs, write.statement, read.statement,
                             depth))
        return name(read) + " reads cells of `" + tensor + "` that " + name(write) +
               " writes in another iteration of " + loop_name + " or of a loop around it.";
    }
  return std::nullopt;
}

/// The tensor with the iterations of the first `depth` loops as leading dimensions.
Proposal widened(const Schedule& schedule, uint32_t tensor, const std::vector<Access>& accesses,
                 size_t depth) {
  Proposal made{schedule.scop, schedule.order};
  isl::set iterations;
  for (const Access& access : accesses) {
    const isl::set part =
        map_of(outer_rows(schedule.order, access.statement, depth),
               schedule.scop[access.statement].domain.intersect_params(schedule.scop.context),
               schedule.scop.params)
            .range();
    iterations = iterations.is_null() ? part : iterations.unite(part);
  }
  std::vector<Expr> lows, shape;
  for (size_t d = 0; d < depth; ++d) {
    const Ends ends = ends_of(iterations, static_cast<unsigned>(d), made.scop.params);
    lows.push_back(ends.low);
    shape.push_back(extent_of(ends));
  }
  program::Tensor& t = made.scop.tensors[tensor];
  t.shape.insert(t.shape.begin(), shape.begin(), shape.end());
  t.private_dims += static_cast<uint32_t>(depth);
  std::set<StmtId> touched;
  for (const Access& access : accesses)
    touched.insert(access.statement);
  for (const StmtId id : touched) {
    program::Statement& text = made.scop.statements[id.value].text;
    const auto with_iteration = [&](const std::vector<Expr>& cell) {
      std::vector<Expr> index = outer_rows(made.order, id, depth);
      for (size_t d = 0; d < depth; ++d)
        index[d] = scalar::simplify(index[d] - lows[d]);
      index.insert(index.end(), cell.begin(), cell.end());
      return index;
    };
    if (text.tensor == tensor)
      text.index = with_iteration(text.index);
    text.value = scalar::rewrite(text.value, [&](const Expr& e) -> Expr {
      const auto* load = scalar::as<scalar::Load>(e);
      return load != nullptr && load->tensor == tensor
                 ? scalar::load(tensor, with_iteration(load->index), e.type())
                 : Expr();
    });
  }
  made.scop = poly::rebuilt(std::move(made.scop));
  return made;
}

} // namespace

Proposed propose(const Schedule& schedule, const StoreAt& directive, const Environment&) {
  const std::string loop_name = quoted(directive.loop);
  const std::string request = "cannot store `" + directive.tensor + "` at loop " + loop_name;
  KAWARA_TRY(const uint32_t tensor, resolve_tensor(schedule.scop, directive.tensor, request));
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, directive.loop, request));
  if (auto refused = refuse_as_place(schedule.order, loop, request))
    return fail(*std::move(refused));
  const auto refused = [&](const std::string& why) {
    return fail(shape_refusal(kCannotStoreAt, request, schedule.order[loop].where,
                              "cannot store here", {why}));
  };
  const program::Role role = schedule.scop.tensors[tensor].role;
  if (role != program::Role::Temp)
    return refused("`" + directive.tensor + "` is an " + std::string(name_of(role)) +
                   ": its cells belong to the caller. Only a temp can be stored elsewhere.");
  const std::vector<Access> accesses = poly::bare_accesses_of(schedule.scop, tensor);
  if (accesses.empty())
    return refused("Nothing reads or writes `" + directive.tensor + "`.");
  if (const auto why = shared_by_iterations(schedule, accesses, loop, loop_name, directive.tensor))
    return refused(*why);
  return widened(schedule, tensor, accesses, *poly::depth_of(schedule.order, loop) + 1);
}

} // namespace kawara::schedule
