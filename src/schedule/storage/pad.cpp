#include "schedule/storage/pad.h"

#include "schedule/buffers/relocate.h"
#include "schedule/buffers/staged_reads.h"
#include "schedule/buffers/zero_fill.h"
#include "schedule/codes.h"
#include "schedule/legality/request.h"

namespace kawara::schedule {

Proposed propose(const Schedule& schedule, const Pad& directive, const Environment&) {
  const std::string request = request_of(directive);
  KAWARA_TRY(const uint32_t tensor, resolve_tensor(schedule.scop, directive.tensor, request));
  const program::Tensor& whole = schedule.scop.tensors[tensor];
  const auto refused = [&](std::string_view code, const std::string& why) {
    return fail(shape_refusal(code, request, whole.where, "this tensor", {why}));
  };
  const auto rank = static_cast<int64_t>(whole.shape.size() - whole.private_dims);
  constexpr int64_t kMost = int64_t{1} << 20;
  if (directive.dim >= rank)
    return refused(kCannotLayOut, "`" + directive.tensor + "` has " + std::to_string(rank) +
                                      (rank == 1 ? " dimension" : " dimensions") +
                                      ", counted from 0.");
  const int64_t number = directive.to.value_or(directive.by);
  if (number < 1 || number > kMost)
    return refused(kBadSize, std::string("It would become ") +
                                 (directive.to ? "a multiple of " : "longer by ") +
                                 std::to_string(number) + (directive.to ? "" : " elements") +
                                 "; 1 to " + std::to_string(kMost) + " are possible.");
  const size_t dim = whole.private_dims + static_cast<size_t>(directive.dim);
  Placement placement{whole.shape,
                      [](const std::vector<scalar::Expr>& element) { return element; }};
  placement.shape[dim] = directive.to
                             ? rounded_up(whole.shape[dim], number)
                             : scalar::simplify(whole.shape[dim] + scalar::int_lit(number));
  auto made = relocated(schedule, tensor, placement, "_padded");
  if (!made)
    return refused(kCannotLayOut, made.error());
  if (!directive.to)
    return *std::move(made);
  // What was an input or an output is a new temp now.
  const auto padded = whole.role == program::Role::Temp
                          ? tensor
                          : static_cast<uint32_t>(schedule.scop.tensors.size());
  auto filled = zero_filled(*std::move(made), padded);
  if (!filled)
    return refused(kCannotLayOut, filled.error());
  return *std::move(filled);
}

} // namespace kawara::schedule
