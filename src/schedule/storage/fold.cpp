#include "schedule/storage/fold.h"

#include "schedule/buffers/live_elements.h"
#include "schedule/buffers/staged_reads.h"
#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/rebase.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"
#include "support/text.h"

#include <algorithm>
#include <set>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;
using scalar::Expr;

namespace {

/// Dimensions whose index moves when the loop does, in some statement that writes the tensor.
std::set<size_t> dimensions_along(const Schedule& schedule, uint32_t tensor, LoopId loop) {
  const size_t depth = *poly::depth_of(schedule.order, loop);
  const size_t copies = schedule.scop.tensors[tensor].private_dims;
  std::set<size_t> found;
  for (const StmtId id : poly::statements_below(schedule.order, loop)) {
    const program::Statement& text = schedule.scop[id].text;
    if (text.tensor != tensor)
      continue;
    const std::set<uint32_t> moving = iterators_of(schedule.order.rows[id.value][depth]);
    for (size_t d = copies; d < text.index.size(); ++d)
      for (const uint32_t it : iterators_of(text.index[d]))
        if (moving.contains(it))
          found.insert(d);
  }
  return found;
}

Proposal with_ring(const Schedule& schedule, uint32_t tensor, size_t dim, int64_t size) {
  Proposal made{schedule.scop, schedule.order};
  made.scop.tensors[tensor].shape[dim] = scalar::int_lit(size);
  const auto in_ring = [&](std::vector<Expr> index) {
    index[dim] =
        scalar::simplify(scalar::binary(scalar::BinaryOp::Mod, index[dim], scalar::int_lit(size)));
    return index;
  };
  for (poly::ScopStatement& statement : made.scop.statements) {
    if (statement.is_removed)
      continue;
    program::Statement& text = statement.text;
    if (text.tensor == tensor)
      text.index = in_ring(text.index);
    text.value = scalar::rewrite(text.value, [&](const Expr& e) -> Expr {
      const auto* load = scalar::as<scalar::Load>(e);
      return load != nullptr && load->tensor == tensor
                 ? scalar::load(tensor, in_ring(load->index), e.type())
                 : Expr();
    });
  }
  made.scop.source_order = without_marks(made.order);
  made.scop = poly::rebuilt(std::move(made.scop));
  return made;
}

std::string at_text(const poly::Scop& scop, StmtId id, const std::vector<int64_t>& at) {
  std::vector<std::string> parts;
  for (size_t k = 0; k < at.size(); ++k)
    parts.push_back(scop[id].text.iters[k] + " = " + std::to_string(at[k]));
  return scop[id].text.name + (parts.empty() ? "" : " at " + join(parts, ", "));
}

std::string shown_element(const poly::Scop& scop, uint32_t tensor,
                          const std::vector<int64_t>& element) {
  std::vector<std::string> parts;
  for (size_t k = scop.tensors[tensor].private_dims; k < element.size(); ++k)
    parts.push_back(std::to_string(element[k]));
  return "`" + scop.tensors[tensor].name + "[" + join(parts, ", ") + "]`";
}

std::string told(const poly::Scop& scop, uint32_t tensor, int64_t size, const Intrusion& i) {
  std::vector<std::string> sizes;
  for (size_t k = 0; k < i.params.size(); ++k)
    sizes.push_back(scop.params[k].name + " = " + std::to_string(i.params[k]));
  return "With " + std::to_string(size) + (size == 1 ? " element" : " elements") +
         (sizes.empty() ? "" : ", for " + join(sizes, ", ")) + ": " +
         at_text(scop, i.intruder, i.intrudes_at) + " would write " +
         shown_element(scop, tensor, i.other) + " over " + shown_element(scop, tensor, i.element) +
         ", which " + at_text(scop, i.writer, i.written_at) + " wrote and " +
         at_text(scop, i.reader, i.read_at) + " has yet to read.";
}

/// The dimension and how many elements it gets; else why not, in sentences.
struct Ring {
  size_t dim = 0;
  int64_t size = 0;
};
using Why = std::vector<std::string>;

Result<Ring, Why> ring_of(const Schedule& schedule, const Fold& directive, uint32_t tensor,
                          const std::set<size_t>& dims) {
  const LiveElements live(schedule.scop, schedule.order, tensor);
  const auto shape = [&](size_t d) {
    return scalar::constant_of(schedule.scop.tensors[tensor].shape[d]);
  };
  std::optional<Ring> best;
  for (const size_t d : dims) {
    const auto reach = live.reach(d);
    if (reach && (!best || *reach + 1 < best->size))
      best = Ring{d, *reach + 1};
  }
  constexpr int64_t kShown = 4; // of a ring that no number of elements would be enough for
  const size_t first = *dims.begin();
  if (!best) {
    const int64_t shown = directive.size.value_or(kShown);
    const auto intrusion = live.intrusion(first, shown);
    Why why{"The number of values in use at the same time grows with the sizes."};
    if (intrusion)
      why.push_back(told(schedule.scop, tensor, shown, *intrusion));
    why.push_back("Bring what writes and what reads together first: shift and fuse their loops, or "
                  "compute_at.");
    return fail(std::move(why));
  }
  if (directive.size && *directive.size < best->size)
    if (const auto intrusion = live.intrusion(best->dim, *directive.size))
      return fail(Why{told(schedule.scop, tensor, *directive.size, *intrusion),
                      "Live at the same time are " + std::to_string(best->size) + "."});
  const int64_t size = directive.size.value_or(best->size);
  if (const auto extent = shape(best->dim); extent && *extent <= size)
    return fail(Why{"Dimension " + std::to_string(best->dim) + " has " + std::to_string(*extent) +
                    " elements, and " + std::to_string(size) +
                    " would be kept: nothing is saved."});
  return Ring{best->dim, size};
}

} // namespace

Proposed propose(const Schedule& schedule, const Fold& directive, const Environment& environment) {
  const std::string request = request_of(directive);
  KAWARA_TRY(const uint32_t tensor, resolve_tensor(schedule.scop, directive.tensor, request));
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, directive.loop, request));
  const Span where = schedule.order[loop].where;
  const auto refused = [&](const Why& why) {
    return fail(shape_refusal(kCannotFold, request, where, "cannot fold along this", why));
  };
  if (directive.size && *directive.size < 1)
    return fail(shape_refusal(
        kBadSize, request, where, "",
        {"A ring of " + std::to_string(*directive.size) + " elements holds nothing."}));
  const program::Role role = schedule.scop.tensors[tensor].role;
  if (role != program::Role::Temp)
    return refused({"`" + directive.tensor + "` is an " + std::string(name_of(role)) +
                    ": its elements belong to the caller. Only a temp can be folded."});
  const std::set<size_t> dims = dimensions_along(schedule, tensor, loop);
  if (dims.empty())
    return refused({"Nothing below " + quoted(directive.loop) + " writes `" + directive.tensor +
                    "` at an index that the loop moves."});
  if (auto illegal = refuse_as_source(schedule, kCannotFold, request, where, environment))
    return fail(*std::move(illegal));
  std::optional<Result<Ring, Why>> ring;
  const bool finished = poly::within_quota(*schedule.scop.context_owner, environment.quota, [&] {
    ring.emplace(ring_of(schedule, directive, tensor, dims));
  });
  if (!finished)
    return refused({"The proof that the ring is long enough needs more than " +
                    std::to_string(environment.quota) + " operations on integer sets."});
  if (!*ring)
    return refused(ring->error());
  return with_ring(schedule, tensor, (*ring)->dim, (*ring)->size);
}

} // namespace kawara::schedule
