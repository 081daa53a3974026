#include "kawara/usage.h"

#include "kawara/model.h"
#include "support/text.h"

#include <algorithm>
#include <filesystem>

namespace kawara::tools {
namespace {

// Words of other tools, and what does that here.
constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {
    {"version", "--version"}, {"build", "compile"},    {"make", "compile"},
    {"explain", "show"},      {"print", "show"},       {"exec", "run"},
    {"execute", "run"},       {"time", "bench"},       {"profile", "bench"},
    {"perf", "bench"},        {"verify", "check"},     {"validate", "check"},
    {"optimize", "tune"},     {"optimise", "tune"},    {"autotune", "tune"},
    {"info", "machine"},      {"download", "zoo"},     {"models", "zoo"},
    {"codegen", "emit"},      {"export", "emit"},      {"dump", "show"},
    {"dependences", "deps"},  {"dependencies", "deps"}};

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(command->get_name());
  return known;
}

std::optional<std::string> command_meant(const std::string& name,
                                         const std::vector<std::string>& known) {
  if (const auto meant = closest(name, known))
    return meant;
  for (const auto& [other, ours] : kElsewhere)
    if (name == other)
      return std::string(ours);
  for (const std::string& command : known)
    if (name.starts_with(command) || (name.size() > 1 && command.starts_with(name)))
      return command;
  return std::nullopt;
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

/// `kawara compile` takes models; a program is compiled by what uses it.
bool is_build_of_program(const std::string& name, const std::string& file) {
  return (name == "build" || name == "make") && is_file(file) && !is_model(file);
}

/// "kawara run", and of a command of commands "kawara db ls".
std::string spelled(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : spelled(*parent) + " " + command.get_name();
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> all;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      all.push_back("--" + name);
    for (const std::string& name : option->get_snames())
      all.push_back("-" + name);
  }
  return all;
}

bool has_option(const CLI::App& command, const std::string& name) {
  const auto all = options_of(command);
  return std::find(all.begin(), all.end(), name) != all.end();
}

Diagnostic usage(std::string headline) {
  Diagnostic d;
  d.code = "K0454";
  d.headline = std::move(headline);
  return d;
}

void add_help_of(const CLI::App& command, Diagnostic& d) {
  std::string words = spelled(command);
  const size_t first = words.find(' ');
  if (first != std::string::npos && words.find(' ', first + 1) == std::string::npos)
    words.insert(first, " help");
  else
    words += " --help";
  d.help.push_back({"all that it takes", words, false});
}

Diagnostic unknown_option(const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  Diagnostic d = usage("`" + spelled(command) + "` has no option `" + printable(name) + "`");
  if (name == "--thread" || name == "--threads" || name == "-j" || name == "-t")
    d.help.push_back(
        {"the number of threads is", "KAWARA_THREADS=2 " + spelled(command) + " ...", false});
  else if (const auto meant = closest(name, options_of(command)))
    d.help.push_back({"did you mean", *meant, false});
  add_help_of(command, d);
  return d;
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// What stands where FILE belongs; empty without such an argument.
std::string file_of(const CLI::App& command) {
  const CLI::Option* file = command.get_option_no_throw("FILE");
  return file == nullptr || file->results().empty() ? "" : file->results().front();
}

/// `-p N 4` as it was meant: `N=4`. The number was taken for FILE, or is left over.
std::optional<std::string> size_in_two_words(const CLI::App& command,
                                             const std::vector<std::string>& words) {
  const CLI::Option* sizes = command.get_option_no_throw("-p");
  const std::string file = file_of(command);
  const std::string& number = is_number(file) ? file : words.front();
  if (sizes == nullptr || !is_number(number))
    return std::nullopt;
  for (const std::string& name : sizes->results())
    if (name.find('=') == std::string::npos)
      return name + "=" + number;
  return std::nullopt;
}

Diagnostic one_too_many(const CLI::App& command, const std::vector<std::string>& words) {
  const std::string& word = words.front();
  const size_t equals = word.find('=');
  const bool is_size =
      equals != std::string::npos && is_number(std::string_view(word).substr(equals + 1));
  Diagnostic d = usage("`" + spelled(command) + "` does not expect `" + printable(word) + "`");
  if (const auto size = size_in_two_words(command, words)) {
    d = usage("`-p " + size->substr(0, size->find('=')) + "` gives no size");
    d.body.push_back("A size is a name, `=` and a whole number, in one word.");
    d.help.push_back({"write", "-p " + *size, false});
  } else if (is_size && has_option(command, "-p")) {
    std::vector<std::string> sizes;
    for (const std::string& each : words)
      if (const size_t at = each.find('=');
          at != std::string::npos && is_number(std::string_view(each).substr(at + 1)))
        sizes.push_back(each);
    d.body.push_back("Sizes follow -p, separated by commas, or each with a -p of its own.");
    d.help.push_back({"write", "-p " + join(sizes, ","), false});
  } else if (equals != std::string::npos && has_option(command, "--input")) {
    d.body.push_back("Each --input and each --output takes one array.");
    d.help.push_back({"repeat the option", "--input " + word, false});
  } else if (const std::string file = file_of(command); !file.empty()) {
    d.body.push_back("FILE is `" + printable(file) + "`.");
  }
  add_help_of(command, d);
  return d;
}

Diagnostic extras(const CLI::App& command, std::vector<std::string> words) {
  const auto option = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.size() > 1 && word.front() == '-';
  });
  if (option != words.end())
    return unknown_option(command, *option);
  // `--input x=x.npy y=y.npy FILE`: the second array was taken for the file, and FILE is left over.
  if (const std::string file = file_of(command);
      file.find('=') != std::string::npos && !is_file(file))
    words.insert(words.begin(), file);
  return one_too_many(command, words);
}

Diagnostic missing(const CLI::App& command, const std::string& what) {
  Diagnostic d = usage("`" + spelled(command) + "`: " + what);
  const std::string examples = command.get_footer();
  const auto lines = split(examples, '\n');
  if (lines.size() > 1)
    d.help.push_back({"for example", std::string(trim(lines[1])), false});
  add_help_of(command, d);
  return d;
}

/// The parser says "--input: 1 required TEXT missing" and "--against: torch not in {ort,none}".
Diagnostic bad_value(const CLI::App& command, const std::string& what) {
  const size_t colon = what.find(": "), in = what.find(" not in {");
  const std::string option = what.substr(0, colon);
  Diagnostic d = usage("`" + spelled(command) + "`: " + printable(what));
  if (colon != std::string::npos && what.ends_with(" missing")) {
    d.headline = "`" + option + "` of `" + spelled(command) + "` has no value";
  } else if (colon != std::string::npos && in != std::string::npos && what.ends_with("}")) {
    const std::string value = what.substr(colon + 2, in - colon - 2);
    const std::string list = what.substr(in + 9, what.size() - in - 10);
    std::vector<std::string> known;
    for (const std::string_view each : split(list, ','))
      known.emplace_back(each);
    d.headline =
        "`" + option + "` of `" + spelled(command) + "` cannot be `" + printable(value) + "`";
    d.body.push_back("It can be " + join(known, ", ") + ".");
    if (const auto meant = closest(value, known))
      d.help.push_back({"did you mean", option + " " + *meant, false});
  }
  add_help_of(command, d);
  return d;
}

/// The innermost command that the words name.
CLI::App* command_of(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* command = &app;
  for (const std::string& word : words) {
    const auto known =
        command->get_subcommands([&](CLI::App* each) { return each->get_name() == word; });
    if (known.empty())
      break;
    command = known.front();
  }
  return command;
}

/// In the order in which they were typed.
std::vector<std::string> left_over(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> left = app.remaining(true), ordered;
  for (const std::string& word : words)
    if (const auto at = std::find(left.begin(), left.end(), word); at != left.end()) {
      ordered.push_back(word);
      left.erase(at);
    }
  ordered.insert(ordered.end(), left.begin(), left.end());
  return ordered;
}

} // namespace

Diagnostic no_such_command(const CLI::App& app, const std::string& name, const std::string& file) {
  const std::vector<std::string> known = names_of_commands(app);
  Diagnostic d;
  d.code = "K0437";
  d.headline = "no command is called `" + printable(name) + "`";
  d.body.push_back("The commands are " + join(known, ", ") + ".");
  if (app.get_parent() == nullptr && is_file(name))
    d.help.push_back({"to run the file", "kawara run " + name, false});
  else if (app.get_parent() == nullptr && is_build_of_program(name, file)) {
    d.help.push_back({"to compile the program and run it", "kawara run " + file, false});
    d.help.push_back({"to compile and measure it", "kawara bench " + file, false});
    d.help.push_back(
        {"to write it as C",
         "kawara emit " + file + " -o " + std::filesystem::path(file).stem().string() + ".c",
         false});
  } else if (const auto meant = command_meant(name, known))
    d.help.push_back({"did you mean", spelled(app) + " " + *meant, false});
  return d;
}

Diagnostic usage_error(CLI::App& app, const std::vector<std::string>& words,
                       const CLI::ParseError& error) {
  const CLI::App& command = *command_of(app, words);
  const std::string what = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return extras(command, left_over(app, words));
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const auto left = left_over(app, words);
    if (!names_of_commands(command).empty() && !left.empty())
      return no_such_command(command, left.front());
    return missing(command, what == "FILE is required" ? "FILE is missing" : what);
  }
  return bad_value(command, what);
}

Diagnostic given_twice(const std::string& option, const std::string& name,
                       const std::pair<std::string, std::string>& values) {
  Diagnostic d;
  d.code = "K0454";
  d.headline = "`" + option + "` gives `" + printable(name) + "` twice";
  d.body.push_back("First as " + printable(values.first) + ", then as " + printable(values.second) +
                   ".");
  d.help.push_back({"leave one out", "", false});
  return d;
}

std::optional<Diagnostic> refused_before_command(const std::string& word) {
  const std::vector<std::string> known = {"--help", "--version", "-h"};
  if (!word.starts_with('-') || std::find(known.begin(), known.end(), word) != known.end())
    return std::nullopt;
  Diagnostic d = usage("`kawara` has no option `" + printable(word) + "`");
  const bool is_version = word == "-V" || word == "-v" || word == "-version";
  const auto meant = is_version ? std::optional<std::string>("--version") : closest(word, known);
  d.body.push_back("A command comes first: kawara COMMAND FILE [options].");
  if (meant)
    d.help.push_back({"did you mean", "kawara " + *meant, false});
  d.help.push_back({"all commands", "kawara help", false});
  return d;
}

} // namespace kawara::tools
