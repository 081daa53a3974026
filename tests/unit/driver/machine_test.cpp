#include "driver/machine.h"

#include "run/file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <unistd.h>

namespace kawara::driver {
namespace {

/// The cache folder is a new one for the time of a test.
class MachineFile : public testing::Test {
protected:
  void SetUp() override {
    const char* old = std::getenv("XDG_CACHE_HOME");
    before_ = old != nullptr ? std::optional<std::string>(old) : std::nullopt;
    folder_ =
        std::filesystem::temp_directory_path() / ("kawara_machine_" + std::to_string(getpid()));
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  void TearDown() override {
    before_ ? setenv("XDG_CACHE_HOME", before_->c_str(), 1) : unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }
  void keep(const target::Cpu& cpu, const estimate::Machine& machine) const {
    std::filesystem::create_directories(machine_file(cpu).parent_path());
    ASSERT_TRUE(run::write_file(machine_file(cpu).string(), estimate::to_json(machine)));
  }
  std::optional<std::string> before_;
  std::filesystem::path folder_;
};

TEST_F(MachineFile, IsInTheCacheFolderUnderTheProcessorsKey) {
  const target::Cpu cpu = *target::named_cpu("neoverse-n1");
  target::Cpu other = cpu;
  other.cores += 1;
  EXPECT_EQ(machine_file(cpu).parent_path(), folder_ / "kawara");
  EXPECT_NE(machine_file(cpu), machine_file(other));
}

TEST_F(MachineFile, ComesBackForItsProcessorOnly) {
  const target::Cpu cpu = *target::named_cpu("neoverse-n1");
  EXPECT_FALSE(kept_machine(cpu));
  EXPECT_FALSE(known_machine(cpu).is_measured);
  estimate::Machine machine = estimate::described_machine(cpu);
  machine.is_measured = true;
  machine.add_seconds = 3e-9;
  keep(cpu, machine);
  EXPECT_EQ(kept_machine(cpu), machine);
  EXPECT_EQ(known_machine(cpu), machine);
  machine.cpu = "another one";
  keep(cpu, machine);
  EXPECT_FALSE(kept_machine(cpu));
}

TEST_F(MachineFile, IsLeftAloneWhenItIsNoRecord) {
  const target::Cpu cpu = *target::named_cpu("neoverse-n1");
  std::filesystem::create_directories(machine_file(cpu).parent_path());
  ASSERT_TRUE(run::write_file(machine_file(cpu).string(), "{\"cpu\": 1"));
  EXPECT_FALSE(kept_machine(cpu));
}

} // namespace
} // namespace kawara::driver
