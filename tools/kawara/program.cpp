#include "kawara/program.h"

#include "kawara/command.h"
#include "kawara/help.h"
#include "kawara/model.h"
#include "kawara/usage.h"

#include "run/cpu/threads.h"
#include "support/check.h"
#include "support/memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <exception>

namespace {

/// `--input A=a.npy FILE`: an option that may be repeated takes one value each time, and leaves
/// FILE alone.
void take_one_value_each(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    for (CLI::Option* option : command->get_options())
      if (!option->get_positional())
        option->allow_extra_args(false);
}

int run_command(int argc, char** argv) {
  CLI::App app{"Kawara compiles loops and tensor expressions to fast native code, and proves every "
               "transformation on the way.",
               "kawara"};
  app.require_subcommand(1);
  app.set_version_flag("--version", kawara::tools::version_text());
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
  kawara::tools::add_cache(app, exit_code);
  kawara::tools::add_explain(app, exit_code);
  kawara::tools::add_trace(app, exit_code);
  kawara::tools::add_machine(app, exit_code);
  kawara::tools::add_fusion(app, exit_code);
  kawara::tools::add_conformance(app, exit_code);
  kawara::tools::add_zoo(app, exit_code);
  kawara::tools::add_compile(app, exit_code);
  kawara::tools::add_demo(app, exit_code);
  kawara::tools::add_help(app, exit_code);
  take_one_value_each(app);
  if (argc < 2) {
    fmt::print("{}", kawara::tools::help_of_all(app));
    return kawara::tools::kOk;
  }
  const std::string first = argv[1];
  if (const auto refused = kawara::tools::refused_before_command(first))
    return kawara::tools::report({*refused}, {});
  const auto known = app.get_subcommands([](const CLI::App*) { return true; });
  if (!first.starts_with('-') &&
      std::none_of(known.begin(), known.end(),
                   [&](const CLI::App* each) { return each->get_name() == first; }))
    return kawara::tools::report(
        {kawara::tools::no_such_command(app, first, argc > 2 ? argv[2] : "")}, {});
  if (const auto checked = kawara::run::check_threads(); !checked)
    return kawara::tools::report({checked.error()}, {});
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) // help and version
      return app.exit(e);
    return kawara::tools::report({kawara::tools::usage_error(app, {argv + 1, argv + argc}, e)}, {});
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
  } catch (const std::bad_alloc&) {
    kawara::Diagnostic d;
    d.code = "K0448";
    d.headline = "there is not enough memory";
    d.body.push_back(kawara::bytes_text(kawara::memory_left()) + " are free.");
    d.help.push_back({"choose smaller sizes", "", false});
    return kawara::tools::report({d}, {});
  } catch (const std::exception& e) {
    fmt::print(stderr, "kawara: internal error: {}\n", e.what());
  }
  return kawara::tools::kInternalError;
}
