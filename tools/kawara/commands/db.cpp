#include "kawara/command.h"

#include "run/file.h"
#include "support/text.h"
#include "tune/database/database.h"
#include "tune/tuner/tuned.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <chrono>

namespace kawara::tools {
namespace {

struct DbSettings : CommonOptions {
  std::string id, other;
  int days = 0;
  bool trials = false, other_versions = false;
};

Parsed<tune::Database> open_database(const DbSettings& options) {
  auto opened = tune::Database::open(database_of(options));
  if (!opened)
    return fail(Diagnostics{std::move(opened).error()});
  return *std::move(opened);
}

template <class T> Parsed<T> gathered(Result<T, Diagnostic> result) {
  if (!result)
    return fail(Diagnostics{std::move(result).error()});
  return *std::move(result);
}

std::string gain_text(const tune::Record& record) {
  return record.best ? fmt::format("{:.2f}x", record.best->default_seconds / record.best->seconds)
                     : "-";
}

Parsed<Done> list_records(const DbSettings& options) {
  KAWARA_TRY(const tune::Database database, open_database(options));
  KAWARA_TRY(const auto records, gathered(database.records(true)));
  nlohmann::json all = nlohmann::json::array();
  if (!options.json && records.empty())
    fmt::print("no schedules are kept; `kawara tune FILE` searches for some\n");
  else if (!options.json)
    fmt::print("{:16}  {:>7}  {:>6}  {:>7}  {}\n", "id", "faster", "trials", "threads", "sizes");
  for (const tune::Record& record : records) {
    if (options.json)
      all.push_back({{"id", tune::id_of(record.key)},
                     {"sizes", record.key.sizes},
                     {"target", record.key.target},
                     {"threads", record.key.threads},
                     {"trials", record.trials.size()},
                     {"has_winner", record.best.has_value()}});
    else
      fmt::print("{:16}  {:>7}  {:>6}  {:>7}  {}\n", tune::id_of(record.key), gain_text(record),
                 record.trials.size(), record.key.threads, record.key.sizes);
  }
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"ok", true}, {"records", all}}.dump(2));
  return Done{};
}

Diagnostic no_such_record(const std::string& id) {
  Diagnostic d;
  d.code = "K0603";
  d.headline = "no record begins with `" + id + "`";
  d.body.push_back(
      "Records are named by the digits that `kawara db ls` shows; the first few will do.");
  return d;
}

Parsed<Done> show_records(const DbSettings& options) {
  KAWARA_TRY(const tune::Database database, open_database(options));
  KAWARA_TRY(const auto records, gathered(database.records(true)));
  for (const tune::Record& record : records) {
    if (tune::id_of(record.key).rfind(options.id, 0) != 0)
      continue;
    if (options.json) {
      fmt::print("{}\n", nlohmann::json{{"ok", true},
                                        {"record", nlohmann::json::parse(tune::line_of(record))}}
                             .dump(2));
      return Done{};
    }
    fmt::print("{}\n# sizes: {}\n# machine: {}, {} threads\n", record.key.program,
               record.key.sizes.empty() ? "none" : record.key.sizes, record.key.target,
               record.key.threads);
    if (record.best)
      fmt::print("# {} faster than the default, found by Kawara {}\n{}\n", gain_text(record),
                 record.best->version, record.best->directives);
    else
      fmt::print("# the default stays\n");
    std::map<std::string, int64_t> outcomes;
    for (const tune::Trial& trial : record.trials)
      ++outcomes[std::string(tune::name_of(trial.outcome))];
    for (const auto& [outcome, count] : outcomes)
      fmt::print("# {} {}\n", count, outcome);
    return Done{};
  }
  return fail(Diagnostics{no_such_record(options.id)});
}

Parsed<Done> merge_records(const DbSettings& options) {
  KAWARA_TRY(tune::Database database, open_database(options));
  KAWARA_TRY(const tune::Database other, gathered(tune::Database::open(options.other)));
  KAWARA_TRY(const auto records, gathered(other.records(true)));
  for (const tune::Record& record : records) {
    KAWARA_TRY([[maybe_unused]] const Done done, gathered(database.merge(record)));
  }
  fmt::print("{} records\n", records.size());
  return Done{};
}

Parsed<Done> prune_records(const DbSettings& options) {
  KAWARA_TRY(tune::Database database, open_database(options));
  tune::Prune what{options.trials, options.other_versions, 0};
  if (options.days > 0)
    what.before = std::chrono::duration_cast<std::chrono::seconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count() -
                  int64_t{86400} * options.days;
  KAWARA_TRY(const int64_t gone, gathered(database.prune(what)));
  fmt::print("{} rows removed\n", gone);
  return Done{};
}

Parsed<Done> export_lines(const DbSettings& options) {
  KAWARA_TRY(const tune::Database database, open_database(options));
  KAWARA_TRY(const auto records, gathered(database.records(true)));
  std::string text;
  for (const tune::Record& record : records)
    text += tune::line_of(record) + "\n";
  if (options.other.empty()) {
    fmt::print("{}", text);
    return Done{};
  }
  return gathered(run::write_file(options.other, text));
}

Parsed<Done> import_lines(const DbSettings& options) {
  KAWARA_TRY(const std::string text, gathered(run::read_file(options.other)));
  std::vector<tune::Record> records;
  size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty())
      continue;
    KAWARA_TRY(tune::Record record,
               gathered(tune::record_from_line(line, fmt::format("{}:{}", options.other, number))));
    records.push_back(std::move(record));
  }
  KAWARA_TRY(tune::Database database, open_database(options));
  for (const tune::Record& record : records) {
    KAWARA_TRY([[maybe_unused]] const Done done, gathered(database.merge(record)));
  }
  fmt::print("{} records\n", records.size());
  return Done{};
}

} // namespace

void add_db(CLI::App& app, int& exit_code) {
  CLI::App* db = app.add_subcommand("db", "look at, merge and carry tuned schedules");
  db->require_subcommand(1);
  const auto add = [&](const char* name, const char* what,
                       Parsed<Done> (*action)(const DbSettings&)) {
    auto options = std::make_shared<DbSettings>();
    CLI::App* command = db->add_subcommand(name, what);
    add_database_file(*command, *options);
    command->add_flag("--json", options->json, "print JSON");
    command->callback([options, action, &exit_code] {
      const auto done = action(*options);
      exit_code = done ? kOk : report(done.error(), *options);
    });
    return std::pair(command, options);
  };
  add("ls", "one line for each program, sizes and machine", list_records);
  const auto [show_command, shown] = add("show", "a record: program, winner, trials", show_records);
  show_command->add_option("ID", shown->id, "as `ls` shows it, or its beginning")->required();
  const auto [merge_command, merged] =
      add("merge", "take over the records of another file", merge_records);
  merge_command->add_option("FILE", merged->other, "another database")->required();
  const auto [prune_command, pruned] = add("prune", "remove records", prune_records);
  prune_command->add_flag("--trials", pruned->trials, "all candidates; winners stay");
  prune_command->add_flag("--other-versions", pruned->other_versions,
                          "what other versions of Kawara measured");
  prune_command->add_option("--older", pruned->days, "winners older than this many days");
  const auto [export_command, exported] = add("export", "records as lines of JSON", export_lines);
  export_command->add_option("FILE", exported->other, "instead of standard output");
  const auto [import_command, imported] = add("import", "take over exported lines", import_lines);
  import_command->add_option("FILE", imported->other, "as `export` writes it")->required();
}

} // namespace kawara::tools
