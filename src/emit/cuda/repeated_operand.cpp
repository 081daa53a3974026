#include "emit/cuda/repeated_operand.h"

#include "scalar/match.h"

#include <algorithm>

namespace kawara::emit {
namespace {

constexpr int64_t kMostBytes = 65536; ///< of the operand: a quarter of the cache

bool depends_on(const scalar::Expr& e, uint32_t var, const Definitions& known) {
  bool found = false;
  scalar::visit(e, [&](const scalar::Expr& part) {
    const auto* v = scalar::as<scalar::Var>(part);
    if (v == nullptr || found)
      return;
    const auto value = known.find(v->id);
    found = v->id == var || (value != known.end() && depends_on(value->second, var, known));
  });
  return found;
}

bool is_small(const kernel::Buffer& buffer) {
  int64_t bytes = scalar::bytes_of(buffer.elem);
  for (const scalar::Expr& extent : buffer.shape) {
    const auto size = scalar::constant_of(extent);
    if (!size || *size > kMostBytes)
      return false;
    bytes *= *size;
    if (bytes > kMostBytes)
      return false;
  }
  return true;
}

} // namespace

bool is_repeated(const kernel::Kernel& kernel, const kernel::Launch& launch,
                 const Definitions& known, const scalar::Expr& e) {
  const auto& load = *scalar::as<scalar::Load>(e);
  const kernel::Buffer& buffer = kernel.buffers[load.tensor];
  constexpr int64_t kBytes = 16;
  if (buffer.scope != kernel::Scope::Argument || !is_small(buffer) ||
      e.type().lanes * scalar::bytes_of(buffer.elem) != kBytes)
    return false;
  for (size_t axis = 0; axis < launch.blocks.size(); ++axis) {
    const auto is_needed = [&](const scalar::Expr& i) {
      return depends_on(i, launch.block_vars[axis], known);
    };
    if (scalar::constant_of(launch.blocks[axis]) != 1 &&
        std::none_of(load.index.begin(), load.index.end(), is_needed))
      return true;
  }
  return false;
}

} // namespace kawara::emit
