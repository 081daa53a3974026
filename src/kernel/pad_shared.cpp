#include "kernel/pad_shared.h"

#include "kernel/vars.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace kawara::kernel {
namespace {

constexpr int64_t kBanks = 32, kBankBytes = 4, kPieceBytes = 16;

struct BankUse {
  bool has_clash = false;
  int64_t lanes = 1; ///< of the widest access
};

class BankSurvey {
public:
  BankSurvey(const Kernel& kernel, const Launch& launch) : kernel_(kernel) {
    threads_ = {launch.thread_vars.begin(), launch.thread_vars.end()};
    visit_exprs(kernel.body, [&](const Expr& root) {
      scalar::visit(root, [&](const Expr& e) {
        if (const auto* load = scalar::as<scalar::Load>(e))
          access(load->tensor, load->index);
      });
    });
    visit(kernel.body, [&](const Stmt& stmt) {
      if (const auto* store = std::get_if<Store>(&stmt))
        access(store->buffer, store->index);
    });
  }
  const std::map<uint32_t, BankUse>& uses() const { return uses_; }

private:
  /// Neighbouring threads in one bank: their distance is a multiple of all banks.
  void access(uint32_t buffer, const std::vector<Expr>& index) {
    const Buffer& b = kernel_.buffers[buffer];
    if (b.scope != Scope::Shared || index.size() != b.shape.size() || index.size() < 2)
      return;
    BankUse& use = uses_[buffer];
    use.lanes = std::max({use.lanes, int64_t{index.back().type().lanes}, run_of(b, index.back())});
    int64_t row = scalar::bytes_of(b.elem);
    for (size_t d = index.size(); d-- > 0;) {
      if (d + 1 < index.size() && mentions_any(index[d], threads_) &&
          row % (kBanks * kBankBytes / 2) == 0)
        use.has_clash = true;
      row *= scalar::constant_of(b.shape[d]).value_or(1);
    }
  }

  /// Neighbouring cells that belong to one thread, up to a piece of 16 bytes: they are read at once where rows keep
  /// them aligned.
  int64_t run_of(const Buffer& b, const Expr& index) const {
    int64_t run = kPieceBytes / scalar::bytes_of(b.elem);
    bool has_thread = false;
    for (const auto& [term, factor] : scalar::affine_sum(index).terms)
      if (mentions_any(term, threads_)) {
        has_thread = true;
        run = std::gcd(run, factor);
      }
    return has_thread ? run : 1;
  }

  const Kernel& kernel_;
  VarSet threads_;
  std::map<uint32_t, BankUse> uses_;
};

} // namespace

Kernel pad_shared(Kernel kernel, const Launch& launch) {
  const std::map<uint32_t, BankUse> uses = BankSurvey(kernel, launch).uses();
  for (const auto& [id, use] : uses) {
    if (!use.has_clash)
      continue;
    Buffer& buffer = kernel.buffers[id];
    const int64_t cells = std::max<int64_t>(use.lanes, kBankBytes / scalar::bytes_of(buffer.elem));
    buffer.shape.back() = scalar::int_lit(*scalar::constant_of(buffer.shape.back()) + cells);
  }
  return kernel;
}

} // namespace kawara::kernel
