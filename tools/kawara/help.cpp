#include "kawara/help.h"

#include "kawara/command.h"
#include "kawara/usage.h"
#include "support/text.h"

#include <fmt/format.h>

#include <sys/utsname.h>

namespace kawara::tools {
namespace {

using Options = std::vector<const CLI::Option*>;

std::vector<const CLI::App*> commands_in(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// Those with a name that begins with `-`.
Options flags_of(const CLI::App& command) {
  Options flags;
  for (const CLI::Option* option : command.get_options())
    if (!option->get_lnames().empty() || !option->get_snames().empty())
      flags.push_back(option);
  return flags;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

/// "-p", "--param".
std::vector<std::string> spellings_of(const CLI::Option& option) {
  std::vector<std::string> all;
  for (const std::string& name : option.get_snames())
    all.push_back("-" + name);
  for (const std::string& name : option.get_lnames())
    all.push_back("--" + name);
  return all;
}

/// All names of options of a command that hold the predicate, by spaces.
template <class Predicate> std::string names_of(const CLI::App& command, Predicate&& holds) {
  std::string names;
  for (const CLI::Option* option : flags_of(command))
    for (const std::string& name : spellings_of(*option))
      if (holds(*option))
        names += (names.empty() ? "" : " ") + name;
  return names;
}

std::string command_names(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : commands_in(app))
    names += (names.empty() ? "" : " ") + command->get_name();
  return names;
}

/// Text in which troff sees no commands.
std::string troff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    if (c == '\n')
      out += "\\&";
  }
  return "\\&" + out;
}

std::string man_page(const CLI::App& app) {
  std::string text = ".TH KAWARA 1 \"\" \"kawara " KAWARA_VERSION "\" \"Kawara\"\n.SH NAME\n"
                     "kawara \\- compile loops, tensor expressions and ONNX models to fast code\n"
                     ".SH SYNOPSIS\n.B kawara\n.I COMMAND FILE\n.RI [ OPTIONS ]\n"
                     ".SH DESCRIPTION\n" +
                     troff(app.get_description()) + "\n.SH COMMANDS\n";
  for (const CLI::App* command : commands_in(app)) {
    text += ".SS kawara " + command->get_name() + "\n" + troff(command->get_description()) + "\n";
    for (const CLI::Option* option : flags_of(*command))
      text += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", troff(join(spellings_of(*option), ", ")),
                          takes_value(*option) ? " \\fIVALUE\\fR" : "",
                          troff(option->get_description()));
    if (!command->get_footer().empty())
      text += ".PP\n.nf\n" + troff(command->get_footer()) + "\n.fi\n";
  }
  return text + ".SH EXIT STATUS\n0: done. 1: what was asked for is wrong or cannot be done; the "
                "message says why. 2: a bug in Kawara.\n"
                ".SH ENVIRONMENT\n.TP\n.B KAWARA_THREADS\nthreads of compiled code, for "
                "which auto plans; all processors without it\n";
}

std::string bash_completion(const CLI::App& app) {
  std::string text = "# bash completion for kawara; made by `kawara help --completion bash`\n"
                     "_kawara() {\n"
                     "  local word=${COMP_WORDS[COMP_CWORD]} options=\n"
                     "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                     "    COMPREPLY=($(compgen -W '" +
                     command_names(app) +
                     " --help --version' -- \"$word\"))\n"
                     "    return\n"
                     "  fi\n"
                     "  case ${COMP_WORDS[1]} in\n";
  for (const CLI::App* command : commands_in(app))
    text += fmt::format("  {}) options='{}' ;;\n", command->get_name(),
                        names_of(*command, [](const CLI::Option&) { return true; }));
  return text + "  esac\n"
                "  case $word in\n"
                "  -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
                "  *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
                "  esac\n"
                "}\n"
                "complete -o filenames -F _kawara kawara\n";
}

/// In single quotes, on one line.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? "\\'" : std::string(1, c == '\n' ? ' ' : c);
  return out + "'";
}

std::string fish_completion(const CLI::App& app) {
  std::string text = "# fish completion for kawara; made by `kawara help --completion fish`\n";
  for (const CLI::App* command : commands_in(app)) {
    text += fmt::format("complete -c kawara -n __fish_use_subcommand -f -a {} -d {}\n",
                        command->get_name(), quoted(command->get_description()));
    for (const CLI::Option* option : flags_of(*command)) {
      text += "complete -c kawara -n '__fish_seen_subcommand_from " + command->get_name() + "'";
      for (const std::string& name : option->get_snames())
        text += " -s " + name;
      for (const std::string& name : option->get_lnames())
        text += " -l " + name;
      text += (takes_value(*option) ? " -r" : "") + std::string(" -d ") +
              quoted(option->get_description()) + "\n";
    }
  }
  return text;
}

std::string zsh_completion(const CLI::App& app) {
  std::string text = "#compdef kawara\n"
                     "# zsh completion for kawara; made by `kawara help --completion zsh`\n"
                     "_kawara() {\n"
                     "  if (( CURRENT == 2 )); then\n"
                     "    compadd -- " +
                     command_names(app) +
                     " --help --version\n"
                     "    return\n"
                     "  fi\n"
                     "  if [[ $words[CURRENT] != -* ]]; then\n"
                     "    _files\n"
                     "    return\n"
                     "  fi\n"
                     "  case $words[2] in\n";
  for (const CLI::App* command : commands_in(app))
    text += fmt::format("  {}) compadd -- {} ;;\n", command->get_name(),
                        names_of(*command, [](const CLI::Option&) { return true; }));
  return text + "  esac\n}\n_kawara \"$@\"\n";
}

struct HelpOptions {
  std::string command, completion;
  bool is_man = false;
};

int help(const CLI::App& app, const HelpOptions& options) {
  if (options.is_man) {
    fmt::print("{}", man_page(app));
  } else if (!options.completion.empty()) {
    fmt::print("{}", options.completion == "bash"   ? bash_completion(app)
                     : options.completion == "fish" ? fish_completion(app)
                                                    : zsh_completion(app));
  } else if (options.command.empty()) {
    fmt::print("{}", help_of_all(app));
  } else {
    for (const CLI::App* command : commands_in(app))
      if (command->get_name() == options.command) {
        fmt::print("{}", command->help("kawara"));
        return kOk;
      }
    return report({no_such_command(app, options.command)}, {});
  }
  return kOk;
}

} // namespace

// `CLI::App::help` would say what the command in use does, and that is `help`.
std::string help_of_all(const CLI::App& app) {
  return app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
}

std::string version_text() {
  utsname machine{};
  ::uname(&machine);
  return fmt::format("kawara {} (LLVM {}, {})", KAWARA_VERSION, KAWARA_LLVM_VERSION,
                     static_cast<const char*>(machine.machine));
}

void add_help(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<HelpOptions>();
  CLI::App* command = app.add_subcommand("help", "say what a command does, and its options");
  command->add_option("COMMAND", options->command, "the command; all of them without it");
  command->add_flag("--man", options->is_man, "print the page of the manual, as man reads it");
  command->add_option("--completion", options->completion, "print completion for bash, zsh or fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  add_examples(
      *command,
      {"kawara help run",
       "kawara help --completion bash > ~/.local/share/bash-completion/completions/kawara"});
  command->callback([options, &app, &exit_code] { exit_code = help(app, *options); });
}

} // namespace kawara::tools
