#pragma once

#include "support/diagnostic.h"

#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace kawara::tune {

/// One question or change in SQL, bound and stepped through. Errors are kept until `failure` is
/// asked.
class Statement {
public:
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement(const Statement&) = delete;

  // Values of `?`, from left to right.
  Statement& bind(std::string_view text);
  Statement& bind(int64_t number);
  Statement& bind(double number);

  /// The next row; false after the last one and after an error.
  bool next();
  /// Runs to the end.
  Result<Done, Diagnostic> run();
  /// What went wrong in `next`, if anything.
  Result<Done, Diagnostic> failure() const;

  std::string text(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;

private:
  friend class Sqlite;
  Statement(sqlite3* connection, const std::string& path, sqlite3_stmt* handle, int state);
  sqlite3* connection_;
  const std::string* path_;
  sqlite3_stmt* handle_;
  int bound_ = 0;
  int state_;
};

/// A connection to a database file. The only place that talks to the library.
class Sqlite {
public:
  /// Creates the file where there is none. Refuses what cannot be opened or is no database (K0601).
  static Result<std::unique_ptr<Sqlite>, Diagnostic> open(const std::string& path);
  ~Sqlite();
  Sqlite(const Sqlite&) = delete;

  Statement prepare(std::string_view sql);
  Result<Done, Diagnostic> run(const std::string& sql); ///< statements without values
  int64_t changes() const;                              ///< rows that the last statement changed

private:
  Sqlite(std::string path, sqlite3* connection);
  std::string path_;
  sqlite3* connection_;
};

/// Begins a transaction that is undone unless `commit` is called.
class Transaction {
public:
  explicit Transaction(Sqlite& sqlite);
  ~Transaction();
  Result<Done, Diagnostic> commit();

private:
  Sqlite& sqlite_;
  Result<Done, Diagnostic> begun_;
  bool is_open_;
};

} // namespace kawara::tune
