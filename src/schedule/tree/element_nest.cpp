#include "schedule/tree/element_nest.h"

#include "schedule/tree/rewrite.h"
#include "schedule/tree/solve_iterators.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;
using poly::TreeNode;
using scalar::Expr;

ElementKeys element_keys(const Proposal& made, StmtId model, size_t depth) {
  ElementKeys keys;
  keys.model = model;
  keys.depth = depth;
  const program::Statement& text = made.scop[model].text;
  const std::vector<LoopId> path = poly::path_of(made.order, model);
  for (size_t d = 0; d < depth; ++d) {
    keys.keys.push_back(made.order.rows[model.value][d]);
    keys.names.push_back(fresh_name(made.order[path[d]].name, ".c", keys.names));
  }
  for (size_t p = 0; p < text.index.size(); ++p) {
    const auto known = std::find_if(keys.keys.begin(), keys.keys.end(), [&](const Expr& key) {
      return scalar::equal(key, text.index[p]);
    });
    keys.element.push_back(scalar::iter(static_cast<uint32_t>(known - keys.keys.begin())));
    if (known != keys.keys.end())
      continue;
    const auto* it = scalar::as<scalar::Iter>(text.index[p]);
    const std::string name = it ? text.iters[it->index] : "c" + std::to_string(p);
    keys.keys.push_back(text.index[p]);
    keys.names.push_back(fresh_name(name, ".c", keys.names));
  }
  keys.domain = map_of(keys.keys, made.scop[model].domain, made.scop.params).range();
  return keys;
}

TreeNode add_element_statement(Proposal& made, const ElementKeys& keys, program::Statement text) {
  const program::Statement& model = made.scop[keys.model].text;
  text.where = model.where;
  text.iters = keys.names;
  const size_t iterators = model.iters.size();
  const StmtId id = add_statement(made, std::move(text), keys.domain);
  const isl::set domain = made.scop[id].domain;
  const std::vector<Expr> solved = iterators_from_keys(keys.keys, iterators);
  const std::vector<LoopId> path = poly::path_of(made.order, keys.model);
  std::vector<std::string> taken;
  std::vector<Expr> rows;
  for (uint32_t d = 0; d < keys.depth; ++d) {
    taken.push_back(made.order[path[d]].name);
    rows.push_back(scalar::iter(d));
  }
  std::vector<LoopId> loops;
  const auto add_loop = [&](const std::string& name, const Expr& row) {
    taken.push_back(fresh_name(name, ".c", taken));
    loops.push_back(poly::add_loop(made.order, taken.back(), made.scop[keys.model].text.where));
    rows.push_back(row);
  };
  for (size_t d = keys.depth; d < path.size(); ++d) {
    const Expr row = in_solved(made.order.rows[keys.model.value][d], solved);
    if (!row)
      continue;
    const poly::OrderLoop copied = made.order[path[d]];
    add_loop(copied.name, row);
    made.order[loops.back()].tile_size = copied.tile_size;
    made.order[loops.back()].where = copied.where;
  }
  for (size_t k = keys.depth;
       k < keys.keys.size() && !map_of(rows, domain, made.scop.params).is_injective(); ++k)
    add_loop(keys.names[k], scalar::iter(static_cast<uint32_t>(k)));
  made.order.rows[id.value] = rows;
  TreeNode node{id, {}};
  for (size_t k = loops.size(); k-- > 0;)
    node = TreeNode{loops[k], {std::move(node)}};
  return node;
}

} // namespace kawara::schedule
