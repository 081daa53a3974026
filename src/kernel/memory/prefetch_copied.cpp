#include "kernel/memory/prefetch_copied.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <map>

namespace kawara::kernel {
namespace {

/// Elements that one iteration asks for at most.
constexpr size_t kMostElements = 8;

/// One place of a copy and what is copied there, in the variables of the copying loops.
struct CopiedElement {
  uint32_t buffer = 0;
  std::vector<Expr> to, from;
};

Expr first_lane(const Expr& e) {
  const auto* ramp = scalar::as<scalar::Ramp>(e);
  return ramp != nullptr ? ramp->base : e;
}

std::vector<Expr> first_lanes(const std::vector<Expr>& index) {
  std::vector<Expr> first;
  for (const Expr& e : index)
    first.push_back(first_lane(e));
  return first;
}

/// The first copy of elements of `tensor` to another buffer.
std::optional<CopiedElement> copied_element(const Block& block, uint32_t tensor) {
  std::optional<CopiedElement> found;
  visit(block, [&](const Store& store) {
    const auto* load = scalar::as<scalar::Load>(store.value);
    if (load == nullptr || load->tensor != tensor || store.op != ReduceOp::None)
      return WalkResult::Advance;
    found = CopiedElement{store.buffer, first_lanes(store.index), first_lanes(load->index)};
    return WalkResult::Interrupt;
  });
  return found;
}

class CopyPrefetcher {
public:
  CopyPrefetcher(const Kernel& kernel, const For& loop, const poly::Prefetched& mark,
                 CopiedElement copied)
      : kernel_(kernel), loop_(loop), mark_(mark), copied_(std::move(copied)) {}

  bool walk(Block& block) {
    return change_innermost_loops(block, [this](For& inner) { return place(inner); });
  }

private:
  /// At the start of an innermost loop's body.
  bool place(For& inner) const {
    if (buffers_stored_in(inner.body).contains(copied_.buffer))
      return false;
    const VarSet set = vars_set_in(inner.body);
    std::vector<std::vector<Expr>> elements;
    visit_loads(inner.body, [&](const scalar::Load& load) {
      if (load.tensor != copied_.buffer)
        return;
      auto element = source_of(first_lanes(load.index), set);
      const auto is_same = [&](const std::vector<Expr>& other) {
        return std::equal(other.begin(), other.end(), element->begin(), scalar::equal);
      };
      if (element && std::none_of(elements.begin(), elements.end(), is_same))
        elements.push_back(*std::move(element));
    });
    if (elements.empty() || elements.size() > kMostElements)
      return false;
    Block body;
    for (std::vector<Expr>& element : elements)
      body.emplace_back(Prefetch{mark_.tensor, std::move(element)});
    append(body, std::move(inner.body));
    inner.body = std::move(body);
    return true;
  }

  /// What the iteration ahead copies to the place `at`; dimensions in which the copy's place is a
  /// number are those of its first element. Nothing where that cannot be told before the body.
  std::optional<std::vector<Expr>> source_of(const std::vector<Expr>& at, const VarSet& set) const {
    std::map<uint32_t, Expr> known;
    if (at.size() != copied_.to.size())
      return std::nullopt;
    for (size_t d = 0; d < at.size(); ++d) {
      const auto* v = scalar::as<scalar::Var>(copied_.to[d]);
      if (v == nullptr && !scalar::constant_of(copied_.to[d]))
        return std::nullopt;
      if (v == nullptr)
        continue;
      if (has_load(at[d]) || mentions_any(at[d], set))
        return std::nullopt;
      known.emplace(v->id, at[d]);
    }
    known[loop_.var] = var_expr(kernel_, loop_.var) + scalar::int_lit(mark_.ahead * loop_.step);
    std::vector<Expr> source;
    for (const Expr& e : copied_.from) {
      if (has_load(e))
        return std::nullopt;
      source.push_back(scalar::simplify(scalar::rewrite(e, [&](const Expr& part) -> Expr {
        const auto* v = scalar::as<scalar::Var>(part);
        const auto is = v == nullptr ? known.end() : known.find(v->id);
        return is == known.end() ? Expr() : is->second;
      })));
    }
    return source;
  }

  const Kernel& kernel_;
  const For& loop_;
  const poly::Prefetched& mark_;
  CopiedElement copied_;
};

} // namespace

bool prefetch_copied(const Kernel& kernel, For& loop, const poly::Prefetched& mark) {
  auto copied = copied_element(loop.body, mark.tensor);
  if (!copied || copied->buffer == mark.tensor)
    return false;
  return CopyPrefetcher(kernel, loop, mark, *std::move(copied)).walk(loop.body);
}

} // namespace kawara::kernel
