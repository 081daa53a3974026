#include "run/energy_counter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace kawara::run {
namespace {

namespace fs = std::filesystem;

/// A folder as Linux shows RAPL: two packages, the memory of one, and cores that are in a package.
class Energy : public testing::Test {
protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "powercap";
    fs::remove_all(folder_);
    zone("intel-rapl:0", "package-0", 900'000'000);
    zone("intel-rapl:0:0", "core", 500'000'000);
    zone("intel-rapl:0:1", "dram", 10);
    zone("intel-rapl:1", "package-1", 0);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void zone(const std::string& at, const std::string& name, int64_t microjoules) {
    fs::create_directories(folder_ / at);
    std::ofstream(folder_ / at / "name") << name << "\n";
    std::ofstream(folder_ / at / "max_energy_range_uj") << 999'999'999 << "\n";
    set(at, microjoules);
  }
  void set(const std::string& at, int64_t microjoules) {
    std::ofstream(folder_ / at / "energy_uj") << microjoules << "\n";
  }

  fs::path folder_;
};

TEST_F(Energy, PackagesAndMemoryAddUpAndCoresAreNotCountedTwice) {
  auto counter = processor_counter(folder_.string());
  ASSERT_TRUE(counter) << counter.error();
  EXPECT_EQ((*counter)->name(), "RAPL: package-0, dram, package-1");
  EXPECT_DOUBLE_EQ((*counter)->joules(), 0);
  set("intel-rapl:0", 901'000'000);
  set("intel-rapl:0:0", 501'000'000);
  set("intel-rapl:0:1", 500'010);
  EXPECT_DOUBLE_EQ((*counter)->joules(), 1.5);
}

TEST_F(Energy, CountersThatBeginAgainGoOn) {
  auto counter = processor_counter(folder_.string());
  ASSERT_TRUE(counter) << counter.error();
  set("intel-rapl:0", 1'000'000); // past its last value, 100 J further on
  EXPECT_DOUBLE_EQ((*counter)->joules(), 101);
  set("intel-rapl:0", 3'000'000);
  EXPECT_DOUBLE_EQ((*counter)->joules(), 103);
}

TEST_F(Energy, WithoutACounterThereIsAReason) {
  const auto none = processor_counter((folder_ / "nowhere").string());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), "Linux shows no counter of RAPL in " + (folder_ / "nowhere").string() +
                              "; virtual machines and Arm servers have none");
  fs::remove(folder_ / "intel-rapl:1" / "energy_uj");
  const auto unreadable = processor_counter(folder_.string());
  ASSERT_FALSE(unreadable);
  EXPECT_EQ(unreadable.error(), (folder_ / "intel-rapl:1" / "energy_uj").string() +
                                    " cannot be read; only root may, on most machines");
}

/// Counts 10 W at all times, and 2 mJ more for each call.
class Clockwork : public EnergyCounter {
public:
  std::string name() const override { return "clockwork"; }
  double joules() override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count() * 10 + 2e-3 * static_cast<double>(calls);
  }
  int64_t calls = 0;
};

TEST(MeasuredEnergy, IsThatOfTheStretchesByCall) {
  Clockwork counter;
  const auto energy = measure_energy(
      counter,
      [&](const MeasureOptions& options) -> Result<Timing, Diagnostic> {
        return measure(
            [&] {
              std::this_thread::sleep_for(std::chrono::milliseconds(1));
              ++counter.calls;
            },
            options);
      },
      0.2);
  ASSERT_TRUE(energy);
  ASSERT_EQ(energy->joules.size(), 3U);
  EXPECT_NEAR(energy->idle_watts, 10, 0.5);
  // A call takes a millisecond or, where others want the processor, more.
  for (const double joules : energy->joules)
    EXPECT_NEAR(joules, 10 * energy->seconds + 2e-3, 10 * energy->seconds * 0.5);
  EXPECT_NEAR(energy->watts(), 10 + 2e-3 / energy->seconds, 5);
  EXPECT_GE(energy->stretch_seconds, 0.1);
}

} // namespace
} // namespace kawara::run
