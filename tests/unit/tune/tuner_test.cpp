#include "unit/tune/hash_bench.h"
#include "unit/tune/records.h"

#include "tune/tuner/picture.h"
#include "tune/tuner/tuned.h"
#include "tune/tuner/tuner.h"

#include <atomic>
#include <csignal>
#include <sys/mman.h>
#include <sys/wait.h>

namespace kawara::tune {
namespace {

TuneOptions options(int64_t trials, uint64_t seed = 1) {
  TuneOptions o;
  o.budget = {60, trials};
  o.seed = seed;
  o.limits = {10, 0.3, 0.3, int64_t{1} << 30};
  return o;
}

TuneReport tuned(const std::shared_ptr<const Reference>& reference, Database* database,
                 const TuneOptions& o) {
  auto report = tune(reference, hash_benches(), database, o);
  if (!report)
    throw std::runtime_error(render(report.error()));
  return *std::move(report);
}

TEST(Tuner, survives_bad_candidates_and_crowns_none) {
  const auto reference = small_reference();
  const TuneReport report = tuned(reference, nullptr, options(150));
  ASSERT_EQ(report.trials.size(), 150u);
  double best = 1;
  for (const Trial& trial : report.trials) {
    const Fate fate = fate_of(trial.directives);
    EXPECT_EQ(trial.outcome, fate.outcome) << trial.directives;
    if (fate.outcome == Outcome::Measured) {
      EXPECT_NEAR(trial.ratio, fate.ratio, 1e-9);
      best = std::min(best, fate.ratio);
    }
  }
  for (const Outcome outcome : {Outcome::Crashed, Outcome::Wrong, Outcome::Refused})
    EXPECT_GT(report.progress.outcomes.at(outcome), 0) << name_of(outcome);
  EXPECT_EQ(report.progress.refusals.at("K0203"), report.progress.outcomes.at(Outcome::Refused));
  ASSERT_TRUE(report.best);
  EXPECT_EQ(fate_of(report.best->directives).outcome, Outcome::Measured);
  EXPECT_NEAR(report.ratio.median, best, 1e-9);
}

TEST(Tuner, keeps_the_default_when_nothing_is_faster) {
  const auto reference = small_reference();
  const auto report = tune(
      reference,
      []() -> Parsed<std::unique_ptr<Bench>> {
        class Slow : public HashBench {
          Samples time(uint32_t, const Effort& effort) override {
            Samples samples;
            for (int k = 0; k < effort.rounds; ++k) {
              // Sometimes faster, never beyond doubt.
              samples.own.push_back(k % 5 < 2 ? 0.9e-3 : 1.1e-3);
              samples.theirs.push_back(1e-3);
            }
            return samples;
          }
        };
        return std::unique_ptr<Bench>(std::make_unique<Slow>());
      },
      nullptr, options(40));
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->best);
}

/// A number that the processes of a test share.
class Shared {
public:
  explicit Shared(int value) {
    void* place = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED)
      throw std::bad_alloc();
    value_ = new (place) std::atomic<int>(value);
  }
  ~Shared() { ::munmap(value_, sizeof(std::atomic<int>)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  std::atomic<int>& operator*() const { return *value_; }

private:
  std::atomic<int>* value_;
};

/// Its first comparisons at length have to share the cores with others.
MakeBench crowded_benches(int comparisons) {
  const auto left = std::make_shared<Shared>(comparisons);
  return [left]() -> Parsed<std::unique_ptr<Bench>> {
    class Crowded : public HashBench {
    public:
      explicit Crowded(std::shared_ptr<Shared> left) : left_(std::move(left)) {}
      Samples time(uint32_t id, const Effort& effort) override {
        Samples samples = HashBench::time(id, effort);
        if (effort.rounds > 20 && (**left_)-- > 0)
          samples.missing = 1;
        return samples;
      }

    private:
      std::shared_ptr<Shared> left_;
    };
    return std::unique_ptr<Bench>(std::make_unique<Crowded>(left));
  };
}

/// Everything is faster in the first processes, and as fast as the default in those that come
/// later.
MakeBench moody_benches(int processes) {
  const auto left = std::make_shared<Shared>(processes);
  return [left]() -> Parsed<std::unique_ptr<Bench>> {
    class Moody : public HashBench {
    public:
      explicit Moody(bool is_fast) : is_fast_(is_fast) {}
      Samples time(uint32_t, const Effort& effort) override {
        Samples samples;
        samples.theirs.assign(static_cast<size_t>(effort.rounds), 1e-3);
        samples.own.assign(static_cast<size_t>(effort.rounds), is_fast_ ? 0.5e-3 : 1e-3);
        return samples;
      }

    private:
      bool is_fast_;
    };
    return std::unique_ptr<Bench>(std::make_unique<Moody>((**left)-- > 0));
  };
}

/// Everything has half of the default's time in the median, but the default's fastest call is the
/// fastest of all.
MakeBench disturbed_benches() {
  return []() -> Parsed<std::unique_ptr<Bench>> {
    class Disturbed : public HashBench {
    public:
      Samples time(uint32_t, const Effort& effort) override {
        Samples samples;
        samples.theirs.assign(static_cast<size_t>(effort.rounds), 1e-3);
        samples.own.assign(static_cast<size_t>(effort.rounds), 0.5e-3);
        samples.theirs.front() = 0.4e-3;
        return samples;
      }
    };
    return std::unique_ptr<Bench>(std::make_unique<Disturbed>());
  };
}

TEST(Tuner, keeps_the_default_when_its_fastest_call_is_the_fastest) {
  const auto report = tune(small_reference(), disturbed_benches(), nullptr, options(10));
  ASSERT_TRUE(report);
  EXPECT_GT(report->progress.outcomes.count(Outcome::Measured), 0u);
  EXPECT_FALSE(report->best);
}

/// With one worker: a process for the search (and those that bad candidates cost), then one for
/// each meeting.
TEST(Tuner, keeps_the_default_when_a_winner_wins_in_some_processes_only) {
  TuneOptions settings = options(1, 4); // a seed whose first candidate is another schedule
  settings.workers = 1;
  for (int processes : {2, 3}) {
    const auto report = tune(small_reference(), moody_benches(processes), nullptr, settings);
    ASSERT_TRUE(report);
    ASSERT_EQ(report->progress.outcomes.count(Outcome::Measured), 1u);
    EXPECT_FALSE(report->best) << processes;
    EXPECT_EQ(report->refuted, 1);
  }
  const auto report = tune(small_reference(), moody_benches(4), nullptr, settings);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->best);
  EXPECT_EQ(report->refuted, 0);
}

TEST(Tuner, keeps_the_default_when_others_always_have_the_cores) {
  TuneOptions settings = options(40);
  settings.workers = 1;
  settings.pauses = {0, 0};
  const auto report = tune(small_reference(), crowded_benches(1000), nullptr, settings);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->best);
  EXPECT_TRUE(report->is_undecided);
  EXPECT_EQ(report->missing, 1);
}

TEST(Tuner, compares_again_until_the_cores_are_free) {
  TuneOptions settings = options(40);
  settings.workers = 1;
  settings.pauses = {0, 0};
  // Four finalists: crowded the first time and, for one of them, the second.
  const auto report = tune(small_reference(), crowded_benches(5), nullptr, settings);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->best);
  EXPECT_FALSE(report->is_undecided);
  EXPECT_EQ(report->missing, 0);
}

TEST(Tuner, says_the_effect_of_each_directive) {
  const auto reference = small_reference();
  TuneOptions o = options(60);
  o.why = true;
  const TuneReport report = tuned(reference, nullptr, o);
  ASSERT_TRUE(report.best);
  const auto winner = point_from_text(report.best->directives, "");
  ASSERT_EQ(report.effects.size(), winner->directives.size());
  for (size_t k = 0; k < report.effects.size(); ++k) {
    const Fate fate = fate_of(text_of({without(winner->directives, k, 1), ""}));
    EXPECT_EQ(report.effects[k].outcome, fate.outcome);
    if (fate.outcome == Outcome::Measured) {
      EXPECT_NEAR(report.effects[k].slower, fate.ratio / report.ratio.median, 1e-9);
    }
  }
}

TEST(Tuner, goes_on_where_an_earlier_search_ended) {
  const Folder folder;
  const auto reference = small_reference();
  Database database = open(folder.file("t.db"));
  const TuneReport first = tuned(reference, &database, options(40));
  const TuneReport second = tuned(reference, &database, options(40, 2));
  std::set<std::string> texts;
  for (const auto* report : {&first, &second})
    for (const Trial& trial : report->trials)
      EXPECT_TRUE(texts.insert(trial.directives).second) << "tried twice: " << trial.directives;
  EXPECT_EQ(database.trials(key_of(reference->task))->size(), texts.size());
  ASSERT_TRUE(second.best);
  EXPECT_LE(second.ratio.median, first.ratio.median + 1e-9);
  EXPECT_EQ((**database.best(key_of(reference->task))).directives, second.best->directives);
}

TEST(Tuner, stops_when_it_is_told_and_keeps_what_was_found) {
  const Folder folder;
  const auto reference = small_reference();
  Database database = open(folder.file("t.db"));
  TuneOptions o = options(100000);
  o.strategy = "evolution";
  int batches = 0;
  o.should_stop = [&] { return batches == 3; };
  o.on_progress = [&](const Progress&) { ++batches; };
  const TuneReport report = tuned(reference, &database, o);
  EXPECT_EQ(report.trials.size(), 3 * o.batch);
  EXPECT_EQ(database.trials(key_of(reference->task))->size(), report.trials.size());
  EXPECT_TRUE(report.best);
}

TEST(Tuner, loses_no_trial_when_it_is_killed) {
  const Folder folder;
  const std::string path = folder.file("t.db");
  const auto reference = small_reference();
  { open(path); }
  size_t known = 0;
  for (int round = 0; round < 12; ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      auto database = Database::open(path);
      TuneOptions o = options(100000, static_cast<uint64_t>(round));
      o.batch = 4;
      o.on_progress = [&](const Progress&) {
        [[maybe_unused]] const auto said = ::write(pipe[1], "x", 1);
      };
      if (database) [[maybe_unused]]
        const auto report = tune(reference, hash_benches(), &*database, o);
      ::_exit(0);
    }
    ::close(pipe[1]);
    // After some batches, at another point of the next one each time.
    char batch = 0;
    for (int k = 0; k < 1 + round % 3; ++k)
      EXPECT_EQ(::read(pipe[0], &batch, 1), 1);
    ::usleep(static_cast<useconds_t>((round * 7919) % 20000));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ::close(pipe[0]);
    const Database database = open(path);
    const auto trials = database.trials(key_of(reference->task));
    ASSERT_TRUE(trials);
    // What it said to have measured is there.
    EXPECT_GE(trials->size(), known + 4 * static_cast<size_t>(1 + round % 3));
    known = trials->size();
    for (const Trial& trial : *trials)
      EXPECT_EQ(trial.outcome, fate_of(trial.directives).outcome);
  }
}

TEST(Tuner, uses_and_gives_back_a_model) {
  const auto reference = small_reference();
  const TuneReport first = tuned(reference, nullptr, options(40));
  EXPECT_FALSE(first.model.empty());
  TuneOptions o = options(16);
  o.model = first.model;
  EXPECT_FALSE(tuned(reference, nullptr, o).model.empty());
  o.model = "{}";
  const auto refused = tune(reference, hash_benches(), nullptr, o);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().code, "K0607");
}

TEST(Budget, is_time_or_trials_or_both) {
  EXPECT_EQ(budget_from_text("90s")->seconds, 90);
  EXPECT_EQ(budget_from_text("2m")->seconds, 120);
  EXPECT_EQ(budget_from_text("200trials")->trials, 200);
  EXPECT_EQ(budget_from_text("200trials")->seconds, 0);
  EXPECT_EQ(budget_from_text("1h, 5trials")->seconds, 3600);
  for (const char* text : {"", "s", "10", "-3s", "5 days", "0s"}) {
    const auto budget = budget_from_text(text);
    ASSERT_FALSE(budget) << text;
    EXPECT_EQ(budget.error().code, "K0604");
  }
}

TEST(Tuned, is_found_by_meaning_and_proved_again) {
  const Folder folder;
  const std::string path = folder.file("t.db");
  const auto reference = small_reference();
  const Task& task = reference->task;
  Database database = open(path);
  const auto find = [&] {
    return tuned_schedule(task.request, task.environment, task.threads, path);
  };
  EXPECT_FALSE(find());
  ASSERT_TRUE(database.set_best(key_of(task), best("vectorize(j, 4)", 0.5)));
  ASSERT_TRUE(find());
  EXPECT_EQ(find()->directives->text, "vectorize(j, 4)");
  EXPECT_DOUBLE_EQ(find()->gain, 2);
  EXPECT_FALSE(tuned_schedule(task.request, task.environment, 1, path)) << "other threads";
  ASSERT_TRUE(database.set_best(key_of(task), best("vectorize(i, 4)", 0.5)));
  EXPECT_FALSE(find()) << "what is refused now is no schedule";
  EXPECT_FALSE(tuned_schedule(task.request, task.environment, task.threads, folder.file("none")));
}

TEST(Picture, has_a_mark_for_each_candidate) {
  const TuneReport report = tuned(small_reference(), nullptr, options(32));
  const std::string svg = search_svg(report, "a <title>");
  size_t marks = 0;
  for (size_t at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1))
    ++marks;
  EXPECT_EQ(marks, report.trials.size());
  EXPECT_NE(svg.find("a &lt;title&gt;"), std::string::npos);
}

} // namespace
} // namespace kawara::tune
