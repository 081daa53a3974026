#include "kernel/shrink_buffers.h"

#include "kernel/windows.h"

#include <algorithm>
#include <map>

namespace kawara::kernel {
namespace {

using scalar::as;
using Windows = std::vector<std::optional<Window>>; ///< by dimension; empty: all of it

/// Where a buffer is allocated, and what its Allocates have in common.
struct Use {
  bool is_in_parallel = false;
  std::vector<int64_t> sizes; ///< of the windows, largest over the Allocates; 0: stays whole
};

class BufferSurvey {
public:
  explicit BufferSurvey(const Kernel& kernel) : kernel_(kernel) { walk(kernel.body, false); }
  const std::map<uint32_t, Use>& uses() const { return uses_; }

private:
  void walk(const Block& block, bool is_in_parallel) {
    for (const Stmt& stmt : block) {
      if (const auto* loop = std::get_if<For>(&stmt))
        walk(loop->body, is_in_parallel || loop->marks.is_parallel);
      else if (const auto* branch = std::get_if<If>(&stmt)) {
        walk(branch->then, is_in_parallel);
        walk(branch->otherwise, is_in_parallel);
      } else if (const auto* allocate = std::get_if<Allocate>(&stmt)) {
        add(*allocate, is_in_parallel);
        walk(allocate->body, is_in_parallel);
      }
    }
  }

  void add(const Allocate& allocate, bool is_in_parallel) {
    const std::vector<Expr>& shape = kernel_.buffers[allocate.buffer].shape;
    const Windows windows = windows_of(allocate.body, allocate.buffer, shape.size());
    const bool is_first = !uses_.contains(allocate.buffer);
    Use& use = uses_[allocate.buffer];
    use.is_in_parallel = use.is_in_parallel || is_in_parallel;
    use.sizes.resize(shape.size(), is_first ? 1 : 0);
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto extent = scalar::constant_of(shape[d]);
      const bool helps = windows[d] && !(extent && *extent <= windows[d]->size);
      if (!helps)
        use.sizes[d] = 0;
      else if (use.sizes[d] != 0)
        use.sizes[d] = std::max(use.sizes[d], windows[d]->size);
    }
  }

  const Kernel& kernel_;
  std::map<uint32_t, Use> uses_;
};

/// The cells of one Allocate, counted from the start of its window.
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

Kernel shrink_buffers(Kernel kernel) {
  const auto uses = BufferSurvey(kernel).uses();
  kernel.body = rewrite(kernel.body, [&](Stmt stmt) {
    auto* allocate = std::get_if<Allocate>(&stmt);
    if (allocate == nullptr)
      return block_of(std::move(stmt));
    const Use& use = uses.at(allocate->buffer);
    allocate->body = Renumber(kernel, *allocate, use).of(allocate->body);
    return use.is_in_parallel ? block_of(std::move(stmt)) : std::move(allocate->body);
  });
  for (const auto& [id, use] : uses) {
    Buffer& buffer = kernel.buffers[id];
    buffer.scope = use.is_in_parallel ? Scope::Private : Scope::Workspace;
    for (size_t d = 0; d < use.sizes.size(); ++d)
      if (use.sizes[d] != 0)
        buffer.shape[d] = scalar::int_lit(use.sizes[d]);
  }
  return kernel;
}

} // namespace kawara::kernel
