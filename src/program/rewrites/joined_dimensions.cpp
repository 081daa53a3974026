#include "program/rewrites/joined_dimensions.h"

#include "program/rewrites/find_convolution.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace kawara::program {
namespace {

using scalar::as;
using scalar::int_lit;

/// A loop around exactly one other.
struct LoopPair {
  const Loop* outer = nullptr;
  const Loop* inner = nullptr;
  uint32_t depth = 0;               ///< of the outer one
  std::vector<uint32_t> statements; ///< below
};

/// A tensor and the first of two of its dimensions.
using TensorDimension = std::pair<uint32_t, size_t>;

void collect_below(const Body& body, std::vector<uint32_t>& found) {
  for (const BodyNode& node : body) {
    if (const auto* ref = std::get_if<StatementRef>(&node))
      found.push_back(ref->statement);
    else if (const auto* loop = std::get_if<Loop>(&node))
      collect_below(loop->body, found);
    else {
      collect_below(std::get<If>(node).then, found);
      collect_below(std::get<If>(node).otherwise, found);
    }
  }
}

class DimensionJoiner {
public:
  /// `divides`: only of maps; iterators may occur elsewhere too. `unit` then counts bytes.
  DimensionJoiner(const Program& program, int64_t unit, bool divides)
      : program_(program), unit_(unit), divides_(divides) {}

  std::optional<Program> run() {
    find_pairs(program_.body, 0);
    find_places();
    while (drop_pairs() || drop_places()) {}
    const std::vector<LoopPair> pairs = pairs_;
    const std::set<TensorDimension> places = places_;
    for (const LoopPair& pair : pairs) {
      pairs_ = pairs;
      places_ = places;
      if (!is_worth_joining(pair))
        continue;
      keep_apart(pair);
      if (!pairs_.empty())
        return joined();
    }
    return std::nullopt;
  }

private:
  const Statement& text(uint32_t s) const { return program_.statements[s]; }

  /// Under an `if`, conditions would mention the loops.
  void find_pairs(const Body& body, uint32_t depth) {
    for (const BodyNode& node : body) {
      const auto* loop = std::get_if<Loop>(&node);
      if (loop == nullptr)
        continue;
      const auto* inner = loop->body.size() == 1 ? std::get_if<Loop>(&loop->body.front()) : nullptr;
      if (inner != nullptr && length_of(*loop) && length_of(*inner)) {
        pairs_.push_back({loop, inner, depth, {}});
        collect_below(inner->body, pairs_.back().statements);
      }
      find_pairs(loop->body, depth + 1);
    }
  }

  void find_places() {
    for (uint32_t t = 0; t < program_.tensors.size(); ++t)
      for (size_t d = 0; d + 1 < program_.tensors[t].shape.size(); ++d)
        places_.insert({t, d});
  }

  /// Calls `f(tensor, index)` for every access of the statement.
  template <class F> void each_access(const Statement& statement, const F& f) const {
    f(statement.tensor, statement.index);
    scalar::visit(statement.value, [&](const Expr& e) {
      if (const auto* load = as<scalar::Load>(e))
        f(load->tensor, load->index);
    });
  }

  bool is_at(const std::vector<Expr>& index, size_t d, const LoopPair& pair) const {
    return single_iterator(index[d]) == pair.depth &&
           single_iterator(index[d + 1]) == pair.depth + 1;
  }

  /// The statement gives an element at a joined place its value, and reads such elements, or inputs
  /// that it finds by one of the iterators. A temp of a row (a norm) would have to be known before:
  /// its rows are better kept together.
  bool is_joined_map(const LoopPair& pair, uint32_t s) const {
    const Statement& statement = text(s);
    if (statement.op != ReduceOp::None || statement.iters.size() != pair.depth + 2)
      return false;
    bool is_fine = true, is_write = true;
    each_access(statement, [&](uint32_t tensor, const std::vector<Expr>& index) {
      bool has_outer = false, has_inner = false, is_joined = false;
      for (size_t d = 0; d < index.size(); ++d) {
        has_outer = has_outer || moves_with(index[d], pair.depth);
        has_inner = has_inner || moves_with(index[d], pair.depth + 1);
        is_joined = is_joined || (d + 1 < index.size() && places_.contains({tensor, d}) &&
                                  is_at(index, d, pair));
      }
      const bool is_input = program_.tensors[tensor].role == Role::Input;
      is_fine = is_fine && (is_joined || (!is_write && is_input && !(has_outer && has_inner)));
      is_write = false;
    });
    return is_fine;
  }

  /// The pair's iterators occur as the two indices of joined places and nowhere else.
  bool stays_whole(const LoopPair& pair, uint32_t s) const {
    if (divides_)
      return is_joined_map(pair, s);
    size_t in_places = 0, everywhere = 0;
    const auto count = [&](const Expr& root) {
      scalar::visit(root, [&](const Expr& e) {
        const auto* it = as<scalar::Iter>(e);
        everywhere += it != nullptr && (it->index == pair.depth || it->index == pair.depth + 1);
      });
    };
    each_access(text(s), [&](uint32_t tensor, const std::vector<Expr>& index) {
      for (size_t d = 0; d + 1 < index.size(); ++d)
        in_places += places_.contains({tensor, d}) && is_at(index, d, pair) ? 2 : 0;
    });
    for (const Expr& e : text(s).index)
      count(e);
    count(text(s).value);
    return in_places == everywhere;
  }

  /// Something inside depends on more than the statements: an `if`, or a loop whose ends are not
  /// known.
  static bool has_conditions(const Body& body) {
    return std::any_of(body.begin(), body.end(), [](const BodyNode& node) {
      const auto* loop = std::get_if<Loop>(&node);
      return std::holds_alternative<If>(node) ||
             (loop != nullptr && (!length_of(*loop) || has_conditions(loop->body)));
    });
  }

  bool drop_pairs() {
    return std::erase_if(pairs_, [&](const LoopPair& pair) {
             return has_conditions(pair.inner->body) ||
                    !std::all_of(pair.statements.begin(), pair.statements.end(),
                                 [&](uint32_t s) { return stays_whole(pair, s); });
           }) > 0;
  }

  /// Every access of the tensor walks through both dimensions with a pair of loops that is to be
  /// joined.
  bool drop_places() {
    std::set<TensorDimension> broken;
    for (uint32_t s = 0; s < program_.statements.size(); ++s)
      each_access(text(s), [&](uint32_t tensor, const std::vector<Expr>& index) {
        for (size_t d = 0; d + 1 < index.size(); ++d)
          if (places_.contains({tensor, d}) && !walks_whole(s, tensor, index, d))
            broken.insert({tensor, d});
      });
    for (const TensorDimension& place : broken)
      places_.erase(place);
    return !broken.empty();
  }

  bool walks_whole(uint32_t s, uint32_t tensor, const std::vector<Expr>& index, size_t d) const {
    const auto extent = [&](size_t dim) {
      return scalar::constant_of(scalar::simplify(program_.tensors[tensor].shape[dim]));
    };
    return std::any_of(pairs_.begin(), pairs_.end(), [&](const LoopPair& pair) {
      return is_at(index, d, pair) && length_of(*pair.outer) == extent(d) &&
             length_of(*pair.inner) == extent(d + 1) &&
             std::find(pair.statements.begin(), pair.statements.end(), s) != pair.statements.end();
    });
  }

  bool is_worth_joining(const LoopPair& pair) const {
    return divides_ ? makes_whole_groups(pair)
                    : makes_long_rows(pair) || counts_rows(pair) || reduces(pair);
  }

  /// All elements have more whole groups of bytes than a row, or a row's groups do not divide those
  /// that threads have side by side.
  bool makes_whole_groups(const LoopPair& pair) const {
    constexpr int64_t kGroupsSideBySide = 256;
    return *length_of(*pair.outer) > 1 &&
           std::any_of(pair.statements.begin(), pair.statements.end(), [&](uint32_t s) {
             const Tensor& made = program_.tensors[text(s).tensor];
             const int64_t bytes = scalar::bytes_of(made.elem);
             const int64_t row = *length_of(*pair.inner) * bytes, groups = row / unit_;
             int64_t all = bytes;
             for (const Expr& extent : made.shape)
               all *= scalar::constant_of(scalar::simplify(extent)).value_or(1);
             const bool is_uneven =
                 groups > 0 && groups < kGroupsSideBySide && kGroupsSideBySide % groups != 0;
             return is_uneven || std::gcd(all, unit_) > std::gcd(row, unit_);
           });
  }

  /// Outermost loops of several nests, of which one adds up: they can share one loop over rows, and
  /// threads have all of these to share.
  bool counts_rows(const LoopPair& pair) const {
    if (pair.depth != 0)
      return false;
    size_t nests = 0, reductions = 0;
    for (const LoopPair& other : pairs_) {
      if (other.depth != 0 || !is_as_long(other, pair))
        continue;
      ++nests;
      reductions += std::any_of(other.statements.begin(), other.statements.end(), [&](uint32_t s) {
        return text(s).op != ReduceOp::None && text(s).iters.size() > 2;
      });
    }
    return nests > 1 && reductions > 0;
  }

  /// Both are added up: threads can have even parts of one long loop, and only its last vector is
  /// not whole.
  bool reduces(const LoopPair& pair) const {
    return *length_of(*pair.outer) > 1 &&
           std::any_of(pair.statements.begin(), pair.statements.end(), [&](uint32_t s) {
             return text(s).op != ReduceOp::None &&
                    std::none_of(text(s).index.begin(), text(s).index.end(), [&](const Expr& e) {
                      return moves_with(e, pair.depth) || moves_with(e, pair.depth + 1);
                    });
           });
  }

  static bool moves_with(const Expr& root, uint32_t depth) {
    bool found = false;
    scalar::visit(root, [&](const Expr& e) {
      const auto* it = as<scalar::Iter>(e);
      found = found || (it != nullptr && it->index == depth);
    });
    return found;
  }

  static bool is_as_long(const LoopPair& a, const LoopPair& b) {
    return length_of(*a.outer) == length_of(*b.outer) && length_of(*a.inner) == length_of(*b.inner);
  }

  bool makes_long_rows(const LoopPair& pair) const {
    const bool has_whole_vectors = *length_of(*pair.inner) % unit_ == 0;
    if ((has_whole_vectors && pair.depth > 0) || *length_of(*pair.outer) == 1)
      return false;
    return std::any_of(pair.statements.begin(), pair.statements.end(), [&](uint32_t s) {
      size_t moving = 0, all = 0;
      scalar::visit(text(s).value, [&](const Expr& e) {
        const auto* load = as<scalar::Load>(e);
        if (load == nullptr)
          return;
        ++all;
        for (size_t d = 0; d + 1 < load->index.size(); ++d)
          moving += is_at(load->index, d, pair) ? 1 : 0;
      });
      return text(s).op == ReduceOp::Sum && all == 2 && moving == 1;
    });
  }

  // The joined program. A place or pair that shares a dimension or loop with one before it is left
  // for another time.

  Program joined() const {
    Program result = program_;
    for (uint32_t s = 0; s < result.statements.size(); ++s) {
      Statement& statement = result.statements[s];
      if (const LoopPair* pair = divides_ ? pair_around(s) : nullptr)
        divide(statement, *pair);
      statement.value = scalar::rewrite(statement.value, [&](const Expr& e) {
        const auto* load = as<scalar::Load>(e);
        return load == nullptr
                   ? Expr()
                   : scalar::load(load->tensor, shorter(load->tensor, load->index), e.type());
      });
      statement.index = shorter(statement.tensor, statement.index);
      renumber(s, statement);
    }
    for (uint32_t t = 0; t < result.tensors.size(); ++t)
      result.tensors[t].shape = shorter_shape(t);
    result.body = shorter_body(program_.body);
    return result;
  }

  const LoopPair* pair_around(uint32_t s) const {
    const auto found = std::find_if(pairs_.begin(), pairs_.end(), [&](const LoopPair& pair) {
      return std::find(pair.statements.begin(), pair.statements.end(), s) != pair.statements.end();
    });
    return found == pairs_.end() ? nullptr : &*found;
  }

  /// Where the pair's iterators are no joined place, they become quotient and remainder of the
  /// outer one, which counts for both.
  void divide(Statement& statement, const LoopPair& pair) const {
    const Expr both = scalar::iter(pair.depth), length = int_lit(*length_of(*pair.inner));
    const auto parted = [&](const Expr& root) {
      return scalar::rewrite(
          root,
          [&](const Expr& e) {
            const auto* it = as<scalar::Iter>(e);
            if (it == nullptr || (it->index != pair.depth && it->index != pair.depth + 1))
              return Expr();
            return scalar::binary(it->index == pair.depth ? scalar::BinaryOp::FloorDiv
                                                          : scalar::BinaryOp::Mod,
                                  both, length);
          },
          [](const Expr& e) { return as<scalar::Load>(e) != nullptr; });
    };
    const auto parted_index = [&](uint32_t tensor, std::vector<Expr> index) {
      for (size_t d = 0; d < index.size(); ++d) {
        if (d + 1 < index.size() && places_.contains({tensor, d}) && is_at(index, d, pair))
          ++d;
        else
          index[d] = parted(index[d]);
      }
      return index;
    };
    statement.value = scalar::rewrite(parted(statement.value), [&](const Expr& e) {
      const auto* load = as<scalar::Load>(e);
      return load == nullptr
                 ? Expr()
                 : scalar::load(load->tensor, parted_index(load->tensor, load->index), e.type());
    });
    statement.index = parted_index(statement.tensor, statement.index);
  }

  void keep_apart(const LoopPair& chosen) {
    std::erase_if(pairs_, [&](const LoopPair& p) { return !is_as_long(p, chosen); });
    // One pass more over what is left: a place needs the pairs it had.
    while (drop_pairs() || drop_places()) {}
    std::set<const Loop*> taken;
    std::erase_if(pairs_, [&](const LoopPair& p) {
      return taken.contains(p.outer) || !taken.insert(p.inner).second;
    });
    while (drop_pairs() || drop_places()) {}
  }

  std::vector<Expr> shorter(uint32_t tensor, const std::vector<Expr>& index) const {
    std::vector<Expr> result;
    for (size_t d = 0; d < index.size(); ++d)
      if (d == 0 || !places_.contains({tensor, d - 1}))
        result.push_back(index[d]);
    return result;
  }

  std::vector<Expr> shorter_shape(uint32_t tensor) const {
    const std::vector<Expr>& shape = program_.tensors[tensor].shape;
    std::vector<Expr> result;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d == 0 || !places_.contains({tensor, d - 1}))
        result.push_back(shape[d]);
      else
        result.back() = scalar::simplify(result.back() * shape[d]);
    }
    return result;
  }

  /// The inner loop of a pair is gone: those below it move up.
  void renumber(uint32_t s, Statement& statement) const {
    std::vector<Expr> iters;
    std::vector<std::string> names;
    for (uint32_t k = 0; k < statement.iters.size(); ++k) {
      const bool is_inner =
          k > 0 && std::any_of(pairs_.begin(), pairs_.end(), [&](const LoopPair& pair) {
            return pair.depth + 1 == k && std::find(pair.statements.begin(), pair.statements.end(),
                                                    s) != pair.statements.end();
          });
      if (is_inner)
        names.back() += "_" + statement.iters[k];
      else
        names.push_back(statement.iters[k]);
      iters.push_back(scalar::iter(static_cast<uint32_t>(names.size() - 1)));
    }
    statement.value = scalar::substitute_iters(statement.value, iters);
    for (Expr& e : statement.index)
      e = scalar::substitute_iters(e, iters);
    statement.iters = std::move(names);
  }

  Body shorter_body(const Body& body) const {
    Body result;
    for (const BodyNode& node : body) {
      const auto* loop = std::get_if<Loop>(&node);
      if (loop == nullptr) {
        result.push_back(node);
        continue;
      }
      const auto pair = std::find_if(pairs_.begin(), pairs_.end(),
                                     [&](const LoopPair& p) { return p.outer == loop; });
      Loop copy = *loop;
      if (pair != pairs_.end()) {
        copy.name += "_" + pair->inner->name;
        copy.hi = int_lit(*length_of(*pair->outer) * *length_of(*pair->inner));
        copy.body = shorter_body(pair->inner->body);
      } else
        copy.body = shorter_body(loop->body);
      result.emplace_back(std::move(copy));
    }
    return result;
  }

  const Program& program_;
  int64_t unit_;
  bool divides_;
  std::vector<LoopPair> pairs_;
  std::set<TensorDimension> places_;
};

} // namespace

std::optional<Program> with_joined_dimensions(const Program& program, int64_t unit) {
  return DimensionJoiner(program, unit, false).run();
}

std::optional<Program> with_flat_maps(const Program& program, int64_t bytes) {
  return DimensionJoiner(program, bytes, true).run();
}

} // namespace kawara::program
