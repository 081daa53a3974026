#include "kernel/from_schedule_tree.h"

#include "poly/affine.h"
#include "poly/isl/ast.h"
#include "support/check.h"

#include <charconv>
#include <map>

namespace kawara::kernel {
namespace {

using poly::LoopId;
using poly::StmtId;
using poly::TreeNode;

constexpr std::string_view kMarkPrefix = "loop_";

class TreeBuilder {
public:
  TreeBuilder(const poly::Scop& scop, const poly::Order& order) : scop_(scop), order_(order) {}

  /// The schedule of a body; null when there is no statement in it.
  isl::schedule sequence(const std::vector<TreeNode>& body, size_t depth) {
    isl::schedule whole;
    for (const TreeNode& node : body) {
      const isl::schedule part = node.is_loop() ? loop(node, depth) : statement(node.statement());
      if (part.is_null())
        continue;
      whole = whole.is_null() ? part : poly::in_sequence(whole, part);
    }
    return whole;
  }

private:
  isl::schedule statement(StmtId id) {
    if (scop_[id].is_removed)
      return {};
    return isl::schedule::from_domain(isl::union_set(scop_[id].domain));
  }

  isl::schedule loop(const TreeNode& node, size_t depth) {
    const isl::schedule body = sequence(node.body, depth + 1);
    if (body.is_null())
      return body;
    isl::union_pw_aff rows;
    for (const StmtId id : poly::statements_below(node)) {
      if (scop_[id].is_removed)
        continue;
      const isl::union_pw_aff row(rows_of(id).at(depth));
      rows = rows.is_null() ? row : rows.union_add(row);
    }
    const isl::id mark(scop_.context_owner->get(),
                       std::string(kMarkPrefix) + std::to_string(node.loop().value));
    const isl::schedule band = poly::with_outer_band(body, isl::multi_union_pw_aff(rows));
    return band.root().child(0).insert_mark(mark).schedule();
  }

  const std::vector<isl::pw_aff>& rows_of(StmtId id) {
    auto& rows = rows_[id.value];
    if (rows.empty())
      rows = poly::row_functions(scop_, order_, id);
    return rows;
  }

  const poly::Scop& scop_;
  const poly::Order& order_;
  std::map<uint32_t, std::vector<isl::pw_aff>> rows_;
};

} // namespace

isl::schedule tree_from_order(const poly::Scop& scop, const poly::Order& order) {
  return TreeBuilder(scop, order).sequence(order.body, 0);
}

LoopId loop_of_mark(const isl::id& mark) {
  const std::string name = mark.name();
  KAWARA_CHECK(name.starts_with(kMarkPrefix), "mark " + name);
  LoopId id;
  std::from_chars(name.data() + kMarkPrefix.size(), name.data() + name.size(), id.value);
  return id;
}

} // namespace kawara::kernel
