#include "estimate/machine.h"

#include <gtest/gtest.h>

namespace kawara::estimate {
namespace {

target::Cpu small_cpu() {
  target::Cpu cpu;
  cpu.name = "test";
  cpu.arch = target::Arch::X86_64;
  cpu.features = {target::Feature::Avx2, target::Feature::Fma};
  cpu.vector_bytes = 32;
  cpu.vector_registers = 16;
  cpu.cores = 4;
  cpu.caches = {32 * 1024, 256 * 1024, 8 * 1024 * 1024, 64};
  return cpu;
}

TEST(Machine, FollowsFromADescription) {
  const Machine machine = described_machine(small_cpu());
  EXPECT_FALSE(machine.is_measured);
  EXPECT_EQ(machine.threads, 4);
  EXPECT_EQ(machine.register_bytes, 512);
  ASSERT_NE(find_peak(machine, scalar::Elem::F32), nullptr);
  EXPECT_DOUBLE_EQ(find_peak(machine, scalar::Elem::F32)->flops.one, 80e9);
  EXPECT_DOUBLE_EQ(find_peak(machine, scalar::Elem::F64)->flops.all, 160e9);
  EXPECT_EQ(find_peak(machine, scalar::Elem::I8), nullptr);
  ASSERT_EQ(machine.levels.size(), 4U);
  EXPECT_EQ(machine.levels.front().name, "L1");
  EXPECT_EQ(machine.levels.back().bytes, 0);
}

TEST(Machine, LeavesOutACacheThatIsNotThere) {
  target::Cpu cpu = small_cpu();
  cpu.caches.l3 = 0;
  EXPECT_EQ(described_machine(cpu).levels.size(), 3U);
}

TEST(Machine, KeepsItsRecord) {
  Machine machine = described_machine(small_cpu());
  machine.is_measured = true;
  machine.peaks.push_back({scalar::Elem::I8, "avx512.vnni", {1e12, 4e12}});
  EXPECT_EQ(machine_from_json(to_json(machine)), machine);
}

TEST(Machine, RefusesOtherRecords) {
  const std::string good = to_json(described_machine(small_cpu()));
  for (const char* bad : {"", "[]", "{}", "{\"threads\": 2}", "nonsense", "{\"threads"})
    EXPECT_FALSE(machine_from_json(bad)) << bad;
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_TRUE(machine_from_json(good));
  EXPECT_FALSE(machine_from_json(changed("\"threads\": 4", "\"threads\": 0")));
  EXPECT_FALSE(machine_from_json(changed("\"threads\": 4", "\"threads\": \"4\"")));
  EXPECT_FALSE(machine_from_json(changed("\"f64\"", "\"f32\""))); // f64 is missing then
  EXPECT_FALSE(machine_from_json(changed("\"f32\"", "\"f33\"")));
  EXPECT_FALSE(machine_from_json(changed("\"levels\"", "\"level\"")));
  EXPECT_FALSE(machine_from_json(changed("\"is_measured\": false", "\"is_measured\": 0")));
}

TEST(Machine, HasANameThatTellsProcessorsApart) {
  target::Cpu other = small_cpu();
  other.cores = 8;
  EXPECT_NE(identity_of(small_cpu()), identity_of(other));
  other = small_cpu();
  other.features.add(target::Feature::Avx512f);
  EXPECT_NE(identity_of(small_cpu()), identity_of(other));
  EXPECT_EQ(identity_of(small_cpu()), identity_of(small_cpu()));
}

TEST(Machine, IsPrintedAndDrawn) {
  const Machine machine = described_machine(small_cpu());
  const std::string text = print(machine);
  for (const char* part : {"f32   multiply-add", "memory", "8 MiB", "256 KiB", "4 threads"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const std::string svg = roofs_svg(machine);
  EXPECT_EQ(svg.rfind("<svg", 0), 0U);
  EXPECT_NE(svg.find("L2 320 GB/s"), std::string::npos);
  EXPECT_NE(svg.find("f32 320 GFLOP/s"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

} // namespace
} // namespace kawara::estimate
