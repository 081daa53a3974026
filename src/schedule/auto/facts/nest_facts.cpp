#include "schedule/auto/facts/nest_facts.h"

#include "poly/legality/directions.h"
#include "scalar/loads.h"
#include "schedule/tree/extent.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::Scop;
using poly::StmtId;

namespace {

/// Pairs that an outer loop at or before `level` keeps apart need no further care.
bool is_carried_before(const poly::Direction& direction, size_t level) {
  for (size_t k = 0; k < level && k < direction.by_loop.size(); ++k)
    if (direction.by_loop[k].is_positive())
      return true;
  return false;
}

/// Smallest number of outer loops that must stay so that the rest may be permuted freely.
size_t fixed_loops(const Scop& scop, const std::vector<poly::Direction>& all, size_t loops) {
  const bool relaxes = scop.numerics != program::Numerics::Exact;
  for (size_t fixed = 0; fixed < loops; ++fixed) {
    bool holds = true;
    for (const poly::Direction& d : all) {
      if ((relaxes && scop.dependences[d.dependence].is_reduction) || is_carried_before(d, fixed))
        continue;
      for (size_t k = fixed; k < d.by_loop.size(); ++k)
        holds = holds && d.by_loop[k].is_non_negative();
    }
    if (holds)
      return fixed;
  }
  return loops;
}

} // namespace

bool adds_up(const Schedule& schedule, const Nest& nest, std::optional<uint32_t> tensor,
             const std::vector<size_t>& some, const std::vector<size_t>& others) {
  const std::vector<scalar::Expr>& rows = schedule.order.rows[nest.statements.front().value];
  const auto mentions_any = [&](const scalar::Expr& e, const std::vector<size_t>& positions) {
    bool found = false;
    scalar::visit(e, [&](const scalar::Expr& part) {
      for (const size_t k : positions)
        found = found || scalar::equal(part, rows[nest.depth + k]);
    });
    return found;
  };
  const auto loads = scalar::loads_in(schedule.scop[nest.statements.front()].text.value);
  return std::any_of(loads.begin(), loads.end(), [&](const scalar::Load* load) {
    return (!tensor || load->tensor == *tensor) &&
           std::any_of(load->index.begin(), load->index.end(), [&](const scalar::Expr& index) {
             return mentions_any(index, some) && mentions_any(index, others);
           });
  });
}

NestFacts facts_of(const Schedule& schedule, const Nest& nest) {
  const Scop& scop = schedule.scop;
  const Order& order = schedule.order;
  const bool relaxes = scop.numerics != program::Numerics::Exact;
  const auto all = poly::directions(scop, order, nest.statements, nest.depth);
  NestFacts facts;
  facts.fixed = fixed_loops(scop, all, nest.loops.size());
  facts.accesses = access_table(schedule, nest);
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    bool is_parallel = true;
    bool is_reduction = relaxes;
    for (const poly::Direction& d : all) {
      if (k >= d.by_loop.size() || is_carried_before(d, std::min(k, facts.fixed)) ||
          d.by_loop[k].is_zero())
        continue;
      is_parallel = false;
      is_reduction = is_reduction && scop.dependences[d.dependence].is_reduction;
    }
    facts.is_parallel.push_back(is_parallel);
    facts.is_reduction.push_back(is_reduction && !is_parallel);
    facts.strides.push_back(strides_along(facts.accesses, k));
    const auto run = known_run(scop, order, nest.loops[k]);
    facts.extents.push_back(run.value_or(kUnknownExtent));
    facts.is_open.push_back(!run);
  }
  return facts;
}

int64_t bytes_of_tensor(const program::Tensor& tensor) {
  int64_t bytes = scalar::bytes_of(tensor.elem);
  for (const scalar::Expr& extent : tensor.shape)
    bytes = std::min(bytes * scalar::constant_of(extent).value_or(1), int64_t{1} << 40);
  return bytes;
}

int64_t widest_bytes(const Schedule& schedule, const Nest& nest) {
  int64_t widest = 1;
  for (const StmtId id : nest.statements) {
    const uint32_t tensor = schedule.scop[id].text.tensor;
    widest = std::max(widest,
                      scalar::bytes_of(scalar::compute_type(schedule.scop.tensors[tensor].elem)));
  }
  return widest;
}

} // namespace kawara::schedule
