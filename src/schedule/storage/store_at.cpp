#include "schedule/storage/store_at.h"

#include "poly/accesses.h"
#include "poly/legality/levels.h"
#include "poly/legality/value_flows.h"
#include "poly/syntactic/prover.h"
#include "schedule/buffers/staged_reads.h"
#include "schedule/codes.h"
#include "schedule/legality/instance_text.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"

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

/// Text or sets show that whoever reads an element is in the iteration in which it is written,
/// whatever was written last.
bool are_all_in_one_iteration(const Schedule& schedule, const std::vector<Access>& accesses,
                              size_t depth) {
  const poly::SyntacticProver prover(schedule.scop);
  for (const Access& write : accesses)
    for (const Access& read : accesses) {
      if (!write.is_write || read.is_write ||
          prover.are_disjoint(write, read) == poly::Answer::Yes ||
          prover.are_in_one_iteration(schedule.order, prover.equalities_of(write, read), depth) ==
              poly::Answer::Yes)
        continue;
      const isl::map pairs = poly::relation_of(schedule.scop, write)
                                 .apply_range(poly::relation_of(schedule.scop, read).reverse())
                                 .intersect_params(schedule.scop.context);
      if (!poly::agree_above(schedule.scop, schedule.order, pairs, write.statement, read.statement,
                             depth))
        return false;
    }
  return true;
}

/// Those of the pairs that are in different iterations of the first `depth` loops.
isl::map apart_above(const Schedule& schedule, const poly::ValueFlow& flow, size_t depth) {
  const poly::RowPairs rows(schedule.scop, flow.source, flow.sink);
  isl::map apart = isl::map::empty(flow.pairs.space());
  for (size_t d = 0; d < depth; ++d)
    apart = apart.unite(flow.pairs.subtract(rows.equal(schedule.order.rows[flow.source.value][d],
                                                       schedule.order.rows[flow.sink.value][d])));
  return apart;
}

/// Why iterations cannot have copies of their own; empty when they can.
std::optional<std::string> shared_by_iterations(const Schedule& schedule, uint32_t tensor,
                                                const std::set<StmtId>& below, size_t depth,
                                                const std::string& loop_name) {
  const poly::Scop& scop = schedule.scop;
  const std::string elements = "`" + scop.tensors[tensor].name + "`";
  for (const poly::ValueFlow& flow : poly::value_flows(scop, tensor)) {
    const bool is_written_here = below.contains(flow.source);
    const bool is_read_here = below.contains(flow.sink);
    if (!is_written_here && !is_read_here)
      continue;
    const std::string &writer = scop[flow.source].text.name, &reader = scop[flow.sink].text.name;
    if (!is_written_here || !is_read_here)
      return reader + " reads a value of " + elements + " that " + writer + " writes, and " +
             (is_read_here ? writer : reader) + " is not inside " + loop_name + ".";
    if (poly::agree_above(scop, schedule.order, flow.pairs, flow.source, flow.sink, depth))
      continue;
    const FirstPair first = first_pair(scop, apart_above(schedule, flow, depth));
    const std::string sizes = sizes_text(scop, first.params);
    return reader + " reads values of " + elements + " that " + writer +
           " writes in another iteration of " + loop_name + " or of a loop around it" +
           (sizes.empty() ? "" : ": " + sizes) + ", " + instance_text(scop, flow.sink, first.sink) +
           " reads what " + instance_text(scop, flow.source, first.source) + " wrote.";
  }
  return std::nullopt;
}

/// A tensor like this one, with a name of its own.
uint32_t add_copy(poly::Scop& scop, uint32_t tensor) {
  std::vector<std::string> taken;
  for (const program::Tensor& other : scop.tensors)
    taken.push_back(other.name);
  program::Tensor copy = scop.tensors[tensor];
  copy.name = fresh_name(copy.name + "_", "_", taken);
  copy.is_hidden = true;
  scop.tensors.push_back(std::move(copy));
  return static_cast<uint32_t>(scop.tensors.size() - 1);
}

/// The tensor, as these accesses see it, with the iterations of the first `depth` loops as leading
/// dimensions. Others keep the tensor that there is.
Proposal widened(const Schedule& schedule, uint32_t tensor, const std::vector<Access>& accesses,
                 size_t depth, bool has_others) {
  Proposal made{schedule.scop, schedule.order};
  const uint32_t own = has_others ? add_copy(made.scop, tensor) : tensor;
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
    // Loops that never run have no ends, and their copies no elements that anybody uses.
    const Ends ends = iterations.is_empty()
                          ? Ends{scalar::int_lit(0), scalar::int_lit(0)}
                          : ends_of(iterations, static_cast<unsigned>(d), made.scop.params);
    lows.push_back(ends.low);
    shape.push_back(extent_of(ends));
  }
  program::Tensor& t = made.scop.tensors[own];
  t.shape.insert(t.shape.begin(), shape.begin(), shape.end());
  t.private_dims += static_cast<uint32_t>(depth);
  std::set<StmtId> touched;
  for (const Access& access : accesses)
    touched.insert(access.statement);
  for (const StmtId id : touched) {
    program::Statement& text = made.scop.statements[id.value].text;
    const auto with_iteration = [&](const std::vector<Expr>& element) {
      std::vector<Expr> index = outer_rows(made.order, id, depth);
      for (size_t d = 0; d < depth; ++d)
        index[d] = scalar::simplify(index[d] - lows[d]);
      index.insert(index.end(), element.begin(), element.end());
      return index;
    };
    if (text.tensor == tensor) {
      text.index = with_iteration(text.index);
      text.tensor = own;
    }
    text.value = scalar::rewrite(text.value, [&](const Expr& e) -> Expr {
      const auto* load = scalar::as<scalar::Load>(e);
      return load != nullptr && load->tensor == tensor
                 ? scalar::load(own, with_iteration(load->index), e.type())
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
                   ": its elements belong to the caller. Only a temp can be stored elsewhere.");
  const std::vector<Access> all = poly::bare_accesses_of(schedule.scop, tensor);
  const std::vector<StmtId> inside = poly::statements_below(schedule.order, loop);
  const std::set<StmtId> below(inside.begin(), inside.end());
  std::vector<Access> accesses = all;
  std::erase_if(accesses, [&](const Access& a) { return !below.contains(a.statement); });
  if (accesses.empty())
    return refused("Nothing inside " + loop_name + " reads or writes `" + directive.tensor + "`.");
  const size_t depth = *poly::depth_of(schedule.order, loop) + 1;
  const bool has_others = accesses.size() != all.size();
  if (has_others || !are_all_in_one_iteration(schedule, accesses, depth))
    if (const auto why = shared_by_iterations(schedule, tensor, below, depth, loop_name))
      return refused(*why);
  return widened(schedule, tensor, accesses, depth, has_others);
}

} // namespace kawara::schedule
