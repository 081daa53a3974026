#include "kawara/command.h"

#include "driver/check/conformance.h"
#include "run/cpu/threads.h"
#include "support/text.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

namespace kawara::tools {
namespace {

constexpr const char* kDefaultFolder = "/usr/share/libonnx-testdata/data";

struct Options : CommonOptions {
  std::string folder = kDefaultFolder, filter;
  int64_t jobs = 0, at_least = 0;
  std::optional<int64_t> opset;
  unsigned seconds = 60;
  bool verbose = false;
};

/// What became of a case, as words: a verdict, or "crashed".
struct Outcome {
  std::string verdict, op, detail;
};

/// In a child process: runs cases and writes a line for each, so that a crash costs one case only.
[[noreturn]] void work(const std::vector<driver::ConformanceCase>& cases,
                       const std::vector<size_t>& mine, const Options& options, int pipe) {
  FILE* out = fdopen(pipe, "w");
  for (const size_t k : mine) {
    alarm(options.seconds);
    driver::ConformanceResult result;
    try {
      driver::CaseOptions how;
      how.opset = options.opset;
      result = driver::run_case(cases[k], how);
    } catch (const std::exception& e) {
      result = {driver::Verdict::Failed, "?", std::string("internal error: ") + e.what()};
    }
    const nlohmann::json line{{"verdict", driver::name_of(result.verdict)},
                              {"op", result.op},
                              {"detail", printable(result.detail)}};
    fmt::print(out, "{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    std::fflush(out);
  }
  std::fclose(out);
  _exit(0);
}

std::vector<std::string> lines_from(int pipe) {
  FILE* in = fdopen(pipe, "r");
  std::vector<std::string> lines;
  std::string line;
  for (int c = std::fgetc(in); c != EOF; c = std::fgetc(in)) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    lines.push_back(std::move(line));
    line.clear();
  }
  std::fclose(in);
  return lines;
}

void run_part(const std::vector<driver::ConformanceCase>& cases, std::vector<size_t> mine,
              const Options& options, std::mutex& mutex, std::map<size_t, Outcome>& outcomes) {
  while (!mine.empty()) {
    int ends[2];
    pid_t child = -1;
    {
      // The other end of another child's pipe must not be inherited: it would never close.
      const std::lock_guard lock(mutex);
      if (pipe(ends) != 0)
        return;
      child = fork();
      if (child == 0) {
        close(ends[0]);
        work(cases, mine, options, ends[1]);
      }
      close(ends[1]);
    }
    const std::vector<std::string> lines = lines_from(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    const std::lock_guard lock(mutex);
    for (size_t k = 0; k < lines.size() && k < mine.size(); ++k) {
      const auto line = nlohmann::json::parse(lines[k], nullptr, false);
      outcomes[mine[k]] = {line.value("verdict", ""), line.value("op", ""),
                           line.value("detail", "")};
    }
    const bool is_done = lines.size() >= mine.size();
    if (!is_done)
      outcomes[mine[lines.size()]] = {"crashed", "?", fmt::format("signal {}", WTERMSIG(status))};
    mine.erase(mine.begin(),
               mine.begin() + static_cast<int64_t>(is_done ? mine.size() : lines.size() + 1));
  }
}

std::map<size_t, Outcome> run_all(const std::vector<driver::ConformanceCase>& cases,
                                  const Options& options) {
  const auto jobs = static_cast<size_t>(options.jobs > 0 ? options.jobs : run::default_threads());
  std::vector<std::vector<size_t>> parts(jobs);
  size_t count = 0;
  for (size_t k = 0; k < cases.size(); ++k)
    if (cases[k].name.find(options.filter) != std::string::npos)
      parts[count++ % jobs].push_back(k);
  std::map<size_t, Outcome> outcomes;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (const std::vector<size_t>& part : parts)
    threads.emplace_back([&] { run_part(cases, part, options, mutex, outcomes); });
  for (std::thread& thread : threads)
    thread.join();
  return outcomes;
}

using Counts = std::map<std::string, int64_t>;

std::string text_of(Counts counts) {
  std::string text = fmt::format("{} passed, {} failed, {} unsupported", counts["passed"],
                                 counts["failed"], counts["unsupported"]);
  if (counts["crashed"] > 0)
    text += fmt::format(", {} crashed", counts["crashed"]);
  if (counts["skipped"] > 0)
    text += fmt::format(", {} skipped (no plain tensors)", counts["skipped"]);
  return text;
}

int conformance(const Options& options) {
  const auto cases = driver::conformance_cases(options.folder);
  if (!cases)
    return report({cases.error()}, options);
  const std::map<size_t, Outcome> outcomes = run_all(*cases, options);
  Counts total;
  std::map<std::string, Counts> by_operator;
  nlohmann::json json;
  for (const auto& [k, outcome] : outcomes) {
    ++total[outcome.verdict];
    ++by_operator[outcome.op][outcome.verdict];
    json["cases"][(*cases)[k].name] = outcome.verdict;
    if (options.verbose && outcome.verdict != "passed" && outcome.verdict != "skipped")
      fmt::print("{} {}: {}\n", outcome.verdict, (*cases)[k].name, outcome.detail);
  }
  const int64_t counted = static_cast<int64_t>(outcomes.size()) - total["skipped"];
  if (options.json) {
    json["passed"] = total["passed"];
    json["cases_counted"] = counted;
    fmt::print("{}\n", json.dump(2));
  } else {
    for (const auto& [op, counts] : by_operator)
      fmt::print("{:<28}{}\n", op, text_of(counts));
    fmt::print("total: {} of {} cases: {}\n", total["passed"], counted, text_of(total));
  }
  const bool is_enough = total["passed"] >= options.at_least;
  return is_enough && total["crashed"] == 0 ? kOk : kUserError;
}

} // namespace

void add_conformance(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "conformance", "run the ONNX standard's own test cases, each in a child process");
  command->add_option("FOLDER", options->folder, "folder with node/, simple/, ...")
      ->capture_default_str();
  command->add_option("--filter", options->filter, "only cases with this text in their name");
  command->add_option("--jobs", options->jobs, "processes at a time; all processors by default");
  command->add_option("--seconds", options->seconds, "time limit of one case")
      ->capture_default_str();
  command->add_option("--at-least", options->at_least, "fail when fewer cases pass");
  command->add_option(
      "--opset", options->opset,
      "write each model with this version of the operators first, and read it again");
  command->add_flag("--verbose", options->verbose, "say why cases do not pass");
  command->add_flag("--json", options->json, "print JSON");
  add_examples(*command, {"kawara conformance", "kawara conformance --filter conv --verbose",
                          "kawara conformance --opset 24 --at-least 990"});
  command->callback([options, &exit_code] { exit_code = conformance(*options); });
}

} // namespace kawara::tools
