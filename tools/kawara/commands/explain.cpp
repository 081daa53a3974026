#include "kawara/command.h"
#include "kawara/explained.h"
#include "kawara/usable.h"
#include "kawara/whole_file.h"

#include "explain/page.h"

#include <fmt/core.h>

namespace kawara::tools {
namespace {

template <class Report> int show(const Parsed<Report>& made, const ExplainOptions& options) {
  if (!made)
    return report(made.error(), options);
  if (!options.output.empty())
    if (const auto written = write_whole(options.output, explain::page(*made)); !written)
      return report({written.error()}, options);
  fmt::print("{}", options.json ? explain::to_json(*made) + "\n" : explain::print(*made));
  return kOk;
}

int explain_command(const ExplainOptions& options) {
  if (is_model(options.file)) {
    const auto made = explained_model(options);
    if (!made || !options.kernels || options.json)
      return show(made, options);
    fmt::print("{}", explain::print_kernels(*made));
    return kOk;
  }
  Trace trace(trace_options(options));
  const auto made = explained_program(options, trace);
  show_times(trace, options);
  return show(made, options);
}

} // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand(
      "explain", "say in 40 lines what a program or model costs, what limits it, and why");
  add_common(*command, *options, DefaultSchedule::Auto);
  add_machine_option(*command, options->machine);
  command->add_flag("--replay", options->replay,
                    "simulate caches also where that takes longer than a few seconds");
  command->add_option("-o,--output", options->output,
                      "also write the report as a page, one HTML file that needs nothing else");
  command->add_option("--input", options->inputs, "input of a model: NAME=file.npy; repeat");
  add_shapes(*command, options->shapes);
  add_graph_flags(*command, options->graph);
  command->add_flag("--kernels", options->kernels,
                    "of a model: what each kind of operator and kernel does to memory, and what "
                    "neighbours share");
  command->add_flag("--measure", options->measure,
                    "of a model: run it, and tell the times that its steps take");
  add_examples(*command,
               {"kawara explain examples/gemm.kw -p M=512,N=512,K=512",
                "kawara explain examples/conv2d.kw -p L=1,C=64,H=56,W=56,K=64,R=3,S=3 --machine "
                "neoverse-v1 -o report.html",
                "kawara explain model.onnx --machine sapphire-rapids --json"});
  command->callback([options, command, &exit_code] {
    const auto refused = refused_option(*command, kind_of(*options));
    exit_code = refused ? report({*refused}, *options) : explain_command(*options);
  });
}

} // namespace kawara::tools
