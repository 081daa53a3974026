#pragma once

#include <isl/cpp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace kawara::poly {

class Comparison;

/// Owns one isl context. A context belongs to one thread at a time, and must outlive every isl
/// object made in it (else it is never freed): artefacts that hold isl objects hold a ContextPtr
/// declared before them.
class Context {
public:
  explicit Context(std::shared_ptr<Comparison> = nullptr);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  isl::ctx get() const { return isl::ctx(ctx_); }
  /// How often `within_quota` was asked: what tests limit, as they cannot trust clocks.
  unsigned long questions() const { return questions_; }
  /// Where answers that text gives about sets of this context are compared with what sets say
  /// (poly/syntactic/comparison.h); null: nowhere.
  Comparison* comparison() const { return comparison_.get(); }

private:
  friend bool within_quota(const Context&, unsigned long, const std::function<void()>&);
  isl_ctx* ctx_;
  std::shared_ptr<Comparison> comparison_;
  mutable unsigned long questions_ = 0;
};

/// Shares a context. A move copies: isl's C++ objects have no moves of their own, so an artefact
/// that was moved from still holds some, and must keep their context until it dies.
class ContextPtr {
public:
  ContextPtr() = default;
  explicit ContextPtr(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ContextPtr(const ContextPtr&) = default;
  ContextPtr& operator=(const ContextPtr&) = default;
  Context& operator*() const { return *context_; }
  Context* operator->() const { return context_.get(); }
  explicit operator bool() const { return context_ != nullptr; }

private:
  std::shared_ptr<Context> context_;
};

ContextPtr make_context(std::shared_ptr<Comparison> = nullptr);

/// How many isl operations one question may take before the answer is "undecided".
inline constexpr unsigned long kDefaultQuota = 40'000'000;

/// Runs `question` under an operation quota. True when it finished; false when the quota ran out
/// (the context is usable again afterwards). Other isl errors propagate as isl::exception. A
/// question may ask others, each with a quota of its own; its own starts afresh after each of them.
bool within_quota(const Context&, unsigned long operations, const std::function<void()>& question);
/// Ends the question around as though its quota had run out; without one, nothing happens.
void give_up(isl::ctx);

} // namespace kawara::poly
