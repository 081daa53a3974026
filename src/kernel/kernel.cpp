#include "kernel/kernel.h"

#include "kernel/walk.h"

#include <algorithm>
#include <iterator>

namespace kawara::kernel {

scalar::Names names_of(const Kernel& kernel) {
  scalar::Names names;
  for (const program::Param& p : kernel.params)
    names.params.push_back(p.name);
  for (const Buffer& b : kernel.buffers)
    names.tensors.push_back(b.name);
  for (const Variable& v : kernel.variables)
    names.vars.push_back(v.name);
  return names;
}

Block block_of(Stmt stmt) {
  Block block;
  block.push_back(std::move(stmt));
  return block;
}

void append(Block& to, Block more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::set<uint32_t> used_buffers(const Kernel& kernel) {
  std::set<uint32_t> used;
  const auto note = [&]<Kind S>(const S& stmt) {
    if constexpr (OneOf<S, Store, Zero, Allocate>)
      used.insert(stmt.buffer);
    else if constexpr (OneOf<S, AsyncOp>)
      for (const auto& buffers : {written_by(stmt), read_by(stmt)})
        used.insert(buffers.begin(), buffers.end());
    else
      static_assert(OneOf<S, For, If, Launch, Define, Assign, Prefetch, Comment, Barrier, Commit,
                          Await, Combine>);
  };
  visit(kernel.body, note);
  visit_loads(kernel.body, [&](const scalar::Load& load) { used.insert(load.tensor); });
  return used;
}

bool has_barrier(const Block& block) { return has<Barrier, Combine>(block); }
bool has_barrier(const Stmt& stmt) { return has<Barrier, Combine>(stmt); }
bool has_async_op(const Block& block) { return has<AsyncOp>(block); }

uint32_t add_variable(Kernel& kernel, std::string name, scalar::Type type) {
  const auto is_taken = [&](const std::string& text) {
    const auto same = [&](const auto& item) { return item.name == text; };
    return std::any_of(kernel.variables.begin(), kernel.variables.end(), same) ||
           std::any_of(kernel.params.begin(), kernel.params.end(), same) ||
           std::any_of(kernel.buffers.begin(), kernel.buffers.end(), same);
  };
  std::string unique = name;
  // Names come in long runs (24 accumulators), so the search starts where runs usually end.
  for (size_t n = 1; is_taken(unique); ++n)
    unique = name + "_" + std::to_string(n);
  kernel.variables.push_back({std::move(unique), type});
  return static_cast<uint32_t>(kernel.variables.size() - 1);
}

} // namespace kawara::kernel
