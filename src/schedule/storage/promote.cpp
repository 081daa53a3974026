#include "schedule/storage/promote.h"

#include "poly/isl/coalesced.h"
#include "schedule/buffers/footprint.h"
#include "schedule/buffers/private_buffer.h"
#include "schedule/buffers/staged_reads.h"
#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/rebase.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"

#include <algorithm>

namespace kawara::schedule {

using poly::Access;
using poly::LoopId;
using poly::StmtId;
using poly::TreeNode;
using scalar::Expr;
using scalar::int_lit;

namespace {

constexpr int64_t kMostHeld = 4096; ///< elements

/// The accesses below the loop, and what of it comes from or goes to the outside.
struct Region {
  size_t depth = 0; ///< loops around
  std::vector<Access> inside;
  bool is_read_outside = false;
};

Region region_of(const Schedule& schedule, uint32_t tensor, LoopId loop) {
  const std::vector<StmtId> below = poly::statements_below(schedule.order, loop);
  Region region{*poly::depth_of(schedule.order, loop), {}, false};
  for (Access& access : poly::accesses(schedule.scop)) {
    if (access.tensor != tensor)
      continue;
    const bool is_below = std::find(below.begin(), below.end(), access.statement) != below.end();
    if (!is_below)
      region.is_read_outside = region.is_read_outside || !access.is_write;
    else if (!schedule.scop[access.statement]
                  .domain.intersect_params(schedule.scop.context)
                  .is_empty())
      region.inside.push_back(std::move(access));
  }
  return region;
}

class Promotion {
public:
  Promotion(const Schedule& schedule, uint32_t tensor, LoopId loop, Region region)
      : made_{schedule.scop, schedule.order}, tensor_(tensor), loop_(loop),
        region_(std::move(region)),
        box_(footprint_of(schedule.scop, schedule.order, region_.inside, region_.depth)),
        read_(exposed()), written_(touched(true)) {}

  /// Elements of the tile; nothing when their number is not a constant.
  std::optional<int64_t> size() const {
    int64_t elements = 1;
    for (const Expr& extent : box_.extent) {
      const auto n = scalar::constant_of(extent);
      if (!n || *n > kMostHeld)
        return std::nullopt;
      elements *= std::max<int64_t>(*n, 1);
    }
    return elements;
  }

  Proposal proposal() {
    tile_ = add_private_buffer(made_, tensor_, "_held", box_.elements, region_.depth, box_.extent);
    for (const Access& access : region_.inside)
      rewrite(access.statement);
    if (!read_.is_empty())
      place(add_copy(read_, true), true);
    const bool is_needed = made_.scop.tensors[tensor_].role != program::Role::Temp ||
                           region_.is_read_outside || !read_.is_empty();
    if (is_needed && !written_.is_empty())
      place(add_copy(written_, false), false);
    made_.scop.source_order = without_marks(made_.order);
    made_.scop = poly::rebuilt(std::move(made_.scop));
    return std::move(made_);
  }

private:
  std::vector<Expr> outer_rows(StmtId id) const {
    const std::vector<Expr>& rows = made_.order.rows[id.value];
    return {rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(region_.depth)};
  }
  isl::set domain(StmtId id) const {
    return made_.scop[id].domain.intersect_params(made_.scop.context);
  }
  isl::map outer(StmtId id) const { return map_of(outer_rows(id), domain(id), made_.scop.params); }
  isl::map elements(const Access& access) const {
    return map_of(access.index, domain(access.statement), made_.scop.params);
  }

  /// { [o, c] } over the accesses that write, or those that read, at the iterations given by
  /// `keep`.
  isl::set boxed(const Access& access, const isl::set& at) const {
    return outer(access.statement)
        .intersect_domain(at)
        .reverse()
        .apply_range(elements(access))
        .wrap()
        .flatten();
  }

  isl::set touched(bool is_write) const {
    isl::set all = isl::set::empty(box_.elements.space());
    for (const Access& access : region_.inside)
      if (access.is_write == is_write)
        all = all.unite(boxed(access, domain(access.statement)));
    return poly::coalesced(all);
  }

  /// What is read before the same run of the loop has written it.
  isl::set exposed() const {
    isl::set all = isl::set::empty(box_.elements.space());
    for (const Access& read : region_.inside) {
      if (read.is_write)
        continue;
      isl::set at = domain(read.statement);
      for (const Access& write : region_.inside) {
        if (!write.is_write)
          continue;
        const isl::map own =
            elements(write)
                .apply_range(elements(read).reverse())
                .intersect(outer(write.statement).apply_range(outer(read.statement).reverse()))
                .intersect(poly::before(made_.scop, made_.order, write.statement, read.statement));
        at = at.subtract(own.range());
      }
      all = all.unite(boxed(read, at));
    }
    return poly::coalesced(all);
  }

  std::vector<Expr> tile_element(const std::vector<Expr>& around,
                                 const std::vector<Expr>& index) const {
    return tile_.element(around, positions_in(box_, around, index));
  }

  void rewrite(StmtId id) {
    program::Statement& text = made_.scop.statements[id.value].text;
    const std::vector<Expr> around = outer_rows(id);
    if (text.tensor == tensor_) {
      text.index = tile_element(around, text.index);
      text.tensor = tile_.tensor;
    }
    text.value = scalar::rewrite(text.value, [&](const Expr& e) -> Expr {
      const auto* load = scalar::as<scalar::Load>(e);
      return load != nullptr && load->tensor == tensor_
                 ? scalar::load(tile_.tensor, tile_element(around, load->index), e.type())
                 : Expr();
    });
  }

  StmtId add_copy(const isl::set& which, bool is_in) {
    program::Statement text;
    const std::vector<LoopId> path = poly::path_of(made_.order, region_.inside.front().statement);
    std::vector<Expr> around, element;
    for (size_t d = 0; d < region_.depth; ++d) {
      around.push_back(scalar::iter(static_cast<uint32_t>(d)));
      text.iters.push_back(made_.order[path[d]].name);
    }
    for (size_t d = 0; d < box_.extent.size(); ++d) {
      element.push_back(scalar::iter(static_cast<uint32_t>(region_.depth + d)));
      text.iters.push_back(fresh_name("d" + std::to_string(d), "_", text.iters));
    }
    const std::vector<Expr> held = tile_element(around, element);
    const scalar::Type stored{made_.scop.tensors[tensor_].elem, 1};
    const scalar::Type computed{scalar::compute_type(stored.elem), 1};
    text.tensor = is_in ? tile_.tensor : tensor_;
    text.index = is_in ? held : element;
    text.value = scalar::cast(is_in ? scalar::load(tensor_, element, stored)
                                    : scalar::load(tile_.tensor, held, stored),
                              computed);
    text.where = made_.scop[region_.inside.front().statement].text.where;
    return add_statement(made_, std::move(text), which);
  }

  /// Beside the loop; its loops run over the tile as it lies.
  void place(StmtId copy, bool is_before) {
    poly::Order& order = made_.order;
    std::vector<Expr> around, element;
    const std::vector<std::string>& names = made_.scop[copy].text.iters;
    for (size_t d = 0; d < names.size(); ++d)
      (d < region_.depth ? around : element).push_back(scalar::iter(static_cast<uint32_t>(d)));
    order.rows[copy.value] = around;
    const std::vector<Expr> at = positions_in(box_, around, element);
    order.rows[copy.value].insert(order.rows[copy.value].end(), at.begin(), at.end());
    TreeNode node{copy, {}};
    for (size_t d = element.size(); d-- > 0;) {
      const LoopId id =
          poly::add_loop(order, names[region_.depth + d], made_.scop[copy].text.where);
      order[id].tile_size = *scalar::constant_of(box_.extent[d]);
      node = TreeNode{id, {std::move(node)}};
    }
    const Place beside = place_of(order, loop_);
    beside.sequence->insert(beside.sequence->begin() +
                                static_cast<std::ptrdiff_t>(beside.index + (is_before ? 0 : 1)),
                            std::move(node));
  }

  Proposal made_;
  uint32_t tensor_;
  LoopId loop_;
  Region region_;
  Footprint box_;
  isl::set read_, written_; ///< { [o, c] }: copied in, copied out
  PrivateBuffer tile_;
};

} // namespace

Proposed propose(const Schedule& schedule, const Promote& directive,
                 const Environment& environment) {
  const std::string request = request_of(directive);
  KAWARA_TRY(const uint32_t tensor, resolve_tensor(schedule.scop, directive.tensor, request));
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, directive.loop, request));
  if (auto refused = refuse_as_place(schedule.order, loop, request))
    return fail(*std::move(refused));
  const Span where = schedule.order[loop].where;
  const auto refused = [&](const std::string& why) {
    return fail(shape_refusal(kCannotPromote, request, where, "cannot keep it over this", {why}));
  };
  Region region = region_of(schedule, tensor, loop);
  if (std::none_of(region.inside.begin(), region.inside.end(),
                   [](const Access& a) { return a.is_write; }))
    return refused("Nothing below " + quoted(directive.loop) + " writes `" + directive.tensor +
                   "`. What is only read can be copied with `stage` or `pack`.");
  if (auto illegal = refuse_as_source(schedule, kCannotPromote, request, where, environment))
    return fail(*std::move(illegal));
  Promotion promotion(schedule, tensor, loop, std::move(region));
  const auto size = promotion.size();
  if (!size || *size > kMostHeld)
    return refused("One run of " + quoted(directive.loop) + " touches " +
                   (size ? std::to_string(*size) + " elements" : "a number of elements") + " of `" +
                   directive.tensor + "`" +
                   (size ? ", and at most " + std::to_string(kMostHeld) + " can be kept."
                         : " that grows with the sizes or is large. Tile the loops that move "
                           "through it, and bring the tiles outside."));
  return promotion.proposal();
}

} // namespace kawara::schedule
