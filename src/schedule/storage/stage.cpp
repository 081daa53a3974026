#include "schedule/storage/stage.h"

#include "poly/isl/coalesced.h"
#include "poly/legality/legality.h"
#include "schedule/buffers/footprint.h"
#include "schedule/buffers/private_buffer.h"
#include "schedule/buffers/staged_reads.h"
#include "schedule/buffers/zero_fill.h"
#include "schedule/codes.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"

#include <algorithm>

namespace kawara::schedule {

using poly::Access;
using poly::LoopId;
using poly::Order;
using poly::Scop;
using poly::StmtId;
using poly::TreeNode;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::int_lit;
using scalar::iter;

namespace {

Expr quotient(const Expr& e, int64_t by) {
  return scalar::simplify(scalar::binary(BinaryOp::FloorDiv, e, int_lit(by)));
}
Expr remainder(const Expr& e, int64_t by) {
  return scalar::simplify(scalar::binary(BinaryOp::Mod, e, int_lit(by)));
}

/// The copy itself, step by step on one proposal.
class Staging {
public:
  Staging(const Schedule& schedule, const Stage& directive, uint32_t tensor, LoopId loop,
          StagedReads place)
      : made_{schedule.scop, schedule.order}, directive_(directive), tensor_(tensor), loop_(loop),
        depth_(*poly::depth_of(schedule.order, loop) + 1), place_(std::move(place)),
        footprint_(footprint_of(schedule.scop, schedule.order, place_.reads, depth_)) {}

  Result<Proposal, std::string> proposal() {
    add_buffer();
    rewrite_readers();
    const StmtId copy = add_copy();
    place_in_source(made_.scop, copy, place_.source_root);
    place_in_order(copy);
    made_.scop = poly::rebuilt(std::move(made_.scop));
    if (may_copy_unwritten(copy)) {
      made_.scop.statements[copy.value].domain =
          poly::coalesced(renamed(footprint_.touched, made_.scop[copy].text.name));
      made_.scop = poly::rebuilt(std::move(made_.scop));
    }
    if (directive_.rounded.empty())
      return std::move(made_);
    return zero_filled(std::move(made_), buffer_.tensor);
  }

private:
  size_t dims() const { return footprint_.first.size(); }
  const program::Tensor& whole() const { return made_.scop.tensors[tensor_]; }

  /// Positions from the box's first element, as the buffer has them.
  std::vector<Expr> arranged(const std::vector<Expr>& element) const {
    if (!directive_.panel)
      return element;
    const auto panel = static_cast<size_t>(*directive_.panel);
    std::vector<Expr> out{quotient(element[panel], *directive_.width)};
    for (size_t d = 0; d < element.size(); ++d)
      if (d != panel)
        out.push_back(element[d]);
    out.push_back(remainder(element[panel], *directive_.width));
    return out;
  }

  void add_buffer() {
    std::vector<Expr> last = footprint_.extent;
    for (const RoundedDim& rounded : directive_.rounded)
      last[static_cast<size_t>(rounded.dim)] =
          rounded_up(last[static_cast<size_t>(rounded.dim)], rounded.to);
    for (Expr& extent : last)
      extent = scalar::simplify(extent - int_lit(1));
    std::vector<Expr> shape = arranged(last);
    for (Expr& extent : shape)
      extent = scalar::simplify(extent + int_lit(1));
    if (directive_.panel)
      shape.back() = int_lit(*directive_.width);
    buffer_ = add_private_buffer(made_, tensor_, "_staged", footprint_.elements, depth_, shape);
  }

  /// Element of the buffer for element `index` of the tensor in iteration `outer` of the loops.
  std::vector<Expr> buffer_element(const std::vector<Expr>& outer,
                                   const std::vector<Expr>& index) const {
    return buffer_.element(outer, arranged(positions_in(footprint_, outer, index)));
  }

  void rewrite_readers() {
    for (const Access& read : place_.reads) {
      program::Statement& text = made_.scop.statements[read.statement.value].text;
      const std::vector<Expr>& rows = made_.order.rows[read.statement.value];
      const std::vector<Expr> outer(rows.begin(),
                                    rows.begin() + static_cast<std::ptrdiff_t>(depth_));
      text.value = scalar::rewrite(text.value, [&](const Expr& e) -> Expr {
        const auto* load = scalar::as<scalar::Load>(e);
        if (load == nullptr || load->tensor != tensor_)
          return {};
        return scalar::load(buffer_.tensor, buffer_element(outer, load->index), e.type());
      });
    }
  }

  StmtId add_copy() {
    program::Statement text;
    for (const LoopId around : poly::path_of(made_.order, place_.reads.front().statement)) {
      text.iters.push_back(made_.order[around].name);
      if (around == loop_)
        break;
    }
    std::vector<Expr> outer, element;
    for (size_t d = 0; d < depth_; ++d)
      outer.push_back(iter(d));
    for (size_t d = 0; d < dims(); ++d) {
      element.push_back(iter(depth_ + d));
      text.iters.push_back(fresh_name("d" + std::to_string(d), "_", text.iters));
    }
    text.tensor = buffer_.tensor;
    text.index = buffer_element(outer, element);
    const scalar::Type stored{whole().elem, 1};
    text.value = scalar::cast(scalar::load(tensor_, element, stored),
                              {scalar::compute_type(stored.elem), 1});
    text.where = made_.scop[place_.reads.front().statement].text.where;
    return add_statement(made_, std::move(text), footprint_.elements);
  }

  /// Whether the box holds elements of a temp or an output that nothing has written when the copy
  /// reads them. Readers skip such elements, which layouts and packings leave between others.
  bool may_copy_unwritten(StmtId copy) const {
    if (whole().role == program::Role::Input || whole().role == program::Role::Inout ||
        footprint_.elements.is_subset(footprint_.touched))
      return false;
    const Scop& scop = made_.scop;
    isl::set unwritten = scop[copy].domain.intersect_params(scop.context);
    const std::vector<Access> all = poly::accesses(scop);
    const auto read = std::find_if(all.begin(), all.end(), [&](const Access& access) {
      return access.statement == copy && !access.is_write;
    });
    for (const Access& write : all)
      if (write.is_write && write.tensor == tensor_)
        unwritten = unwritten.subtract(
            write.relation.apply_range(read->relation.reverse())
                .intersect(poly::before(scop, scop.source_order, write.statement, copy))
                .range());
    return !unwritten.is_empty();
  }

  /// At the start of the loop's body, before the first reader; loops as the buffer lies.
  void place_in_order(StmtId copy) {
    Order& order = made_.order;
    std::vector<Expr>& rows = order.rows[copy.value];
    std::vector<Expr> outer, element;
    std::vector<std::string> taken;
    for (size_t d = 0; d < depth_ + dims(); ++d)
      (d < depth_ ? outer : element).push_back(iter(d));
    for (size_t d = 0; d < depth_; ++d)
      taken.push_back(made_.scop[copy].text.iters[d]);
    rows = outer;
    const std::vector<Expr> position = arranged(positions_in(footprint_, outer, element));
    rows.insert(rows.end(), position.begin(), position.end());
    std::vector<std::string> names = loop_names();
    TreeNode node{copy, {}};
    for (size_t k = names.size(); k-- > 0;) {
      const LoopId id =
          poly::add_loop(order, fresh_name(names[k], "_", taken), made_.scop[copy].text.where);
      if (directive_.panel && k + 1 == names.size())
        order[id].tile_size = *directive_.width;
      node = TreeNode{id, {std::move(node)}};
    }
    insert_before_reads(order, loop_, place_.reads, std::move(node));
  }

  std::vector<std::string> loop_names() const {
    std::vector<std::string> names;
    for (size_t d = 0; d < dims(); ++d)
      if (!directive_.panel || static_cast<int64_t>(d) != *directive_.panel)
        names.push_back("d" + std::to_string(d));
    if (directive_.panel) {
      const std::string panel = "d" + std::to_string(*directive_.panel);
      names.insert(names.begin(), panel + ".0");
      names.push_back(panel + ".1");
    }
    return names;
  }

  Proposal made_;
  const Stage& directive_;
  uint32_t tensor_;
  LoopId loop_;
  size_t depth_; ///< loops from the outermost to the one that is staged at
  StagedReads place_;
  Footprint footprint_;
  PrivateBuffer buffer_;
};

std::string no_dimension(const std::string& tensor, size_t rank, int64_t dim) {
  return "`" + tensor + "` has " + std::to_string(rank) +
         (rank == 1 ? " dimension" : " dimensions") + ", counted from 0; there is no dimension " +
         std::to_string(dim) + ".";
}

std::optional<std::string> wrong_dimension(const Stage& directive, size_t rank) {
  constexpr int64_t kMost = int64_t{1} << 20;
  for (const RoundedDim& rounded : directive.rounded) {
    if (rounded.dim >= static_cast<int64_t>(rank))
      return no_dimension(directive.tensor, rank, rounded.dim);
    if (rounded.to < 1 || rounded.to > kMost)
      return "Dimension " + std::to_string(rounded.dim) + " would be a multiple of " +
             std::to_string(rounded.to) + "; 1 to " + std::to_string(kMost) + " are possible.";
  }
  return std::nullopt;
}

std::optional<std::string> wrong_panel(const Stage& directive, size_t rank) {
  if (directive.panel.has_value() != directive.width.has_value())
    return "A panel needs a width, and a width a panel: `panel=0, width=8`.";
  if (!directive.panel)
    return std::nullopt;
  if (*directive.panel < 0 || *directive.panel >= static_cast<int64_t>(rank))
    return no_dimension(directive.tensor, rank, *directive.panel);
  if (*directive.width < 1)
    return "A panel of width " + std::to_string(*directive.width) + " holds nothing.";
  return std::nullopt;
}

} // namespace

Proposed propose(const Schedule& schedule, const Stage& directive, const Environment&) {
  const std::string loop_name = quoted(directive.loop);
  const std::string request = "cannot stage `" + directive.tensor + "` at loop " + loop_name;
  KAWARA_TRY(const uint32_t tensor, resolve_tensor(schedule.scop, directive.tensor, request));
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, directive.loop, request));
  if (auto refused = refuse_as_place(schedule.order, loop, request))
    return fail(*std::move(refused));
  const Span where = schedule.order[loop].where;
  const size_t rank = schedule.scop.tensors[tensor].shape.size();
  for (const auto& why : {wrong_panel(directive, rank), wrong_dimension(directive, rank)})
    if (why)
      return fail(shape_refusal(kBadSize, request, where, "", {*why}));
  auto place = staged_reads(schedule, tensor, loop, loop_name);
  const auto refused = [&](const std::string& why) {
    return fail(shape_refusal(kCannotStage, request, where, "cannot stage here", {why}));
  };
  if (!place)
    return refused(place.error());
  auto made = Staging(schedule, directive, tensor, loop, *std::move(place)).proposal();
  if (!made)
    return refused(made.error());
  return *std::move(made);
}

} // namespace kawara::schedule
