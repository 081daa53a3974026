#include "kernel/gpu/warpgroup/transposed_copy.h"

#include "kernel/gpu/warpgroup/group_parts.h"

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

constexpr int64_t kSquare = 32, kThreadRows = 8;

int64_t squares_in(int64_t elements) { return (elements + kSquare - 1) / kSquare; }

/// Writes the statements of the copy down.
class SquareCopy {
public:
  SquareCopy(const Kernel& kernel, const Launch& copy, uint32_t from, uint32_t to, uint32_t square)
      : kernel_(kernel), copy_(copy), from_(from), to_(to), square_(square),
        rank_(kernel.buffers[from].shape.size()) {}

  Block body() const {
    Block out;
    for (int64_t n = 0; n < kSquare; n += kThreadRows)
      out.push_back(taken(n));
    out.emplace_back(Barrier{});
    for (int64_t n = 0; n < kSquare; n += kThreadRows)
      out.push_back(given(n));
    return block_of(Allocate{square_, std::move(out)});
  }

private:
  Expr x() const { return scalar::var(copy_.thread_vars[0]); }
  Expr y(int64_t n) const { return scalar::var(copy_.thread_vars[1]) + int_lit(n); }
  Expr corner(size_t axis) const { return scalar::var(copy_.block_vars[axis]) * int_lit(kSquare); }
  scalar::Elem elem() const { return kernel_.buffers[from_].elem; }
  scalar::Type computed() const { return {scalar::compute_type(elem()), 1}; }
  int64_t extent(uint32_t buffer, size_t from_end) const {
    return *scalar::constant_of(kernel_.buffers[buffer].shape[rank_ - from_end]);
  }

  /// An element of one of the tensors: batches are counted by the third axis of blocks.
  std::vector<Expr> element(uint32_t buffer, const Expr& row, const Expr& column) const {
    const int64_t rows = extent(buffer, 2), columns = extent(buffer, 1);
    const Expr batch = scalar::var(copy_.block_vars[2]);
    return {scalar::simplify(batch * int_lit(rows * columns) + row * int_lit(columns) + column)};
  }

  static Expr are_below(const Expr& a, int64_t end_of_a, const Expr& b, int64_t end_of_b) {
    return both(binary(BinaryOp::Lt, a, int_lit(end_of_a)),
                binary(BinaryOp::Lt, b, int_lit(end_of_b)));
  }

  Stmt taken(int64_t n) const {
    const Expr row = corner(1) + y(n), column = corner(0) + x();
    const auto put = [&](const Expr& value) {
      return block_of(Store{square_, {y(n), x()}, ReduceOp::None, value});
    };
    const Expr value = scalar::load(from_, element(from_, row, column), {elem(), 1});
    return If{are_below(row, extent(from_, 2), column, extent(from_, 1)),
              put(scalar::cast(value, computed())), put(scalar::zero_of(computed()))};
  }

  Stmt given(int64_t n) const {
    const Expr row = corner(0) + y(n), column = corner(1) + x();
    const Expr value = scalar::cast(scalar::load(square_, {x(), y(n)}, {elem(), 1}), computed());
    return If{are_below(row, extent(to_, 2), column, extent(to_, 1)),
              block_of(Store{to_, element(to_, row, column), ReduceOp::None, value}),
              {}};
  }

  const Kernel& kernel_;
  const Launch& copy_;
  uint32_t from_, to_, square_;
  size_t rank_;
};

} // namespace

TransposedCopy transposed_copy(Kernel& kernel, uint32_t buffer, int64_t alignment) {
  const Buffer source = kernel.buffers[buffer];
  const size_t rank = source.shape.size();
  const int64_t unit = alignment / scalar::bytes_of(source.elem);
  const int64_t rows = *scalar::constant_of(source.shape[rank - 2]),
                columns = *scalar::constant_of(source.shape[rank - 1]);
  const int64_t padded = (rows + unit - 1) / unit * unit;
  TransposedCopy result;
  Buffer transposed = source;
  transposed.name = unique_buffer_name(kernel, source.name + "_transposed");
  transposed.scope = Scope::Workspace;
  transposed.role = program::Role::Temp;
  transposed.is_constant = false;
  transposed.shape[rank - 2] = int_lit(columns);
  transposed.shape[rank - 1] = int_lit(padded);
  result.buffer = static_cast<uint32_t>(kernel.buffers.size());
  kernel.buffers.push_back(std::move(transposed));
  Buffer square;
  square.name = unique_buffer_name(kernel, source.name + "_square");
  square.elem = source.elem;
  square.shape = {int_lit(kSquare), int_lit(kSquare)};
  square.scope = Scope::Shared;
  const auto inside = static_cast<uint32_t>(kernel.buffers.size());
  kernel.buffers.push_back(std::move(square));
  int64_t batches = 1;
  for (size_t d = 0; d + 2 < rank; ++d)
    batches *= *scalar::constant_of(source.shape[d]);
  Launch& copy = result.copy;
  copy.blocks = {int_lit(squares_in(columns)), int_lit(squares_in(padded)), int_lit(batches)};
  copy.threads = {kSquare, kThreadRows, 1};
  for (size_t a = 0; a < 3; ++a) {
    copy.block_vars[a] = add_variable(kernel, "square_block", scalar::kIndex);
    copy.thread_vars[a] = add_variable(kernel, "square_thread", scalar::kIndex);
  }
  copy.body = SquareCopy(kernel, copy, buffer, result.buffer, inside).body();
  return result;
}

} // namespace kawara::kernel
