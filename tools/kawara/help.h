#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace kawara::tools {

/// "kawara 0.1.0 (LLVM 19.1.7, aarch64)".
std::string version_text();
/// What `kawara`, `kawara help` and `kawara --help` print.
std::string help_of_all(const CLI::App&);

/// Adds `help [COMMAND]`, which prints what `--help` does, and with `--man` or `--completion SHELL`
/// the page of the manual or a shell's completion, made from the commands and options that `app`
/// has.
void add_help(CLI::App& app, int& exit_code);

} // namespace kawara::tools
