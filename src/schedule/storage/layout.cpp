#include "schedule/storage/layout.h"

#include "poly/accesses.h"
#include "schedule/buffers/relocate.h"
#include "schedule/buffers/staged_reads.h"
#include "schedule/codes.h"
#include "schedule/legality/request.h"

#include <map>

namespace kawara::schedule {
namespace {

using scalar::BinaryOp;
using scalar::Expr;
using scalar::int_lit;
using PartKind = LayoutPart::Kind;

/// What is wrong with the parts, in a sentence; empty when each dimension is there once.
std::string wrong_parts(const Layout& layout, size_t rank) {
  std::map<int64_t, std::vector<LayoutPart>> by_dim;
  for (const LayoutPart& part : layout.parts)
    by_dim[part.dim].push_back(part);
  const std::string dims = std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions");
  for (const auto& [dim, parts] : by_dim) {
    const std::string name = "d" + std::to_string(dim);
    if (dim >= static_cast<int64_t>(rank))
      return "`" + layout.tensor + "` has " + dims + ", counted from 0; there is no `" + name +
             "`.";
    const bool is_whole = parts.size() == 1 && parts[0].kind == PartKind::Whole;
    const bool is_blocked = parts.size() == 2 && parts[0].kind != PartKind::Whole &&
                            parts[1].kind != PartKind::Whole && parts[0].kind != parts[1].kind &&
                            parts[0].block == parts[1].block;
    if (!is_whole && !is_blocked)
      return "`" + name + "` must be there once as a whole, or as `" + name + "/B` and `" + name +
             "%B` with the same B.";
  }
  if (by_dim.size() != rank)
    return "`" + layout.tensor + "` has " + dims + ", and the layout names " +
           std::to_string(by_dim.size()) + " of them.";
  return "";
}

/// Dimensions that count copies come first and stay.
Placement placement_of(const Layout& layout, const program::Tensor& tensor) {
  const size_t copies = tensor.private_dims;
  Placement placement;
  placement.elem = layout.type;
  placement.index = [&layout, copies](const std::vector<Expr>& element) {
    std::vector<Expr> index(element.begin(), element.begin() + static_cast<std::ptrdiff_t>(copies));
    for (const LayoutPart& part : layout.parts) {
      const Expr& at = element[copies + static_cast<size_t>(part.dim)];
      index.push_back(part.kind == PartKind::Whole
                          ? at
                          : scalar::simplify(scalar::binary(
                                part.kind == PartKind::Blocks ? BinaryOp::FloorDiv : BinaryOp::Mod,
                                at, int_lit(part.block))));
    }
    return index;
  };
  placement.shape.assign(tensor.shape.begin(),
                         tensor.shape.begin() + static_cast<std::ptrdiff_t>(copies));
  for (const LayoutPart& part : layout.parts) {
    const Expr& extent = tensor.shape[copies + static_cast<size_t>(part.dim)];
    placement.shape.push_back(
        part.kind == PartKind::Whole ? extent
        : part.kind == PartKind::Inside
            ? int_lit(part.block)
            : scalar::simplify(scalar::binary(BinaryOp::FloorDiv, extent + int_lit(part.block - 1),
                                              int_lit(part.block))));
  }
  return placement;
}

/// A statement that an instruction runs (tensorize) and that touches the tensor.
std::optional<poly::StmtId> instruction_on(const Schedule& schedule, uint32_t tensor) {
  for (const poly::Access& access : poly::accesses(schedule.scop)) {
    if (access.tensor != tensor)
      continue;
    for (const poly::LoopId loop : poly::path_of(schedule.order, access.statement))
      if (!schedule.order[loop].marks.instruction.empty())
        return access.statement;
  }
  return std::nullopt;
}

} // namespace

Proposed propose(const Schedule& schedule, const Layout& directive, const Environment&) {
  const std::string request = request_of(directive);
  KAWARA_TRY(const uint32_t tensor, resolve_tensor(schedule.scop, directive.tensor, request));
  const program::Tensor& whole = schedule.scop.tensors[tensor];
  const auto refused = [&](const std::string& why) {
    return fail(shape_refusal(kCannotLayOut, request, whole.where, "this tensor", {why}));
  };
  if (const std::string wrong = wrong_parts(directive, whole.shape.size() - whole.private_dims);
      !wrong.empty())
    return refused(wrong);
  if (const auto user = instruction_on(schedule, tensor))
    return refused(
        schedule.scop[*user].text.name +
        " touches it in an instruction, which takes its elements as they lie now. Lay it "
        "out first, and ask for the instruction then.");
  auto made = relocated(schedule, tensor, placement_of(directive, whole), "_laid_out");
  if (!made)
    return refused(made.error());
  return *std::move(made);
}

} // namespace kawara::schedule
