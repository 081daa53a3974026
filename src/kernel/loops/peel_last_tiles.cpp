#include "kernel/loops/peel_last_tiles.h"

#include "kernel/analysis/ranges.h"
#include "kernel/loops/unroll.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace kawara::kernel {
namespace {

using scalar::BinaryOp;
using scalar::int_lit;

bool becomes_straight(const For& loop) {
  return loop.marks.unroll == poly::kFullUnroll || loop.marks.vector_width != 0;
}

/// Loops inside one over tiles, or over blocks of tiles, that end at a constant in all its
/// iterations but the last: min(6, 111 - 6*i_0), and in blocks of three tiles min(3, 19 - 3*i_0)
/// and min(6, 111 - 18*i_0 - 6*i_1).
class EarlyEnds {
public:
  EarlyEnds(const For& tiles, int64_t first, int64_t last)
      : tiles_(tiles.var), first_(first), last_(last) {
    visit(tiles.body, [&](const For& loop) { add(loop); });
  }

  /// Whether one of them becomes straight code.
  bool has_straight() const { return has_straight_; }

  /// Where such a loop ends in the other iterations.
  std::optional<int64_t> full(const For& loop) const {
    for (const Full& known : full_)
      if (known.var == loop.var && equal(known.hi, loop.hi))
        return known.end;
    return std::nullopt;
  }

private:
  struct Full {
    uint32_t var;
    Expr hi;
    int64_t end;
  };

  /// Loops that follow each other may count with one variable.
  void add(const For& loop) {
    ends_.erase(loop.var);
    const auto lo = scalar::constant_of(loop.lo);
    if (!lo || loop.step != 1)
      return;
    if (const auto hi = scalar::constant_of(loop.hi)) {
      ends_[loop.var] = {*lo, *hi - 1};
      return;
    }
    const std::vector<Expr> ends = operands_of(loop.hi, BinaryOp::Min);
    if (ends.size() != 2)
      return;
    const size_t fixed = scalar::constant_of(ends[0]) ? 0 : 1;
    const auto full = scalar::constant_of(ends[fixed]);
    const scalar::AffineSum edge = scalar::affine_sum(ends[1 - fixed]);
    const auto at_last = full ? least(edge, last_, last_) : std::nullopt;
    if (!at_last || *at_last >= *full || (first_ < last_ && least(edge, first_, last_ - 1) < *full))
      return;
    full_.push_back({loop.var, loop.hi, *full});
    ends_[loop.var] = {*lo, *full - 1};
    has_straight_ = has_straight_ || becomes_straight(loop);
  }

  /// Of these iterations, which the sum has to depend on.
  std::optional<int64_t> least(const scalar::AffineSum& sum, int64_t first, int64_t last) const {
    int64_t total = sum.constant;
    bool depends = false;
    for (const auto& [term, factor] : sum.terms) {
      const auto* var = scalar::as<scalar::Var>(term);
      const auto found = var != nullptr ? ends_.find(var->id) : ends_.end();
      const bool is_tile = var != nullptr && var->id == tiles_;
      if (!is_tile && found == ends_.end())
        return std::nullopt;
      const auto [low, high] = is_tile ? std::pair(first, last) : found->second;
      total += factor * (factor > 0 ? low : high);
      depends = depends || is_tile;
    }
    return depends ? std::optional(total) : std::nullopt;
  }

  uint32_t tiles_;
  int64_t first_, last_;
  bool has_straight_ = false;
  std::map<uint32_t, std::pair<int64_t, int64_t>> ends_; ///< of variables, both included
  std::vector<Full> full_;
};

/// Whether all that is multiplied lies in packed buffers: such tiles are filled up instead
/// (padded_tile.h).
bool reads_packed_elements_only(const Kernel& kernel, const Store& update) {
  bool holds = true;
  scalar::visit(update.value, [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    holds = holds && (load == nullptr || kernel.buffers[load->tensor].is_packed);
  });
  return holds;
}

/// Loops that run over register tiles of sums; the tiles of packed copies have their own ways, and
/// so have those of instructions whose operands are packed, and the columns of all instructions.
bool has_plain_tiles(const Kernel& kernel, const For& tiles) {
  bool has_update = false, is_plain = true, has_instruction = false, reads_others = false;
  visit(tiles.body, [&](const Store& store) {
    const bool is_update = store.op != ReduceOp::None;
    has_update = has_update || is_update;
    reads_others = reads_others || (is_update && !reads_packed_elements_only(kernel, store));
    is_plain = is_plain && !kernel.buffers[store.buffer].is_packed;
  });
  visit(tiles.body, [&](const For& loop) {
    const bool is_axis = !loop.marks.instruction.empty();
    has_instruction = has_instruction || is_axis;
    is_plain = is_plain && !loop.marks.is_parallel && !(is_axis && mentions(loop.hi, tiles.var));
  });
  return has_update && is_plain && (!has_instruction || reads_others);
}

/// Whether there are vectors of copies that read their lanes apart: rows of squares, which are
/// transposed in registers where it is known how many there are.
bool has_squares(const For& tiles) {
  const bool is_plain = !has(tiles.body, [](const Store& store) {
    return store.op != ReduceOp::None;
  }) && !has(tiles.body, [](const For& loop) { return loop.marks.is_parallel; });
  return is_plain && has(tiles.body, [&](const For& rows) {
           const auto* lanes = rows.marks.unroll == poly::kFullUnroll && rows.body.size() == 1
                                   ? std::get_if<For>(&rows.body[0])
                                   : nullptr;
           const auto* store = lanes != nullptr && lanes->body.size() == 1
                                   ? std::get_if<Store>(&lanes->body[0])
                                   : nullptr;
           const auto* load = store != nullptr ? scalar::as<scalar::Load>(store->value) : nullptr;
           return load != nullptr && lanes->marks.vector_width > 1 && !load->index.empty() &&
                  mentions(load->index.back(), rows.var) &&
                  !mentions(load->index.back(), lanes->var);
         });
}

/// The last value of the loop's variable where its tiles are smaller than the others. Of loops that
/// threads share, or of others.
std::optional<int64_t> smaller_tile(const Kernel& kernel, const For& tiles, bool is_shared) {
  const auto lo = scalar::constant_of(tiles.lo), hi = scalar::constant_of(tiles.hi);
  if (!lo || !hi || *hi - *lo < (is_shared ? 2 : 1) || tiles.step != 1 || tiles.joins_child ||
      tiles.marks.is_parallel != is_shared || tiles.marks.vector_width != 0 ||
      tiles.marks.unroll != 0 || (!has_plain_tiles(kernel, tiles) && !has_squares(tiles)))
    return std::nullopt;
  const bool is_smaller = EarlyEnds(tiles, *lo, *hi - 1).has_straight();
  return is_smaller ? std::optional(*hi - 1) : std::nullopt;
}

class Peeler {
public:
  Peeler(Kernel& kernel, bool is_shared) : kernel_(kernel), is_shared_(is_shared) {}

  Block block(const Block& statements) {
    return with_each_replaced(statements, [&](const Stmt& stmt) { return one(stmt); });
  }

private:
  Block one(const Stmt& stmt) {
    const auto inside = [&](const Block& b) { return block(b); };
    const auto* loop = std::get_if<For>(&stmt);
    const auto last = loop != nullptr ? smaller_tile(kernel_, *loop, is_shared_) : std::nullopt;
    if (!last)
      return block_of(with_nested_blocks(stmt, inside));
    if (scalar::constant_of(loop->lo) == last) // the last block has one tile
      return block(copies_of_body(kernel_, *loop, int_lit(*last), 1));
    For others = *loop;
    others.body = block(full_tiles(*loop, *last));
    For same = *loop;
    same.body = with_fresh_defines(kernel_, loop->body);
    Block at_last = block(copies_of_body(kernel_, same, int_lit(*last), 1));
    if (is_shared_) {
      others.body =
          block_of(If{scalar::binary(BinaryOp::Lt, var_expr(kernel_, loop->var), int_lit(*last)),
                      std::move(others.body), std::move(at_last)});
      return block_of(std::move(others));
    }
    others.hi = int_lit(*last);
    Block result = block_of(std::move(others));
    append(result, std::move(at_last));
    return result;
  }

  /// With the constants as ends of the loops that are smaller in the last iteration.
  static Block full_tiles(const For& tiles, int64_t last) {
    const EarlyEnds ends(tiles, *scalar::constant_of(tiles.lo), last);
    Block body = tiles.body;
    visit(body, [&](For& loop) {
      if (const auto full = ends.full(loop))
        loop.hi = int_lit(*full);
    });
    return body;
  }

  Kernel& kernel_;
  bool is_shared_;
};

} // namespace

Kernel peel_last_tiles(Kernel kernel) {
  const Block body = kernel.body;
  kernel.body = Peeler(kernel, false).block(body);
  return kernel;
}

Kernel last_shared_tiles(Kernel kernel) {
  const Block body = kernel.body;
  kernel.body = Peeler(kernel, true).block(body);
  return kernel;
}

} // namespace kawara::kernel
