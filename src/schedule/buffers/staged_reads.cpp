#include "schedule/buffers/staged_reads.h"

#include "poly/accesses.h"
#include "schedule/codes.h"
#include "support/check.h"
#include "support/text.h"

#include <algorithm>

namespace kawara::schedule {

using poly::Access;
using poly::LoopId;
using poly::Order;
using poly::Scop;
using poly::StmtId;
using poly::TreeNode;

namespace {

/// Position of the root node that holds a statement.
size_t root_of(const Order& order, StmtId id) {
  for (size_t k = 0; k < order.body.size(); ++k) {
    const std::vector<StmtId> below = poly::statements_below(order.body[k]);
    if (std::find(below.begin(), below.end(), id) != below.end())
      return k;
  }
  KAWARA_CHECK(false, "the statement is in the tree");
}

} // namespace

Result<uint32_t, Refusal::Shape> resolve_tensor(const Scop& scop, const std::string& name,
                                                const std::string& request) {
  std::vector<std::string> names, shown;
  for (uint32_t t = 0; t < scop.tensors.size(); ++t) {
    if (scop.tensors[t].name == name)
      return t;
    names.push_back(scop.tensors[t].name);
    shown.push_back("`" + names.back() + "`");
  }
  std::vector<std::string> body{"The tensors are " + join(shown, ", ") + "."};
  // Any one-letter name is one edit away from any other.
  if (const auto meant = closest(name, names); meant && name.size() > 1)
    body.push_back("Did you mean `" + *meant + "`?");
  return fail(shape_refusal(kUnknownTensor, request + ": there is no tensor `" + name + "`", {}, "",
                            std::move(body)));
}

Result<StagedReads, std::string> staged_reads(const Schedule& schedule, uint32_t tensor,
                                              std::optional<LoopId> loop,
                                              const std::string& loop_name,
                                              std::optional<StmtId> reader) {
  const Scop& scop = schedule.scop;
  const std::string& name = scop.tensors[tensor].name;
  const std::vector<StmtId> below =
      loop ? poly::statements_below(schedule.order, *loop) : std::vector<StmtId>();
  const auto is_below = [&](StmtId id) {
    return !loop || std::find(below.begin(), below.end(), id) != below.end();
  };
  StagedReads place;
  const std::vector<Access> all = poly::accesses_of(scop, tensor);
  for (const Access& access : all) {
    if (access.tensor != tensor || !is_below(access.statement))
      continue;
    if (access.is_write && !loop)
      continue;
    if (access.is_write)
      return fail(scop[access.statement].text.name + " writes `" + name + "` inside " + loop_name +
                  ": a copy made before would miss what it writes. Choose a loop without it.");
    if (!reader || access.statement == *reader)
      place.reads.push_back(access);
  }
  if (place.reads.empty())
    return fail(reader
                    ? scop[*reader].text.name + " reads no `" + name + "` below " + loop_name + "."
                    : "Nothing below " + loop_name + " reads `" + name + "`.");
  std::erase_if(place.reads, [&](const Access& read) {
    return scop[read.statement].domain.intersect_params(scop.context).is_empty();
  });
  if (place.reads.empty())
    return fail("The statements below " + loop_name + " that read `" + name +
                "` have no iterations.");
  size_t last = 0;
  place.source_root = scop.source_order.body.size();
  for (const Access& read : place.reads) {
    const size_t at = root_of(scop.source_order, read.statement);
    place.source_root = std::min(place.source_root, at);
    last = std::max(last, at);
  }
  for (const Access& access : all) {
    if (access.tensor != tensor || !access.is_write)
      continue;
    const size_t at = root_of(scop.source_order, access.statement);
    if (at >= place.source_root && at <= last)
      return fail(scop[access.statement].text.name + " writes `" + name +
                  "`, and the program text has it between the statements that read it here, or in "
                  "an outermost loop with one of them. One copy cannot hold the values before and "
                  "after.");
  }
  return place;
}

void insert_before_reads(Order& order, std::optional<LoopId> loop, const std::vector<Access>& reads,
                         TreeNode nest) {
  std::vector<TreeNode>& body = loop ? poly::find_node(order, *loop)->body : order.body;
  const auto first = std::find_if(body.begin(), body.end(), [&](const TreeNode& child) {
    const std::vector<StmtId> below = poly::statements_below(child);
    return std::any_of(reads.begin(), reads.end(), [&](const Access& read) {
      return std::find(below.begin(), below.end(), read.statement) != below.end();
    });
  });
  body.insert(first, std::move(nest));
}

void place_in_source(Scop& scop, StmtId copy, size_t source_root) {
  Order& source = scop.source_order;
  const program::Statement& text = scop[copy].text;
  TreeNode node{copy, {}};
  for (size_t d = text.iters.size(); d-- > 0;) {
    source.rows[copy.value].insert(source.rows[copy.value].begin(),
                                   scalar::iter(static_cast<uint32_t>(d)));
    node = TreeNode{poly::add_loop(source, text.iters[d], text.where), {std::move(node)}};
  }
  source.body.insert(source.body.begin() + static_cast<std::ptrdiff_t>(source_root),
                     std::move(node));
}

} // namespace kawara::schedule
