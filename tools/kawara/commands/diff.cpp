#include "kawara/command.h"
#include "kawara/usable.h"
#include "kawara/waiting.h"

#include "schedule/text/diff.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace kawara::tools {
namespace {

int diff(const CommonOptions& options, const std::string& other) {
  CommonOptions second = options;
  second.schedule = other;
  std::vector<schedule::Schedule> schedules;
  Trace trace(trace_options(options));
  for (const CommonOptions& side : {options, second}) {
    const auto request = request_of(side);
    if (!request)
      return report(request.error(), options);
    const auto environment = environment_of(options);
    if (!environment)
      return report(environment.error(), options);
    auto front =
        while_waiting("proving", [&] { return driver::schedule(*request, *environment, trace); });
    if (!front)
      return report(front.error(), options);
    schedules.push_back(std::move(front->schedule));
  }
  const std::string text = schedule::diff(schedules[0], schedules[1]);
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"ok", true}, {"text", text}}.dump(2));
  else
    fmt::print("{}", text);
  show_times(trace, options);
  return kOk;
}

} // namespace

void add_diff(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CommonOptions>();
  auto other = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("diff", "compare two schedules of one program");
  add_common(*command, *options, DefaultSchedule::Source);
  command->add_option(
      "--with", *other,
      "the other schedule: directives, or @file.sched; the source order if left out");
  add_examples(*command, {"kawara diff examples/gemm.kw -s 'split(i, 8)' --with 'tile(i=8, j=8)'"});
  command->callback([options, other, command, &exit_code] {
    const auto refused = refused_option(*command, kind_of(*options));
    exit_code = refused ? report({*refused}, *options) : diff(*options, *other);
  });
}

} // namespace kawara::tools
