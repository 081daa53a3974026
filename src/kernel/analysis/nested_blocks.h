#pragma once

#include "kernel/kernel.h"

#include <utility>

namespace kawara::kernel {

/// The statement with `map` done to the blocks right inside it: a loop's body, both sides of a condition, what a
/// buffer lives for. Launches stay as they are.
template <class Map> Stmt with_nested_blocks(Stmt stmt, Map&& map) {
  if (auto* loop = std::get_if<For>(&stmt))
    loop->body = map(loop->body);
  else if (auto* branch = std::get_if<If>(&stmt)) {
    branch->then = map(branch->then);
    branch->otherwise = map(branch->otherwise);
  } else if (auto* allocate = std::get_if<Allocate>(&stmt))
    allocate->body = map(allocate->body);
  return stmt;
}

/// Whether there is a loop in the block, at any depth.
inline bool has_loop(const Block& block) {
  for (const Stmt& stmt : block) {
    if (std::holds_alternative<For>(stmt))
      return true;
    const auto* branch = std::get_if<If>(&stmt);
    const auto* allocate = std::get_if<Allocate>(&stmt);
    if ((branch != nullptr && (has_loop(branch->then) || has_loop(branch->otherwise))) ||
        (allocate != nullptr && has_loop(allocate->body)))
      return true;
  }
  return false;
}

/// Does `change` to each loop that has none inside; whether it said so for one of them.
template <class Change> bool change_innermost_loops(Block& block, Change&& change) {
  bool found = false;
  for (Stmt& stmt : block) {
    if (auto* branch = std::get_if<If>(&stmt)) {
      found = change_innermost_loops(branch->then, change) || found;
      found = change_innermost_loops(branch->otherwise, change) || found;
    } else if (auto* allocate = std::get_if<Allocate>(&stmt)) {
      found = change_innermost_loops(allocate->body, change) || found;
    } else if (auto* loop = std::get_if<For>(&stmt)) {
      const bool is_done =
          has_loop(loop->body) ? change_innermost_loops(loop->body, change) : change(*loop);
      found = is_done || found;
    }
  }
  return found;
}

/// What `map` makes of each statement, one after the other.
template <class Map> Block with_each_replaced(const Block& statements, Map&& map) {
  Block result;
  for (const Stmt& stmt : statements)
    for (Stmt& made : map(stmt))
      result.push_back(std::move(made));
  return result;
}

} // namespace kawara::kernel
