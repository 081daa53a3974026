#include "kawara/command.h"

#include "support/check.h"

#include <fmt/core.h>

#include <cstdio>
#include <exception>

namespace {

int run_command(int argc, char** argv) {
  CLI::App app{"Kawara compiles loops and tensor expressions to fast native code, and proves every "
               "transformation on the way."};
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  int exit_code = kawara::tools::kOk;
  kawara::tools::add_run(app, exit_code);
  kawara::tools::add_check(app, exit_code);
  kawara::tools::add_show(app, exit_code);
  kawara::tools::add_deps(app, exit_code);
  kawara::tools::add_diff(app, exit_code);
  kawara::tools::add_bench(app, exit_code);
  kawara::tools::add_emit(app, exit_code);
  kawara::tools::add_machine(app, exit_code);
  kawara::tools::add_demo(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kawara::tools::kOk : kawara::tools::kUserError;
  }
  return exit_code;
}

} // namespace

int main(int argc, char** argv) {
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
