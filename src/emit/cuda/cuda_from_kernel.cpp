#include "emit/cuda/cuda_from_kernel.h"

#include "emit/cuda/async_ops.h"
#include "emit/cuda/device.h"
#include "emit/cuda/host.h"
#include "emit/cuda/prelude.h"
#include "kernel/analysis/intervals.h"
#include "kernel/walk.h"

#include <limits>

namespace kawara::emit {
namespace {

using kernel::Buffer;
using kernel::Kernel;
using scalar::Expr;

/// Whether a kernel computes with wide integers that are no positions in buffers.
class WideData {
public:
  explicit WideData(const Kernel& kernel) {
    kernel::visit(kernel.body, [&](const kernel::Stmt& stmt) {
      std::visit([&](const auto& s) { note(s); }, stmt);
    });
  }
  bool is_found() const { return is_found_; }

private:
  void note(const kernel::For& s) { intervals_.enter(s); }
  void note(const kernel::Launch& s) {
    for (size_t a = 0; a < 3; ++a) {
      enter(s.block_vars[a], s.blocks[a]);
      enter(s.thread_vars[a], scalar::int_lit(s.threads[a]));
    }
  }
  void enter(uint32_t var, const Expr& count) {
    kernel::For loop;
    loop.var = var;
    loop.lo = scalar::int_lit(0);
    loop.hi = count;
    intervals_.enter(loop);
  }
  void note(const kernel::Define& s) {
    look(s.value);
    intervals_.define(s.var, s.value);
  }
  void note(const kernel::Assign& s) { look(s.value); }
  void note(const kernel::Store& s) { look(s.value); }
  void note(const kernel::Combine& s) { look(s.value); }
  /// Guards compare positions in tiles, which are not far beyond those in buffers.
  void note(const kernel::If& s) { look_for_numbers(s.cond); }
  template <class Other> void note(const Other&) {}

  static bool fits(const scalar::Bounds& bounds) {
    using Int = std::numeric_limits<int32_t>;
    return bounds.low && bounds.high && *bounds.low >= Int::min() && *bounds.high <= Int::max();
  }

  /// A number that is made a wide integer, a position that is compared or made another number and may be more than an int, or a constant
  /// that is.
  bool is_wide(const Expr& e) const {
    constexpr auto kIndex = scalar::Elem::I64;
    if (const auto* n = scalar::as<scalar::Binary>(e);
        n != nullptr && e.type().elem == scalar::Elem::Bool && n->lhs.type().elem == kIndex)
      return !fits(intervals_.of(n->lhs)) || !fits(intervals_.of(n->rhs));
    if (scalar::as<scalar::IntLit>(e) != nullptr)
      return e.type().elem == kIndex && !fits(intervals_.of(e));
    const auto* cast = scalar::as<scalar::Cast>(e);
    if (cast == nullptr)
      return false;
    const scalar::Elem from = cast->arg.type().elem;
    return e.type().elem == kIndex ? from != scalar::Elem::Bool
                                   : from == kIndex && !fits(intervals_.of(cast->arg));
  }

  void look_for_numbers(const Expr& cond) {
    scalar::visit(cond, [&](const Expr& e) {
      is_found_ = is_found_ || (e.type().elem != scalar::Elem::Bool && is_wide(e));
    });
  }

  void look(const Expr& value) {
    scalar::visit(value, [&](const Expr& e) { is_found_ = is_found_ || is_wide(e); });
  }

  kernel::Intervals intervals_;
  bool is_found_ = false;
};

/// Every position in every buffer fits into an int, and no data is 64 bits wide.
bool has_small_buffers(const Kernel& kernel) {
  if (WideData(kernel).is_found())
    return false;
  for (const Buffer& b : kernel.buffers) {
    int64_t elements = 1;
    for (const Expr& extent : b.shape) {
      const auto n = scalar::constant_of(scalar::simplify(extent));
      if (!n || *n < 0 || elements > std::numeric_limits<int32_t>::max() / 4)
        return false;
      elements *= std::max<int64_t>(*n, 1);
    }
    if (elements > std::numeric_limits<int32_t>::max() / 4 || b.elem == scalar::Elem::I64)
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
  unit.text =
      cuda_prelude(needs) + async_prelude(needs) + device + cuda_host_function(kernel, names, unit);
  return unit;
}

} // namespace kawara::emit
