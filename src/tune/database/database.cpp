#include "tune/database/database.h"

#include "tune/database/sqlite.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace kawara::tune {
namespace {

constexpr const char* kTables = R"(
CREATE TABLE IF NOT EXISTS task(
  id INTEGER PRIMARY KEY, program TEXT, sizes TEXT, target TEXT, threads INTEGER,
  UNIQUE(program, sizes, target, threads));
CREATE TABLE IF NOT EXISTS trial(
  id INTEGER PRIMARY KEY, task INTEGER REFERENCES task(id), directives TEXT, outcome TEXT,
  reason TEXT, ratio REAL, seconds REAL, strategy TEXT, version TEXT, UNIQUE(task, directives));
CREATE TABLE IF NOT EXISTS best(
  task INTEGER PRIMARY KEY REFERENCES task(id), directives TEXT, seconds REAL,
  default_seconds REAL, samples TEXT, default_samples TEXT, version TEXT, at INTEGER);
)";

std::string text_of(const std::vector<double>& samples) { return nlohmann::json(samples).dump(); }

std::vector<double> samples_of(const std::string& text) {
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  std::vector<double> samples;
  if (parsed.is_array())
    for (const auto& sample : parsed)
      samples.push_back(sample.is_number() ? sample.get<double>() : 0);
  return samples;
}

/// Columns of `best` from `first` on.
Best best_at(const Statement& row, int first) {
  return {row.text(first),
          row.real(first + 1),
          row.real(first + 2),
          samples_of(row.text(first + 3)),
          samples_of(row.text(first + 4)),
          row.text(first + 5),
          row.integer(first + 6)};
}

Key key_at(const Statement& row, int first) {
  return {row.text(first), row.text(first + 1), row.text(first + 2), row.integer(first + 3)};
}

double gain(const Best& best) { return best.seconds > 0 ? best.default_seconds / best.seconds : 0; }

constexpr const char* kIsTask = "program = ? AND sizes = ? AND target = ? AND threads = ?";
constexpr const char* kBestColumns = "b.directives, b.seconds, b.default_seconds, b.samples, "
                                     "b.default_samples, b.version, b.at";

Statement& bind_key(Statement& statement, const Key& key) {
  return statement.bind(key.program).bind(key.sizes).bind(key.target).bind(key.threads);
}

} // namespace

struct Database::Impl {
  std::unique_ptr<Sqlite> sqlite;

  Result<int64_t, Diagnostic> task(const Key& key) {
    Statement insert =
        sqlite->prepare("INSERT OR IGNORE INTO task(program, sizes, target, threads) "
                        "VALUES(?, ?, ?, ?)");
    KAWARA_TRY([[maybe_unused]] const Done added, bind_key(insert, key).run());
    Statement find = sqlite->prepare(std::string("SELECT id FROM task WHERE ") + kIsTask);
    bind_key(find, key);
    if (find.next())
      return find.integer(0);
    KAWARA_TRY([[maybe_unused]] const Done found, find.failure());
    return int64_t{0};
  }

  Result<Done, Diagnostic> add_trial(int64_t task_id, const Trial& trial) {
    Statement insert = sqlite->prepare(
        "INSERT OR REPLACE INTO trial(task, directives, outcome, reason, ratio, seconds, strategy, "
        "version) VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
    insert.bind(task_id).bind(trial.directives).bind(name_of(trial.outcome)).bind(trial.reason);
    insert.bind(trial.ratio).bind(trial.seconds).bind(trial.strategy).bind(trial.version);
    return insert.run();
  }

  Result<Done, Diagnostic> set_best(int64_t task_id, const Best& best) {
    Statement insert = sqlite->prepare(
        "INSERT OR REPLACE INTO best(task, directives, seconds, default_seconds, samples, "
        "default_samples, version, at) VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
    insert.bind(task_id).bind(best.directives).bind(best.seconds).bind(best.default_seconds);
    insert.bind(text_of(best.samples)).bind(text_of(best.default_samples));
    return insert.bind(best.version).bind(best.at).run();
  }
};

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<Database, Diagnostic> Database::open(const std::string& path) {
  std::error_code ignored; // SQLite says what is wrong with the file
  if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, ignored);
  KAWARA_TRY(std::unique_ptr<Sqlite> sqlite, Sqlite::open(path));
  KAWARA_TRY([[maybe_unused]] const Done made, sqlite->run(kTables));
  return Database(std::make_unique<Impl>(Impl{std::move(sqlite)}));
}

Result<Done, Diagnostic> Database::add_trials(const Key& key, const std::vector<Trial>& trials) {
  Transaction transaction(*impl_->sqlite);
  KAWARA_TRY(const int64_t task, impl_->task(key));
  for (const Trial& trial : trials) {
    KAWARA_TRY([[maybe_unused]] const Done added, impl_->add_trial(task, trial));
  }
  return transaction.commit();
}

Result<Done, Diagnostic> Database::set_best(const Key& key, const Best& best) {
  Transaction transaction(*impl_->sqlite);
  KAWARA_TRY(const int64_t task, impl_->task(key));
  KAWARA_TRY([[maybe_unused]] const Done set, impl_->set_best(task, best));
  return transaction.commit();
}

Result<std::optional<Best>, Diagnostic> Database::best(const Key& key) const {
  Statement find =
      impl_->sqlite->prepare(std::string("SELECT ") + kBestColumns +
                             " FROM best b JOIN task ON task.id = b.task WHERE " + kIsTask);
  bind_key(find, key);
  if (find.next())
    return std::optional(best_at(find, 0));
  KAWARA_TRY([[maybe_unused]] const Done none, find.failure());
  return std::optional<Best>();
}

Result<std::vector<Trial>, Diagnostic> Database::trials(const Key& key) const {
  Statement find = impl_->sqlite->prepare(
      std::string("SELECT t.directives, t.outcome, t.reason, t.ratio, t.seconds, t.strategy, "
                  "t.version FROM trial t JOIN task ON task.id = t.task WHERE ") +
      kIsTask + " ORDER BY t.id");
  bind_key(find, key);
  std::vector<Trial> trials;
  while (find.next())
    trials.push_back({find.text(0), outcome_from_name(find.text(1)).value_or(Outcome::Failed),
                      find.text(2), find.real(3), find.real(4), find.text(5), find.text(6)});
  KAWARA_TRY([[maybe_unused]] const Done all, find.failure());
  return trials;
}

Result<std::vector<Best>, Diagnostic> Database::nearby(const Key& key, size_t most) const {
  Statement find = impl_->sqlite->prepare(
      std::string("SELECT program, sizes, target, threads, ") + kBestColumns +
      " FROM best b JOIN task ON task.id = b.task WHERE program = ? AND target = ? AND "
      "sizes != ? AND threads = ? ORDER BY sizes");
  find.bind(key.program).bind(key.target).bind(key.sizes).bind(key.threads);
  std::vector<std::pair<double, Best>> found;
  while (find.next())
    if (const auto far = distance(key, key_at(find, 0)))
      found.emplace_back(*far, best_at(find, 4));
  KAWARA_TRY([[maybe_unused]] const Done all, find.failure());
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Best> nearest;
  for (size_t k = 0; k < std::min(most, found.size()); ++k)
    nearest.push_back(std::move(found[k].second));
  return nearest;
}

Result<std::vector<Record>, Diagnostic> Database::records(bool with_trials) const {
  std::vector<Record> records;
  Statement find = impl_->sqlite->prepare(
      "SELECT program, sizes, target, threads FROM task ORDER BY program, sizes, target, threads");
  while (find.next())
    records.push_back({key_at(find, 0), std::nullopt, {}});
  KAWARA_TRY([[maybe_unused]] const Done all, find.failure());
  for (Record& record : records) {
    KAWARA_TRY(record.best, best(record.key));
    if (with_trials) {
      KAWARA_TRY(record.trials, trials(record.key));
    }
  }
  return records;
}

Result<Done, Diagnostic> Database::merge(const Record& record) {
  KAWARA_TRY(const std::optional<Best> own, best(record.key));
  Transaction transaction(*impl_->sqlite);
  KAWARA_TRY(const int64_t task, impl_->task(record.key));
  for (const Trial& trial : record.trials) {
    KAWARA_TRY([[maybe_unused]] const Done added, impl_->add_trial(task, trial));
  }
  if (record.best && (!own || gain(*record.best) > gain(*own))) {
    KAWARA_TRY([[maybe_unused]] const Done set, impl_->set_best(task, *record.best));
  }
  return transaction.commit();
}

Result<int64_t, Diagnostic> Database::prune(const Prune& what) {
  Transaction transaction(*impl_->sqlite);
  int64_t gone = 0;
  const auto remove = [&](Statement statement) -> Result<Done, Diagnostic> {
    KAWARA_TRY(const Done done, statement.run());
    gone += impl_->sqlite->changes();
    return done;
  };
  Sqlite& sqlite = *impl_->sqlite;
  if (what.trials) {
    KAWARA_TRY([[maybe_unused]] const Done done, remove(sqlite.prepare("DELETE FROM trial")));
  }
  if (what.other_versions) {
    Statement trials = sqlite.prepare("DELETE FROM trial WHERE version != ?");
    trials.bind(this_version());
    KAWARA_TRY([[maybe_unused]] const Done one, remove(std::move(trials)));
    Statement winners = sqlite.prepare("DELETE FROM best WHERE version != ?");
    winners.bind(this_version());
    KAWARA_TRY([[maybe_unused]] const Done two, remove(std::move(winners)));
  }
  if (what.before > 0) {
    Statement winners = sqlite.prepare("DELETE FROM best WHERE at < ?");
    winners.bind(what.before);
    KAWARA_TRY([[maybe_unused]] const Done done, remove(std::move(winners)));
  }
  KAWARA_TRY([[maybe_unused]] const Done done,
             remove(sqlite.prepare("DELETE FROM task WHERE id NOT IN (SELECT task FROM trial) AND "
                                   "id NOT IN (SELECT task FROM best)")));
  KAWARA_TRY([[maybe_unused]] const Done end, transaction.commit());
  return gone;
}

} // namespace kawara::tune
