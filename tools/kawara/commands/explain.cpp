#include "kawara/command.h"
#include "kawara/explained.h"
#include "kawara/open_page.h"
#include "kawara/usable.h"
#include "kawara/whole_file.h"

#include "explain/page.h"

#include <fmt/core.h>

namespace kawara::tools {
namespace {

/// Writes the page where one is asked for, and shows it.
std::optional<Diagnostic> show_page(const std::string& page, const ExplainOptions& options) {
  const std::string path = options.output.empty() ? passing_page() : options.output;
  if (const auto written = write_whole(path, page); !written)
    return written.error();
  if (options.is_opened)
    if (const auto opened = open_page(path); !opened)
      return opened.error();
  return std::nullopt;
}

/// Of one report, or of two.
template <class... Reports> int show(const ExplainOptions& options, const Reports&... reports) {
  std::optional<Diagnostic> failed;
  if (options.shows_page())
    failed = show_page(explain::page(reports...), options);
  fmt::print("{}", options.json ? explain::to_json(reports...) + "\n" : explain::print(reports...));
  return failed ? report({*failed}, options) : kOk;
}

template <class Report> int show(const Parsed<Report>& made, const ExplainOptions& options) {
  return made ? show(options, *made) : report(made.error(), options);
}

Parsed<explain::AnyReport> explained(const ExplainOptions& options) {
  if (is_model(options.file)) {
    KAWARA_TRY(explain::ModelReport made, explained_model(options));
    return explain::AnyReport(std::move(made));
  }
  Trace trace(trace_options(options));
  auto made = explained_program(options, trace);
  show_times(trace, options);
  if (!made)
    return fail(std::move(made).error());
  return explain::AnyReport(*std::move(made));
}

/// The same question about another file, or about another schedule of it.
ExplainOptions other_of(const ExplainOptions& options) {
  ExplainOptions other = options;
  other.file = options.with;
  if (!options.with_schedule.empty())
    other.schedule = options.with_schedule;
  if (!options.with_machine.empty())
    other.machine = options.with_machine;
  return other;
}

int compare(const ExplainOptions& options) {
  const auto a = explained(options);
  if (!a)
    return report(a.error(), options);
  const auto b = explained(other_of(options));
  return b ? show(options, *a, *b) : report(b.error(), options);
}

/// Refuses what is said of a second input where there is none (K0475).
std::optional<Diagnostic> refused_other(const ExplainOptions& options) {
  if (!options.with.empty() || (options.with_schedule.empty() && options.with_machine.empty()))
    return std::nullopt;
  const std::string option = options.with_schedule.empty() ? "--with-machine" : "--with-schedule";
  Diagnostic d;
  d.code = "K0475";
  d.headline = fmt::format("`{}` needs `--with FILE`", option);
  d.body.push_back("It is about the input that the first one is compared with.");
  d.help.push_back({"for the same file", "--with " + options.file, false});
  return d;
}

int explain_command(const ExplainOptions& options) {
  if (const auto refused = refused_other(options))
    return report({*refused}, options);
  if (!options.with.empty())
    return compare(options);
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
  command->add_flag("--open", options->is_opened, "show the page in the browser");
  command->add_option("--with", options->with,
                      "compare with this program or model, of the same sizes; the same file again "
                      "for another schedule or machine");
  command->add_option("--with-schedule", options->with_schedule,
                      "schedule of what is compared with, as -s takes it; instead of that of -s");
  command->add_option("--with-machine", options->with_machine,
                      "machine of what is compared with; instead of that of --machine");
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
                "kawara explain model.onnx --machine sapphire-rapids --json",
                "kawara explain examples/gemm.kw -p M=512,N=512,K=512 --with examples/gemm.kw "
                "--with-schedule source --open"});
  command->callback([options, command, &exit_code] {
    const auto refused = refused_option(*command, kind_of(*options));
    exit_code = refused ? report({*refused}, *options) : explain_command(*options);
  });
}

} // namespace kawara::tools
