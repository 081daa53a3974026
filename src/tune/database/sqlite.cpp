#include "tune/database/sqlite.h"

#include <sqlite3.h>

namespace kawara::tune {
namespace {

/// Another process may be writing; it is done in milliseconds.
constexpr int kBusyMilliseconds = 10'000;

Diagnostic trouble(const std::string& path, const std::string& why) {
  Diagnostic d;
  d.code = "K0601";
  d.headline = "the tuning database `" + path + "` cannot be used";
  d.body.push_back("SQLite says: " + why + ".");
  d.help.push_back({"choose another file", "--db FILE", false});
  return d;
}

bool is_fine(int state) {
  return state == SQLITE_OK || state == SQLITE_ROW || state == SQLITE_DONE;
}

} // namespace

Statement::Statement(sqlite3* connection, const std::string& path, sqlite3_stmt* handle, int state)
    : connection_(connection), path_(&path), handle_(handle), state_(state) {}

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_), path_(other.path_),
      handle_(std::exchange(other.handle_, nullptr)), bound_(other.bound_), state_(other.state_) {}

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement& Statement::bind(std::string_view text) {
  if (handle_ != nullptr && is_fine(state_))
    state_ = sqlite3_bind_text(handle_, ++bound_, text.data(), static_cast<int>(text.size()),
                               SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind(int64_t number) {
  if (handle_ != nullptr && is_fine(state_))
    state_ = sqlite3_bind_int64(handle_, ++bound_, number);
  return *this;
}

Statement& Statement::bind(double number) {
  if (handle_ != nullptr && is_fine(state_))
    state_ = sqlite3_bind_double(handle_, ++bound_, number);
  return *this;
}

bool Statement::next() {
  if (handle_ == nullptr || !is_fine(state_))
    return false;
  state_ = sqlite3_step(handle_);
  return state_ == SQLITE_ROW;
}

Result<Done, Diagnostic> Statement::run() {
  while (next()) {}
  return failure();
}

Result<Done, Diagnostic> Statement::failure() const {
  if (is_fine(state_))
    return Done{};
  return fail(trouble(*path_, sqlite3_errmsg(connection_)));
}

std::string Statement::text(int column) const {
  const auto* bytes = sqlite3_column_text(handle_, column);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(handle_, column));
  return bytes == nullptr ? "" : std::string(reinterpret_cast<const char*>(bytes), size);
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }
double Statement::real(int column) const { return sqlite3_column_double(handle_, column); }

Sqlite::Sqlite(std::string path, sqlite3* connection)
    : path_(std::move(path)), connection_(connection) {}

Sqlite::~Sqlite() { sqlite3_close(connection_); }

Result<std::unique_ptr<Sqlite>, Diagnostic> Sqlite::open(const std::string& path) {
  sqlite3* connection = nullptr;
  const int state = sqlite3_open(path.c_str(), &connection);
  std::unique_ptr<Sqlite> sqlite(new Sqlite(path, connection));
  if (state != SQLITE_OK)
    return fail(
        trouble(path, connection == nullptr ? "out of memory" : sqlite3_errmsg(connection)));
  sqlite3_busy_timeout(connection, kBusyMilliseconds);
  // With a write-ahead log, a commit that was answered is there after any end of this process.
  KAWARA_TRY([[maybe_unused]] const Done log, sqlite->run("PRAGMA journal_mode=WAL"));
  KAWARA_TRY([[maybe_unused]] const Done sync, sqlite->run("PRAGMA synchronous=NORMAL"));
  return sqlite;
}

Statement Sqlite::prepare(std::string_view sql) {
  sqlite3_stmt* handle = nullptr;
  const int state =
      sqlite3_prepare_v2(connection_, sql.data(), static_cast<int>(sql.size()), &handle, nullptr);
  return {connection_, path_, handle, state};
}

Result<Done, Diagnostic> Sqlite::run(const std::string& sql) {
  if (sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK)
    return Done{};
  return fail(trouble(path_, sqlite3_errmsg(connection_)));
}

int64_t Sqlite::changes() const { return sqlite3_changes(connection_); }

Transaction::Transaction(Sqlite& sqlite)
    : sqlite_(sqlite), begun_(sqlite.run("BEGIN IMMEDIATE")), is_open_(static_cast<bool>(begun_)) {}

Transaction::~Transaction() {
  if (is_open_) [[maybe_unused]]
    const auto undone = sqlite_.run("ROLLBACK");
}

Result<Done, Diagnostic> Transaction::commit() {
  if (!begun_)
    return begun_;
  auto done = sqlite_.run("COMMIT");
  is_open_ = !done;
  return done;
}

} // namespace kawara::tune
