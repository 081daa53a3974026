#include "driver/machine.h"
#include "driver/pipeline.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace kawara::driver {
namespace {

/// KAWARA_THREADS has this value for the time of a test.
class Threads {
public:
  explicit Threads(const char* count) {
    if (const char* old = std::getenv("KAWARA_THREADS"))
      before_ = old;
    setenv("KAWARA_THREADS", count, 1);
  }
  ~Threads() {
    before_ ? setenv("KAWARA_THREADS", before_->c_str(), 1) : unsetenv("KAWARA_THREADS");
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

private:
  std::optional<std::string> before_;
};

Request long_scan() {
  Request request;
  request.text = make_source("scan.kw", "input x: f32[200000]\ninout s: f32[200000]\n"
                                        "for i in range(1, 200000):\n"
                                        "    s[i] = s[i - 1] + x[i]\n");
  request.directives = make_source("-s", "auto");
  return request;
}

/// The program that `auto` schedules.
std::string planned_with(const char* threads) {
  const Threads set(threads);
  Trace trace;
  const auto front = schedule(long_scan(), host_environment(), trace);
  EXPECT_TRUE(front) << render(front.error());
  return program::print(front->rewritten);
}

TEST(HostEnvironment, HasTheThreadsThatWillRun) {
  for (const char* threads : {"1", "3", "7"}) {
    const Threads set(threads);
    EXPECT_EQ(host_environment().cpu.cores, std::atoi(threads));
  }
}

TEST(HostEnvironment, IsWhatAutoPlansFor) {
  EXPECT_NE(planned_with("2").find("s_total"), std::string::npos) << "threads share blocks";
  EXPECT_EQ(planned_with("1").find("s_total"), std::string::npos) << "one thread reads once";
}

TEST(HostEnvironment, LeavesTheFiguresOfThisMachineToAllCores) {
  const target::Cpu here = target::detect_cpu();
  const Threads set(here.cores == 1 ? "2" : "1");
  EXPECT_NE(host_environment().cpu.cores, here.cores);
  EXPECT_EQ(machine_file(host_environment().cpu), machine_file(here));
  EXPECT_EQ(known_machine(host_environment().cpu), known_machine(here));
}

} // namespace
} // namespace kawara::driver
