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

/// A tracker of intervals, by the first values of variables that are assigned: these count steps
/// and slots, which are no more than positions.
struct FirstValues {
  kernel::Intervals intervals;

  void enter(const kernel::For& loop) {
    kernel::For header;
    header.var = loop.var;
    header.lo = loop.lo;
    header.hi = loop.hi;
    intervals.enter(header);
  }
  void enter(const kernel::Launch& launch) { intervals.enter(launch); }
  void leave(const kernel::OneOf<kernel::For, kernel::Launch> auto&) {}
  void after(const kernel::Define& define) { intervals.after(define); }
};

/// Whether a kernel computes with wide integers that are no positions in buffers.
class WideData {
public:
  explicit WideData(const Kernel& kernel) {
    kernel::visit_scoped(kernel.body, values_, [&](const kernel::Stmt& stmt) {
      std::visit([&](const auto& s) { note(s); }, stmt);
    });
  }
  bool is_found() const { return is_found_; }

private:
  void note(
      const kernel::OneOf<kernel::Define, kernel::Assign, kernel::Store, kernel::Combine> auto& s) {
    look(s.value);
  }
  /// Guards compare positions in tiles, which are not far beyond those in buffers.
  void note(const kernel::If& s) { look_for_numbers(s.cond); }
  /// Bounds of loops are positions; an asynchronous operation's are those of boxes in tensors.
  void note(const kernel::OneOf<kernel::For, kernel::Launch, kernel::Allocate, kernel::Zero,
                                kernel::Prefetch, kernel::Comment, kernel::Barrier, kernel::Commit,
                                kernel::Await, kernel::AsyncOp> auto&) {}

  static bool fits(const scalar::Bounds& bounds) {
    using Int = std::numeric_limits<int32_t>;
    return bounds.low && bounds.high && *bounds.low >= Int::min() && *bounds.high <= Int::max();
  }

  /// A number that is made a wide integer, a position that is compared or made another number and
  /// may be more than an int, or a constant that is.
  bool is_wide(const Expr& e) const {
    constexpr auto kIndex = scalar::Elem::I64;
    if (const auto* n = scalar::as<scalar::Binary>(e);
        n != nullptr && e.type().elem == scalar::Elem::Bool && n->lhs.type().elem == kIndex)
      return !fits(values_.intervals.of(n->lhs)) || !fits(values_.intervals.of(n->rhs));
    if (scalar::as<scalar::IntLit>(e) != nullptr)
      return e.type().elem == kIndex && !fits(values_.intervals.of(e));
    const auto* cast = scalar::as<scalar::Cast>(e);
    if (cast == nullptr)
      return false;
    const scalar::Elem from = cast->arg.type().elem;
    return e.type().elem == kIndex ? from != scalar::Elem::Bool
                                   : from == kIndex && !fits(values_.intervals.of(cast->arg));
  }

  void look_for_numbers(const Expr& cond) {
    scalar::visit(cond, [&](const Expr& e) {
      is_found_ = is_found_ || (e.type().elem != scalar::Elem::Bool && is_wide(e));
    });
  }

  void look(const Expr& value) {
    scalar::visit(value, [&](const Expr& e) { is_found_ = is_found_ || is_wide(e); });
  }

  FirstValues values_;
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
  kernel::visit(kernel.body, [&](const kernel::Launch& launch) {
    CudaLaunch passed;
    device += cuda_device_function(kernel, launch, expr, passed);
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
