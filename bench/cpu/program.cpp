// Kawara's default schedules against the libraries that people would call instead: `./kw bench cpu`.
//
// Each number of threads is a process of its own, so that every library starts with it.

#include "cpu/program.h"

#include "cpu/bytes.h"
#include "cpu/kawara_contestant.h"
#include "cpu/peers/peers.h"
#include "cpu/program_text.h"
#include "cpu/report.h"
#include "cpu/suite.h"
#include "cpu/worker.h"

#include "run/file.h"
#include "support/text.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>

namespace {

using namespace kawara;
using nlohmann::json;

struct Options {
  std::string only, filter, json_path, peer_folder, programs, products;
  std::vector<std::string> peers = {"all"};
  std::vector<std::string> threads = {"1", "all"};
  bool is_quick = false;
  bool counts_bytes = false;
  int64_t worker_threads = 0; ///< of the process that measures; 0 in the one that was called
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("--only", options.only,
                 "one group: " + join({bench::kGroups.begin(), bench::kGroups.end()}, ", "))
      ->check(
          CLI::IsMember(std::vector<std::string>{bench::kGroups.begin(), bench::kGroups.end()}));
  app.add_option("--products", options.products,
                 "instead of the suite the f32 products of this file, `M N K` in each line");
  app.add_option("--filter", options.filter, "only cases with this text in their name");
  app.add_option("--threads", options.threads, "numbers of threads, `all` for every core")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--json", options.json_path, "write everything to this file")->take_last();
  app.add_flag("--quick", options.is_quick, "fewer and shorter samples");
  app.add_flag("--bytes", options.counts_bytes,
               "measure nothing: what one program and several would move, predicted and counted");
  app.add_option("--programs", options.programs,
                 "measure nothing: write the programs of the cases to this folder");
  app.add_option("--peers", options.peers,
                 "who else takes part: all, none, or some of " + join(bench::peer_names(), ", "))
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--peer-folder", options.peer_folder,
                 "where libraries are looked for before the system's (`peers` beside the program)");
  app.add_option("--worker", options.worker_threads)->group("");
}

/// The names that `--peers` asks for; nothing when there is one that does not exist.
std::optional<std::vector<std::string>> asked_peers(const Options& options) {
  const std::vector<std::string> known = bench::peer_names();
  for (const std::string& name : options.peers)
    if (name != "all" && name != "none" &&
        std::find(known.begin(), known.end(), name) == known.end()) {
      fmt::print(stderr, "no peer is called `{}`; there are {}\n", name, join(known, ", "));
      return std::nullopt;
    }
  return options.peers == std::vector<std::string>{"all"} ? std::vector<std::string>{}
                                                          : options.peers;
}

/// What is measured: the suite's cases, or those of a file.
std::vector<bench::Case> cases_of(const Options& options) {
  if (options.products.empty())
    return bench::selected_cases(options.only, options.filter);
  const auto text = run::read_file(options.products);
  if (!text)
    throw std::runtime_error(render({text.error()}));
  return bench::product_cases(*text);
}

bench::RaceOptions race_options(const Options& options) {
  bench::RaceOptions race;
  race.waits_for_quiet = options.worker_threads > 1;
  race.counts_cpu_time = options.worker_threads == 1;
  if (options.is_quick) {
    race.sample_seconds = 0.002;
    race.rounds = 7;
    race.limit_seconds = 1;
  }
  return race;
}

int measure(const Options& options) {
  const auto names = asked_peers(options);
  if (!names)
    return 1;
  bench::Peers peers = bench::find_peers({options.worker_threads, options.peer_folder, *names});
  bench::Contestants contestants;
  for (const bench::Way way : {bench::Way::Default, bench::Way::Fast, bench::Way::Separate})
    contestants.push_back(bench::make_kawara(way));
  for (auto& peer : peers.found)
    contestants.push_back(std::move(peer));

  bench::Results results;
  results.threads = options.worker_threads;
  results.is_pinned = options.worker_threads == 1;
  results.missing = peers.missing;
  for (const auto& contestant : contestants)
    results.contestants.push_back({contestant->name(), contestant->version()});
  results.limits = bench::measured_limits(options.worker_threads);
  const auto cases = cases_of(options);
  for (size_t i = 0; i < cases.size(); ++i) {
    results.rows.push_back(bench::run_case(cases[i], contestants, race_options(options)));
    fmt::print(stderr, "[{} thread{}, {}/{}] {}\n", results.threads,
               results.threads == 1 ? "" : "s", i + 1, cases.size(),
               bench::progress_of(results.rows.back()));
  }
  results.limits = bench::larger_of(results.limits, bench::measured_limits(results.threads));
  fmt::print("{}", bench::table_of(results));
  std::fflush(stdout); // peers may end the process when they are closed
  const auto written = run::write_file(options.json_path, json_of(results).dump());
  return written ? 0 : 1;
}

/// For one thread: cases that several programs can do as well.
int count_bytes(const Options& options) {
  std::vector<bench::MovedBytes> counted;
  for (const bench::Case& c : cases_of(options)) {
    if (bench::separate_programs(c).programs.empty())
      continue;
    fmt::print(stderr, "{}\n", c.name);
    counted.push_back(bench::moved_bytes(c));
  }
  fmt::print("{}", bench::table_of(counted));
  return 0;
}

/// NAME.kw for each case, NAME with `_` for what is no letter or digit.
int write_programs(const Options& options) {
  std::filesystem::create_directories(options.programs);
  for (const bench::Case& c : cases_of(options)) {
    std::string name = c.name;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char letter) { return std::isalnum(letter) == 0; },
        '_');
    const std::string text = join(bench::fused_program(c).programs, "\n");
    const auto path = std::filesystem::path(options.programs) / (name + ".kw");
    if (!run::write_file(path.string(), text)) {
      fmt::print(stderr, "cannot write {}\n", path.string());
      return 1;
    }
  }
  return 0;
}

std::string today() {
  const std::time_t t = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", std::gmtime(&t));
  return text;
}

/// Starts a process for each number of threads and puts their results together.
int measure_all(const Options& options, const std::vector<std::string>& arguments) {
  if (cases_of(options).empty()) {
    fmt::print(stderr, "no case has `{}` in its name\n", options.filter);
    return 1;
  }
  const target::Cpu cpu = target::detect_cpu();
  json all = {{"date", today()},
              {"machine", bench::json_of(cpu)},
              {"quick", options.is_quick},
              {"runs", json::array()}};
  fmt::print("{}, {} core{}; {}\n\n", cpu.name, cpu.cores, cpu.cores == 1 ? "" : "s", today());
  std::fflush(stdout);
  bool is_fine = true;
  int64_t last = 0;
  for (const std::string& word : options.threads) {
    const int64_t threads = word == "all" ? cpu.cores : std::atoll(word.c_str());
    if (threads < 1) {
      fmt::print(stderr, "`{}` is no number of threads\n", word);
      return 1;
    }
    if (std::exchange(last, threads) == threads)
      continue;
    const auto end = bench::run_worker(arguments, threads, options.peer_folder);
    if (end.failure.empty())
      all["runs"].push_back(json::parse(end.text));
    else
      fmt::print(stderr, "the run with {} threads did not end well: {}\n", threads, end.failure);
    is_fine = is_fine && end.failure.empty();
  }
  if (!options.json_path.empty() && !run::write_file(options.json_path, all.dump(1) + "\n")) {
    fmt::print(stderr, "cannot write {}\n", options.json_path);
    return 1;
  }
  return is_fine ? 0 : 1;
}

} // namespace

int kawara::bench::program(int argc, char** argv) {
  Options options;
  CLI::App app("Kawara's default schedules against other libraries, in turns, on this processor",
               "bench_cpu");
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.peer_folder.empty()) {
      const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "peers";
      if (std::filesystem::is_directory(beside))
        options.peer_folder = beside.string();
    }
    if (options.worker_threads > 0)
      return measure(options);
    if (!asked_peers(options))
      return 1;
    if (options.counts_bytes)
      return count_bytes(options);
    if (!options.programs.empty())
      return write_programs(options);
    return measure_all(options, {argv + 1, argv + argc});
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
