#include "kernel/loops/share_tests.h"

#include "kernel/walk.h"
#include "scalar/loads.h"

#include <utility>

namespace kawara::kernel {
namespace {

/// Adds the statement, or what it does on each side of the test that stands last.
void add_or_join(Block& block, Stmt stmt) {
  auto* next = std::get_if<If>(&stmt);
  auto* last = block.empty() ? nullptr : std::get_if<If>(&block.back());
  if (next == nullptr || last == nullptr || !scalar::equal(next->cond, last->cond) ||
      !scalar::loads_in(next->cond).empty())
    return block.push_back(std::move(stmt));
  append(last->then, std::move(next->then));
  append(last->otherwise, std::move(next->otherwise));
}

Block joined(Block statements) {
  Block result;
  for (Stmt& stmt : statements)
    add_or_join(result, std::move(stmt));
  return result;
}

/// Storage whose whole life is one test, as that of its two sides.
Stmt inside_test(Stmt stmt) {
  auto* allocate = std::get_if<Allocate>(&stmt);
  auto* test = allocate != nullptr && allocate->body.size() == 1
                   ? std::get_if<If>(&allocate->body.front())
                   : nullptr;
  if (test == nullptr || !scalar::loads_in(test->cond).empty())
    return stmt;
  If both{test->cond, {}, {}};
  const auto with_storage = [&](Block body) {
    return body.empty()
               ? Block()
               : block_of(Allocate{allocate->buffer, joined(std::move(body)), allocate->origins});
  };
  both.then = with_storage(std::move(test->then));
  both.otherwise = with_storage(std::move(test->otherwise));
  return both;
}

} // namespace

Block with_shared_tests(const Block& block) {
  return joined(rewrite(block, [](Stmt stmt) {
    for_blocks(stmt, [](Block& inside) { inside = joined(std::move(inside)); });
    return inside_test(std::move(stmt));
  }));
}

} // namespace kawara::kernel
