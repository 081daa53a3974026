#include "schedule/marks/pipeline.h"

#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"
#include "target/intrinsic.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

constexpr int64_t kMostStages = 16;

/// A loop below runs as an instruction whose operands go through shared memory.
bool has_collective(const Schedule& schedule, poly::LoopId loop) {
  const poly::TreeNode* node = poly::find_node(schedule.order, loop);
  if (node->body.size() != 1 || !node->body[0].is_loop())
    return false;
  const poly::Marks& marks = schedule.order[node->body[0].loop()].marks;
  const target::Intrinsic* data = target::find_intrinsic(marks.instruction);
  return data != nullptr && data->is_collective;
}

/// A statement below copies to a buffer of which every iteration of the loop has one.
bool stages_something(const Schedule& schedule, poly::LoopId loop) {
  const size_t depth = *poly::depth_of(schedule.order, loop) + 1;
  const auto below = poly::statements_below(schedule.order, loop);
  return std::any_of(below.begin(), below.end(), [&](poly::StmtId id) {
    const program::Tensor& tensor = schedule.scop.tensors[schedule.scop[id].text.tensor];
    return tensor.is_hidden && tensor.private_dims == depth;
  });
}

} // namespace

Proposed propose(const Schedule& schedule, const Pipeline& pipeline, const Environment&) {
  const std::string request = request_of(pipeline);
  KAWARA_TRY(const poly::LoopId loop, resolve_loop(schedule, pipeline.loop, request));
  poly::Order order = schedule.order;
  const Span where = order[loop].where;
  if (pipeline.stages < 2 || pipeline.stages > kMostStages)
    return fail(shape_refusal(
        kBadSize, request + ": the stages must be from 2 to " + std::to_string(kMostStages), where,
        "", {"There were to be " + std::to_string(pipeline.stages) + "."}));
  if (order[loop].marks.is_parallel)
    return fail(shape_refusal(kAlreadyMarked, request + ": it is a parallel loop", where, "",
                              {"Its iterations do not follow each other."}));
  if (auto refused = refuse_if_bound(order, loop, request))
    return fail(*std::move(refused));
  if (!stages_something(schedule, loop) && !has_collective(schedule, loop))
    return fail(shape_refusal(
        kNothingToPipeline, request, where, "nothing is staged here",
        {"Stage what its iterations read first: `stage(A, " + to_string(pipeline.loop) + ")`."}));
  order[loop].marks.stages = pipeline.stages;
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
