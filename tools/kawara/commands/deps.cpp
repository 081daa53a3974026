#include "kawara/command.h"
#include "kawara/usable.h"
#include "kawara/waiting.h"

#include "explain/dependences.h"
#include "poly/legality/shown_dependences.h"
#include "run/file.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace kawara::tools {
namespace {

nlohmann::json json_of(const std::vector<poly::Summary>& all, bool is_exact) {
  nlohmann::json list = nlohmann::json::array();
  for (const poly::Summary& s : all)
    list.push_back({{"kind", std::string(explain::short_name(s.kind))},
                    {"tensor", s.tensor},
                    {"source", s.source},
                    {"sink", s.sink},
                    {"loops", s.loops},
                    {"distance", s.distance},
                    {"condition", s.condition},
                    {"reduction", s.is_reduction},
                    {"relation", s.relation}});
  return {{"ok", true}, {"exact", is_exact}, {"dependences", list}};
}

int deps(const CommonOptions& options, const std::string& svg, bool dot) {
  const auto request = request_of(options);
  if (!request)
    return report(request.error(), options);
  Trace trace(trace_options(options));
  const auto environment = environment_of(options);
  if (!environment)
    return report(environment.error(), options);
  const auto front =
      while_waiting("proving", [&] { return driver::schedule(*request, *environment, trace); });
  if (!front)
    return report(front.error(), options);
  warn(front->warnings, options);
  const poly::Scop& scop = front->schedule.scop;
  const auto [all, is_exact] = while_waiting("finding dependences", [&] {
    const auto shown = poly::shown_dependences(scop);
    return std::pair(poly::summaries(scop, shown.all), shown.is_exact);
  });
  if (!is_exact && !options.json)
    fmt::print(stderr, "{}\n\n", explain::kAllPairs);
  if (options.json)
    fmt::print("{}\n", json_of(all, is_exact).dump(2));
  else if (dot)
    fmt::print("{}", explain::dependence_dot(all, poly::names_of_statements(scop)));
  else
    fmt::print("{}", explain::dependence_text(all));
  if (!svg.empty()) {
    const auto written =
        run::write_file(svg, explain::dependence_svg(all, poly::names_of_statements(scop)));
    if (!written)
      return report({written.error()}, options);
  }
  show_times(trace, options);
  return kOk;
}

} // namespace

void add_deps(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CommonOptions>();
  auto svg = std::make_shared<std::string>();
  auto dot = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("deps", "list the dependences with their distances");
  add_common(*command, *options, DefaultSchedule::Source);
  command->add_option("--svg", *svg, "also write a picture to this file");
  command->add_flag("--dot", *dot, "print Graphviz text instead")->excludes("--json");
  add_examples(*command,
               {"kawara deps examples/jacobi1d.kw", "kawara deps examples/gemm.kw --svg gemm.svg"});
  command->callback([options, svg, dot, command, &exit_code] {
    const auto refused = refused_option(*command, kind_of(*options));
    exit_code = refused ? report({*refused}, *options) : deps(*options, *svg, *dot);
  });
}

} // namespace kawara::tools
