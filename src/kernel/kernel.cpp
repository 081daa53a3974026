#include "kernel/kernel.h"

#include <algorithm>

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

std::set<uint32_t> used_buffers(const Kernel& kernel) {
  std::set<uint32_t> used;
  visit(kernel.body, [&](const Stmt& stmt) {
    if (const auto* store = std::get_if<Store>(&stmt))
      used.insert(store->buffer);
    else if (const auto* zero = std::get_if<Zero>(&stmt))
      used.insert(zero->buffer);
    else if (const auto* allocate = std::get_if<Allocate>(&stmt))
      used.insert(allocate->buffer);
    else if (const auto* async_op = std::get_if<AsyncOp>(&stmt))
      for (const auto& buffers : {written_by(*async_op), read_by(*async_op)})
        used.insert(buffers.begin(), buffers.end());
  });
  visit_exprs(kernel.body, [&](const Expr& root) {
    scalar::visit(root, [&](const Expr& e) {
      if (const auto* load = scalar::as<scalar::Load>(e))
        used.insert(load->tensor);
    });
  });
  return used;
}

bool has_barrier(const Block& block) {
  bool found = false;
  visit(block, [&](const Stmt& stmt) {
    found |= std::get_if<Barrier>(&stmt) != nullptr || std::get_if<Combine>(&stmt) != nullptr;
  });
  return found;
}

bool has_barrier(const Stmt& stmt) { return has_barrier(block_of(stmt)); }

bool has_async_op(const Block& block) {
  bool found = false;
  visit(block, [&](const Stmt& stmt) { found |= std::get_if<AsyncOp>(&stmt) != nullptr; });
  return found;
}

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
