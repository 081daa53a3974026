#include "emit/cuda/warp_shape.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

namespace kawara::emit {
namespace {

/// Which threads' numbers loads of shared memory depend on.
struct SharedReads {
  bool has_rows_only = false, has_columns_only = false, combines = false;
};

SharedReads shared_reads(const kernel::Kernel& kernel, const kernel::Launch& launch) {
  SharedReads found;
  const uint32_t x = launch.thread_vars[0], y = launch.thread_vars[1];
  found.combines = kernel::has<kernel::Combine>(launch.body);
  kernel::visit(launch.body, [&](const kernel::For& loop) {
    kernel::visit_loads(loop.body, [&](const scalar::Load& load, const scalar::Expr& e) {
      if (kernel.buffers[load.tensor].scope != kernel::Scope::Shared)
        return;
      const bool is_by_x = kernel::mentions(e, x), is_by_y = kernel::mentions(e, y);
      found.has_rows_only = found.has_rows_only || (is_by_y && !is_by_x);
      found.has_columns_only = found.has_columns_only || (is_by_x && !is_by_y);
    });
    return kernel::WalkResult::Skip;
  });
  return found;
}

} // namespace

std::optional<WarpShape> warp_shape(const kernel::Kernel& kernel, const kernel::Launch& launch) {
  const WarpShape shape;
  const auto& [x, y, z] = launch.threads;
  if (z != 1 || x <= shape.columns || x % shape.columns != 0 || y % shape.rows != 0 ||
      kernel::has_async_op(launch.body))
    return std::nullopt;
  const SharedReads reads = shared_reads(kernel, launch);
  return reads.has_rows_only && reads.has_columns_only && !reads.combines
             ? std::optional<WarpShape>(shape)
             : std::nullopt;
}

std::string number_in_warps(const WarpShape& shape, int64_t across, bool is_column) {
  const auto number = [](int64_t value) { return std::to_string(value); };
  const std::string lane = "(threadIdx.y * " + number(across) + " + threadIdx.x)";
  const int64_t warps = across / shape.columns;
  if (is_column)
    return lane + " / 32 % " + number(warps) + " * " + number(shape.columns) + " + " + lane +
           " / 2 % " + number(shape.columns);
  return lane + " / " + number(32 * warps) + " * " + number(shape.rows) + " + " + lane +
         " % 32 / " + number(2 * shape.columns) + " * 2 + " + lane + " % 2";
}

} // namespace kawara::emit
