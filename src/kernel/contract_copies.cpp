#include "kernel/contract_copies.h"

#include "kernel/ranges.h"
#include "kernel/walk.h"
#include "kernel/windows.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::int_lit;

/// Checks every access to one buffer against the loops around it.
class CopyIndices {
public:
  CopyIndices(uint32_t buffer, uint32_t dims) : buffer_(buffer), dims_(dims) {}

  /// The loops whose variables are the copy indices of all accesses, outermost first; empty when
  /// there are none.
  std::vector<For*> loops_around(Block& body) {
    walk(body);
    return is_fine_ ? shared_ : std::vector<For*>();
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
    const std::vector<For*> here(path_.begin(), path_.begin() + dims_);
    if (shared_.empty())
      shared_ = here;
    is_fine_ = is_fine_ && shared_ == here && !here.back()->joins_child;
    for (size_t d = 0; d < dims_ && is_fine_; ++d)
      is_fine_ = here[d]->marks.vector_width == 0 && is_loop(index[d], d);
  }

  void expr(const Expr& e) {
    scalar::visit(e, [&](const Expr& n) {
      if (const auto* load = as<scalar::Load>(n); load != nullptr && load->tensor == buffer_)
        access(load->index);
    });
  }

  void walk(Block& block) {
    for (Stmt& stmt : block) {
      visit_own_exprs(stmt, [&](const Expr& e) { expr(e); });
      if (auto* loop = std::get_if<For>(&stmt)) {
        path_.push_back(loop);
        ranges_.enter(*loop);
        walk(loop->body);
        ranges_.leave();
        path_.pop_back();
      } else if (auto* branch = std::get_if<If>(&stmt)) {
        walk(branch->then);
        walk(branch->otherwise);
      } else if (auto* allocate = std::get_if<Allocate>(&stmt)) {
        walk(allocate->body);
      } else if (const auto* store = std::get_if<Store>(&stmt)) {
        if (store->buffer == buffer_)
          access(store->index);
      } else if (const auto* zero = std::get_if<Zero>(&stmt))
        is_fine_ = is_fine_ && zero->buffer != buffer_;
    }
  }

  uint32_t buffer_, dims_;
  bool is_fine_ = true;
  std::vector<For*> path_, shared_;
  Ranges ranges_;
};

/// The cells of one copy: the dimensions after the copy dimensions, each from its window's start.
class OneCopy {
public:
  OneCopy(Kernel& kernel, uint32_t id, For& loop) : kernel_(kernel), id_(id), loop_(loop) {
    Buffer& b = kernel.buffers[id];
    dims_ = b.private_dims;
    windows_ = windows_of(loop.body, id, b.shape.size());
    std::vector<Expr> shape;
    for (size_t d = dims_; d < b.shape.size(); ++d) {
      const auto extent = scalar::constant_of(b.shape[d]);
      if (windows_[d] && extent && *extent <= windows_[d]->size)
        windows_[d].reset();
      shape.push_back(windows_[d] ? int_lit(windows_[d]->size) : b.shape[d]);
    }
    b.shape = std::move(shape);
    b.private_dims = 0;
  }

  void take(bool is_private) {
    Block body = map_exprs(loop_.body, [&](const Expr& root) {
      return scalar::rewrite(root, [&](const Expr& e) {
        const auto* load = as<scalar::Load>(e);
        return load != nullptr && load->tensor == id_
                   ? scalar::load(id_, index_of(load->index), e.type())
                   : Expr();
      });
    });
    body = rewrite(body, [&](Stmt stmt) {
      if (auto* store = std::get_if<Store>(&stmt); store != nullptr && store->buffer == id_)
        store->index = index_of(store->index);
      return block_of(std::move(stmt));
    });
    if (is_private) {
      kernel_.buffers[id_].scope = Scope::Private;
      body = block_of(Allocate{id_, std::move(body)});
    }
    loop_.body = std::move(body);
  }

private:
  std::vector<Expr> index_of(const std::vector<Expr>& old) const {
    std::vector<Expr> index;
    for (size_t d = dims_; d < old.size(); ++d)
      index.push_back(windows_[d] ? scalar::simplify(old[d] - windows_[d]->first) : old[d]);
    return index;
  }

  Kernel& kernel_;
  uint32_t id_;
  For& loop_;
  uint32_t dims_ = 0;
  std::vector<std::optional<Window>> windows_;
};

} // namespace

Kernel contract_copies(Kernel kernel) {
  for (uint32_t id = 0; id < kernel.buffers.size(); ++id) {
    const Buffer& b = kernel.buffers[id];
    if (b.private_dims == 0 || b.scope != Scope::Workspace)
      continue;
    const auto loops = CopyIndices(id, b.private_dims).loops_around(kernel.body);
    if (loops.empty())
      continue;
    const bool is_private =
        std::any_of(loops.begin(), loops.end(), [](const For* l) { return l->marks.is_parallel; });
    OneCopy(kernel, id, *loops.back()).take(is_private);
  }
  return kernel;
}

} // namespace kawara::kernel
