#include "kawara/program.h"

#include "kawara/command.h"
#include "kawara/model.h"

#include "support/check.h"
#include "support/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <exception>

namespace {

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({}))
    names.push_back(command->get_name());
  return names;
}

kawara::Diagnostic no_such_command(const std::vector<std::string>& known, const std::string& name) {
  kawara::Diagnostic d;
  d.code = "K0437";
  d.headline = "no command is called `" + name + "`";
  d.body.push_back("The commands are " + kawara::join(known, ", ") + ".");
  if (const auto meant = kawara::closest(name, known))
    d.help.push_back({"did you mean", "kawara " + *meant, false});
  return d;
}

int run_command(int argc, char** argv) {
  CLI::App app{"Kawara compiles loops and tensor expressions to fast native code, and proves every "
               "transformation on the way.",
               "kawara"};
  app.require_subcommand(1);
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
  if (argc < 2) {
    fmt::print(stderr, "{}", app.help());
    return kawara::tools::kUserError;
  }
  const std::string first = argv[1];
  const std::vector<std::string> known = commands_of(app);
  if (first.rfind('-', 0) != 0 && std::find(known.begin(), known.end(), first) == known.end())
    return kawara::tools::report({no_such_command(known, first)}, {});
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
