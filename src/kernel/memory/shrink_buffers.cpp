#include "kernel/memory/shrink_buffers.h"

#include "kernel/analysis/windows.h"
#include "kernel/walk.h"

#include <algorithm>
#include <map>

namespace kawara::kernel {
namespace {

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
    LoopsAround around;
    visit_scoped(kernel.body, around, [&](const Allocate& allocate) {
      Scope scope = Scope::Workspace;
      for (const For* loop : around.loops)
        scope = inside(*loop, scope);
      add(allocate, scope);
    });
  }
  const std::map<uint32_t, Use>& uses() const { return uses_; }

private:
  /// Of what is allocated in the loop, and would have that scope around it.
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

  Block of(Block block) const {
    return map_accesses(std::move(block), [&](const uint32_t& buffer, std::vector<Expr>& index) {
      if (buffer != buffer_)
        return false;
      for (size_t d = 0; d < index.size(); ++d)
        if (windows_[d])
          index[d] = scalar::simplify(index[d] - windows_[d]->first);
      return true;
    });
  }

private:
  uint32_t buffer_;
  Windows windows_;
};

} // namespace

Kernel shrink_buffers(Kernel kernel, const Pads& pads) {
  const auto uses = BufferSurvey(kernel, pads).uses();
  kernel.body = rewrite(kernel.body, [&](Allocate allocate) {
    const Use& use = uses.at(allocate.buffer);
    allocate.body = Renumber(kernel, allocate, use).of(std::move(allocate.body));
    return use.scope != Scope::Workspace ? block_of(std::move(allocate)) : std::move(allocate.body);
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
