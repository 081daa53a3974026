#include "kernel/from_schedule/from_schedule_tree.h"

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
/// Iterators get names that no parameter can have.
constexpr char kIteratorSign = '$';
constexpr int kMaxDepth = 64;
/// Places where a statement runs, on average.
constexpr size_t kMostCases = 8;

class TreeBuilder {
public:
  TreeBuilder(const poly::Scop& scop, const poly::Order& order, bool is_whole)
      : scop_(scop), order_(order), is_whole_(is_whole) {}

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
    isl::schedule_node top = band.root().child(0);
    if (is_whole_)
      top = top.as<isl::schedule_node_band>().member_set_ast_loop_atomic(0);
    return top.insert_mark(mark).schedule();
  }

  const std::vector<isl::pw_aff>& rows_of(StmtId id) {
    auto& rows = rows_[id.value];
    if (rows.empty())
      rows = poly::row_functions(scop_, order_, id);
    return rows;
  }

  const poly::Scop& scop_;
  const poly::Order& order_;
  bool is_whole_;
  std::map<uint32_t, std::vector<isl::pw_aff>> rows_;
};

} // namespace

isl::ast_node ast_from_order(const poly::Scop& scop, const poly::Order& order,
                             const LoopForm& form) {
  const isl::schedule tree = TreeBuilder(scop, order, form.is_whole).sequence(order.body, 0);
  if (tree.is_null())
    return {};
  std::vector<std::string> names;
  for (int d = 0; d < kMaxDepth; ++d)
    names.push_back(kIteratorSign + std::to_string(d));
  const isl::ast_build build =
      poly::with_iterators(isl::ast_build::from_context(scop.context), names);
  return poly::loops_of(build, tree, form.keeps_iterations);
}

isl::ast_node ast_of_few_cases(const poly::Scop& scop, const poly::Order& order,
                               bool keeps_iterations) {
  const isl::ast_node loops = ast_from_order(scop, order, {keeps_iterations, false});
  if (loops.is_null()) // no copy of it: isl refuses to copy nothing
    return {};
  if (poly::places_of_statements(loops) <= kMostCases * scop.statements.size())
    return loops;
  const isl::ast_node whole = ast_from_order(scop, order, {keeps_iterations, true});
  return poly::places_of_statements(whole) < poly::places_of_statements(loops) ? whole : loops;
}

LoopId loop_of_mark(const isl::id& mark) {
  const std::string name = mark.name();
  KAWARA_CHECK(name.starts_with(kMarkPrefix), "mark " + name);
  LoopId id;
  std::from_chars(name.data() + kMarkPrefix.size(), name.data() + name.size(), id.value);
  return id;
}

} // namespace kawara::kernel
