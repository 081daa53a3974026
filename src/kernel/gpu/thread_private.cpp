#include "kernel/gpu/thread_private.h"

#include "kernel/analysis/intervals.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::Bounds;

/// One dimension of an index: base + sum(thread * coefficient) + inner terms + constant.
struct Dimension {
  std::vector<std::pair<Expr, int64_t>> base; ///< the same for all threads of the block
  std::array<int64_t, 3> threads = {};
  struct Inner {
    int64_t factor = 0;
    Bounds bounds; ///< of the variable
  };
  std::vector<Inner> inner;
  int64_t constant = 0;
};
using Index = std::vector<Dimension>;

bool same_base(const Dimension& a, const Dimension& b) {
  return a.threads == b.threads && a.base.size() == b.base.size() &&
         std::all_of(a.base.begin(), a.base.end(), [&](const auto& term) {
           return std::any_of(b.base.begin(), b.base.end(), [&](const auto& other) {
             return term.second == other.second && scalar::equal(term.first, other.first);
           });
         });
}

class OwnedSurvey {
public:
  OwnedSurvey(const Kernel& kernel, const Launch& launch) : kernel_(kernel), launch_(launch) {
    inside_ = vars_set_in(launch.body);
    for (size_t a = 0; a < 3; ++a) {
      For range;
      range.var = launch.thread_vars[a];
      range.lo = scalar::int_lit(0);
      range.hi = scalar::int_lit(launch.threads[a]);
      intervals_.enter(range);
    }
    visit_scoped(launch.body, intervals_, [&](const Stmt& stmt) {
      visit_own_loads(stmt, [&](const scalar::Load& load) { access(load.tensor, load.index); });
      std::visit([&](const auto& kind) { look(kind); }, stmt);
    });
  }

  std::set<uint32_t> thread_private() const {
    std::set<uint32_t> result;
    for (const auto& [buffer, indices] : indices_)
      if (!unclear_.contains(buffer) && is_owned(indices))
        result.insert(buffer);
    return result;
  }

private:
  void look(const Store& store) { access(store.buffer, store.index); }
  void look(const Zero& zero) { unclear_.insert(zero.buffer); }
  void look(const AsyncOp& async_op) {
    for (const auto& buffers : {written_by(async_op), read_by(async_op)})
      unclear_.insert(buffers.begin(), buffers.end());
  }
  void look(const OneOf<For, If, Allocate, Launch, Define, Assign, Prefetch, Comment, Barrier,
                        Commit, Await, Combine> auto&) {}

  void access(uint32_t buffer, const std::vector<Expr>& at) {
    if (kernel_.buffers[buffer].scope == Scope::Private)
      return;
    Index index;
    for (const Expr& e : at) {
      auto dimension = e.type() == scalar::kIndex ? dimension_of(e) : std::nullopt;
      if (!dimension) {
        unclear_.insert(buffer);
        return;
      }
      index.push_back(*std::move(dimension));
    }
    indices_[buffer].push_back(std::move(index));
  }

  std::optional<Dimension> dimension_of(const Expr& e) const {
    Dimension result;
    const scalar::AffineSum sum = scalar::affine_sum(e);
    result.constant = sum.constant;
    for (const auto& [term, factor] : sum.terms) {
      const auto* v = as<scalar::Var>(term);
      const auto* thread =
          v == nullptr ? launch_.thread_vars.end()
                       : std::find(launch_.thread_vars.begin(), launch_.thread_vars.end(), v->id);
      if (thread != launch_.thread_vars.end())
        result.threads[static_cast<size_t>(thread - launch_.thread_vars.begin())] = factor;
      else if (v != nullptr && inside_.contains(v->id))
        result.inner.push_back({factor, intervals_.of(term)});
      else if (has_load(term) || mentions_any(term, inside_) ||
               mentions_any(term, {launch_.thread_vars.begin(), launch_.thread_vars.end()}))
        return std::nullopt;
      else
        result.base.emplace_back(term, factor);
    }
    return result;
  }

  bool is_owned(const std::vector<Index>& indices) const {
    for (const Index& index : indices)
      for (size_t d = 0; d < index.size(); ++d)
        if (index.size() != indices[0].size() || !same_base(index[d], indices[0][d]))
          return false;
    for (size_t a = 0; a < 3; ++a) {
      bool is_told = launch_.threads[a] == 1;
      for (size_t d = 0; !is_told && d < indices[0].size(); ++d)
        is_told = tells(indices, d, a);
      if (!is_told)
        return false;
    }
    return true;
  }

  /// Does dimension `d` alone say which thread of `axis` it is: (index mod period) // factor, with
  /// all else below `factor` or a multiple of the period?
  bool tells(const std::vector<Index>& indices, size_t d, size_t axis) const {
    const int64_t factor = indices[0][d].threads[axis];
    if (factor <= 0)
      return false;
    const int64_t period = factor * launch_.threads[axis];
    std::optional<int64_t> low, high;
    for (const Index& index : indices) {
      const Dimension& dim = index[d];
      int64_t from = dim.constant, to = dim.constant;
      for (size_t other = 0; other < 3; ++other)
        if (other != axis && dim.threads[other] % period != 0) {
          if (dim.threads[other] < 0)
            return false;
          to += dim.threads[other] * (launch_.threads[other] - 1);
        }
      for (const Dimension::Inner& inner : dim.inner) {
        if (inner.factor % period == 0)
          continue;
        if (!inner.bounds.low || !inner.bounds.high)
          return false;
        from += inner.factor * (inner.factor > 0 ? *inner.bounds.low : *inner.bounds.high);
        to += inner.factor * (inner.factor > 0 ? *inner.bounds.high : *inner.bounds.low);
      }
      low = std::min(low.value_or(from), from);
      high = std::max(high.value_or(to), to);
    }
    return *high - *low < factor;
  }

  const Kernel& kernel_;
  const Launch& launch_;
  VarSet inside_;
  Intervals intervals_;
  std::map<uint32_t, std::vector<Index>> indices_;
  std::set<uint32_t> unclear_;
};

} // namespace

std::set<uint32_t> thread_private_buffers(const Kernel& kernel, const Launch& launch) {
  return OwnedSurvey(kernel, launch).thread_private();
}

} // namespace kawara::kernel
