#pragma once

#include <utility>
#include <variant>

namespace kawara {

/// Wraps an error so that `Result<T, E>` can tell it from a value of the same type.
template <class E> struct Failure { E error; };

template <class E> Failure<std::decay_t<E>> fail(E&& error) { return {std::forward<E>(error)}; }

/// A value, or the reason why there is none. Never both, never neither.
///
/// Functions that can be asked for the impossible return one; nothing on the line throws for
/// user errors. `KAWARA_TRY(auto x, f());` unwraps or returns the error to the caller.
template <class T, class E> class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  template <class F>
  Result(Failure<F> failure) : state_(std::in_place_index<1>, std::move(failure.error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  E& error() & { return std::get<1>(state_); }
  const E& error() const& { return std::get<1>(state_); }
  E&& error() && { return std::get<1>(std::move(state_)); }

private:
  std::variant<T, E> state_;
};

/// The value of a Result that carries none.
struct Done {};

} // namespace kawara

#define KAWARA_JOIN2(a, b) a##b
#define KAWARA_JOIN(a, b) KAWARA_JOIN2(a, b)
/// Declares `decl` from the value of `expr`, or returns its error from the enclosing function.
#define KAWARA_TRY(decl, expr)                                                                     \
  auto KAWARA_JOIN(result_, __LINE__) = (expr);                                                    \
  if (!KAWARA_JOIN(result_, __LINE__))                                                             \
    return ::kawara::fail(std::move(KAWARA_JOIN(result_, __LINE__)).error());                      \
  decl = *std::move(KAWARA_JOIN(result_, __LINE__))
