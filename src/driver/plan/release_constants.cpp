#include "driver/plan/release_constants.h"

#include "driver/plan/graph_reads.h"

#include <sys/mman.h>
#include <unistd.h>

#include <set>

namespace kawara::driver {
namespace {

/// Smaller ones are not worth a call to the system.
constexpr int64_t kLeastBytes = 64 * 1024;

class UsedUp {
public:
  UsedUp(const graph::Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {}

  std::vector<std::vector<Tensor>> find() {
    for (const auto& [id, tensor] : graph_.initializers)
      own_.insert(tensor.data());
    for (size_t k = 0; k < plan_.steps.size(); ++k)
      std::visit([&](const auto& step) { visit(step, k); }, plan_.steps[k]);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) // of other plans, which run before or after
      if (n < plan_.begin || n >= plan_.end)
        for_each_read(graph_.nodes[n], [&](ValueId id) { want(id); });
    for (const ValueId id : graph_.outputs)
      want(id);
    for (const ValueId id : plan_.asked)
      want(id);
    std::vector<std::vector<Tensor>> out(plan_.steps.size());
    for (const auto& [elements, last] : last_)
      if (wanted_.count(elements) == 0 && own_.count(elements))
        out[last.step].push_back(last.tensor);
    return out;
  }

private:
  void want(ValueId id) {
    if (plan_.infos[id].constant)
      wanted_.insert(plan_.infos[id].constant.data());
  }
  void visit(const KernelStep& step, size_t k) {
    size_t operand = 0;
    for (const emit::BufferInfo& argument : step.code->signature().arguments) {
      if (argument.name[0] != 'X')
        continue;
      const ValueId id = step.operands[operand++];
      const Tensor& constant = plan_.infos[id].constant;
      if (!constant)
        continue;
      // Code for a range of sizes prepares anew when the size changes.
      if (argument.is_dead_once_prepared && step.params.empty() && constant.bytes() >= kLeastBytes)
        last_[constant.data()] = {k, constant};
      else
        want(id);
    }
  }
  void visit(const JoinStep& step, size_t) {
    for (const ValueId id : step.operands)
      want(id);
  }
  void visit(const ViewStep& step, size_t) { want(step.operand); }
  void visit(const CallStep& step, size_t) {
    for_each_read(graph_.nodes[step.node], [&](ValueId id) { want(id); });
  }

  struct Last {
    size_t step = 0;
    Tensor tensor;
  };
  const graph::Graph& graph_;
  const Plan& plan_;
  std::map<const std::byte*, Last> last_; ///< the last step that prepares these elements
  std::set<const std::byte*> wanted_;     ///< elements that are read again
  std::set<const std::byte*> own_;        ///< of the graph itself
};

} // namespace

std::vector<std::vector<Tensor>> used_up_by_steps(const graph::Graph& graph, const Plan& plan) {
  return UsedUp(graph, plan).find();
}

void release(Tensor tensor) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(tensor.data());
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t last = (begin + static_cast<uintptr_t>(tensor.bytes())) / page * page;
  if (first < last)
    ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

} // namespace kawara::driver
