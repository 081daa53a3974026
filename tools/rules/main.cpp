#include "rules/generate.h"
#include "rules/proof.h"
#include "rules/sample.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <fstream>
#include <sstream>

namespace kawara::rules {
namespace {

int prove_file(const std::string& path, int samples) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) {
    fmt::print(stderr, "{} cannot be read\n", path);
    return 1;
  }
  const auto rules = rewrite::parse_rules(make_source(path, text.str()));
  if (!rules) {
    fmt::print(stderr, "{}", render(rules.error()));
    return 1;
  }
  int failures = 0;
  for (const rewrite::Rule& rule : *rules) {
    const Verdict verdict = prove(rule);
    const NumericCheck numeric = check_numerically(rule, samples, 1);
    const bool is_fine = verdict.is_proved && numeric.failure.empty();
    failures += !is_fine;
    fmt::print("{:<44} {}  {} instances of {} cases, {} samples{}\n", rule.name,
               is_fine ? "proved" : "NOT PROVED", verdict.instances, verdict.cases, numeric.agreed,
               is_fine ? "" : "\n  " + verdict.failure + " " + numeric.failure);
    std::fflush(stdout);
  }
  fmt::print("{} rules, {} not proved\n", rules->size(), failures);
  return failures > 0 ? 1 : 0;
}

} // namespace
} // namespace kawara::rules

int main(int argc, char** argv) {
  using namespace kawara;
  CLI::App app("proves rewriting rules, and finds new ones");
  app.require_subcommand(1);
  std::string file, output;
  int samples = 5;
  bool from_nothing = false;
  rules::GenerateOptions options;
  CLI::App* prove = app.add_subcommand("prove", "prove every rule of a file and try it on numbers");
  prove->add_option("file", file, "a .rules file")->required();
  prove->add_option("--samples", samples, "instances to compute per rule");
  CLI::App* generate = app.add_subcommand("generate", "find rules by building small graphs");
  generate->add_option("--operators", options.operators, "what graphs are built from")
      ->delimiter(',');
  generate->add_option("--size", options.most_operators, "most operators of one side")
      ->check(CLI::Range(1, 4));
  generate->add_option("--inputs", options.inputs, "tensors to begin with")
      ->check(CLI::Range(1, 5));
  generate->add_option("--seed", options.seed, "of the integers that graphs are evaluated on");
  generate->add_option("--most", options.most_terms, "graphs to build at most");
  generate->add_flag("--from-nothing", from_nothing, "do not leave out what Kawara's rules imply");
  generate->add_option("-o", output, "file to write");
  CLI11_PARSE(app, argc, argv);
  if (prove->parsed())
    return rules::prove_file(file, samples);
  if (!from_nothing)
    options.known = rewrite::standard_rules();
  options.progress = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const std::string text = rules::print(rules::generate(options));
  if (output.empty())
    fmt::print("{}", text);
  else
    std::ofstream(output) << text;
  return 0;
}
