#include "kawara/command.h"
#include "kawara/usable.h"
#include "kawara/waiting.h"

#include "emit/c/c_from_kernel.h"
#include "run/file.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace kawara::tools {
namespace {

struct EmitOptions : CommonOptions {
  std::string output, header, function;
  bool is_naive = false;
};

/// Text as C comment lines. A backslash at the end of one would pull the next line of code in.
std::string commented(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
      line.pop_back();
    if (!line.empty() && (line.back() == '\\' || line.find("?"
                                                           "?/") != std::string::npos))
      line += " .";
    out += line.empty() ? "//\n" : "// " + line + "\n";
  }
  return out;
}

/// What a reader of the file needs to know: how to call and to compile it, and where it comes from.
std::string introduction(const emit::CUnit& unit, const std::string& prototype,
                         const driver::Request& request, const driver::Scheduled& front) {
  std::string text = "// " + unit.function + ": made by Kawara from the program below.\n//\n";
  text += commented("    " + prototype);
  text += "//\n// Arrays are row-major and must not overlap; outputs need no initial value. "
          "Compile with\n//\n"
          "//     cc -std=c11 -O3 -c FILE.c             one thread\n"
          "//     cc -std=c11 -O3 -fopenmp -c FILE.c    all cores, where a loop is parallel\n"
          "//\n// and link with -lm, and with -fopenmp where it was compiled so.\n//\n";
  std::string fixed;
  for (const auto& [name, value] : request.sizes)
    fixed += (fixed.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  if (!fixed.empty())
    text += commented("Right for " + fixed + " only.") + "//\n";
  const std::string directives = schedule::print(front.schedule.applied);
  text += directives.empty() ? "// Loops in source order.\n" : commented("Schedule: " + directives);
  text += "//\n// The program:\n//\n";
  std::istringstream lines(front.program.source->text);
  std::string indented;
  for (std::string line; std::getline(lines, line);)
    indented += "    " + line + "\n";
  return text + commented(indented) + "\n";
}

/// The first declaration of the function, without its semicolon.
std::string prototype_in(const emit::CUnit& unit) {
  const size_t begin = unit.text.find("void " + unit.function + "(");
  return unit.text.substr(begin, unit.text.find(");", begin) + 2 - begin);
}

Parsed<emit::CUnit> unit_of(const EmitOptions& options, Trace& trace) {
  KAWARA_TRY(const driver::Request request, request_of(options));
  KAWARA_TRY(const schedule::Environment environment, environment_of(options));
  KAWARA_TRY(const driver::Scheduled front, while_waiting("proving", [&] {
               return driver::schedule(request, environment, trace);
             }));
  warn(front.warnings, options);
  emit::CUnit unit = driver::c_of(front, {options.is_naive, options.function}, trace);
  unit.text = introduction(unit, prototype_in(unit), request, front) + unit.text;
  return unit;
}

Diagnostics write(const EmitOptions& options, const emit::CUnit& unit) {
  Diagnostics errors;
  const auto to = [&](const std::string& path, const std::string& text) {
    if (path.empty())
      return;
    if (auto written = run::write_file(path, text); !written)
      errors.push_back(std::move(written).error());
  };
  to(options.output, unit.text);
  to(options.header, unit.header_text);
  return errors;
}

bool is_c_name(const std::string& name) {
  const auto is_letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

int emit_c(const EmitOptions& options) {
  Trace trace(trace_options(options));
  const auto unit = unit_of(options, trace);
  if (!unit)
    return report(unit.error(), options);
  if (const Diagnostics errors = write(options, *unit); !errors.empty())
    return report(errors, options);
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"ok", true},
                                      {"function", unit->function},
                                      {"header", unit->header_text},
                                      {"text", unit->text}}
                           .dump(2));
  else if (options.output.empty())
    fmt::print("{}", unit->text);
  show_times(trace, options);
  return kOk;
}

} // namespace

void add_emit(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<EmitOptions>();
  CLI::App* command = app.add_subcommand("emit", "write a program as C11 for another project");
  add_common(*command, *options, DefaultSchedule::Auto);
  command->add_option("-o,--output", options->output, "the .c file; standard output without it");
  command->add_option("--header", options->header, "also write a .h file with the prototype");
  command->add_option("--function", options->function, "name of the C function")
      ->check(CLI::Validator(
          [](const std::string& name) {
            return is_c_name(name) ? std::string() : "`" + name + "` is no name of a C function";
          },
          ""));
  command->add_flag("--naive", options->is_naive,
                    "the loops as they are: nothing unrolled, joined or kept in variables");
  add_examples(*command, {"kawara emit examples/gemm.kw -o gemm.c",
                          "kawara emit examples/gemm.kw -s auto -o gemm.c --header gemm.h",
                          "kawara emit examples/gemm.kw -p M=64,N=64,K=64 --naive"});
  command->callback([options, command, &exit_code] {
    const auto refused = refused_option(*command, kind_of(*options));
    exit_code = refused ? report({*refused}, *options) : emit_c(*options);
  });
}

} // namespace kawara::tools
