#include "poly/isl/context.h"

#include <isl/ctx.h>
#include <isl/options.h>
#include <isl/val.h>

namespace kawara::poly {
namespace {

/// isl's reader says that a text is wrong when it runs out, and the bindings forget the error that
/// they throw; but a context that has run out grants nothing any more.
bool has_run_out(isl_ctx* ctx) {
  isl_val* const more = isl_val_zero(ctx);
  isl_val_free(more);
  return more == nullptr;
}

} // namespace

Context::Context(std::shared_ptr<Comparison> comparison)
    : ctx_(isl_ctx_alloc()), comparison_(std::move(comparison)) {
  // The C++ bindings turn errors into exceptions themselves; the C calls must stay quiet too.
  isl_options_set_on_error(ctx_, ISL_ON_ERROR_CONTINUE);
}

Context::~Context() { isl_ctx_free(ctx_); }

ContextPtr make_context(std::shared_ptr<Comparison> comparison) {
  return ContextPtr(std::make_shared<Context>(std::move(comparison)));
}

bool within_quota(const Context& context, unsigned long operations,
                  const std::function<void()>& question) {
  isl_ctx* ctx = context.get().get();
  ++context.questions_;
  const unsigned long around = isl_ctx_get_max_operations(ctx);
  // A question inside one that has run out already: the outer one must still find out.
  if (around != 0 && isl_ctx_last_error(ctx) == isl_error_quota)
    return false;
  const auto lift = [ctx, around] {
    isl_ctx_reset_operations(ctx);
    isl_ctx_set_max_operations(ctx, around);
    isl_ctx_reset_error(ctx);
  };
  isl_ctx_reset_error(ctx);
  isl_ctx_reset_operations(ctx);
  isl_ctx_set_max_operations(ctx, operations);
  bool finished = true;
  try {
    question();
    // What C functions give when they run out may have been taken for an answer.
    finished = isl_ctx_last_error(ctx) != isl_error_quota;
  } catch (const isl::exception_quota&) {
    finished = false;
  } catch (...) {
    // A C function that ran out gives null, which the bindings report as a wrong input.
    finished = !has_run_out(ctx);
    if (finished) {
      lift();
      throw;
    }
  }
  lift();
  return finished;
}

void give_up(isl::ctx ctx) {
  if (isl_ctx_get_max_operations(ctx.get()) == 0)
    return;
  isl_handle_error(ctx.get(), isl_error_quota, "too large", __FILE__, __LINE__);
  isl::exception::throw_last_error(ctx);
}

} // namespace kawara::poly
