#include "driver/request.h"

#include "program/rewrites/find_convolution.h"
#include "program/rewrites/winograd.h"
#include "program/text/assumption_place.h"
#include "support/names_text.h"
#include "support/text.h"

#include <algorithm>

namespace kawara::driver {
namespace {

Diagnostic unknown_sizes(const program::Program& program, const std::vector<std::string>& names,
                         const std::map<std::string, int64_t>& given) {
  std::vector<std::string> known, missing;
  for (const program::Param& p : program.params) {
    known.push_back(p.name);
    if (!given.contains(p.name))
      missing.push_back(p.name);
  }
  Diagnostic d;
  d.code = "K0430";
  d.headline = "no parameter is called `" + join(names, "` or `") + "`";
  d.body.push_back(names_text("The program", "parameter", known));
  std::vector<std::string> meant;
  for (const std::string& name : names)
    if (const auto one = closest(name, missing))
      if (const std::string flag = *one + "=..."; std::count(meant.begin(), meant.end(), flag) == 0)
        meant.push_back(flag);
  if (!meant.empty())
    d.help.push_back({"did you mean", "-p " + join(meant, ","), false});
  return d;
}

Diagnostic negative_size(const std::string& name, int64_t value) {
  Diagnostic d;
  d.code = "K0404";
  d.headline = "parameter `" + name + "` is negative";
  d.body.push_back("It was given as " + std::to_string(value) +
                   "; parameters are sizes, 0 or more.");
  return d;
}

Diagnostic broken_assumption(const program::Program& program, size_t index,
                             const scalar::Expr& assumption) {
  Diagnostic d;
  d.code = "K0405";
  d.headline = "the given sizes break an assumption of the program";
  d.source = program.source;
  d.where = program::assumption_place(program, index);
  d.body.push_back("The file says `assume " +
                   scalar::to_string(assumption, program::names_of(program)) +
                   "`, which does not hold for them.");
  d.help.push_back({"choose sizes for which it holds, or change the line", "assume ...", false});
  return d;
}

Diagnostic missing_sizes(const std::vector<std::string>& names) {
  std::string flags;
  for (const std::string& name : names)
    flags += (flags.empty() ? "-p " : ",") + name + "=64";
  Diagnostic d;
  d.code = "K0431";
  d.headline = "no value for parameter" + std::string(names.size() > 1 ? "s `" : " `") +
               join(names, "`, `") + "`";
  d.body.push_back("To run, every size must be known.");
  d.help.push_back({names.size() == 1 ? "give one" : "give them", flags, false});
  return d;
}

Diagnostic no_tiles_of(int64_t m) {
  Diagnostic d;
  d.code = "K0258";
  d.headline =
      "no convolution can be computed in tiles of " + std::to_string(m) + " x " + std::to_string(m);
  return d;
}

Diagnostic no_winograd(const program::Program& program, int64_t m) {
  if (auto refused = refused_tiles(m, program.numerics))
    return *std::move(refused);
  Diagnostic d = no_tiles_of(m);
  if (const auto found = program::find_convolution(program); !found) {
    d.source = program.source;
    d.where = found.error().where;
    d.body.push_back(found.error().why);
    d.body.push_back(found.error().instead);
    return d;
  }
  d.help.push_back({"for example", "--winograd 2 --numerics fast", false});
  return d;
}

} // namespace

std::optional<Diagnostic> refused_tiles(int64_t winograd, program::Numerics numerics) {
  if (winograd == 0 || winograd == 1)
    return std::nullopt;
  const bool is_known = winograd == 2 || winograd == 4;
  if (is_known && numerics == program::Numerics::Fast)
    return std::nullopt;
  Diagnostic d = no_tiles_of(winograd);
  d.body.push_back(is_known
                       ? "Winograd's form rounds otherwise than the sum, and `numerics " +
                             std::string(name_of(numerics)) + "` does not allow that."
                       : "There are tiles of 2 x 2 and of 4 x 4; 1 stands for the direct sum.");
  d.help.push_back({"for example", "--winograd 2 --numerics fast", false});
  return d;
}

Parsed<program::Program> program_of(const Request& request) {
  KAWARA_TRY(program::Program program, program::parse(request.text));
  Diagnostics errors;
  std::vector<std::string> unknown;
  std::vector<std::optional<int64_t>> values(program.params.size());
  for (const auto& [name, value] : request.sizes) {
    bool is_known = false;
    for (size_t k = 0; k < program.params.size(); ++k)
      if (program.params[k].name == name) {
        values[k] = value;
        is_known = true;
      }
    if (!is_known)
      unknown.push_back(name);
    else if (value < 0)
      errors.push_back(negative_size(name, value));
  }
  if (!unknown.empty())
    errors.insert(errors.begin(), unknown_sizes(program, unknown, request.sizes));
  if (!errors.empty())
    return fail(std::move(errors));
  const std::vector<scalar::Expr> stated = program.assumptions;
  program = program::specialise(program, values);
  for (size_t k = 0; k < stated.size(); ++k)
    if (scalar::constant_of(program.assumptions[k]) == 0)
      errors.push_back(broken_assumption(program, k, stated[k]));
  if (!errors.empty())
    return fail(std::move(errors));
  if (request.numerics)
    program.numerics = *request.numerics;
  if (request.winograd != 0 && request.winograd != 1) {
    auto made = program::with_winograd(program, request.winograd);
    if (!made)
      return fail(Diagnostics{no_winograd(program, request.winograd)});
    program = *std::move(made);
  }
  return program;
}

Request with_default_sizes(Request request) {
  if (const auto program = program::parse(request.text))
    for (const program::Param& p : program->params)
      if (p.value)
        request.sizes.emplace(p.name, *p.value);
  return request;
}

Parsed<std::vector<int64_t>> all_sizes(const program::Program& program, const Request& request) {
  std::vector<int64_t> values;
  std::vector<std::string> missing;
  for (const program::Param& p : program.params) {
    const auto given = request.sizes.find(p.name);
    if (given != request.sizes.end())
      values.push_back(given->second);
    else if (p.value)
      values.push_back(*p.value);
    else
      missing.push_back(p.name);
  }
  if (!missing.empty())
    return fail(Diagnostics{missing_sizes(missing)});
  return values;
}

} // namespace kawara::driver
