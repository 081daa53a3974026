#pragma once

#include "driver/pipeline.h"
#include "driver/request.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace kawara::tools {

/// Exit codes of every command.
inline constexpr int kOk = 0;
inline constexpr int kUserError = 1;
inline constexpr int kInternalError = 2;

/// The order of loops without `-s`: what `auto` chooses, or the text's.
enum class DefaultSchedule { Auto, Source };

/// Options that most commands share.
struct CommonOptions {
  std::string file;
  std::vector<std::string> sizes; ///< "N=64", "M=8,K=8"
  std::string schedule;           ///< directives, @file.sched, or `source`
  DefaultSchedule by_default = DefaultSchedule::Source;
  std::string numerics;
  std::string target;   ///< cpu, cuda or cuda:ARCH
  int64_t winograd = 0; ///< tile of convolutions; 0: whoever schedules decides
  bool json = false;
  bool verify = false;
  bool time_passes = false;
  std::vector<std::string> print_after;
  std::string db;     ///< file of tuned schedules; the usual one when empty
  bool no_db = false; ///< use none
};

/// Adds FILE, -p, -s, --numerics, --winograd, --target, --json, --verify, --time-passes and
/// --print-after.
void add_common(CLI::App&, CommonOptions&, DefaultSchedule);
/// Adds --db and --no-db.
void add_database(CLI::App&, CommonOptions&);
/// Adds --db alone.
void add_database_file(CLI::App&, CommonOptions&);
/// Refuses a file of tuned schedules that was named and cannot be read (K0420) or is none (K0601).
std::optional<Diagnostic> refused_database(const CommonOptions&);
/// The file of tuned schedules; empty when none shall be used.
std::string database_of(const CommonOptions&);
/// Takes a tuned schedule where there is one and `auto` would choose; says so on standard error.
/// Returns whether it did.
bool use_tuned(driver::Request&, const CommonOptions&);
/// Who orders the loops: "auto", "source" (the text's order) or "given".
std::string schedule_kind(const CommonOptions&);
/// Adds a paragraph of examples to `--help`.
void add_examples(CLI::App&, const std::vector<std::string>& lines);

/// The request in the user's words; files are read here. Errors: no such file (K0420), sizes that
/// are no `NAME=NUMBER` (K0432), an unknown contract (K0433), the name of a file without `@` as a
/// schedule (K0447).
Parsed<driver::Request> request_of(const CommonOptions&);

/// The contract that `--numerics` names; nothing without it. Errors: K0433.
Parsed<std::optional<program::Numerics>> numerics_of(const CommonOptions&);

/// Sizes that `-p` names, of a command without a program. Errors: K0432.
Parsed<std::map<std::string, int64_t>> sizes_of(const CommonOptions&);

/// The machine that `--target` names. Errors: driver::environment_for.
Parsed<schedule::Environment> environment_of(const CommonOptions&);
/// The same for a command that runs what it compiles. Errors: also a processor by name (K0302).
Parsed<schedule::Environment> environment_to_run_on(const CommonOptions&);
/// K0302: what the command cannot do for a processor that is named.
Diagnostic no_code_here(const std::string& target, std::string why);

TraceOptions trace_options(const CommonOptions&);

/// Prints errors (as text on standard error, or as JSON on standard output) and returns kUserError.
int report(const Diagnostics&, const CommonOptions&);
/// Prints warnings on standard error; nothing under --json.
void warn(const Diagnostics&, const CommonOptions&);
/// What checks said, on standard error.
void show_notes(const std::vector<std::string>&);
/// Prints the time table on standard error if it was asked for; under --verify, that there was no
/// kernel to prove if there was none.
void show_times(const Trace&, const CommonOptions&);

// One function per command: adds the sub-command, whose callback sets `exit_code`.
void add_show(CLI::App&, int& exit_code);
void add_check(CLI::App&, int& exit_code);
void add_deps(CLI::App&, int& exit_code);
void add_run(CLI::App&, int& exit_code);
void add_bench(CLI::App&, int& exit_code);
void add_emit(CLI::App&, int& exit_code);
void add_estimate(CLI::App&, int& exit_code);
void add_cache(CLI::App&, int& exit_code);
void add_explain(CLI::App&, int& exit_code);
void add_diff(CLI::App&, int& exit_code);
void add_conformance(CLI::App&, int& exit_code);
void add_demo(CLI::App&, int& exit_code);
void add_machine(CLI::App&, int& exit_code);
void add_trace(CLI::App&, int& exit_code);
void add_tune(CLI::App&, int& exit_code);
void add_db(CLI::App&, int& exit_code);
void add_compile(CLI::App&, int& exit_code);
void add_zoo(CLI::App&, int& exit_code);

} // namespace kawara::tools
