#include "tune/measure/load_monitor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace kawara::tune {
namespace {

TEST(BusySeconds, counts_all_but_idling_of_the_given_cores) {
  const char* stat = "cpu  99 99 99 99 99 99 99 99 0 0\n"
                     "cpu0 10 20 30 1000 2000 1 2 3 0 0\n"
                     "cpu1 100 0 0 500 0 0 0 0 0 0\n"
                     "cpu10 7 0 0 0 0 0 0 0 0 0\n"
                     "intr 5 6 7\n";
  EXPECT_NEAR(busy_seconds(stat, {0}, 0.01), 0.66, 1e-12);
  EXPECT_NEAR(busy_seconds(stat, {0, 1}, 0.01), 1.66, 1e-12);
  EXPECT_NEAR(busy_seconds(stat, {10}, 1), 7, 1e-12);
  EXPECT_EQ(busy_seconds(stat, {2}, 0.01), 0);
  EXPECT_EQ(busy_seconds("", {0}, 0.01), 0);
}

TEST(LoadMonitor, sees_another_process_at_work) {
  const pid_t other = ::fork();
  ASSERT_GE(other, 0);
  if (other == 0)
    while (::getppid() > 1) {}
  const LoadMonitor all(static_cast<int64_t>(std::thread::hardware_concurrency()));
  const LoadMonitor none(-1'000'000); // wants so little that there is room for anybody
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_GT(all.missing(), 0.3);
  EXPECT_EQ(none.missing(), 0);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}

} // namespace
} // namespace kawara::tune
