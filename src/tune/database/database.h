#pragma once

#include "tune/record.h"

#include <memory>
#include <string>
#include <vector>

namespace kawara::tune {

/// Which records `prune` takes out.
struct Prune {
  bool trials = false;         ///< all trials; what won stays
  bool other_versions = false; ///< what another version of Kawara measured
  int64_t before = 0;          ///< winners older than this moment (seconds since 1970)
};

/// Schedules that were tried and found, in a file. Movable.
///
/// Each call is one transaction of SQLite with a write-ahead log: several processes may use the
/// file at once, and one that is killed at any moment leaves every finished call readable. All
/// calls refuse what the file system or a file of another kind makes impossible (K0601).
class Database {
public:
  /// Opens or creates the file and the folders above it.
  static Result<Database, Diagnostic> open(const std::string& path);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  /// Keeps trials; one with directives that are known already replaces the old one.
  Result<Done, Diagnostic> add_trials(const Key&, const std::vector<Trial>&);
  Result<Done, Diagnostic> set_best(const Key&, const Best&);

  Result<std::optional<Best>, Diagnostic> best(const Key&) const;
  Result<std::vector<Trial>, Diagnostic> trials(const Key&) const; ///< in the order they were added
  /// Winners of other sizes of the program, nearest first (task.h, `distance`).
  Result<std::vector<Best>, Diagnostic> nearby(const Key&, size_t most) const;

  /// By program and sizes. Without trials where they are not wanted.
  Result<std::vector<Record>, Diagnostic> records(bool with_trials) const;
  /// Adds another's trials; its winner wins here too when it gained more over the default.
  Result<Done, Diagnostic> merge(const Record&);
  /// Number of rows that are gone.
  Result<int64_t, Diagnostic> prune(const Prune&);

  struct Impl;

private:
  explicit Database(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace kawara::tune
