#include "kernel/gpu/wide_loads.h"

#include "kernel/gpu/warpgroup/group_parts.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <map>
#include <optional>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::int_lit;

constexpr int64_t kMostBytes = 16, kLeastBytes = 4;

/// Elements of one buffer whose places differ by constants.
struct LoadedRow {
  uint32_t buffer = 0;
  std::vector<Expr> index; ///< the last without its constant
  int64_t unit =
      0; ///< the position in memory is a multiple of this many elements, but for the constant
  std::map<int64_t, size_t> elements; ///< constant, and the statement that reads it first
};

/// Neighbouring elements that are loaded at once.
struct LoadedPiece {
  size_t row = 0;
  int64_t first = 0, lanes = 0;
  size_t before = 0; ///< the statement before which they are loaded
  int64_t place = 0; ///< where they wait
};

/// The parts of an expression that are computed whatever it is; those under no select.
void visit_certain(const Expr& e, const std::function<void(const Expr&)>& f) {
  f(e);
  if (const auto* choice = as<scalar::Select>(e))
    return visit_certain(choice->cond, f);
  for (const Expr& child : scalar::children(e))
    visit_certain(child, f);
}

const scalar::Load* scalar_load_of(const Expr& e) {
  const auto* load = as<scalar::Load>(e);
  return load != nullptr && e.type().lanes == 1 && !load->index.empty() ? load : nullptr;
}

/// The load of an expression that gives an element in the type in which it is computed with.
const scalar::Load* element_load_of(const Expr& e) {
  const auto* cast = as<scalar::Cast>(e);
  const Expr& inner = cast == nullptr ? e : cast->arg;
  const auto* load = scalar_load_of(inner);
  return load != nullptr && e.type().elem == scalar::compute_type(inner.type().elem) ? load
                                                                                     : nullptr;
}

/// Statements that follow each other and are done without a choice.
class LoadWindow {
public:
  LoadWindow(Kernel& kernel, Block statements)
      : kernel_(kernel), statements_(std::move(statements)),
        stored_(buffers_stored_in(statements_)), set_inside_(vars_set_in(statements_)) {}

  /// The statements with the loads before them; the buffers that they need are added to `buffers`.
  Block widened(std::vector<uint32_t>& buffers) {
    for (size_t s = 0; s < statements_.size(); ++s)
      visit_exprs(statements_[s], [&](const Expr& root) {
        visit_certain(root, [&](const Expr& e) { note(e, s); });
      });
    for (size_t r = 0; r < rows_.size(); ++r)
      cut(r);
    if (pieces_.empty())
      return std::move(statements_);
    for (const auto& [buffer, elements] : used_)
      buffers.push_back(waiting_[buffer] = add_waiting(buffer, elements));
    Block result;
    for (size_t s = 0; s < statements_.size(); ++s) {
      for (const LoadedPiece& piece : pieces_)
        if (piece.before == s)
          result.push_back(load_of(piece));
      for (Stmt& stmt :
           map_exprs(block_of(statements_[s]), [&](const Expr& root) { return replaced(root); }))
        result.push_back(std::move(stmt));
    }
    return result;
  }

private:
  bool is_fine(uint32_t buffer) const {
    const Buffer& b = kernel_.buffers[buffer];
    return (b.scope == Scope::Argument || b.scope == Scope::Workspace) &&
           !stored_.contains(buffer) && scalar::bytes_of(b.elem) < kMostBytes;
  }

  void note(const Expr& e, size_t statement) {
    const auto* load = element_load_of(e);
    if (load == nullptr || !is_fine(load->tensor) ||
        std::any_of(load->index.begin(), load->index.end(),
                    [&](const Expr& i) { return has_load(i) || mentions_any(i, set_inside_); }))
      return;
    const auto [index, constant] = split(load->index);
    rows_[row_of(load->tensor, index)].elements.emplace(constant, statement);
  }

  static std::pair<std::vector<Expr>, int64_t> split(std::vector<Expr> index) {
    scalar::AffineSum last = scalar::affine_sum(index.back());
    const int64_t constant = std::exchange(last.constant, 0);
    index.back() = scalar::expr_of(last);
    return {std::move(index), constant};
  }

  size_t row_of(uint32_t buffer, const std::vector<Expr>& index) {
    const auto found = find_row(buffer, index);
    if (found)
      return *found;
    rows_.push_back({buffer, index, unit_of(buffer, index), {}});
    return rows_.size() - 1;
  }

  std::optional<size_t> find_row(uint32_t buffer, const std::vector<Expr>& index) const {
    for (size_t r = 0; r < rows_.size(); ++r)
      if (rows_[r].buffer == buffer &&
          std::equal(index.begin(), index.end(), rows_[r].index.begin(), rows_[r].index.end(),
                     scalar::equal))
        return r;
    return std::nullopt;
  }

  /// The largest number of elements that fit a load of which the position is a multiple.
  int64_t unit_of(uint32_t buffer, const std::vector<Expr>& index) const {
    const Buffer& b = kernel_.buffers[buffer];
    Expr linear = index[0];
    for (size_t d = 1; d < index.size(); ++d)
      linear = linear * b.shape[d] + index[d];
    const scalar::AffineSum sum = scalar::affine_sum(scalar::simplify(linear));
    int64_t unit = kMostBytes / scalar::bytes_of(b.elem);
    const auto divides = [&](int64_t n) {
      return sum.constant % n == 0 && std::all_of(sum.terms.begin(), sum.terms.end(),
                                                  [&](const auto& t) { return t.second % n == 0; });
    };
    while (unit > 1 && !divides(unit))
      unit /= 2;
    return unit;
  }

  /// Pieces of the row of which all elements are read, the longest first.
  void cut(size_t r) {
    const LoadedRow& row = rows_[r];
    const int64_t bytes = scalar::bytes_of(kernel_.buffers[row.buffer].elem);
    for (int64_t lanes = row.unit; lanes > 1 && lanes * bytes >= kLeastBytes; lanes /= 2)
      for (const auto& [first, statement] : row.elements) {
        if (first % lanes != 0 || piece_with(r, first) != nullptr)
          continue;
        size_t earliest = statement, n = 0;
        for (auto at = row.elements.find(first); at != row.elements.end(); ++at, ++n) {
          if (at->first != first + static_cast<int64_t>(n) || static_cast<int64_t>(n) == lanes)
            break;
          earliest = std::min(earliest, at->second);
        }
        if (static_cast<int64_t>(n) == lanes) {
          pieces_.push_back({r, first, lanes, earliest, used_[row.buffer]});
          used_[row.buffer] += lanes;
        }
      }
  }

  const LoadedPiece* piece_with(size_t row, int64_t constant) const {
    const auto found = std::find_if(pieces_.begin(), pieces_.end(), [&](const LoadedPiece& p) {
      return p.row == row && p.first <= constant && constant < p.first + p.lanes;
    });
    return found == pieces_.end() ? nullptr : &*found;
  }

  uint32_t add_waiting(uint32_t source, int64_t elements) {
    Buffer wide;
    wide.elem = scalar::compute_type(kernel_.buffers[source].elem);
    const auto id = static_cast<uint32_t>(kernel_.buffers.size());
    wide.name = unique_buffer_name(kernel_, kernel_.buffers[source].name + "_wide");
    wide.shape = {int_lit(elements)};
    wide.scope = Scope::Private;
    kernel_.buffers.push_back(std::move(wide));
    return id;
  }

  Stmt load_of(const LoadedPiece& piece) const {
    const LoadedRow& row = rows_[piece.row];
    const auto lanes = static_cast<uint16_t>(piece.lanes);
    const uint32_t to = waiting_.at(row.buffer);
    std::vector<Expr> index = row.index;
    index.back() = scalar::ramp(scalar::simplify(index.back() + int_lit(piece.first)), 1, lanes);
    const Expr elements =
        scalar::load(row.buffer, std::move(index), {kernel_.buffers[row.buffer].elem, lanes});
    return Store{to,
                 {scalar::ramp(int_lit(piece.place), 1, lanes)},
                 ReduceOp::None,
                 scalar::cast(elements, {kernel_.buffers[to].elem, lanes})};
  }

  Expr replaced(const Expr& e) const {
    if (const auto* load = element_load_of(e)) {
      const auto [index, constant] = split(load->index);
      const auto row = find_row(load->tensor, index);
      const LoadedPiece* piece = row ? piece_with(*row, constant) : nullptr;
      if (piece != nullptr)
        return scalar::load(waiting_.at(load->tensor),
                            {int_lit(piece->place + constant - piece->first)}, e.type());
    }
    std::vector<Expr> children = scalar::children(e);
    if (children.empty())
      return e;
    const size_t certain = as<scalar::Select>(e) != nullptr ? 1 : children.size();
    for (size_t c = 0; c < certain; ++c)
      children[c] = replaced(children[c]);
    return scalar::with_children(e, std::move(children));
  }

  Kernel& kernel_;
  Block statements_;
  std::set<uint32_t> stored_;
  VarSet set_inside_;
  std::vector<LoadedRow> rows_;
  std::vector<LoadedPiece> pieces_;
  std::map<uint32_t, int64_t> used_;     ///< by buffer, elements that wait
  std::map<uint32_t, uint32_t> waiting_; ///< by buffer, where they do
};

class Widener {
public:
  explicit Widener(Kernel& kernel) : kernel_(kernel) {}

  Block block(const Block& statements) {
    Block result, plain;
    std::vector<uint32_t> buffers;
    const auto flush = [&] {
      for (Stmt& stmt : LoadWindow(kernel_, std::exchange(plain, {})).widened(buffers))
        result.push_back(std::move(stmt));
    };
    for (const Stmt& stmt : statements) {
      if (is_plain(stmt)) {
        plain.push_back(stmt);
        continue;
      }
      flush();
      result.push_back(inside(stmt));
    }
    flush();
    for (const uint32_t buffer : buffers)
      result = block_of(Allocate{buffer, std::move(result)});
    return result;
  }

private:
  static bool is_plain(const Stmt& stmt) {
    if (const auto* store = std::get_if<Store>(&stmt))
      return !store->is_async;
    return std::get_if<Define>(&stmt) != nullptr || std::get_if<Assign>(&stmt) != nullptr ||
           std::get_if<Comment>(&stmt) != nullptr;
  }

  Stmt inside(Stmt stmt) {
    return with_nested_blocks(std::move(stmt), [&](const Block& inner) { return block(inner); });
  }

  Kernel& kernel_;
};

} // namespace

Kernel wide_loads(Kernel kernel, const Launch&) {
  const Block body = kernel.body;
  kernel.body = Widener(kernel).block(body);
  return kernel;
}

} // namespace kawara::kernel
