#include "emit/cuda/cuda_from_kernel.h"

#include "emit/cuda/device.h"
#include "emit/cuda/engine.h"
#include "emit/cuda/host.h"
#include "emit/cuda/prelude.h"

#include <limits>

namespace kawara::emit {
namespace {

using kernel::Buffer;
using kernel::Kernel;
using scalar::Expr;

/// A number that is made a wide integer, or one that is computed with where positions are not meant: nothing bounds it.
bool has_wide_data(const Kernel& kernel) {
  bool is_found = false;
  kernel::visit_exprs(kernel.body, [&](const Expr& root) {
    scalar::visit(root, [&](const Expr& e) {
      const auto* cast = scalar::as<scalar::Cast>(e);
      is_found = is_found || (cast != nullptr && e.type().elem == scalar::Elem::I64 &&
                              cast->arg.type().elem != scalar::Elem::Bool);
    });
  });
  return is_found;
}

/// Every position in every buffer fits into an int, and no data is 64 bits wide.
bool has_small_buffers(const Kernel& kernel) {
  if (has_wide_data(kernel))
    return false;
  for (const Buffer& b : kernel.buffers) {
    int64_t cells = 1;
    for (const Expr& extent : b.shape) {
      const auto n = scalar::constant_of(scalar::simplify(extent));
      if (!n || *n < 0 || cells > std::numeric_limits<int32_t>::max() / 4)
        return false;
      cells *= std::max<int64_t>(*n, 1);
    }
    if (cells > std::numeric_limits<int32_t>::max() / 4 || b.elem == scalar::Elem::I64)
      return false;
  }
  for (const kernel::Variable& v : kernel.variables)
    if (v.type.elem == scalar::Elem::I64 && v.type.lanes > 1)
      return false;
  return true;
}

} // namespace

CudaUnit cuda_from_kernel(const Kernel& kernel) {
  CudaUnit unit;
  unit.has_narrow_indices = has_small_buffers(kernel);
  const CNames names = c_names_of(kernel, "");
  CudaExpr expr(kernel, names, unit.has_narrow_indices);
  std::string device;
  kernel::visit(kernel.body, [&](const kernel::Stmt& stmt) {
    const auto* launch = std::get_if<kernel::Launch>(&stmt);
    if (launch == nullptr)
      return;
    CudaLaunch passed;
    device += cuda_device_function(kernel, *launch, expr, passed);
    unit.launches.push_back(std::move(passed));
  });
  std::set<std::string> needs = expr.needs();
  for (const std::string name : {"inf", "nan"})
    if (device.find("kw_" + name + "()") != std::string::npos)
      needs.insert(name);
  for (const Buffer& b : kernel.buffers)
    if (is_cuda_struct(b.elem))
      needs.insert(std::string(scalar::name_of(b.elem)));
  unit.function = names.function;
  unit.prototype = cuda_prototype(kernel, names);
  if (kernel.numerics == program::Numerics::Exact)
    unit.flags.emplace_back("-fmad=false");
  if (kernel.numerics == program::Numerics::Fast)
    unit.flags.emplace_back("-use_fast_math");
  unit.text = cuda_prelude(needs) + engine_prelude(needs) + device +
              cuda_host_function(kernel, names, unit);
  return unit;
}

} // namespace kawara::emit
