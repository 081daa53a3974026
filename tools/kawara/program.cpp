#include "kawara/program.h"

#include "kawara/command.h"
#include "kawara/help.h"
#include "kawara/model.h"

#include "support/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <exception>

namespace {

int run_command(int argc, char** argv) {
  CLI::App app{"Kawara compiles loops and tensor expressions to fast native code, and proves every "
               "transformation on the way.",
               "kawara"};
  app.require_subcommand(1);
  app.set_version_flag("--version", kawara::tools::version_text());
  app.failure_message(CLI::FailureMessage::simple);
  int exit_code = kawara::tools::kOk;
  kawara::tools::add_run(app, exit_code);
  kawara::tools::add_check(app, exit_code);
  kawara::tools::add_show(app, exit_code);
  kawara::tools::add_deps(app, exit_code);
  kawara::tools::add_diff(app, exit_code);
  kawara::tools::add_bench(app, exit_code);
  kawara::tools::add_tune(app, exit_code);
  kawara::tools::add_db(app, exit_code);
  kawara::tools::add_emit(app, exit_code);
  kawara::tools::add_estimate(app, exit_code);
  kawara::tools::add_machine(app, exit_code);
  kawara::tools::add_fusion(app, exit_code);
  kawara::tools::add_conformance(app, exit_code);
  kawara::tools::add_zoo(app, exit_code);
  kawara::tools::add_compile(app, exit_code);
  kawara::tools::add_demo(app, exit_code);
  kawara::tools::add_help(app, exit_code);
  if (argc < 2) {
    fmt::print("{}", app.help());
    return kawara::tools::kOk;
  }
  const std::string first = argv[1];
  const auto known = app.get_subcommands([](const CLI::App*) { return true; });
  if (!first.starts_with('-') &&
      std::none_of(known.begin(), known.end(),
                   [&](const CLI::App* each) { return each->get_name() == first; }))
    return kawara::tools::report({kawara::tools::no_such_command(app, first)}, {});
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kawara::tools::kOk : kawara::tools::kUserError;
  }
  return exit_code;
}

} // namespace

int kawara::tools::program(int argc, char** argv) {
  try {
    return run_command(argc, argv);
  } catch (const kawara::InternalError& e) {
    fmt::print(stderr,
               "kawara: internal error: {}\nThis is a bug in Kawara. Please report it with the "
               "command and its files.\n",
               e.what());
  } catch (const std::exception& e) {
    fmt::print(stderr, "kawara: internal error: {}\n", e.what());
  }
  return kawara::tools::kInternalError;
}
