#include "kernel/origin.h"

#include "kernel/vars.h"

namespace kawara::kernel {

Origins over_iterations(Origins origins, uint32_t var, const scalar::Expr& first, int64_t step,
                        const scalar::Expr& count) {
  const bool is_one = scalar::constant_of(count) == std::optional<int64_t>(1);
  for (Origin& origin : origins) {
    const auto point = static_cast<uint32_t>(origin.points.size());
    const scalar::Expr value = is_one ? first : first + scalar::iter(point) * scalar::int_lit(step);
    for (scalar::Expr& e : origin.iters)
      e = substitute_var(e, var, value);
    for (scalar::Expr& e : origin.points)
      e = substitute_var(e, var, value);
    if (!is_one)
      origin.points.push_back(count);
  }
  return origins;
}

Origins substitute_var(Origins origins, uint32_t var, const scalar::Expr& value) {
  for (Origin& origin : origins) {
    for (scalar::Expr& e : origin.iters)
      e = substitute_var(e, var, value);
    for (scalar::Expr& e : origin.points)
      e = substitute_var(e, var, value);
  }
  return origins;
}

Origins padded(Origins origins) {
  for (Origin& origin : origins)
    origin.is_padded = true;
  return origins;
}

Origins per_thread(Origins origins) {
  for (Origin& origin : origins)
    origin.is_per_thread = true;
  return origins;
}

Origins joined(Origins origins, const Origins& more) {
  origins.insert(origins.end(), more.begin(), more.end());
  return origins;
}

} // namespace kawara::kernel
