#include "kawara/command.h"

#include "kawara/input_file.h"
#include "kawara/usage.h"
#include "kawara/waiting.h"

#include "driver/target_choice.h"
#include "run/cpu/threads.h"
#include "run/file.h"
#include "support/text.h"
#include "tune/database/database.h"
#include "tune/tuner/tuned.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cstdio>
#include <filesystem>

namespace kawara::tools {
namespace {

constexpr size_t kMostDigits = 18; ///< that any i64 can have

Diagnostic bad_size(const std::string& text) {
  Diagnostic d;
  d.code = "K0432";
  d.headline = "`-p " + printable(text) + "` does not give a size";
  d.body.push_back("A size is a name, `=` and a whole number; several may be separated by commas.");
  const size_t digits = text.find_first_of("0123456789", text.find('='));
  if (digits != std::string::npos && text.size() - digits > kMostDigits)
    d.body.push_back("This number is too large.");
  const bool is_name = !text.empty() && text.find_first_of("=0123456789") != 0 &&
                       text.find('=') == std::string::npos;
  d.help.push_back(
      {"for example", "-p " + (is_name ? printable(text) + "=1024" : "N=1024,M=64"), false});
  return d;
}

std::optional<Diagnostic> add_size(std::string_view item, driver::Request& request) {
  const size_t equals = item.find('=');
  if (equals == std::string_view::npos)
    return bad_size(std::string(item));
  const std::string_view name = trim(item.substr(0, equals));
  const std::string_view digits = trim(item.substr(equals + 1));
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (name.empty() || error != std::errc{} || end != digits.data() + digits.size())
    return bad_size(std::string(item));
  const auto [known, is_new] = request.sizes.emplace(name, value);
  if (!is_new && known->second != value)
    return given_twice("-p", std::string(name),
                       {std::to_string(known->second), std::to_string(value)});
  return std::nullopt;
}

Diagnostics read_sizes(const std::vector<std::string>& sizes, driver::Request& request) {
  Diagnostics errors;
  for (const std::string& text : sizes)
    for (const std::string_view item : split(text, ','))
      if (auto wrong = add_size(trim(item), request))
        errors.push_back(*std::move(wrong));
  return errors;
}

Parsed<SourcePtr> source_from_file(const std::string& path) {
  auto text = run::read_file(path);
  if (!text)
    return fail(Diagnostics{std::move(text).error()});
  return make_source(path, *std::move(text));
}

Diagnostic unknown_numerics(const std::string& name) {
  Diagnostic d;
  d.code = "K0433";
  d.headline = "no numerics contract is called `" + name + "`";
  d.help.push_back({"choose one of", "exact, rounding, fast", false});
  return d;
}

} // namespace

void add_common(CLI::App& app, CommonOptions& options, DefaultSchedule by_default) {
  options.by_default = by_default;
  const bool is_auto = by_default == DefaultSchedule::Auto;
  app.add_option("FILE", options.file,
                 "program in .kw text, or a model where the command takes one")
      ->required();
  app.add_option("-p,--param", options.sizes,
                 "size of a parameter: N=1024; repeat or separate by commas");
  app.add_option("-s,--schedule", options.schedule,
                 std::string("directives separated by `;`, or @file.sched; `auto`") +
                     (is_auto ? " (the default)" : "") + " chooses, `source`" +
                     (is_auto ? "" : " (the default)") + " is the order of the text");
  app.add_option("--numerics", options.numerics, "exact, rounding or fast; instead of the file's");
  app.add_option("--winograd", options.winograd,
                 "compute convolutions by 3 x 3 windows in tiles of 2 x 2 or 4 x 4 (numerics "
                 "fast), or 1: directly");
  app.add_option("--target", options.target,
                 "machine to make code for: cpu (the default), cuda, or one by name: "
                 "cpu:sapphirerapids, cuda:sm_90a");
  app.add_flag("--json", options.json, "print JSON");
  app.add_flag("--verify", options.verify, "check every artefact on the way");
  app.add_flag("--time-passes", options.time_passes, "show where compile time went");
  app.add_option("--print-after", options.print_after,
                 "show an artefact on the way: program, poly, schedule, loops, kernel, emit or all")
      ->check(CLI::IsMember({"program", "poly", "schedule", "loops", "kernel", "emit", "all"}));
}

void add_database_file(CLI::App& app, CommonOptions& options) {
  app.add_option("--db", options.db, "file of tuned schedules, instead of the usual one");
}

std::optional<Diagnostic> refused_database(const CommonOptions& options) {
  if (options.db.empty() || options.no_db)
    return std::nullopt;
  if (const auto text = run::read_file(options.db); !text)
    return text.error();
  if (const auto opened = tune::Database::open(options.db); !opened)
    return opened.error();
  return std::nullopt;
}

void add_database(CLI::App& app, CommonOptions& options) {
  add_database_file(app, options);
  app.add_flag("--no-db", options.no_db, "neither use nor keep tuned schedules");
}

std::string database_of(const CommonOptions& options) {
  if (options.no_db)
    return "";
  return options.db.empty() ? tune::default_database() : options.db;
}

std::string schedule_kind(const CommonOptions& options) {
  const std::string_view text = trim(options.schedule);
  if (text.empty())
    return options.by_default == DefaultSchedule::Auto ? "auto" : "source";
  return text == "auto" || text == "source" ? std::string(text) : "given";
}

bool use_tuned(driver::Request& request, const CommonOptions& options) {
  if (schedule_kind(options) != "auto")
    return false;
  const std::string database = database_of(options);
  std::error_code ignored;
  if (database.empty() || !std::filesystem::exists(database, ignored))
    return false;
  const auto environment = environment_of(options);
  if (!environment)
    return false; // said where the target is used
  const auto tuned = tune::tuned_schedule(request, *environment, run::default_threads(), database);
  if (!tuned)
    return false;
  request.directives = tuned->directives;
  if (!options.json)
    fmt::print(stderr, "using a tuned schedule, {:.2f}x faster than auto when it was measured\n",
               tuned->gain);
  return true;
}

void add_examples(CLI::App& app, const std::vector<std::string>& lines) {
  std::string text = "Examples:";
  for (const std::string& line : lines)
    text += "\n  " + line;
  app.footer(text);
}

Parsed<std::map<std::string, int64_t>> sizes_of(const CommonOptions& options) {
  driver::Request request;
  Diagnostics errors = read_sizes(options.sizes, request);
  if (!errors.empty())
    return fail(std::move(errors));
  return std::move(request.sizes);
}

Parsed<std::optional<program::Numerics>> numerics_of(const CommonOptions& options) {
  if (options.numerics.empty())
    return std::optional<program::Numerics>();
  const auto numerics = program::numerics_from_name(options.numerics);
  if (!numerics)
    return fail(Diagnostics{unknown_numerics(options.numerics)});
  return numerics;
}

namespace {

/// A schedule's text that is the name of a file, be it there or not.
Diagnostic file_without_at(const std::string& path, bool is_there) {
  Diagnostic d;
  d.code = "K0447";
  d.headline = "`-s " + path + "` names a file, not directives";
  if (!is_there)
    d.body.push_back("There is no file of that name here.");
  d.help.push_back({"to read directives from the file", "-s @" + path, false});
  return d;
}

/// Nothing: the order of the text.
Parsed<SourcePtr> directives_of(const CommonOptions& options) {
  const std::string kind = schedule_kind(options);
  if (kind == "source")
    return SourcePtr();
  if (kind == "auto")
    return make_source("-s", "auto");
  if (options.schedule.front() == '@')
    return source_from_file(options.schedule.substr(1));
  const std::filesystem::path path = options.schedule;
  std::error_code ignored;
  const bool is_there = std::filesystem::is_regular_file(path, ignored);
  if (is_there || path.extension() == ".sched")
    return fail(Diagnostics{file_without_at(options.schedule, is_there)});
  return make_source("-s", options.schedule);
}

} // namespace

Parsed<driver::Request> request_of(const CommonOptions& options) {
  driver::Request request;
  auto text = program_source(options.file);
  if (!text)
    return fail(Diagnostics{std::move(text).error()});
  request.text = *std::move(text);
  KAWARA_TRY(request.directives, directives_of(options));
  Diagnostics errors = read_sizes(options.sizes, request);
  if (const auto numerics = numerics_of(options))
    request.numerics = *numerics;
  else
    errors.push_back(numerics.error().front());
  request.winograd = options.winograd;
  if (!errors.empty())
    return fail(std::move(errors));
  return request;
}

Parsed<schedule::Environment> environment_of(const CommonOptions& options) {
  return driver::environment_for(options.target);
}

Diagnostic no_code_here(const std::string& target, std::string why) {
  Diagnostic d;
  d.code = "K0302";
  d.headline = "no code for `" + target + "` here";
  d.body.push_back(std::move(why));
  d.help.push_back({"to look at what it would run",
                    "kawara show FILE -s auto --target " + target + " --stage kernel", false});
  return d;
}

Parsed<schedule::Environment> environment_to_run_on(const CommonOptions& options) {
  KAWARA_TRY(schedule::Environment environment, environment_of(options));
  if (driver::is_named_cpu(options.target))
    return fail(Diagnostics{no_code_here(
        options.target, "Programs run on the processor of this machine, `--target cpu`.")});
  return environment;
}

TraceOptions trace_options(const CommonOptions& options) {
  TraceOptions trace;
  trace.verify = options.verify;
  trace.print_after.insert(options.print_after.begin(), options.print_after.end());
  trace.note = [](const std::string& text) { show_notes({text}); };
  trace.show = [](std::string_view stage, const std::string& text) {
    clear_waiting_line();
    fmt::print(stderr, "--- after {}\n{}\n", stage, text);
  };
  return trace;
}

int report(const Diagnostics& errors, const CommonOptions& options) {
  clear_waiting_line();
  if (options.json) {
    nlohmann::json all = nlohmann::json::array();
    for (const Diagnostic& d : errors)
      all.push_back(nlohmann::json::parse(render_json(d)));
    fmt::print("{}\n", nlohmann::json{{"ok", false}, {"errors", all}}.dump(2));
  } else {
    fmt::print(stderr, "{}", render(errors));
  }
  return kUserError;
}

void warn(const Diagnostics& warnings, const CommonOptions& options) {
  if (options.json || warnings.empty())
    return;
  clear_waiting_line();
  fmt::print(stderr, "{}", render(warnings));
}

void show_notes(const std::vector<std::string>& notes) {
  clear_waiting_line();
  for (const std::string& note : notes)
    fmt::print(stderr, "verify: {}\n", note);
}

void show_times(const Trace& trace, const CommonOptions& options) {
  if (options.verify && trace.outcomes().empty())
    show_notes({"no finished kernel was made, so none was proved equal to its schedule"});
  if (options.time_passes)
    fmt::print(stderr, "{}", trace.time_table());
}

} // namespace kawara::tools
