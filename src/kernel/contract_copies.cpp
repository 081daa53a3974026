#include "kernel/contract_copies.h"

#include "kernel/ranges.h"

namespace kawara::kernel {
namespace {

using scalar::as;

/// Checks every access to one buffer against the loops around it.
class CopyIndices {
public:
  CopyIndices(uint32_t buffer, uint32_t dims) : buffer_(buffer), dims_(dims) {}

  bool are_outer_loops(const Block& body) {
    walk(body);
    return is_fine_;
  }

private:
  /// `e` is the variable of the loop at depth d, whatever else it is spelled with.
  bool is_loop(const Expr& e, size_t d) const {
    const Expr v = scalar::var(path_[d]->var);
    return ranges_.is_at_least(scalar::simplify(e - v), 0) &&
           ranges_.is_at_least(scalar::simplify(v - e), 0);
  }

  void access(const std::vector<Expr>& index) {
    if (path_.size() < dims_) {
      is_fine_ = false;
      return;
    }
    // All accesses must be below the same loops, not below loops that happen to look alike.
    const std::vector<const For*> here(path_.begin(), path_.begin() + dims_);
    if (shared_.empty())
      shared_ = here;
    is_fine_ = is_fine_ && shared_ == here;
    for (size_t d = 0; d < dims_ && is_fine_; ++d)
      is_fine_ = !here[d]->marks.is_parallel && here[d]->marks.vector_width == 0 &&
                 !here[d]->joins_child && is_loop(index[d], d);
  }

  void expr(const Expr& e) {
    scalar::visit(e, [&](const Expr& n) {
      if (const auto* load = as<scalar::Load>(n); load != nullptr && load->tensor == buffer_)
        access(load->index);
    });
  }

  void walk(const Block& block) {
    for (const Stmt& stmt : block) {
      if (const auto* loop = std::get_if<For>(&stmt)) {
        expr(loop->lo);
        expr(loop->hi);
        path_.push_back(loop);
        ranges_.enter(*loop);
        walk(loop->body);
        ranges_.leave();
        path_.pop_back();
      } else if (const auto* branch = std::get_if<If>(&stmt)) {
        expr(branch->cond);
        walk(branch->then);
        walk(branch->otherwise);
      } else if (const auto* store = std::get_if<Store>(&stmt)) {
        for (const Expr& e : store->index)
          expr(e);
        expr(store->value);
        if (store->buffer == buffer_)
          access(store->index);
      } else
        is_fine_ = is_fine_ && std::get_if<Comment>(&stmt) != nullptr;
    }
  }

  uint32_t buffer_, dims_;
  bool is_fine_ = true;
  std::vector<const For*> path_, shared_;
  Ranges ranges_;
};

std::vector<Expr> tail_of(const std::vector<Expr>& list, uint32_t dims) {
  return {list.begin() + dims, list.end()};
}

void drop_copies(Kernel& kernel, uint32_t id) {
  const uint32_t dims = kernel.buffers[id].private_dims;
  kernel.body = map_exprs(kernel.body, [&](const Expr& root) {
    return scalar::rewrite(root, [&](const Expr& e) {
      const auto* load = as<scalar::Load>(e);
      return load != nullptr && load->tensor == id
                 ? scalar::load(id, tail_of(load->index, dims), e.type())
                 : Expr();
    });
  });
  kernel.body = rewrite(kernel.body, [&](Stmt stmt) {
    if (auto* store = std::get_if<Store>(&stmt); store != nullptr && store->buffer == id)
      store->index = tail_of(store->index, dims);
    return block_of(std::move(stmt));
  });
  kernel.buffers[id].shape = tail_of(kernel.buffers[id].shape, dims);
  kernel.buffers[id].private_dims = 0;
}

} // namespace

Kernel contract_copies(Kernel kernel) {
  for (uint32_t id = 0; id < kernel.buffers.size(); ++id) {
    const Buffer& b = kernel.buffers[id];
    if (b.private_dims == 0 || b.scope != Scope::Workspace)
      continue;
    if (CopyIndices(id, b.private_dims).are_outer_loops(kernel.body))
      drop_copies(kernel, id);
  }
  return kernel;
}

} // namespace kawara::kernel
