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

/// What `map` makes of each statement, one after the other.
template <class Map> Block with_each_replaced(const Block& statements, Map&& map) {
  Block result;
  for (const Stmt& stmt : statements)
    for (Stmt& made : map(stmt))
      result.push_back(std::move(made));
  return result;
}

} // namespace kawara::kernel
