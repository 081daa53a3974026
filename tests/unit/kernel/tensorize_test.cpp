#include "kernel/vector/tensorize.h"

#include "kernel/walk.h"
#include "unit/kernel/instruction_schedules.h"
#include "unit/kernel/line.h"

// Loops that run as instructions, in the kernel interpreter: every instruction of every machine.

namespace kawara {
namespace {

using instruction_schedules::cases_for;
using instruction_schedules::product_text;
using instruction_schedules::tolerance_of;

struct Machine {
  const char* name;
  const char* prefix; ///< of the instructions' names
};
constexpr Machine kMachines[] = {{"neoverse-v1", "neon."},
                                 {"sapphirerapids", "avx512."},
                                 {"haswell", "avx2."},
                                 {"sapphirerapids", "amx."}};

bool has_instruction(const kernel::Kernel& kernel) {
  bool found = false;
  kernel::visit_exprs(kernel.body, [&](const scalar::Expr& root) {
    scalar::visit(root, [&](const scalar::Expr& e) {
      found = found || scalar::as<scalar::Instruction>(e) != nullptr;
    });
  });
  return found;
}

std::string directives_for(const program::Instruction& instruction) {
  return instruction_schedules::directives_for_lanes(instruction);
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
      for (const auto& [text, directives, sizes] : cases_for(instruction)) {
        const auto made = line::compile(text, directives);
        const kernel::Kernel done = kernel::optimise(made.kernel, cpu);
        EXPECT_TRUE(has_instruction(done)) << kernel::print(done);
        for (const std::vector<int64_t>& at : sizes)
          EXPECT_EQ(line::difference(made.program, done, at, tolerance_of(instruction)), "")
              << program::shape_text(at) << "\n"
              << kernel::print(done);
      }
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
  EXPECT_NE(text.find("C_element = neon.sdot(broadcast(A_packed["), std::string::npos) << text;
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
  EXPECT_NE(kernel::print(done).find("C_element = neon.sdot("), std::string::npos)
      << kernel::print(done);
}

} // namespace
} // namespace kawara
