#include "schedule/auto/nest/nest_loops.h"

#include "schedule/auto/cost/parallel_worth.h"
#include "schedule/auto/facts/data_dependence.h"
#include "schedule/auto/facts/vector_loop.h"
#include "schedule/tree/resolve.h"
#include "target/cpu.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

/// A parallel loop besides the vector loop along which some operand stays in place.
std::optional<size_t> best_row_loop(const NestFacts& facts, size_t vector) {
  std::optional<size_t> best;
  for (size_t k = facts.fixed; k < facts.extents.size(); ++k) {
    if (k == vector || !facts.is_parallel[k] || facts.strides[k].none == 0 ||
        facts.strides[k].writes_same_element)
      continue;
    if (!best || facts.extents[k] > facts.extents[*best])
      best = k;
  }
  return best;
}

bool has_lanes(const Schedule& schedule, const Nest& nest) {
  return std::any_of(nest.loops.begin(), nest.loops.end(), [&](poly::LoopId loop) {
    return schedule.order[loop].marks.vector_width != 0;
  });
}

/// Vector instructions of all iterations.
double steps_of_nest(const Schedule& schedule, const Nest& nest, const NestFacts& facts,
                     int64_t lanes) {
  int64_t iterations = 1;
  for (const int64_t e : facts.extents)
    iterations = std::min<int64_t>(iterations * std::max<int64_t>(e, 1), int64_t{1} << 40);
  double sum = 0;
  for (const poly::StmtId id : nest.statements)
    sum += steps_of(schedule, id, iterations, lanes);
  return sum;
}

NestLoops loops_by_part(const Site& site) {
  const Schedule& schedule = site.schedule();
  const Nest& nest = *site.nest();
  const NestFacts& facts = site.facts();
  const target::Cpu& cpu = site.environment().cpu;
  NestLoops loops;
  const size_t n = facts.extents.size();
  loops.lanes = target::vector_lanes(cpu, widest_bytes(schedule, nest));
  loops.vector = best_vector_loop(facts);
  if (loops.vector)
    loops.rows = best_row_loop(facts, *loops.vector);
  std::vector<size_t> others;
  for (size_t k = 0; k < n; ++k)
    if (k != loops.vector.value_or(n))
      others.push_back(k);
  loops.parallel = best_shared_loop(facts, others, cpu.cores);
  for (size_t k = facts.fixed; k < n; ++k)
    if (k != loops.vector.value_or(n) && k != loops.rows.value_or(n))
      loops.rest.push_back(k);
  loops.may_share =
      site.may_be_parallel() &&
      is_worth_threads(steps_of_nest(schedule, nest, facts, loops.vector ? loops.lanes : 1));
  if (const auto columns = column_sums(schedule, nest, facts);
      columns && loops.vector == columns->lanes)
    loops.columns = columns;
  if (depends_on_data(schedule, nest))
    loops.kind = NestKind::ReadsIndices;
  else if (has_lanes(schedule, nest))
    loops.kind = NestKind::HasLanes;
  else if (loops.columns)
    loops.kind = NestKind::Columns;
  return loops;
}

} // namespace

const NestLoops& nest_loops(const Site& site) { return site.form(loops_by_part); }

LoopName loop_name(const Site& site, size_t position, const std::string& part) {
  const Schedule& schedule = site.schedule();
  LoopName name = name_of_loop(schedule.scop, schedule.order, site.nest()->loops[position]);
  name.loop += part;
  return name;
}

} // namespace kawara::schedule
