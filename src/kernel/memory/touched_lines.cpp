#include "kernel/memory/touched_lines.h"

#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <map>
#include <string>

namespace kawara::kernel {
namespace {

constexpr int64_t kLineBytes = 64;
/// More at once than a core can have under way.
constexpr size_t kMostTouched = 32;

class TouchedLines {
public:
  TouchedLines(const Kernel& kernel, uint32_t buffer) : kernel_(kernel), buffer_(buffer) {}

  void walk(const Block& block) {
    visit(block, [&](const Stmt& stmt) {
      visit_own_loads(stmt, [&](const scalar::Load& load) {
        if (load.tensor == buffer_)
          element(load.index);
      });
      if (const auto* store = std::get_if<Store>(&stmt);
          store != nullptr && store->buffer == buffer_)
        element(store->index);
      else if (const auto* define = std::get_if<Define>(&stmt))
        known_[define->var] = resolved(define->value);
      else if (const auto* loop = std::get_if<For>(&stmt))
        known_[loop->var] = resolved(loop->lo);
      else if (const auto* branch = std::get_if<If>(&stmt)) {
        walk(branch->then.empty() ? branch->otherwise : branch->then);
        return WalkResult::Skip;
      }
      return WalkResult::Advance;
    });
  }

  /// One index per cache line, in order of first appearance.
  std::vector<std::vector<Expr>> lines() const {
    std::vector<std::vector<Expr>> chosen;
    std::map<std::string, std::vector<int64_t>>
        taken; // offsets of the last index, by what precedes them
    const scalar::Names names = names_of(kernel_);
    const int64_t reach =
        std::max<int64_t>(1, kLineBytes / scalar::bytes_of(kernel_.buffers[buffer_].elem));
    for (const std::vector<Expr>& index : elements_) {
      scalar::AffineSum last = scalar::affine_sum(index.back());
      const int64_t offset = std::exchange(last.constant, 0);
      std::string key = scalar::to_string(scalar::expr_of(last), names);
      for (size_t d = 0; d + 1 < index.size(); ++d)
        key += "," + scalar::to_string(index[d], names);
      std::vector<int64_t>& others = taken[key];
      if (chosen.size() < kMostTouched &&
          std::none_of(others.begin(), others.end(),
                       [&](int64_t other) { return std::abs(other - offset) < reach; })) {
        others.push_back(offset);
        chosen.push_back(index);
      }
    }
    return chosen;
  }

private:
  Expr resolved(const Expr& e) const {
    return scalar::rewrite(e, [&](const Expr& part) -> Expr {
      const auto* v = scalar::as<scalar::Var>(part);
      const auto known = v == nullptr ? known_.end() : known_.find(v->id);
      return known == known_.end() ? Expr() : known->second;
    });
  }

  void element(const std::vector<Expr>& index) {
    std::vector<Expr> at;
    for (const Expr& e : index) {
      const auto* ramp = scalar::as<scalar::Ramp>(e);
      at.push_back(scalar::simplify(resolved(ramp != nullptr ? ramp->base : e)));
      if (at.back().type() != scalar::kIndex || has_load(at.back()))
        return;
    }
    if (!at.empty())
      elements_.push_back(std::move(at));
  }

  const Kernel& kernel_;
  uint32_t buffer_;
  std::map<uint32_t, Expr> known_;
  std::vector<std::vector<Expr>> elements_;
};

} // namespace

std::vector<std::vector<Expr>> touched_lines(const Kernel& kernel, uint32_t buffer,
                                             const Block& body) {
  TouchedLines touched(kernel, buffer);
  touched.walk(body);
  return touched.lines();
}

} // namespace kawara::kernel
