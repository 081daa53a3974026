#include "run/cpu/calibrate.h"

#include "program/interpret/instruction.h"
#include "run/cpu/probe_kernels.h"

#include "target/intrinsic.h"

#include <gtest/gtest.h>

namespace kawara::run {
namespace {

TEST(Calibrate, FindsPlausibleFigures) {
  const target::Cpu cpu = target::detect_cpu();
  const auto pool = std::make_shared<ThreadPool>();
  const estimate::Machine machine = calibrate(cpu, pool, 0.004);
  EXPECT_TRUE(machine.is_measured);
  EXPECT_EQ(machine.threads, pool->threads());
  EXPECT_EQ(machine.cpu, estimate::identity_of(cpu));
  EXPECT_EQ(machine.levels.size(), cpu.caches.l3 > 0 ? 4U : 3U);
  for (const estimate::Level& level : machine.levels)
    for (const estimate::Rate& rate : {level.read, level.write, level.copy, level.triad}) {
      EXPECT_GT(rate.one, 1e7) << level.name;
      EXPECT_GE(rate.all, rate.one) << level.name;
    }
  for (const estimate::Peak& peak : machine.peaks) {
    EXPECT_GT(peak.flops.one, 1e8) << scalar::name_of(peak.elem);
    EXPECT_GE(peak.flops.all, peak.flops.one);
    EXPECT_TRUE(peak.instruction.empty() || target::find_intrinsic(peak.instruction) != nullptr);
  }
  EXPECT_GT(machine.add_seconds, 1e-11);
  EXPECT_LT(machine.add_seconds, 1e-6);
  // What it measured can be kept and comes back.
  EXPECT_EQ(estimate::machine_from_json(estimate::to_json(machine)), machine);
}

TEST(Calibrate, HasAFigureForEachTypeThatAnInstructionTakes) {
  const target::Cpu cpu = target::detect_cpu();
  const estimate::Machine machine = calibrate(cpu, std::make_shared<ThreadPool>(1), 0.001);
  const bool has_dot =
      cpu.features.has(target::Feature::Dotprod) || cpu.features.has(target::Feature::Avx512vnni);
  EXPECT_EQ(estimate::find_peak(machine, scalar::Elem::I8) != nullptr, has_dot);
  const bool has_f16 =
      cpu.features.has(target::Feature::Fp16) || cpu.features.has(target::Feature::Avx512fp16);
  EXPECT_EQ(estimate::find_peak(machine, scalar::Elem::F16) != nullptr, has_f16);
}

TEST(Calibrate, ReadingKeepsASumOfEachThreadAndNoMore) {
  constexpr int64_t threads = 4, elements = 1024;
  const ProbeTile shape{scalar::Elem::F32, 4, 8, 1};
  const int64_t sums = threads * shape.lanes * shape.vectors;
  std::vector<float> a(threads * elements, 1), b(threads * elements, 7), c(1);
  float factor = 1;
  const Executable read =
      loaded_probe(stream_kernel(Stream::Read, shape), std::make_shared<ThreadPool>(2));
  const std::vector<void*> arguments{a.data(), b.data(), c.data(), &factor};
  const std::vector<int64_t> params{threads, 1, elements};
  ASSERT_TRUE(read.call(arguments, params));
  for (int64_t at = 0; at < threads * elements; ++at)
    ASSERT_EQ(b[static_cast<size_t>(at)], at < sums ? 7 + elements / 32 : 7) << at;
}

TEST(Calibrate, InstructionsHaveRoomForTheirOperands) {
  for (const target::Intrinsic& data : target::intrinsics()) {
    if (program::instruction_of(data).inputs() != 2)
      continue;
    constexpr int64_t sums = 2;
    const kernel::Kernel kernel = instruction_kernel(data, sums);
    const int64_t room = largest_register_bytes(data);
    for (const kernel::Buffer& buffer : kernel.buffers) {
      int64_t bytes = scalar::bytes_of(buffer.elem);
      for (const scalar::Expr& extent : buffer.shape)
        bytes *= scalar::constant_of(extent).value_or(1); // of one thread
      EXPECT_LE(bytes, buffer.name == "out" ? sums * room : room)
          << data.name << " " << buffer.name;
    }
  }
}

} // namespace
} // namespace kawara::run
