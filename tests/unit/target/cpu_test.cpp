#include "target/cpu.h"

#include <fstream>
#include <gtest/gtest.h>

namespace kawara::target {
namespace {

/// A cache folder below the test's temporary directory, removed at the end.
class CacheFolder : public ::testing::Test {
protected:
  CacheFolder() : root_(::testing::TempDir() + "kawara_caches") {}
  ~CacheFolder() override { std::filesystem::remove_all(root_); }

  void add(int index, const std::string& level, const std::string& type, const std::string& size) {
    const auto folder = root_ / ("index" + std::to_string(index));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "level") << level << "\n";
    std::ofstream(folder / "type") << type << "\n";
    std::ofstream(folder / "size") << size << "\n";
    std::ofstream(folder / "coherency_line_size") << "64\n";
  }

  std::filesystem::path root_;
};

TEST_F(CacheFolder, is_read_level_by_level) {
  add(0, "1", "Data", "64K");
  add(1, "1", "Instruction", "48K");
  add(2, "2", "Unified", "1024K");
  add(3, "3", "Unified", "32M");
  EXPECT_EQ(caches_from_folder(root_), (Caches{64 << 10, 1 << 20, 32 << 20, 64}));
}

TEST_F(CacheFolder, nonsense_counts_as_nothing) {
  add(0, "1", "Data", "lots");
  add(1, "2", "Unified", "-5K");
  add(2, "3", "Unified", "99999999999999999999");
  EXPECT_EQ(caches_from_folder(root_), (Caches{0, 0, 0, 64}));
  EXPECT_EQ(caches_from_folder(root_ / "absent"), Caches{});
}

TEST(DetectCpu, fills_every_field) {
  const Cpu cpu = detect_cpu();
  EXPECT_FALSE(cpu.name.empty());
  EXPECT_GE(cpu.cores, 1);
  EXPECT_GE(cpu.vector_bytes, 16);
  EXPECT_GT(cpu.caches.l1d, 0);
  EXPECT_GT(cpu.caches.l2, 0);
  EXPECT_GT(cpu.caches.line, 0);
#if defined(__aarch64__)
  EXPECT_TRUE(cpu.features.has(Feature::Neon));
#else
  EXPECT_TRUE(cpu.features.has(Feature::Sse2));
  EXPECT_EQ(cpu.features.has(Feature::Avx2), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(cpu.features.has(Feature::Avx512f), __builtin_cpu_supports("avx512f") != 0);
  EXPECT_TRUE(cpu.features.has(Feature::Avx512f) || !cpu.features.has(Feature::Avx512fp16));
#endif
}

TEST(NamedCpu, vector_shape_follows_the_features) {
  EXPECT_EQ(named_cpu("neoverse-n1")->vector_bytes, 16);
  EXPECT_EQ(named_cpu("neoverse-n1")->vector_registers, 32);
  EXPECT_EQ(named_cpu("haswell")->vector_bytes, 32);
  EXPECT_EQ(named_cpu("haswell")->vector_registers, 16);
  EXPECT_EQ(named_cpu("sapphirerapids")->vector_bytes, 64);
  EXPECT_EQ(named_cpu("sapphirerapids")->vector_registers, 32);
  EXPECT_EQ(vector_lanes(*named_cpu("haswell"), 4), 8);
  EXPECT_EQ(vector_lanes(*named_cpu("haswell"), 64), 1);
}

TEST(NamedCpu, x86_loads_four_bytes_into_all_lanes) {
  EXPECT_EQ(least_broadcast(*named_cpu("sapphirerapids")), 4);
  EXPECT_EQ(least_broadcast(*named_cpu("neoverse-v1")), 1);
}

TEST(NamedCpu, unknown_names_give_nothing) {
  EXPECT_FALSE(named_cpu("pdp11").has_value());
  for (const std::string& name : named_cpus())
    EXPECT_EQ(named_cpu(name)->name, name);
}

TEST(Print, is_a_table) {
  EXPECT_EQ(print(*named_cpu("generic-aarch64")), "name       generic-aarch64\n"
                                                  "arch       aarch64\n"
                                                  "features   neon\n"
                                                  "vector     16 bytes\n"
                                                  "registers  32\n"
                                                  "cores      2\n"
                                                  "L1 data    32 KiB\n"
                                                  "L2         512 KiB\n"
                                                  "L3         none\n"
                                                  "line       64 bytes\n");
}

} // namespace
} // namespace kawara::target
