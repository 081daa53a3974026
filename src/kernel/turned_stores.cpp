#include "kernel/turned_stores.h"

#include "kernel/ranges.h"
#include "kernel/turn_over.h"
#include "kernel/vars.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <map>
#include <optional>

namespace kawara::kernel {
namespace {

using scalar::as;

bool reads(const Expr& e, uint32_t buffer) {
  bool found = false;
  scalar::visit(e, [&](const Expr& n) {
    const auto* load = as<scalar::Load>(n);
    found = found || (load != nullptr && load->tensor == buffer);
  });
  return found;
}

/// The two innermost loops change places where the lanes of the inner one are stored apart.
Stmt with_turned_nest(Stmt stmt) {
  auto* rows = std::get_if<For>(&stmt);
  const auto* lanes =
      rows != nullptr && rows->body.size() == 1 ? std::get_if<For>(&rows->body[0]) : nullptr;
  const auto* store =
      lanes != nullptr && lanes->body.size() == 1 ? std::get_if<Store>(&lanes->body[0]) : nullptr;
  if (store == nullptr || store->op != ReduceOp::None || lanes->marks.vector_width < 2 ||
      rows->marks.vector_width != 0 || rows->marks.is_parallel || rows->step != 1 ||
      lanes->step != 1 || !is_strided(*lanes, *store) || !is_run(*rows, *store) ||
      mentions(lanes->lo, rows->var) || mentions(lanes->hi, rows->var) ||
      trip_count(*rows).value_or(0) < 2 || reads(store->value, store->buffer))
    return stmt;
  const Store kept = *store;
  std::vector<For> loops{*rows, *lanes};
  for (For& loop : loops) {
    loop.body.clear();
    loop.marks.unroll = 0;
  }
  turn_over(loops, kept);
  loops[1].body = block_of(kept);
  loops[0].body = block_of(std::move(loops[1]));
  return loops[0];
}

/// Cells of a buffer that are copies of a tile's: dimension d of it is `sums[d]`, a loop's variable plus a constant.
struct Copied {
  uint32_t buffer = 0, tile = 0;
  std::vector<std::pair<uint32_t, int64_t>>
      dims;               ///< variable and constant, by dimension of the buffer
  std::vector<Expr> cell; ///< of the tile, in these variables
};

/// A variable plus a constant.
std::optional<std::pair<uint32_t, int64_t>> shifted_variable(const Expr& e) {
  const scalar::AffineSum sum = scalar::affine_sum(e);
  if (sum.terms.size() != 1 || sum.terms.begin()->second != 1)
    return std::nullopt;
  const auto* var = as<scalar::Var>(sum.terms.begin()->first);
  return var != nullptr ? std::optional(std::pair(var->id, sum.constant)) : std::nullopt;
}

/// What the last nest of a tile brings out, where that is the whole of a buffer of its size.
std::optional<Copied> whole_copy(const Kernel& kernel, const Allocate& tile) {
  std::map<uint32_t, const For*> loops;
  const Stmt* stmt = tile.body.empty() ? nullptr : &tile.body.back();
  while (const auto* loop = stmt != nullptr ? std::get_if<For>(stmt) : nullptr) {
    if (loop->body.size() != 1 || loop->step != 1)
      return std::nullopt;
    loops[loop->var] = loop;
    stmt = &loop->body[0];
  }
  const auto* store = stmt != nullptr ? std::get_if<Store>(stmt) : nullptr;
  const auto* load = store != nullptr ? as<scalar::Load>(store->value) : nullptr;
  if (load == nullptr || store->op != ReduceOp::None || load->tensor != tile.buffer)
    return std::nullopt;
  const Buffer& to = kernel.buffers[store->buffer];
  const bool is_own = (to.scope == Scope::Workspace && to.role == program::Role::Temp) ||
                      to.scope == Scope::Private;
  if (!is_own || to.elem != kernel.buffers[tile.buffer].elem ||
      store->index.size() != to.shape.size())
    return std::nullopt;
  Copied copied{store->buffer, tile.buffer, {}, load->index};
  for (size_t d = 0; d < to.shape.size(); ++d) {
    const auto at = shifted_variable(store->index[d]);
    const auto loop = at ? loops.find(at->first) : loops.end();
    const auto extent = scalar::constant_of(to.shape[d]);
    if (loop == loops.end() || !extent || trip_count(*loop->second) != extent ||
        scalar::constant_of(loop->second->lo) != std::optional(-at->second))
      return std::nullopt;
    copied.dims.push_back(*at);
    loops.erase(loop);
  }
  return loops.empty() ? std::optional(std::move(copied)) : std::nullopt;
}

size_t uses_of(const Block& block, uint32_t buffer) {
  size_t uses = 0;
  visit(block, [&](const Stmt& stmt) {
    const auto* store = std::get_if<Store>(&stmt);
    const auto* zero = std::get_if<Zero>(&stmt);
    const auto* call = std::get_if<Prefetch>(&stmt);
    uses += static_cast<size_t>(store != nullptr && store->buffer == buffer) +
            static_cast<size_t>(zero != nullptr && zero->buffer == buffer) +
            static_cast<size_t>(call != nullptr && call->buffer == buffer);
  });
  visit_exprs(block, [&](const Expr& root) {
    scalar::visit(root, [&](const Expr& e) {
      const auto* load = as<scalar::Load>(e);
      uses += static_cast<size_t>(load != nullptr && load->tensor == buffer);
    });
  });
  return uses;
}

Block reading_tile(const Block& block, const Copied& copied) {
  return map_exprs(block, [&](const Expr& root) {
    return scalar::rewrite(root, [&](const Expr& e) -> Expr {
      const auto* load = as<scalar::Load>(e);
      if (load == nullptr || load->tensor != copied.buffer)
        return {};
      std::vector<Expr> cell = copied.cell;
      for (Expr& index : cell)
        for (size_t d = 0; d < copied.dims.size(); ++d) {
          const auto& [var, constant] = copied.dims[d];
          index = substitute_var(index, var, load->index[d] - scalar::int_lit(constant));
        }
      return scalar::load(copied.tile, std::move(cell), e.type());
    });
  });
}

class Forwarder {
public:
  explicit Forwarder(const Kernel& kernel) : kernel_(kernel) {}

  Block block(Block statements) {
    for (size_t s = 0; s < statements.size(); ++s) {
      if (auto* allocate = std::get_if<Allocate>(&statements[s])) {
        if (const auto copied = whole_copy(kernel_, *allocate))
          forward(statements, s, *copied);
        auto& inner = std::get<Allocate>(statements[s]);
        inner.body = block(std::move(inner.body));
      } else if (auto* loop = std::get_if<For>(&statements[s])) {
        loop->body = block(std::move(loop->body));
      } else if (auto* branch = std::get_if<If>(&statements[s])) {
        branch->then = block(std::move(branch->then));
        branch->otherwise = block(std::move(branch->otherwise));
      }
    }
    return statements;
  }

private:
  /// The statements after the tile that read the copy go into it and read the tile.
  void forward(Block& statements, size_t at, const Copied& copied) const {
    size_t end = statements.size();
    while (end > at + 1 && uses_of(block_of(statements[end - 1]), copied.buffer) == 0)
      --end;
    const auto first = statements.begin() + static_cast<std::ptrdiff_t>(at + 1);
    const auto last = statements.begin() + static_cast<std::ptrdiff_t>(end);
    const Block readers(first, last);
    const bool is_closed = std::none_of(readers.begin(), readers.end(), [](const Stmt& stmt) {
      return std::get_if<Define>(&stmt) != nullptr;
    });
    // The store of the copy itself is the only other use.
    if (readers.empty() || !is_closed || buffers_stored_in(readers).contains(copied.buffer) ||
        uses_of(kernel_.body, copied.buffer) != uses_of(readers, copied.buffer) + 1)
      return;
    const Block moved = reading_tile(readers, copied);
    Block& body = std::get<Allocate>(statements[at]).body;
    body.pop_back();
    body.insert(body.end(), moved.begin(), moved.end());
    statements.erase(first, last);
  }

  const Kernel& kernel_;
};

} // namespace

Kernel turned_stores(Kernel kernel) {
  kernel.body =
      rewrite(kernel.body, [](Stmt stmt) { return block_of(with_turned_nest(std::move(stmt))); });
  Block body = Forwarder(kernel).block(kernel.body);
  kernel.body = std::move(body);
  return kernel;
}

} // namespace kawara::kernel
