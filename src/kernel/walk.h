#pragma once

#include "kernel/kernel.h"

#include <concepts>
#include <type_traits>
#include <utility>

/// The traversal of statements. Only this file says which blocks and expressions a statement has,
/// kind by kind. A kind that is added to Stmt does not compile until it is described here, so no
/// walk misses what is inside it.
///
/// A walk calls a function of all statements (`const Stmt&`), or of the kinds that matter to it
/// (`const Store&`, `OneOf<Store, Zero> auto&`).
namespace kawara::kernel {

/// Whether S is one of these kinds. Code that has to know every kind has a case for each, and names
/// the kinds that mean nothing to it; then a new kind does not compile there either.
template <class S, class... Kinds>
concept OneOf = (std::same_as<std::remove_cvref_t<S>, Kinds> || ...);

/// Statements with blocks inside, and those without.
template <class S>
concept Compound = OneOf<S, For, If, Allocate, Launch>;
template <class S>
concept Simple = OneOf<S, Store, Define, Assign, Zero, Prefetch, Comment, Barrier, Commit, Await,
                       Combine, AsyncOp>;
template <class S>
concept Kind = Compound<S> || Simple<S>;

/// Calls `f` with each block right inside the statement, in the order of the text.
template <Compound S, class F> void for_blocks(S& stmt, F&& f) {
  if constexpr (OneOf<S, If>) {
    f(stmt.then);
    f(stmt.otherwise);
  } else
    f(stmt.body);
}
template <Simple S, class F> void for_blocks(S&, F&&) {}
template <OneOf<Stmt> S, class F> void for_blocks(S& stmt, F&& f) {
  std::visit([&](auto& kind) { for_blocks(kind, f); }, stmt);
}

/// Calls `f` with each expression of the statement itself, not of its blocks.
template <Kind S, class F> void visit_own_exprs(S& stmt, F&& f) {
  if constexpr (OneOf<S, Store, Prefetch>)
    for (auto& e : stmt.index)
      f(e);
  if constexpr (OneOf<S, Store, Define, Assign, Combine>)
    f(stmt.value);
  else if constexpr (OneOf<S, For>) {
    f(stmt.lo);
    f(stmt.hi);
  } else if constexpr (OneOf<S, If>)
    f(stmt.cond);
  else if constexpr (OneOf<S, Launch>)
    for (auto& count : stmt.blocks)
      f(count);
  else if constexpr (OneOf<S, AsyncOp>)
    for (auto* e : exprs_of(stmt))
      f(*e);
  else
    static_assert(OneOf<S, Prefetch, Allocate, Zero, Comment, Barrier, Commit, Await>);
}
template <OneOf<Stmt> S, class F> void visit_own_exprs(S& stmt, F&& f) {
  std::visit([&](auto& kind) { visit_own_exprs(kind, f); }, stmt);
}

/// What the statement runs of the scop; null where its kind runs nothing.
const Origins* origins_of(const Stmt&);
Origins* origins_of(Stmt&);

/// How a walk goes on after a statement (MLIR's WalkResult).
enum class WalkResult : uint8_t {
  Advance,   ///< into its blocks
  Skip,      ///< past them
  Interrupt, ///< not at all
};

/// Parts of the walks below.
namespace walking {

template <class F, class S> WalkResult result_of(F& f, S& stmt) {
  if constexpr (std::is_void_v<std::invoke_result_t<F&, S&>>) {
    f(stmt);
    return WalkResult::Advance;
  } else
    return f(stmt);
}

template <class F, class... Kinds> constexpr bool takes_one(const std::variant<Kinds...>*) {
  return (std::invocable<F&, Kinds&> || ...);
}

/// Calls `f` if it takes statements, or this kind.
template <class F, class S> WalkResult told(F& f, S& stmt) {
  if constexpr (std::invocable<F&, S&>)
    return result_of(f, stmt);
  else {
    static_assert(takes_one<F>(static_cast<const Stmt*>(nullptr)));
    return std::visit(
        [&](auto& kind) {
          if constexpr (std::invocable<F&, decltype(kind)>)
            return result_of(f, kind);
          else
            return WalkResult::Advance;
        },
        stmt);
  }
}

struct NoTracker {};

template <class T, class S>
concept Enters = requires(T& tracker, S& stmt) {
  tracker.enter(stmt);
};
template <class T, class S>
concept Leaves = requires(T& tracker, S& stmt) {
  tracker.leave(stmt);
};
template <class T, class S>
concept ComesAfter = requires(T& tracker, S& stmt) {
  tracker.after(stmt);
};
template <class T>
concept Tracker = !Enters<T, const Stmt> && !Leaves<T, const Stmt> && !ComesAfter<T, const Stmt>;

/// Calls `f` with each block of the statement, the tracker inside.
template <Tracker T, OneOf<Stmt> S, class F> void for_scopes(S& stmt, T& tracker, F&& f) {
  const auto inside = [&](auto& kind) {
    using Own = std::remove_reference_t<decltype(kind)>;
    static_assert(Enters<T, Own> == Leaves<T, Own>);
    for_blocks(kind, [&](auto& block) {
      if constexpr (Enters<T, Own>)
        tracker.enter(kind);
      f(block);
      if constexpr (Leaves<T, Own>)
        tracker.leave(kind);
    });
  };
  std::visit(inside, stmt);
}

template <Tracker T, OneOf<Stmt> S> void come_after(S& stmt, T& tracker) {
  const auto after = [&](auto& kind) {
    if constexpr (ComesAfter<T, decltype(kind)>)
      tracker.after(kind);
  };
  std::visit(after, stmt);
}

/// Puts what `f` makes of the statement, if it takes statements or this kind, into `result`; else
/// itself.
template <class F> void replace(F& f, Stmt stmt, Block& result) {
  const auto take = [&](auto made) {
    if constexpr (OneOf<decltype(made), Block>)
      for (Stmt& s : made)
        result.push_back(std::move(s));
    else
      result.emplace_back(std::move(made));
  };
  if constexpr (std::invocable<F&, Stmt>)
    take(f(std::move(stmt)));
  else
    std::visit(
        [&](auto& kind) {
          if constexpr (std::invocable<F&, decltype(std::move(kind))>)
            take(f(std::move(kind)));
          else
            result.emplace_back(std::move(kind));
        },
        stmt);
}

} // namespace walking

/// Calls `f` with the statements of a block, or with a statement and those inside it, in the order
/// of the text. `f` returns nothing or a WalkResult; the walk returns Interrupt if `f` did, else
/// Advance.
///
/// A tracker keeps what is known at a place. For the kinds that it has such functions for, the walk
/// calls `enter` before each block of a statement, `leave` after that block, and `after` when the
/// statement is done. `f` is called before all of these.
///
///   visit_scoped(body, ranges, [&](const Store& store) { ... });   // ranges of loops around it
template <OneOf<Block, Stmt> B, class T, class F>
WalkResult visit_scoped(B&& root, T& tracker, F&& f) {
  if constexpr (OneOf<B, Block>) {
    for (auto& stmt : root)
      if (visit_scoped(stmt, tracker, f) == WalkResult::Interrupt)
        return WalkResult::Interrupt;
    return WalkResult::Advance;
  } else {
    WalkResult result = walking::told(f, root);
    if (result == WalkResult::Advance)
      walking::for_scopes(root, tracker, [&](auto& block) {
        if (result != WalkResult::Interrupt)
          result = visit_scoped(block, tracker, f);
      });
    if (result != WalkResult::Interrupt)
      walking::come_after(root, tracker);
    return result == WalkResult::Interrupt ? result : WalkResult::Advance;
  }
}

/// The same without a tracker. Where the root is not const, `f` may change statements, but add none
/// to a block that is being visited and remove none.
///
///   visit(body, [&](const Store& store) { stored.insert(store.buffer); });
///   visit(body, [](For& loop) { loop.marks.unroll = 0; });
template <OneOf<Block, Stmt> B, class F> WalkResult visit(B&& root, F&& f) {
  walking::NoTracker none;
  return visit_scoped(root, none, f);
}

/// Whether `f` is true of a statement of the block, at any depth, or of the statement or one inside
/// it.
///
///   has(body, [](const Store& store) { return store.is_async; })
template <OneOf<Block, Stmt> B, class F> bool has(const B& root, F&& f) {
  const auto ask = [&]<class S>(const S& stmt) requires std::predicate<F&, const S&> {
    return f(stmt) ? WalkResult::Interrupt : WalkResult::Advance;
  };
  return visit(root, ask) == WalkResult::Interrupt;
}
/// Whether there is a statement of one of these kinds; whether there is none of another kind.
template <class... Kinds, OneOf<Block, Stmt> B>
requires(sizeof...(Kinds) > 0) bool has(const B& root) {
  return has(root, [](const OneOf<Kinds...> auto&) { return true; });
}
template <class... Kinds, OneOf<Block, Stmt> B> bool has_only(const B& root) {
  return !has(root, []<Kind S>(const S&) { return !OneOf<S, Kinds...>; });
}

/// Replaces each statement by what `f` returns for it, a block or a statement, inner statements
/// first. Statements of kinds that `f` does not take stay.
///
///   rewrite(body, [&](For loop) { return unrolled(std::move(loop)); })
///
/// With a tracker. `before` is called with each statement before those inside: it may change the
/// statement itself, and returns Skip where those inside shall stay. `f` is called after the
/// tracker has left the statement.
template <class T, class Before, class F>
Block rewrite_scoped(Block block, T& tracker, Before&& before, F&& f) {
  Block result;
  result.reserve(block.size());
  for (Stmt& stmt : block) {
    if (walking::told(before, stmt) == WalkResult::Advance)
      walking::for_scopes(stmt, tracker, [&](Block& inside) {
        inside = rewrite_scoped(std::move(inside), tracker, before, f);
      });
    walking::come_after(stmt, tracker);
    walking::replace(f, std::move(stmt), result);
  }
  return result;
}
template <class F> Block rewrite(Block block, F&& f) {
  walking::NoTracker none;
  return rewrite_scoped(
      std::move(block), none, [](const Stmt&) {}, f);
}

/// How many statements there are, at any depth.
inline size_t count_of(const Block& block) {
  size_t count = 0;
  visit(block, [&](const Stmt&) { ++count; });
  return count;
}

/// The loops around a place, outermost first: a tracker.
struct LoopsAround {
  std::vector<const For*> loops;

  void enter(const For& loop) { loops.push_back(&loop); }
  void leave(const For&) { loops.pop_back(); }
};

/// For passes that decide themselves where they go on: the statement with `map` applied to the
/// blocks right inside it; what `map` returns for each statement of a block, one after the other.
template <class Map> Stmt with_nested_blocks(Stmt stmt, Map&& map) {
  for_blocks(stmt, [&](Block& block) { block = map(block); });
  return stmt;
}
template <class Map> Block with_each_replaced(const Block& statements, Map&& map) {
  Block result;
  for (const Stmt& stmt : statements)
    walking::replace(map, stmt, result);
  return result;
}

/// Calls `change` with each loop that has none inside; whether it returned true for one of them.
template <class Change> bool change_innermost_loops(Block& block, Change&& change) {
  bool found = false;
  visit(block, [&](For& loop) {
    if (has<For>(loop.body))
      return WalkResult::Advance;
    found = change(loop) || found;
    return WalkResult::Skip;
  });
  return found;
}

/// Calls `f` with the expressions of all statements, the roots only; where the root is not const,
/// `f` may change them.
template <OneOf<Block, Stmt> B, class F> void visit_exprs(B&& root, F&& f) {
  visit(root, [&]<OneOf<Stmt> S>(S& stmt) { visit_own_exprs(stmt, f); });
}
/// Replaces every expression of every statement by what `f` returns for it.
Block map_exprs(Block, const std::function<Expr(const Expr&)>& f);
/// Replaces the expressions of all origins, which are no code: no other walk sees them.
Block map_origins(Block, const std::function<Expr(const Expr&)>& f);

/// Calls `f` with the loads in the expressions of a statement itself, or of all statements. `f`
/// takes the load, or the load and the expression that it is.
template <class S, class F> void visit_own_loads(const S& stmt, F&& f) {
  visit_own_exprs(stmt, [&](const Expr& root) {
    scalar::visit(root, [&](const Expr& e) {
      const auto* load = scalar::as<scalar::Load>(e);
      if constexpr (std::invocable<F&, const scalar::Load&>) {
        if (load != nullptr)
          f(*load);
      } else if (load != nullptr)
        f(*load, e);
    });
  });
}
template <OneOf<Block, Stmt> B, class F> void visit_loads(const B& root, F&& f) {
  visit(root, [&](const Stmt& stmt) { visit_own_loads(stmt, f); });
}

/// Lets `f` change which elements loads and stores touch, all loads first; `f` returns whether it
/// did. Other ways to touch a buffer stay.
using ChangeAccess = std::function<bool(uint32_t& buffer, std::vector<Expr>& index)>;
Block map_accesses(Block, const ChangeAccess& f);

} // namespace kawara::kernel
