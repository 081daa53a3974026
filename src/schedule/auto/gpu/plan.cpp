#include "schedule/auto/gpu/plan.h"

#include <algorithm>

namespace kawara::schedule {

void GpuPlan::reorder(const std::vector<std::string>& names) {
  if (names.size() < 2)
    return;
  Reorder d;
  for (const std::string& name : names)
    d.loops.push_back(loop(name));
  add(std::move(d));
}

bool try_plan(Schedule& schedule, const std::vector<Directive>& plan,
              const Environment& environment) {
  auto result = apply(schedule, Group{plan}, environment);
  if (!result)
    return false;
  schedule = *std::move(result);
  return true;
}

int64_t gpu_vector_width(const Schedule& schedule, const std::vector<poly::StmtId>& statements,
                         int64_t extent, std::optional<size_t> row) {
  int64_t bytes = 1;
  for (const poly::StmtId id : statements)
    for (const LoopAccess& access : access_table(schedule.scop, schedule.order, id))
      if (!row || !access.stays(*row))
        bytes = std::max(bytes, scalar::bytes_of(schedule.scop.tensors[access.tensor].elem));
  int64_t width = 16 / bytes;
  while (width > 1 && extent % width != 0)
    width /= 2;
  return std::max<int64_t>(width, 1);
}

} // namespace kawara::schedule
