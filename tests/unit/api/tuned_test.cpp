#include "tune/database/database.h"
#include "tune/tuner/tuned.h"

#include "run/cpu/threads.h"
#include <kawara/kawara.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace kawara {
namespace {

constexpr const char* kText = R"(param N
input x: f32[N]
output y: f32[N]
for i in range(N):
    y[i] = x[i] * 2
)";

TEST(Tuned, auto_takes_what_was_found_for_these_sizes) {
  std::string folder = (std::filesystem::temp_directory_path() / "kawara-api-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  driver::Request request;
  request.text = make_source("program.kw", kText);
  request.sizes["N"] = 64;
  const auto task = tune::task_of(request, driver::host_environment(), run::default_threads());
  ASSERT_TRUE(task);
  {
    auto database = tune::Database::open(tune::default_database());
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->set_best(tune::key_of(*task),
                                   {"[split(i, 16); vectorize(i.1, 4)]", 1, 2, {1}, {2}, "", 0}));
  }
  const Program program = parse(kText);
  EXPECT_EQ(program.schedule({{"N", 64}}).auto_().print(), "[split(i, 16); vectorize(i.1, 4)]");
  EXPECT_EQ(program.schedule({{"N", 65}}).auto_().print(), "auto") << "other sizes";
  EXPECT_EQ(program.schedule().auto_().print(), "auto") << "open sizes";
  EXPECT_EQ(program.schedule({{"N", 64}}).reverse("i").auto_().print(), "reverse(i); auto");
  ::unsetenv("XDG_CACHE_HOME");
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace kawara
