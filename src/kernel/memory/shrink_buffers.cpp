#include "kernel/memory/shrink_buffers.h"

#include "kernel/analysis/windows.h"
#include "kernel/walk.h"

#include <algorithm>
#include <map>

namespace kawara::kernel {
namespace {

using scalar::as;
using Windows = std::vector<std::optional<Window>>; ///< by dimension; empty: all of it

/// Where a buffer is allocated, and what its Allocates have in common.
struct Use {
  Scope scope = Scope::Workspace;
  std::vector<int64_t> sizes; ///< of the windows, largest over the Allocates; 0: stays whole
};

int64_t pad_of(const Pads& pads, uint32_t buffer, size_t dimension) {
  const auto found = pads.find(buffer);
  return found == pads.end() ? 0 : found->second[dimension];
}

class BufferSurvey {
public:
  BufferSurvey(const Kernel& kernel, const Pads& pads) : kernel_(kernel), pads_(pads) {
    walk(kernel.body, Scope::Workspace);
  }
  const std::map<uint32_t, Use>& uses() const { return uses_; }

private:
  /// `scope`: of what is allocated here.
  void walk(const Block& block, Scope scope) {
    for (const Stmt& stmt : block) {
      if (const auto* loop = std::get_if<For>(&stmt))
        walk(loop->body, inside(*loop, scope));
      else if (const auto* branch = std::get_if<If>(&stmt)) {
        walk(branch->then, scope);
        walk(branch->otherwise, scope);
      } else if (const auto* allocate = std::get_if<Allocate>(&stmt)) {
        add(*allocate, scope);
        walk(allocate->body, scope);
      }
    }
  }

  static Scope inside(const For& loop, Scope around) {
    if (loop.marks.is_parallel || poly::is_thread(loop.marks.axis) || around == Scope::Private)
      return Scope::Private;
    return poly::is_block(loop.marks.axis) ? Scope::Shared : around;
  }

  void add(const Allocate& allocate, Scope scope) {
    const std::vector<Expr>& shape = kernel_.buffers[allocate.buffer].shape;
    const Windows windows = windows_of(allocate.body, allocate.buffer, shape.size());
    const bool is_first = !uses_.contains(allocate.buffer);
    Use& use = uses_[allocate.buffer];
    if (is_first || use.scope == Scope::Workspace)
      use.scope = scope;
    use.sizes.resize(shape.size(), is_first ? 1 : 0);
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto extent = scalar::constant_of(shape[d]);
      const bool helps =
          windows[d] &&
          !(extent && *extent <= windows[d]->size + pad_of(pads_, allocate.buffer, d));
      if (!helps)
        use.sizes[d] = 0;
      else if (use.sizes[d] != 0)
        use.sizes[d] = std::max(use.sizes[d], windows[d]->size);
    }
  }

  const Kernel& kernel_;
  const Pads& pads_;
  std::map<uint32_t, Use> uses_;
};

/// The elements of one Allocate, counted from the start of its window.
class Renumber {
public:
  Renumber(const Kernel& kernel, const Allocate& allocate, const Use& use)
      : buffer_(allocate.buffer),
        windows_(windows_of(allocate.body, buffer_, kernel.buffers[buffer_].shape.size())) {
    for (size_t d = 0; d < windows_.size(); ++d)
      if (use.sizes[d] == 0)
        windows_[d].reset();
  }

  Block of(const Block& block) const {
    const Block read = map_exprs(block, [&](const Expr& root) {
      return scalar::rewrite(root, [&](const Expr& e) {
        const auto* load = as<scalar::Load>(e);
        return load != nullptr && load->tensor == buffer_
                   ? scalar::load(buffer_, index_of(load->index), e.type())
                   : Expr();
      });
    });
    return rewrite(read, [&](Stmt stmt) {
      if (auto* store = std::get_if<Store>(&stmt); store != nullptr && store->buffer == buffer_)
        store->index = index_of(store->index);
      return block_of(std::move(stmt));
    });
  }

private:
  std::vector<Expr> index_of(std::vector<Expr> index) const {
    for (size_t d = 0; d < index.size(); ++d)
      if (windows_[d])
        index[d] = scalar::simplify(index[d] - windows_[d]->first);
    return index;
  }

  uint32_t buffer_;
  Windows windows_;
};

} // namespace

Kernel shrink_buffers(Kernel kernel, const Pads& pads) {
  const auto uses = BufferSurvey(kernel, pads).uses();
  kernel.body = rewrite(kernel.body, [&](Stmt stmt) {
    auto* allocate = std::get_if<Allocate>(&stmt);
    if (allocate == nullptr)
      return block_of(std::move(stmt));
    const Use& use = uses.at(allocate->buffer);
    allocate->body = Renumber(kernel, *allocate, use).of(allocate->body);
    return use.scope != Scope::Workspace ? block_of(std::move(stmt)) : std::move(allocate->body);
  });
  for (const auto& [id, use] : uses) {
    Buffer& buffer = kernel.buffers[id];
    buffer.scope = use.scope;
    for (size_t d = 0; d < use.sizes.size(); ++d)
      if (use.sizes[d] != 0)
        buffer.shape[d] = scalar::int_lit(use.sizes[d] + pad_of(pads, id, d));
  }
  return kernel;
}

} // namespace kawara::kernel
