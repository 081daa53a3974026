#include "kernel/memory/prepare.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <iterator>

namespace kawara::kernel {
namespace {

std::set<uint32_t> buffers_read_in(const Stmt& root) {
  std::set<uint32_t> read;
  visit_loads(root, [&](const scalar::Load& load) { read.insert(load.tensor); });
  visit(root, [&](const Store& store) {
    if (store.op != ReduceOp::None)
      read.insert(store.buffer);
  });
  return read;
}

/// Buffers that a statement of the body touches, and that outlive it.
struct Touched {
  std::set<uint32_t> read, written;
};

Touched touched_by(const Kernel& kernel, const Stmt& stmt) {
  Touched touched{buffers_read_in(stmt), buffers_stored_in(stmt)};
  const auto is_private = [&](uint32_t id) {
    const Scope scope = kernel.buffers[id].scope;
    return scope == Scope::Private || scope == Scope::Shared;
  };
  std::erase_if(touched.read, is_private);
  std::erase_if(touched.written, is_private);
  return touched;
}

/// Whether the statement reads or sets a variable that lives longer than it.
bool shares_variables(const VarSet& of_body, const Stmt& stmt) {
  const VarSet set = vars_set_in(stmt);
  bool found =
      std::any_of(set.begin(), set.end(), [&](uint32_t var) { return of_body.contains(var); });
  visit_exprs(stmt, [&](const Expr& e) { found = found || mentions_any(e, of_body); });
  return found;
}

VarSet variables_of(const Block& body) {
  VarSet found;
  for (const Stmt& stmt : body)
    if (const auto* define = std::get_if<Define>(&stmt))
      found.insert(define->var);
  return found;
}

} // namespace

Kernel prepare(Kernel kernel) {
  const VarSet of_body = variables_of(kernel.body);
  std::vector<Touched> touched;
  for (const Stmt& stmt : kernel.body)
    touched.push_back(touched_by(kernel, stmt));
  std::set<uint32_t> ready;
  Block first, rest;
  for (size_t s = 0; s < kernel.body.size(); ++s) {
    const Touched& own = touched[s];
    const bool is_work =
        std::get_if<For>(&kernel.body[s]) != nullptr && !shares_variables(of_body, kernel.body[s]);
    const bool reads_ready = std::all_of(own.read.begin(), own.read.end(), [&](uint32_t id) {
      return kernel.buffers[id].is_constant || ready.contains(id);
    });
    const bool owns_results = std::all_of(own.written.begin(), own.written.end(), [&](uint32_t id) {
      if (kernel.buffers[id].scope != Scope::Workspace)
        return false;
      for (size_t other = 0; other < touched.size(); ++other)
        if (other != s && touched[other].written.contains(id))
          return false;
      return true;
    });
    if (is_work && reads_ready && owns_results && !own.read.empty()) {
      ready.insert(own.written.begin(), own.written.end());
      first.push_back(std::move(kernel.body[s]));
    } else
      rest.push_back(std::move(kernel.body[s]));
  }
  kernel.prepared = first.size();
  kernel.body = std::move(first);
  std::move(rest.begin(), rest.end(), std::back_inserter(kernel.body));
  return kernel;
}

} // namespace kawara::kernel
