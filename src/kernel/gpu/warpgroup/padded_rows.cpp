#include "kernel/gpu/warpgroup/padded_rows.h"

#include "kernel/gpu/warpgroup/group_parts.h"

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

constexpr int64_t kThreadsOfCopy = 256;
constexpr int64_t kLine = 128;      ///< bytes of the cache's lines
constexpr int64_t kMostPadding = 8; ///< part of a row that whole lines may add

} // namespace

std::optional<PaddedRows> padded_rows(Kernel& kernel, uint32_t buffer, int64_t alignment) {
  const Buffer source = kernel.buffers[buffer];
  const int64_t bytes = scalar::bytes_of(source.elem), elements = alignment / bytes;
  const int64_t given = *scalar::constant_of(source.shape.back());
  if (given % elements == 0)
    return std::nullopt;
  const auto rounded = [&](int64_t unit) { return (given + unit - 1) / unit * unit; };
  const int64_t lines = rounded(kLine / bytes);
  const int64_t padded = lines - given <= given / kMostPadding ? lines : rounded(elements);
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < source.shape.size(); ++d)
    rows *= *scalar::constant_of(source.shape[d]);
  PaddedRows result;
  Buffer wide = source;
  wide.name = unique_buffer_name(kernel, source.name + "_padded");
  wide.scope = Scope::Workspace;
  wide.role = program::Role::Temp;
  wide.is_constant = false;
  wide.shape.back() = int_lit(padded);
  kernel.buffers.push_back(std::move(wide));
  result.buffer = static_cast<uint32_t>(kernel.buffers.size() - 1);
  // A thread writes the 16 bytes of one group; groups of all rows are counted together, so that
  // short rows leave no thread idle.
  const int64_t groups = padded / elements;
  Launch& copy = result.copy;
  copy.blocks = {int_lit((rows * groups + kThreadsOfCopy - 1) / kThreadsOfCopy), int_lit(1),
                 int_lit(1)};
  copy.threads = {kThreadsOfCopy, 1, 1};
  for (size_t a = 0; a < 3; ++a) {
    copy.block_vars[a] = add_variable(kernel, "row_block", scalar::kIndex);
    copy.thread_vars[a] = add_variable(kernel, "row_thread", scalar::kIndex);
  }
  const Expr group =
      scalar::var(copy.block_vars[0]) * int_lit(kThreadsOfCopy) + scalar::var(copy.thread_vars[0]);
  const Expr row = binary(BinaryOp::FloorDiv, group, int_lit(groups));
  const Expr at = binary(BinaryOp::Mod, group, int_lit(groups)) * int_lit(elements);
  const scalar::Type computed{scalar::compute_type(source.elem), 1};
  const auto store = [&](int64_t e, const Expr& value) {
    return Store{result.buffer, {row * int_lit(padded) + at + int_lit(e)}, ReduceOp::None, value};
  };
  const auto element = [&](int64_t e) {
    return scalar::cast(
        scalar::load(buffer, {row * int_lit(given) + at + int_lit(e)}, {source.elem, 1}), computed);
  };
  Block whole, last;
  for (int64_t e = 0; e < elements; ++e) {
    whole.emplace_back(store(e, element(e)));
    last.emplace_back(If{binary(BinaryOp::Lt, at + int_lit(e), int_lit(given)),
                         block_of(store(e, element(e))),
                         block_of(store(e, scalar::zero_of(computed)))});
  }
  const Expr is_whole = binary(BinaryOp::Le, at + int_lit(elements), int_lit(given));
  copy.body = block_of(If{binary(BinaryOp::Lt, group, int_lit(rows * groups)),
                          block_of(If{is_whole, std::move(whole), std::move(last)}),
                          {}});
  return result;
}

} // namespace kawara::kernel
