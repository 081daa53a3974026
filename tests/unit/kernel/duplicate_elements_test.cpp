#include "kernel/vector/duplicate_elements.h"
#include "unit/kernel/line.h"

#include <algorithm>

// Elements that are kept twice, so that one load brings them into all lanes.

namespace kawara::kernel {
namespace {

using scalar::Elem;
using scalar::int_lit;

constexpr const char* kProduct = "numerics fast\nparam M, N, K\ninput A: f16[M, K], B: f16[K, N]\n"
                                 "inout C: f16[M, N]\n"
                                 "for i in range(M):\n    for j in range(N):\n"
                                 "        for k in range(K):\n"
                                 "            C[i, j] += A[i, k] * B[k, j]\n";

/// The product by multiply-adds of `lanes` elements; the copy of A by elements, or by rows and
/// their vectors.
line::Line with_instruction(const std::string& name, int64_t lanes, bool by_rows) {
  const std::string order = "reorder(S0.j.0, S0.i.0, S0.k, S0.i.1, S0.j.1)";
  const std::string transposed = "reorder(S0.i.1, S0.k)";
  return line::compile(
      kProduct, "split(S0.j, " + std::to_string(lanes) + "); split(S0.i, 3); " + order +
                    "; pack(B, S0.j.0)" + (by_rows ? "; " + transposed : "") + "; pack(A, S0.i.0)" +
                    (by_rows ? "; reorder(S0.k, S0.i.1); vectorize(S2.k, 4)" : "") +
                    "; unroll(S0.i.1); tensorize(S0.j.1, " + name + ")");
}

const Buffer& buffer_called(const Kernel& kernel, const std::string& name) {
  return *std::find_if(kernel.buffers.begin(), kernel.buffers.end(),
                       [&](const Buffer& b) { return b.name == name; });
}

TEST(DuplicateElements, are_side_by_side_where_loads_bring_four_bytes_into_all_lanes) {
  for (const bool by_rows : {false, true}) {
    const line::Line made = with_instruction("avx512.fmadd_f16", 32, by_rows);
    const Kernel done = optimise(made.kernel, *target::named_cpu("sapphirerapids"));
    const std::string text = print(done);
    EXPECT_NE(text.find("1, 2)], 32), B_packed"), std::string::npos) << "a pair, again and again\n"
                                                                     << text;
    for (const std::vector<int64_t>& sizes :
         {std::vector<int64_t>{3, 32, 8}, {4, 37, 9}, {1, 1, 1}, {7, 66, 5}, {2, 3, 0}})
      EXPECT_EQ(line::difference(made.program, done, sizes, 2e-2), "")
          << sizes[0] << " " << sizes[1] << " " << sizes[2] << "\n"
          << text;
  }
}

TEST(DuplicateElements, products_in_f16_come_out_right_for_any_size) {
  target::Cpu cpu = *target::named_cpu("sapphirerapids");
  cpu.cores = 1;
  const auto expect_right = [&](const std::string& m, const std::string& n, const std::string& k) {
    const line::Line made = line::compile(
        "numerics fast\ninput A: f16[" + m + ", " + k + "], B: f16[" + k + ", " + n +
            "]\noutput C: f32[" + m + ", " + n + "]\nC[i, j] = sum(k, A[i, k] * B[k, j])\n",
        "auto", cpu);
    const Kernel done = optimise(made.kernel, cpu);
    const std::string text = print(done);
    EXPECT_NE(text.find("1, 2)], 32), B_packed"), std::string::npos) << text;
    EXPECT_EQ(line::difference(made.program, done, {}, 5e-2), "") << text;
  };
  expect_right("23", "100", "131");
  expect_right("20", "65", "300");
}

TEST(DuplicateElements, are_single_where_multiply_adds_take_a_lane) {
  const line::Line made = with_instruction("neon.fmla_f16", 8, false);
  const Kernel done = optimise(made.kernel, *target::named_cpu("neoverse-v1"));
  const auto once = buffer_called(made.kernel, "A_packed").shape;
  const auto now = buffer_called(done, "A_packed").shape;
  EXPECT_TRUE(std::equal(once.begin(), once.end(), now.begin(), now.end(), scalar::equal));
}

/// A packed buffer of 32 elements, of which an instruction takes element 3 into all lanes.
Kernel taking_one_element() {
  Kernel kernel;
  kernel.name = "one";
  const auto add = [&](const char* name, Scope scope, int64_t elements) {
    Buffer buffer;
    buffer.name = name;
    buffer.elem = Elem::F16;
    buffer.shape = {int_lit(elements)};
    buffer.scope = scope;
    buffer.is_packed = scope == Scope::Workspace;
    kernel.buffers.push_back(std::move(buffer));
  };
  add("A_packed", Scope::Workspace, 32);
  add("C", Scope::Argument, 32);
  const std::vector<Expr> all{scalar::ramp(int_lit(0), 1, 32)};
  const Expr result = scalar::load(1, all, {Elem::F16, 32});
  const Expr one = scalar::broadcast(scalar::load(0, {int_lit(3)}, {Elem::F16, 1}), 32);
  const Expr sum = scalar::instruction("avx512.fmadd_f16", {one, result, result});
  kernel.body.emplace_back(Store{1, all, ReduceOp::None, scalar::cast(sum, {Elem::F32, 32})});
  return kernel;
}

TEST(DuplicateElements, leave_buffers_alone_that_are_read_by_vectors) {
  const target::Cpu cpu = *target::named_cpu("sapphirerapids");
  Kernel kernel = taking_one_element();
  EXPECT_EQ(scalar::constant_of(duplicate_elements(kernel, cpu).buffers[0].shape[0]), 64);
  const std::vector<Expr> all{scalar::ramp(int_lit(0), 1, 32)};
  kernel.body.emplace_back(
      Store{1, all, ReduceOp::None,
            scalar::cast(scalar::load(0, all, {Elem::F16, 32}), {Elem::F32, 32})});
  EXPECT_EQ(scalar::constant_of(duplicate_elements(kernel, cpu).buffers[0].shape[0]), 32);
}

} // namespace
} // namespace kawara::kernel
