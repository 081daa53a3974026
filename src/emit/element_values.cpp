#include "emit/element_values.h"

#include "kernel/walk.h"

namespace kawara::emit {

ElementValues::ElementValues(const kernel::Kernel& kernel) : known_(kernel.variables.size()) {
  const auto note = [&](uint32_t variable, const scalar::Expr& value) {
    if (has(value))
      variables_.insert(variable);
  };
  for (size_t before = SIZE_MAX; before != variables_.size();) {
    before = variables_.size();
    kernel::visit(kernel.body, [&](const kernel::Stmt& stmt) {
      if (const auto* define = std::get_if<kernel::Define>(&stmt))
        note(define->var, define->value);
      else if (const auto* assign = std::get_if<kernel::Assign>(&stmt))
        note(assign->var, assign->value);
      else if (const auto* combine = std::get_if<kernel::Combine>(&stmt))
        note(combine->var, combine->value);
    });
  }
}

bool ElementValues::has(const scalar::Expr& value) const {
  bool is_found = false;
  scalar::visit(value, [&](const scalar::Expr& e) {
    const auto* variable = scalar::as<scalar::Var>(e);
    is_found =
        is_found || scalar::as<scalar::Load>(e) != nullptr ||
        (variable != nullptr && (variable->id >= known_ || variables_.contains(variable->id)));
  });
  return is_found;
}

} // namespace kawara::emit
