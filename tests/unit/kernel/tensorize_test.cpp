#include "kernel/tensorize.h"
#include "line.h"
#include "program/instruction.h"

// Loops that run as instructions, in the kernel interpreter: every instruction of every machine.

namespace kawara {
namespace {

/// A product of matrices whose operands the directives pack in groups of `depth`.
std::string product_text(std::string_view left, std::string_view right, std::string_view result,
                         std::string_view numerics = "fast") {
  return "numerics " + std::string(numerics) + "\nparam M, N, K\ninput A: " + std::string(left) +
         "[M, K], B: " + std::string(right) + "[K, N]\noutput C: " + std::string(result) +
         "[M, N]\nfor i in range(M):\n    for j in range(N):\n        C[i, j] = 0\n"
         "for i in range(M):\n    for j in range(N):\n        for k in range(K):\n"
         "            C[i, j] += A[i, k] * B[k, j]\n";
}

struct Machine {
  const char* name;
  const char* prefix; ///< of the instructions' names
};
constexpr Machine kMachines[] = {
    {"neoverse-v1", "neon."}, {"sapphirerapids", "avx512."}, {"haswell", "avx2."}};

bool has_instruction(const kernel::Kernel& kernel) {
  bool found = false;
  kernel::visit_exprs(kernel.body, [&](const scalar::Expr& root) {
    scalar::visit(root, [&](const scalar::Expr& e) {
      found = found || scalar::as<scalar::Instruction>(e) != nullptr;
    });
  });
  return found;
}

/// Tiles and packs for an instruction with an axis of lanes and perhaps one of depth, then asks for it.
std::string directives_for(const program::Instruction& instruction) {
  const int64_t lanes = instruction.result().shape.back();
  const int64_t depth = instruction.axes.size() > 1 ? instruction.extents.back() : 1;
  std::string text = "split(S1.j, " + std::to_string(2 * lanes) + "); split(S1.i, 3)";
  std::string inner = "S1.i.1, S1.j.1";
  std::string around = "S1.k";
  if (depth > 1) {
    text += "; split(S1.k, " + std::to_string(depth) + ")";
    inner += ", S1.k.1";
    around = "S1.k.0";
  }
  text +=
      "; reorder(S1.j.0, S1.i.0, " + around + ", " + inner + "); pack(B, S1.j.0); pack(A, S1.i.0)";
  text += "; unroll(S1.i.1); unroll(S2.j.1); unroll(S3.i.1)";
  if (depth > 1)
    text += "; unroll(S2.k.1); unroll(S3.k.1)";
  return text + "; tensorize(S1.j.1, " + std::string(instruction.data->name) + ")";
}

TEST(Tensorize, every_instruction_computes_what_the_loops_do) {
  for (const Machine& machine : kMachines)
    for (const target::Intrinsic& data : target::intrinsics()) {
      if (data.name.rfind(machine.prefix, 0) != 0)
        continue;
      SCOPED_TRACE(data.name);
      const target::Cpu cpu = *target::named_cpu(machine.name);
      ASSERT_TRUE(target::is_available(data, cpu));
      const program::Instruction instruction = program::instruction_of(data);
      if (instruction.result().shape.size() != 1)
        continue; // tests below
      const auto name = [&](size_t k) { return scalar::name_of(instruction.operands[k].elem); };
      const auto made =
          line::compile(product_text(name(0), name(1), name(2)), directives_for(instruction));
      const kernel::Kernel done = kernel::optimise(made.kernel, cpu);
      EXPECT_TRUE(has_instruction(done)) << kernel::print(done);
      const double tolerance = instruction.result().elem == scalar::Elem::F16 ? 2e-2 : 1e-4;
      for (const std::vector<int64_t>& sizes :
           {std::vector<int64_t>{3, 32, 8}, {4, 37, 9}, {1, 1, 1}, {7, 66, 5}, {2, 3, 0}})
        EXPECT_EQ(line::difference(made.program, done, sizes, tolerance), "")
            << sizes[0] << " " << sizes[1] << " " << sizes[2] << "\n"
            << kernel::print(done);
    }
}

TEST(Tensorize, loops_stay_where_the_machine_has_no_such_instruction) {
  const auto instruction = program::instruction_of(*target::find_intrinsic("neon.sdot"));
  const auto made = line::compile(product_text("i8", "i8", "i32"), directives_for(instruction));
  const kernel::Kernel plain = kernel::optimise(made.kernel, *target::named_cpu("generic-aarch64"));
  EXPECT_FALSE(has_instruction(plain));
  EXPECT_EQ(line::difference(made.program, plain, {5, 20, 6}), "");
  EXPECT_FALSE(has_instruction(kernel::optimise_for_text(made.kernel)));
}

TEST(Tensorize, accumulators_stay_in_variables_over_the_reduction) {
  const auto instruction = program::instruction_of(*target::find_intrinsic("neon.sdot"));
  const auto made =
      line::compile("input A: i8[6, 32], B: i8[32, 16]\noutput C: i32[6, 16]\n"
                    "for i in range(6):\n    for j in range(16):\n        C[i, j] = 0\n"
                    "for i in range(6):\n    for j in range(16):\n        for k in range(32):\n"
                    "            C[i, j] += A[i, k] * B[k, j]\n",
                    directives_for(instruction));
  const std::string text =
      kernel::print(kernel::optimise(made.kernel, *target::named_cpu("neoverse-n1")));
  EXPECT_NE(text.find("C_cell = neon.sdot(broadcast(A_packed["), std::string::npos) << text;
}

TEST(Tensorize, sums_over_zeros_need_no_test_in_the_reduction) {
  const auto instruction = program::instruction_of(*target::find_intrinsic("neon.sdot"));
  const auto made =
      line::compile("input A: i8[6, 30], B: i8[30, 16]\noutput C: i32[6, 16]\n"
                    "for i in range(6):\n    for j in range(16):\n        C[i, j] = 0\n"
                    "for i in range(6):\n    for j in range(16):\n        for k in range(30):\n"
                    "            C[i, j] += A[i, k] * B[k, j]\n",
                    directives_for(instruction));
  const kernel::Kernel done = kernel::optimise(made.kernel, *target::named_cpu("neoverse-n1"));
  EXPECT_EQ(line::difference(made.program, done, {}), "") << kernel::print(done);
  EXPECT_NE(kernel::print(done).find("C_cell = neon.sdot("), std::string::npos)
      << kernel::print(done);
}

/// Tiles of 16 x 16 results, `group` cells of the reduction side by side, every loop whole.
std::string directives_for_tiles(const std::string& instruction, int64_t group) {
  const std::string g = std::to_string(group);
  return "split(i, 16); split(j, 16); split(k, " + std::to_string(16 * group) + "); split(k.1, " +
         g + "); reorder(i.0, j.0, k.0, i.1, k.1.0, j.1, k.1.1); pack(A, i.0); pack(B, j.0); " +
         "pad(A_packed, d1, to=16); pad(A_packed, d2, to=16); pad(A_packed, d3, to=" + g +
         "); pad(B_packed, d1, to=16); pad(B_packed, d2, to=16); pad(B_packed, d3, to=" + g +
         "); promote(C, S0.k.0); pad(C_held, d0, to=16); pad(C_held, d1, to=16); "
         "extend(S0.k.1.1, " +
         g + "); extend(S0.k.1.0, 16); extend(S0.i.1, 16); extend(S0.j.1, 16); tensorize(S0.i.1, " +
         instruction + ")";
}

TEST(Tensorize, tiles_of_any_size_are_whole_tiles) {
  const target::Cpu cpu = *target::named_cpu("sapphirerapids");
  for (const target::Intrinsic& data : target::intrinsics()) {
    if (!data.is_tile)
      continue;
    SCOPED_TRACE(data.name);
    const program::Instruction instruction = program::instruction_of(data);
    const auto name = [&](size_t k) {
      return std::string(scalar::name_of(instruction.operands[k].elem));
    };
    for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{5, 19, 130}, {17, 7, 65}}) {
      const auto text = [&](size_t s) { return std::to_string(sizes[s]); };
      const auto made = line::compile(
          "numerics fast\ninput A: " + name(0) + "[" + text(0) + ", " + text(2) +
              "], B: " + name(1) + "[" + text(2) + ", " + text(1) + "]\ninout C: " + name(2) + "[" +
              text(0) + ", " + text(1) + "]\nfor i in range(" + text(0) +
              "):\n    for j in range(" + text(1) + "):\n        for k in range(" + text(2) +
              "):\n" + "            C[i, j] += A[i, k] * B[k, j]\n",
          directives_for_tiles(std::string(data.name), instruction.extents.back()));
      const kernel::Kernel done = kernel::optimise(made.kernel, cpu);
      EXPECT_TRUE(has_instruction(done)) << kernel::print(done);
      EXPECT_EQ(line::difference(made.program, done, {}, 1e-4), "") << kernel::print(done);
    }
  }
}

} // namespace
} // namespace kawara
