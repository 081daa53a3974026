#pragma once

#include "kawara/command.h"

namespace kawara::tools {

/// K0437: no command has that name. Says which one is meant: by spelling, by what other tools call
/// it, or `run` for a file. `file` is what stood after it.
Diagnostic no_such_command(const CLI::App&, const std::string& name, const std::string& file = "");

/// K0454: what the parser of the command line refused, about the command that `words` begin with.
/// Says which option is meant, where a size or an array belongs, which word is too much.
Diagnostic usage_error(CLI::App&, const std::vector<std::string>& words, const CLI::ParseError&);

/// K0454: an option gives something twice, `values` one after the other: none of them is taken in
/// silence.
Diagnostic given_twice(const std::string& option, const std::string& name,
                       const std::pair<std::string, std::string>& values);

/// Refuses an option that stands before any command (K0454); nothing for `--help`, `-h` and
/// `--version`.
std::optional<Diagnostic> refused_before_command(const std::string& word);

} // namespace kawara::tools
