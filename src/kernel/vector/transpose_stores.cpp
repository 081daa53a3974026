#include "kernel/vector/transpose_stores.h"

#include "kernel/analysis/intervals.h"
#include "kernel/analysis/ranges.h"
#include "kernel/loops/transpose_nest.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"
#include "scalar/loads.h"

#include <algorithm>
#include <map>
#include <optional>

namespace kawara::kernel {
namespace {

using scalar::as;

/// Whether the loop's iterations fill the last dimension of a packed buffer, of a few elements:
/// unrolled, they take turns in one run (emit/llvm/transpose.cpp).
bool takes_turns(const Kernel& kernel, const For& rows, const Store& store) {
  constexpr int64_t kMost = 4;
  const Buffer& buffer = kernel.buffers[store.buffer];
  const auto trips = trip_count(rows);
  return buffer.is_packed && trips && *trips <= kMost && rows.marks.unroll == poly::kFullUnroll &&
         scalar::constant_of(buffer.shape.back()) == trips;
}

/// The two innermost loops change places where the lanes of the inner one are stored apart.
Stmt with_transposed_nest(const Kernel& kernel, For rows) {
  const auto* lanes = rows.body.size() == 1 ? std::get_if<For>(&rows.body[0]) : nullptr;
  const auto* store =
      lanes != nullptr && lanes->body.size() == 1 ? std::get_if<Store>(&lanes->body[0]) : nullptr;
  if (store == nullptr || store->op != ReduceOp::None || lanes->marks.vector_width < 2 ||
      rows.marks.vector_width != 0 || rows.marks.is_parallel || rows.step != 1 ||
      lanes->step != 1 || !is_strided(*lanes, *store) || !is_run(rows, *store) ||
      mentions(lanes->lo, rows.var) || mentions(lanes->hi, rows.var) ||
      trip_count(rows).value_or(0) < 2 || scalar::reads(store->value, store->buffer) ||
      takes_turns(kernel, rows, *store))
    return rows;
  const Store kept = *store;
  std::vector<For> loops{rows, *lanes};
  for (For& loop : loops) {
    loop.body.clear();
    loop.marks.unroll = 0;
  }
  transpose_nest(loops, kept);
  loops[1].body = block_of(kept);
  loops[0].body = block_of(std::move(loops[1]));
  return loops[0];
}

/// Elements of a buffer that are copies of a tile's: a box.
struct Copied {
  /// Along a dimension of the buffer: the loop's variable and a constant, if it is not a single
  /// element, and the box's ends.
  struct Dim {
    std::optional<uint32_t> var;
    int64_t constant = 0;
    int64_t begin = 0, end = 1;
    bool is_whole = false; ///< no element of the dimension is outside the box
  };
  uint32_t buffer = 0, tile = 0;
  std::vector<Dim> dims;
  std::vector<Expr> element; ///< of the tile, in these variables
};

/// A variable plus a constant.
std::optional<std::pair<uint32_t, int64_t>> shifted_variable(const Expr& e) {
  const scalar::AffineSum sum = scalar::affine_sum(e);
  if (sum.terms.size() != 1 || sum.terms.begin()->second != 1)
    return std::nullopt;
  const auto* var = as<scalar::Var>(sum.terms.begin()->first);
  return var != nullptr ? std::optional(std::pair(var->id, sum.constant)) : std::nullopt;
}

/// What the last nest of a tile brings out, where that is a box of a buffer that nobody else sees.
std::optional<Copied> copy_of(const Kernel& kernel, const Allocate& tile) {
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
    Copied::Dim dim;
    if (const auto at = scalar::constant_of(store->index[d])) {
      dim.constant = dim.begin = *at;
      dim.end = *at + 1;
    } else {
      const auto sum = shifted_variable(store->index[d]);
      const auto loop = sum ? loops.find(sum->first) : loops.end();
      const auto lo = loop != loops.end() ? scalar::constant_of(loop->second->lo) : std::nullopt;
      const auto trips = lo ? trip_count(*loop->second) : std::nullopt;
      if (!trips)
        return std::nullopt;
      dim.var = sum->first;
      dim.constant = sum->second;
      dim.begin = *lo + sum->second;
      dim.end = dim.begin + *trips;
      loops.erase(loop);
    }
    dim.is_whole = dim.begin == 0 && scalar::constant_of(to.shape[d]) == std::optional(dim.end);
    copied.dims.push_back(dim);
  }
  return loops.empty() ? std::optional(std::move(copied)) : std::nullopt;
}

/// Whether all reads of the buffer are of elements of the box.
bool reads_inside(const Block& block, const Copied& copied) {
  Intervals intervals;
  bool holds = true;
  visit_scoped(block, intervals, [&](const Stmt& stmt) {
    visit_own_loads(stmt, [&](const scalar::Load& load) {
      if (load.tensor != copied.buffer)
        return;
      holds = holds && load.index.size() == copied.dims.size();
      for (size_t d = 0; holds && d < copied.dims.size(); ++d) {
        const Copied::Dim& dim = copied.dims[d];
        const scalar::Bounds ends = intervals.of(load.index[d]);
        holds = dim.is_whole ||
                (ends.low && ends.high && *ends.low >= dim.begin && *ends.high < dim.end);
      }
    });
  });
  return holds;
}

template <OneOf<Block, Stmt> B> size_t uses_of(const B& root, uint32_t buffer) {
  size_t uses = 0;
  visit(root, [&]<Kind S>(const S& stmt) {
    if constexpr (OneOf<S, Store, Zero, Prefetch>)
      uses += stmt.buffer == buffer ? 1 : 0;
    else if constexpr (OneOf<S, AsyncOp>)
      for (const auto& buffers : {written_by(stmt), read_by(stmt)})
        uses += static_cast<size_t>(std::count(buffers.begin(), buffers.end(), buffer));
    else
      static_assert(OneOf<S, For, If, Allocate, Launch, Define, Assign, Comment, Barrier, Commit,
                          Await, Combine>);
  });
  visit_loads(root, [&](const scalar::Load& load) { uses += load.tensor == buffer ? 1 : 0; });
  return uses;
}

Block reading_tile(const Block& block, const Copied& copied) {
  return map_exprs(block, [&](const Expr& root) {
    return scalar::rewrite(root, [&](const Expr& e) -> Expr {
      const auto* load = as<scalar::Load>(e);
      if (load == nullptr || load->tensor != copied.buffer)
        return {};
      std::vector<Expr> element = copied.element;
      for (Expr& index : element)
        for (size_t d = 0; d < copied.dims.size(); ++d)
          if (const Copied::Dim& dim = copied.dims[d]; dim.var)
            index = substitute_var(index, *dim.var, load->index[d] - scalar::int_lit(dim.constant));
      return scalar::load(copied.tile, std::move(element), e.type());
    });
  });
}

/// Tiles of which copies are read right after them, and those statements. A buffer of such copies
/// goes where nobody else touches it.
class Forwarder {
public:
  explicit Forwarder(const Kernel& kernel) : kernel_(kernel) { count(kernel.body); }

  Block block(Block statements) {
    for (size_t s = 0; s < statements.size(); ++s) {
      if (const auto readers = readers_after(statements, s))
        forward(statements, s, *readers);
      statements[s] = with_nested_blocks(std::move(statements[s]),
                                         [&](Block& inner) { return block(std::move(inner)); });
    }
    return statements;
  }

private:
  struct Readers {
    Copied copied;
    size_t end = 0; ///< the statements after the tile before this one
  };

  std::optional<Readers> readers_after(const Block& statements, size_t at) const {
    const auto* tile = std::get_if<Allocate>(&statements[at]);
    const auto copied = tile != nullptr ? copy_of(kernel_, *tile) : std::nullopt;
    if (!copied)
      return std::nullopt;
    size_t end = statements.size();
    while (end > at + 1 && uses_of(statements[end - 1], copied->buffer) == 0)
      --end;
    const Block readers = part(statements, at + 1, end);
    const bool is_closed = std::none_of(readers.begin(), readers.end(), [](const Stmt& stmt) {
      return std::get_if<Define>(&stmt) != nullptr;
    });
    if (readers.empty() || !is_closed || buffers_stored_in(readers).contains(copied->buffer) ||
        !reads_inside(readers, *copied))
      return std::nullopt;
    return Readers{*copied, end};
  }

  static Block part(const Block& statements, size_t begin, size_t end) {
    return {statements.begin() + static_cast<std::ptrdiff_t>(begin),
            statements.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  /// Uses of each buffer by tiles that copy to it and by those who read the copies.
  void count(const Block& statements) {
    for (size_t s = 0; s < statements.size(); ++s) {
      if (const auto readers = readers_after(statements, s))
        uses_[readers->copied.buffer] +=
            1 + uses_of(part(statements, s + 1, readers->end), readers->copied.buffer);
      for_blocks(statements[s], [&](const Block& inside) { count(inside); });
    }
  }

  /// The statements after the tile that read the copy go into it and read the tile.
  void forward(Block& statements, size_t at, const Readers& readers) const {
    const uint32_t buffer = readers.copied.buffer;
    if (uses_of(kernel_.body, buffer) != uses_.at(buffer))
      return;
    const Block moved = reading_tile(part(statements, at + 1, readers.end), readers.copied);
    Block& body = std::get<Allocate>(statements[at]).body;
    body.pop_back();
    body.insert(body.end(), moved.begin(), moved.end());
    statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(at + 1),
                     statements.begin() + static_cast<std::ptrdiff_t>(readers.end));
  }

  const Kernel& kernel_;
  std::map<uint32_t, size_t> uses_;
};

} // namespace

Kernel transpose_stores(Kernel kernel) {
  kernel.body =
      rewrite(kernel.body, [&](For loop) { return with_transposed_nest(kernel, std::move(loop)); });
  Block body = Forwarder(kernel).block(kernel.body);
  kernel.body = std::move(body);
  return kernel;
}

} // namespace kawara::kernel
