#include "unit/tune/records.h"

#include <csignal>
#include <fstream>
#include <map>
#include <sys/wait.h>

namespace kawara::tune {
namespace {

TEST(Database, gives_back_what_was_put_in) {
  const Folder folder;
  {
    Database database = open(folder.file("deep/er/t.db"));
    ASSERT_TRUE(database.add_trials(key("N=4"), {trial("split(i, 2)", 0.5), trial("", 1)}));
    ASSERT_TRUE(database.set_best(key("N=4"), best("split(i, 2)", 0.5)));
  }
  const Database again = open(folder.file("deep/er/t.db"));
  EXPECT_EQ(**again.best(key("N=4")), best("split(i, 2)", 0.5));
  EXPECT_EQ(*again.trials(key("N=4")),
            (std::vector<Trial>{trial("split(i, 2)", 0.5), trial("", 1)}));
  EXPECT_FALSE((*again.best(key("N=5"))).has_value());
  EXPECT_TRUE(again.trials(key("N=5"))->empty());
}

TEST(Database, keeps_the_newest_of_equal_trials) {
  const Folder folder;
  Database database = open(folder.file("t.db"));
  ASSERT_TRUE(database.add_trials(key("N=4"), {trial("a", 0.5), trial("b", 2)}));
  ASSERT_TRUE(database.add_trials(key("N=4"), {trial("a", 0.7)}));
  EXPECT_EQ(*database.trials(key("N=4")), (std::vector<Trial>{trial("b", 2), trial("a", 0.7)}));
}

TEST(Database, finds_the_nearest_sizes_first) {
  const Folder folder;
  Database database = open(folder.file("t.db"));
  for (const char* sizes : {"M=8 N=1000", "M=8 N=64", "M=64 N=64", "N=64"})
    ASSERT_TRUE(database.set_best(key(sizes), best(sizes, 0.5)));
  Key other = key("M=8 N=65");
  other.target = "another machine";
  ASSERT_TRUE(database.set_best(other, best("elsewhere", 0.5)));
  const auto near = database.nearby(key("M=8 N=66"), 2);
  ASSERT_TRUE(near);
  ASSERT_EQ(near->size(), 2u);
  EXPECT_EQ((*near)[0].directives, "M=8 N=64");
  EXPECT_EQ((*near)[1].directives, "M=64 N=64");
}

TEST(Database, merges_and_keeps_the_larger_gain) {
  const Folder folder;
  Database database = open(folder.file("t.db"));
  ASSERT_TRUE(database.set_best(key("N=4"), best("own", 0.5)));
  ASSERT_TRUE(database.merge({key("N=4"), best("slower", 0.6), {trial("x")}}));
  EXPECT_EQ((**database.best(key("N=4"))).directives, "own");
  ASSERT_TRUE(database.merge({key("N=4"), best("faster", 0.4), {trial("y")}}));
  EXPECT_EQ((**database.best(key("N=4"))).directives, "faster");
  EXPECT_EQ(database.trials(key("N=4"))->size(), 2u);
}

TEST(Database, prunes_what_it_is_told_to) {
  const Folder folder;
  Database database = open(folder.file("t.db"));
  Best old = best("old", 0.5);
  old.version = "0.0.1";
  ASSERT_TRUE(database.set_best(key("N=4"), old));
  ASSERT_TRUE(database.set_best(key("N=5"), best("new", 0.5)));
  ASSERT_TRUE(database.add_trials(key("N=5"), {trial("x"), trial("y")}));
  ASSERT_TRUE(database.add_trials(key("N=6"), {trial("x")}));
  EXPECT_EQ(*database.prune({.other_versions = true}), 2); // the winner and its task
  EXPECT_EQ(database.records(false)->size(), 2u);
  EXPECT_EQ(*database.prune({.trials = true}), 4);
  EXPECT_EQ(database.records(false)->size(), 1u);
  EXPECT_EQ(*database.prune({.before = 1001}), 2);
  EXPECT_TRUE(database.records(true)->empty());
}

TEST(Database, says_why_a_file_cannot_be_used) {
  const Folder folder;
  std::ofstream(folder.file("t.db")) << std::string(4096, 'x');
  const auto database = Database::open(folder.file("t.db"));
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().code, "K0601");
  EXPECT_NE(database.error().body.front().find("not a database"), std::string::npos);
}

TEST(Record, is_a_line_of_text_and_back) {
  Record record{key("N=4"), best("split(i, 2)\n\"\xc3\xa4\"", 0.5), {trial("a"), trial("b")}};
  record.trials[1].outcome = Outcome::TimedOut;
  record.trials[1].reason = "no answer";
  const std::string line = line_of(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto again = record_from_line(line, "x:1");
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, record);
}

TEST(Record, refuses_other_lines) {
  for (const char* line : {"", "{", "[]", "{\"program\": 3}"}) {
    const auto record = record_from_line(line, "x.jsonl:1");
    ASSERT_FALSE(record) << line;
    EXPECT_EQ(record.error().code, "K0602");
    EXPECT_EQ(record.error().headline, "`x.jsonl:1` is not a record of tuning");
  }
}

/// Adds trials until it is killed; says the number of each that was added.
[[noreturn]] void add_for_ever(const std::string& path, int child, int says) {
  auto database = Database::open(path);
  for (int k = 0; database; ++k) {
    const std::string name = "unroll(i, " + std::to_string(child * 100000 + k) + ")";
    if (!database->add_trials(key("N=" + std::to_string(child % 7)), {trial(name)}))
      break;
    if (::write(says, &k, sizeof k) != sizeof k)
      break;
  }
  ::_exit(1);
}

TEST(Database, loses_nothing_when_its_process_is_killed) {
  const Folder folder;
  const std::string path = folder.file("t.db");
  { open(path); }
  std::map<int, int> last; // by child: the last trial that it said it had added
  for (int child = 0; child < 100; ++child) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0)
      add_for_ever(path, child, pipe[1]);
    ::close(pipe[1]);
    // Killed at another point of its work each time.
    ::usleep(static_cast<useconds_t>(2000 + (child * 7919) % 17000));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    last[child] = -1;
    for (int k = 0; ::read(pipe[0], &k, sizeof k) == sizeof k;)
      last[child] = k;
    ::close(pipe[0]);
  }
  const Database database = open(path);
  std::map<std::string, bool> there;
  const auto records = database.records(true);
  ASSERT_TRUE(records);
  for (const Record& record : *records)
    for (const Trial& found : record.trials)
      there[found.directives] = true;
  int64_t said = 0;
  for (const auto& [child, count] : last)
    for (int k = 0; k <= count; ++k, ++said)
      EXPECT_TRUE(there["unroll(i, " + std::to_string(child * 100000 + k) + ")"]) << child;
  EXPECT_GT(said, 100);
}

} // namespace
} // namespace kawara::tune
