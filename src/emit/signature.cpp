#include "emit/unit.h"
#include "kernel/vars.h"
#include "scalar/eval.h"

namespace kawara::emit {
namespace {

constexpr int64_t kLargest = int64_t{1} << 62;

std::optional<int64_t> constant_bytes(const kernel::Buffer& buffer) {
  const BufferInfo info{0, buffer.name, buffer.elem, buffer.shape, buffer.role, false, false};
  return bytes_of(info, {});
}

bool lives_on_stack(const kernel::Buffer& buffer) {
  const auto bytes = constant_bytes(buffer);
  return bytes && *bytes <= kStackBytes;
}

/// Buffers that calls after the first need.
std::set<uint32_t> needed_again(kernel::Kernel kernel) {
  kernel.body.erase(kernel.body.begin(),
                    kernel.body.begin() + static_cast<std::ptrdiff_t>(kernel.prepared));
  return kernel::used_buffers(kernel);
}

/// Workspaces whose elements calls after the first find as they are.
std::set<uint32_t> prepared_buffers(const kernel::Kernel& kernel) {
  const kernel::Block first(kernel.body.begin(),
                            kernel.body.begin() + static_cast<std::ptrdiff_t>(kernel.prepared));
  return kernel::buffers_stored_in(first);
}

} // namespace

Signature signature_of(const kernel::Kernel& kernel) {
  Signature signature;
  signature.name = kernel.name;
  signature.params = kernel.params;
  signature.has_prepared = kernel.prepared != 0;
  const std::set<uint32_t> used = kernel::used_buffers(kernel);
  const std::set<uint32_t> again = kernel.prepared != 0 ? needed_again(kernel) : used;
  const std::set<uint32_t> prepared = prepared_buffers(kernel);
  for (uint32_t id = 0; id < kernel.buffers.size(); ++id) {
    const kernel::Buffer& b = kernel.buffers[id];
    const BufferInfo info{id,
                          b.name,
                          b.elem,
                          b.shape,
                          b.role,
                          b.is_constant || prepared.count(id) > 0,
                          b.is_constant && again.count(id) == 0};
    if (b.scope == kernel::Scope::Argument)
      signature.arguments.push_back(info);
    else if (used.count(id) == 0)
      continue;
    else if (b.scope == kernel::Scope::Workspace)
      signature.workspace.push_back(info);
    else if (!lives_on_stack(b))
      signature.scratch.push_back(info);
  }
  return signature;
}

std::string entry_symbol(const Signature& signature) { return "kawara." + signature.name; }

std::optional<int64_t> bytes_of(const BufferInfo& buffer, std::span<const int64_t> params) {
  const std::vector<int64_t> values(params.begin(), params.end());
  int64_t bytes = scalar::bytes_of(buffer.elem);
  for (const scalar::Expr& extent : buffer.shape) {
    const auto n = scalar::evaluate_index(extent, {}, values);
    if (!n || *n < 0 || (*n > 0 && bytes > kLargest / *n))
      return std::nullopt;
    bytes *= *n;
  }
  return bytes;
}

std::optional<int64_t> own_bytes_of(const BufferInfo& buffer, std::span<const int64_t> params) {
  const std::vector<int64_t> values(params.begin(), params.end());
  for (const scalar::Expr& extent : buffer.shape)
    if (const auto n = scalar::evaluate_index(extent, {}, values); n && *n < 0)
      return 0;
  return bytes_of(buffer, params);
}

std::optional<std::vector<int64_t>> layout_of(const std::vector<BufferInfo>& buffers,
                                              std::span<const int64_t> params) {
  std::vector<int64_t> offsets{0};
  for (const BufferInfo& buffer : buffers) {
    const auto bytes = own_bytes_of(buffer, params);
    if (!bytes || *bytes > kLargest - offsets.back() - kBufferAlignment)
      return std::nullopt;
    const int64_t rounded =
        (*bytes + kSlackBytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    offsets.push_back(offsets.back() + rounded);
  }
  return offsets;
}

std::optional<WorkspaceLayout> workspace_layout(const Signature& signature,
                                                std::span<const int64_t> params) {
  WorkspaceLayout layout;
  for (const BufferInfo& buffer : signature.workspace) {
    const auto alone = layout_of({buffer}, params);
    int64_t& bytes = buffer.is_constant ? layout.kept_bytes : layout.temp_bytes;
    if (!alone || alone->back() > kLargest - bytes)
      return std::nullopt;
    layout.offsets.push_back(bytes);
    bytes += alone->back();
  }
  return layout;
}

} // namespace kawara::emit
