#include "emit/llvm/emitter.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

// Lanes that lie a stride apart are loaded one by one: slow. Where a block asks for as many such
// vectors, side by side, as each has lanes (or the next power of two), the same elements are as
// many runs: those are loaded, and transposed in registers. Vectors of more lanes than there are of
// them are made of several such squares.

namespace kawara::emit {

using scalar::Expr;

namespace {

/// An index in which one dimension runs over lanes: all dimensions at lane 0, the last one without
/// its constant; nothing where the lanes are neighbours or cannot be told.
struct StridedIndex {
  std::vector<scalar::AffineSum> base;
  size_t dim = 0;
  int64_t stride = 0;
  int64_t offset = 0;
};

std::optional<StridedIndex> strided_index(const std::vector<Expr>& index) {
  StridedIndex found;
  for (size_t d = 0; d < index.size(); ++d) {
    const auto* ramp = scalar::as<scalar::Ramp>(index[d]);
    const Expr at = ramp != nullptr ? ramp->base : index[d];
    if (at.type() != scalar::kIndex || kernel::has_load(at) ||
        (ramp != nullptr && found.stride != 0))
      return std::nullopt;
    if (ramp != nullptr)
      found.dim = d, found.stride = ramp->stride;
    found.base.push_back(scalar::affine_sum(at));
  }
  const bool is_run = found.dim + 1 == index.size() && std::abs(found.stride) == 1;
  if (found.stride == 0 || is_run)
    return std::nullopt;
  found.offset = std::exchange(found.base.back().constant, 0);
  return found;
}

bool is_same(const std::vector<scalar::AffineSum>& a, const std::vector<scalar::AffineSum>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    const scalar::AffineSum apart = scalar::difference(x, y);
    return apart.terms.empty() && apart.constant == 0;
  });
}

/// Loads of strided lanes outside of any select: they are done in any case.
void visit_strided(const Expr& e,
                   const std::function<void(uint32_t, const StridedIndex&, unsigned)>& f) {
  if (scalar::as<scalar::Select>(e) != nullptr)
    return;
  if (const auto* load = scalar::as<scalar::Load>(e)) {
    const unsigned lanes = e.type().lanes;
    const bool fits = lanes >= 2 && lanes <= 16;
    if (const auto index = fits ? strided_index(load->index) : std::nullopt)
      f(load->tensor, *index, lanes);
  }
  for (const Expr& child : scalar::children(e))
    visit_strided(child, f);
}

/// Vectors side by side that squares for so many lanes take, of which so many are wanted; 0 where
/// they are too few.
unsigned side_of(unsigned lanes, size_t wanted) {
  constexpr unsigned kLeast = 4;
  const unsigned whole = std::bit_ceil(lanes);
  if (wanted >= whole)
    return whole;
  const auto side = static_cast<unsigned>(std::bit_floor(wanted));
  return side >= kLeast && std::has_single_bit(lanes) ? side : 0;
}

/// The lanes of all, one after the other; a power of two of them.
llvm::Value* joined(llvm::IRBuilder<>& b, std::vector<llvm::Value*> parts) {
  while (parts.size() > 1) {
    std::vector<llvm::Value*> pairs;
    for (size_t k = 0; k + 1 < parts.size(); k += 2) {
      const auto* type = llvm::cast<llvm::FixedVectorType>(parts[k]->getType());
      std::vector<int> all(2 * type->getNumElements());
      std::iota(all.begin(), all.end(), 0);
      pairs.push_back(b.CreateShuffleVector(parts[k], parts[k + 1], all));
    }
    parts = std::move(pairs);
  }
  return parts.front();
}

/// Transposes a square of vectors: element k of the result's vector j is element j of vector k.
std::vector<llvm::Value*> transposed_over(llvm::IRBuilder<>& b, std::vector<llvm::Value*> rows) {
  const size_t n = rows.size();
  std::vector<int> low, high;
  for (size_t k = 0; k < n / 2; ++k)
    for (const size_t from : {k, k + n})
      low.push_back(static_cast<int>(from)), high.push_back(static_cast<int>(from + n / 2));
  for (size_t step = 1; step < n; step *= 2) {
    std::vector<llvm::Value*> next;
    for (size_t k = 0; k < n / 2; ++k) {
      next.push_back(b.CreateShuffleVector(rows[k], rows[k + n / 2], low));
      next.push_back(b.CreateShuffleVector(rows[k], rows[k + n / 2], high));
    }
    rows = std::move(next);
  }
  return rows;
}

/// Lane 0 of all, then lane 1 of all, and so on; a power of two of vectors.
llvm::Value* in_turns(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& vectors) {
  if (vectors.size() == 1)
    return vectors.front();
  std::vector<llvm::Value*> even, odd;
  for (size_t k = 0; k < vectors.size(); ++k)
    (k % 2 == 0 ? even : odd).push_back(vectors[k]);
  llvm::Value* first = in_turns(b, even);
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(first->getType())->getNumElements();
  std::vector<int> order;
  for (unsigned lane = 0; lane < lanes; ++lane)
    for (const unsigned from : {lane, lane + lanes})
      order.push_back(static_cast<int>(from));
  return b.CreateShuffleVector(first, in_turns(b, odd), order);
}

/// A plain store whose lanes are a few elements apart in memory.
struct FewApart {
  std::vector<Expr> first; ///< where lane 0 is
  int64_t apart = 0;
};

std::optional<FewApart> few_apart(const kernel::Kernel& kernel, const kernel::Stmt& stmt) {
  constexpr int64_t kFarthest = 4;
  const auto* store = std::get_if<kernel::Store>(&stmt);
  if (store == nullptr || store->op != scalar::ReduceOp::None)
    return std::nullopt;
  const std::vector<Expr>& shape = kernel.buffers.at(store->buffer).shape;
  FewApart found{store->index, 0};
  int64_t elements = 1; // between neighbours of the dimension
  for (size_t d = found.first.size(); d-- > 0;) {
    if (const auto* ramp = scalar::as<scalar::Ramp>(found.first[d])) {
      if (found.apart != 0 || elements > kFarthest || std::abs(ramp->stride) > kFarthest)
        return std::nullopt;
      found.apart = ramp->stride * elements;
      found.first[d] = Expr(ramp->base);
    }
    if (found.first[d].type() != scalar::kIndex)
      return std::nullopt;
    const auto extent =
        d < shape.size() ? scalar::constant_of(shape[d]) : std::optional<int64_t>(1);
    elements = extent && elements <= kFarthest ? elements * *extent : kFarthest + 1;
  }
  const bool fits = found.apart == 2 || found.apart == kFarthest;
  return fits ? std::optional(std::move(found)) : std::nullopt;
}

/// Whether lane 0 of `to` is so many elements behind that of `from`.
bool follows(const FewApart& from, const FewApart& to, int64_t by) {
  if (from.apart != to.apart || from.first.size() != to.first.size())
    return false;
  for (size_t d = 0; d < from.first.size(); ++d) {
    const scalar::AffineSum apart =
        scalar::difference(scalar::affine_sum(to.first[d]), scalar::affine_sum(from.first[d]));
    if (!apart.terms.empty() || apart.constant != (d + 1 == from.first.size() ? by : 0))
      return false;
  }
  return true;
}

/// With the lanes that were cut off, where there are as many in all.
llvm::Value* whole_column(llvm::Value* column, unsigned lanes) {
  const auto* cut = llvm::dyn_cast<llvm::ShuffleVectorInst>(column);
  if (cut == nullptr || !cut->isIdentityWithExtract())
    return nullptr;
  llvm::Value* whole = cut->getOperand(0);
  return llvm::cast<llvm::FixedVectorType>(whole->getType())->getNumElements() == lanes ? whole
                                                                                        : nullptr;
}

/// The last statement of a block that stores to a buffer: elements that are read after it do not
/// change any more.
std::map<uint32_t, size_t> last_stores(const kernel::Block& statements) {
  std::map<uint32_t, size_t> last;
  for (size_t s = 0; s < statements.size(); ++s)
    if (const auto* store = std::get_if<kernel::Store>(&statements[s]))
      last[store->buffer] = s;
    else
      for (const uint32_t buffer : kernel::buffers_stored_in(kernel::block_of(statements[s])))
        last[buffer] = s;
  return last;
}

} // namespace

/// One square per set of vectors that differ only by a constant and cover a run of lanes.
std::vector<FunctionEmitter::Square>
FunctionEmitter::squares_of(const kernel::Block& statements) const {
  const std::map<uint32_t, size_t> stored = last_stores(statements);
  struct Family {
    Square square; ///< without its first offset
    std::map<int64_t, size_t> first_use;
  };
  std::vector<Family> families;
  for (size_t s = 0; s < statements.size(); ++s)
    kernel::visit_own_exprs(statements[s], [&](const Expr& root) {
      visit_strided(root, [&](uint32_t buffer, const StridedIndex& index, unsigned lanes) {
        const auto last = stored.find(buffer);
        if ((last != stored.end() && last->second >= s) ||
            parts_.kernel.buffers.at(buffer).elem == scalar::Elem::Bool)
          return;
        auto at = std::find_if(families.begin(), families.end(), [&](const Family& f) {
          return f.square.buffer == buffer && f.square.lanes == lanes &&
                 f.square.dim == index.dim && f.square.stride == index.stride &&
                 is_same(f.square.base, index.base);
        });
        if (at == families.end())
          at = families.insert(
              at, Family{{buffer, lanes, index.dim, index.stride, index.base, 0, 0, 0, {}}, {}});
        at->first_use.emplace(index.offset, s);
      });
    });
  std::vector<Square> squares;
  for (const Family& family : families)
    for (auto first = family.first_use.begin(); first != family.first_use.end();) {
      Square square = family.square;
      square.offset = first->first;
      square.statement = statements.size();
      unsigned wanted = 0;
      for (auto at = first; at != family.first_use.end() && at->first == square.offset + wanted;
           ++at)
        ++wanted;
      square.side = side_of(square.lanes, wanted);
      const auto next = std::next(first, std::max(square.side, 1U));
      for (; first != next; ++first)
        square.statement = std::min(square.statement, first->second);
      if (square.side != 0)
        squares.push_back(std::move(square));
    }
  return squares;
}

void FunctionEmitter::load_square(Square& square) {
  const unsigned side = square.side;
  std::vector<std::vector<Value*>> parts(side); // of each column
  for (unsigned lane = 0; lane < square.lanes; lane += side) {
    const std::vector<Value*> columns = load_columns(square, lane);
    for (unsigned c = 0; c < side; ++c)
      parts[c].push_back(columns[c]);
  }
  for (std::vector<Value*>& column : parts)
    square.columns.push_back(joined(b_, std::move(column)));
}

/// The lanes from `begin` on, at most `side` of them, of all columns.
std::vector<llvm::Value*> FunctionEmitter::load_columns(const Square& square, unsigned begin) {
  std::vector<Value*> rows;
  const unsigned side = square.side, lanes = std::min(side, square.lanes - begin);
  for (unsigned lane = begin; lane < begin + lanes; ++lane) {
    std::vector<Index> first;
    for (size_t d = 0; d < square.base.size(); ++d) {
      scalar::AffineSum at = square.base[d];
      at.constant += d == square.dim ? static_cast<int64_t>(lane) * square.stride : 0;
      at.constant += d + 1 == square.base.size() ? square.offset : 0;
      first.push_back({scalar::expr_of(at), nullptr});
    }
    rows.push_back(load_run(square.buffer, first, side, false));
  }
  while (rows.size() < side)
    rows.push_back(llvm::PoisonValue::get(rows.front()->getType()));
  std::vector<Value*> columns = transposed_over(b_, std::move(rows));
  if (lanes == side)
    return columns;
  std::vector<int> kept(lanes);
  std::iota(kept.begin(), kept.end(), 0);
  for (Value*& column : columns)
    column = b_.CreateShuffleVector(column, kept);
  return columns;
}

size_t FunctionEmitter::store_in_turns(const kernel::Block& statements, size_t first) {
  const auto start = few_apart(parts_.kernel, statements[first]);
  const auto count = start ? static_cast<size_t>(start->apart) : 0;
  if (!start || first + count > statements.size())
    return 0;
  const auto& one = std::get<kernel::Store>(statements[first]);
  const scalar::Elem elem = parts_.kernel.buffers.at(one.buffer).elem;
  const auto is_next = [&](size_t k) {
    const auto next = few_apart(parts_.kernel, statements[first + k]);
    const auto* store = std::get_if<kernel::Store>(&statements[first + k]);
    bool reads = false;
    if (next)
      scalar::visit(store->value, [&](const Expr& e) {
        const auto* load = scalar::as<scalar::Load>(e);
        reads = reads || (load != nullptr && load->tensor == one.buffer);
      });
    return next && store->buffer == one.buffer && store->value.type() == one.value.type() &&
           !reads && follows(*start, *next, static_cast<int64_t>(k));
  };
  for (size_t k = 0; k < count; ++k)
    if (!is_next(k))
      return 0;
  for (const Square& square : squares_)
    if (square.statement > first && square.statement < first + count)
      return 0;
  if (elem == scalar::Elem::Bool)
    return 0;
  std::vector<Value*> values;
  for (size_t k = 0; k < count; ++k) {
    begin_statement();
    values.push_back(stored_value(std::get<kernel::Store>(statements[first + k])));
  }
  std::vector<Expr> index = start->first;
  const auto lanes = static_cast<uint16_t>(one.value.type().lanes * count);
  index.back() = scalar::ramp(index.back(), 1, lanes);
  store_elements(one.buffer, index, in_turns(b_, values), lanes);
  return count;
}

llvm::Value* FunctionEmitter::column_of_square(uint32_t buffer, const std::vector<Expr>& index,
                                               unsigned lanes) const {
  const auto wanted = squares_.empty() ? std::nullopt : strided_index(index);
  if (!wanted)
    return nullptr;
  for (const Square& square : squares_) {
    const int64_t at = wanted->offset - square.offset;
    if (square.columns.empty() || square.buffer != buffer || square.dim != wanted->dim ||
        square.stride != wanted->stride || !is_same(square.base, wanted->base) || at < 0 ||
        at >= static_cast<int64_t>(square.columns.size()))
      continue;
    Value* column = square.columns[static_cast<size_t>(at)];
    if (square.lanes == lanes)
      return column;
    // What was cut off holds nothing: enough where no more lanes than the square has are stored.
    if (first_lanes_ != 0 && first_lanes_ <= square.lanes)
      if (Value* whole = whole_column(column, lanes))
        return whole;
  }
  return nullptr;
}

} // namespace kawara::emit
