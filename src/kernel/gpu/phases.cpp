#include "kernel/gpu/phases.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

/// Buffers that threads touched since they last waited.
struct TouchedSince {
  std::set<uint32_t> read, written;

  void add(const TouchedSince& more) {
    read.insert(more.read.begin(), more.read.end());
    written.insert(more.written.begin(), more.written.end());
  }
  bool clashes(const TouchedSince& next) const {
    const auto meet = [](const std::set<uint32_t>& a, const std::set<uint32_t>& b) {
      return std::any_of(a.begin(), a.end(), [&](uint32_t id) { return b.contains(id); });
    };
    return meet(written, next.read) || meet(written, next.written) || meet(read, next.written);
  }
};

class Placement {
public:
  Placement(const Kernel& kernel, const std::set<uint32_t>& thread_private)
      : kernel_(kernel), owned_(thread_private) {}

  Block place(const PhaseNodes& nodes, TouchedSince& since) const {
    Block result;
    for (const PhaseNode& node : nodes) {
      if (const auto* phase = std::get_if<Phase>(&node.what))
        place(*phase, since, result);
      else
        result.push_back(place(std::get<PhaseControl>(node.what), since));
    }
    return result;
  }

private:
  bool counts(uint32_t buffer) const {
    return kernel_.buffers[buffer].scope != Scope::Private && !owned_.contains(buffer);
  }

  TouchedSince touched_since(const Block& block) const {
    TouchedSince touched;
    const auto add = [&](std::set<uint32_t>& to, uint32_t buffer) {
      if (counts(buffer))
        to.insert(buffer);
    };
    for (const uint32_t buffer : buffers_stored_in(block))
      add(touched.written, buffer);
    visit_loads(block, [&](const scalar::Load& load) { add(touched.read, load.tensor); });
    return touched;
  }

  void place(const Phase& phase, TouchedSince& since, Block& result) const {
    const TouchedSince touched = touched_since(phase.body);
    if (since.clashes(touched)) {
      result.emplace_back(Barrier{});
      since = {};
    }
    since.add(touched);
    result.insert(result.end(), phase.body.begin(), phase.body.end());
  }

  Stmt place(const PhaseControl& control, TouchedSince& since) const {
    Stmt shell = control.shell;
    if (auto* loop = std::get_if<For>(&shell)) {
      // The next iteration meets what the one before left behind.
      TouchedSince around;
      place(control.then, around);
      const TouchedSince before = since;
      since.add(around);
      loop->body = place(control.then, since);
      since.add(before);
    } else if (auto* branch = std::get_if<If>(&shell)) {
      TouchedSince other = since;
      branch->then = place(control.then, since);
      branch->otherwise = place(control.otherwise, other);
      since.add(other);
    } else
      std::get<Allocate>(shell).body = place(control.then, since);
    return shell;
  }

  const Kernel& kernel_;
  const std::set<uint32_t>& owned_;
};

} // namespace

Block with_barriers(const Kernel& kernel, const PhaseNodes& nodes,
                    const std::set<uint32_t>& thread_private) {
  TouchedSince since;
  return Placement(kernel, thread_private).place(nodes, since);
}

} // namespace kawara::kernel
