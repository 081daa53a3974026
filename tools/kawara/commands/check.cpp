#include "kawara/command.h"
#include "kawara/usable.h"
#include "kawara/waiting.h"

#include "schedule/schedule.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace kawara::tools {
namespace {

std::string sizes_text(const driver::Request& request) {
  std::string text;
  for (const auto& [name, value] : request.sizes)
    text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(value);
  return text.empty() ? "all sizes" : text;
}

int check(const CommonOptions& options) {
  const auto request = request_of(options);
  if (!request)
    return report(request.error(), options);
  const auto chosen = environment_of(options);
  if (!chosen)
    return report(chosen.error(), options);
  const schedule::Environment& environment = *chosen;
  Trace trace(trace_options(options));
  const auto front =
      while_waiting("proving", [&] { return driver::schedule(*request, environment, trace); });
  show_times(trace, options);
  if (!front)
    return report(front.error(), options);
  warn(front->warnings, options);
  const auto verdict = poly::judge(front->schedule.scop, front->schedule.order, environment.quota);
  const bool reassociates =
      std::holds_alternative<poly::Legal>(verdict) && std::get<poly::Legal>(verdict).reassociates;
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"ok", true},
                                      {"legal", true},
                                      {"directives", schedule::print(front->schedule.applied)},
                                      {"reassociates", reassociates}}
                           .dump(2));
  else
    fmt::print("legal for {}{}\n", sizes_text(*request),
               reassociates ? "; reductions are reassociated, as the numerics contract allows"
                            : "");
  return kOk;
}

} // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command = app.add_subcommand(
      "check", "prove a schedule legal, or show the two iterations that would break");
  add_common(*command, *options, DefaultSchedule::Source);
  add_examples(*command,
               {"kawara check examples/jacobi1d.kw -s 'interchange(t, i)'",
                "kawara check examples/gemm.kw -s 'tile(i=64, j=64)' -p M=100,N=100,K=8"});
  command->callback([options, command, &exit_code] {
    const auto refused = refused_option(*command, kind_of(*options));
    exit_code = refused ? report({*refused}, *options) : check(*options);
  });
}

} // namespace kawara::tools
