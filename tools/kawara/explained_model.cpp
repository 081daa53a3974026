#include "kawara/explained_facts.h"

#include "kawara/explained.h"
#include "kawara/waiting.h"

#include "driver/pipeline.h"
#include "driver/plan/graph_reads.h"
#include "explain/what_if.h"
#include "kernel/memory/prepare.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace kawara::tools {
namespace {

/// Kernels of which schedules are looked at; of the others the roof is known.
constexpr size_t kMostScheduled = 48;

/// The kernels of a model, each program once, in the order in which they first run.
class Explainer {
public:
  Explainer(std::optional<program::Numerics> numerics, const schedule::Environment& environment,
            const Figures& figures, KnownPrograms& programs)
      : numerics_(numerics), environment_(environment), figures_(figures), programs_(programs) {}

  /// With their roofs. What of them cannot be counted goes to `missing`.
  std::vector<std::pair<explain::KernelReport, std::string>>
  kernels(const PlannedGraph& planned, std::vector<std::string>& missing) {
    std::vector<std::pair<explain::KernelReport, std::string>> out;
    const auto ids = kernel_ids(planned);
    std::map<std::string, size_t> known;
    for (const driver::Plan* plan : planned.plans)
      for (const driver::Step& step : plan->steps) {
        const auto* kernel = std::get_if<driver::KernelStep>(&step);
        if (kernel == nullptr)
          continue;
        const std::string& text = text_of(*plan, *kernel);
        const auto [at, is_new] = known.try_emplace(text, out.size());
        if (is_new) {
          out.emplace_back(first_call(planned.graph, *plan, *kernel), text);
          out.back().first.id = ids.at(text);
          if (const auto& found = programs_.find(text); !found)
            missing.push_back(out.back().first.name + ": " + found.error().front().headline);
        }
        explain::KernelReport& report = out[at->second].first;
        ++report.times;
        for (const size_t node : plan->groups[kernel->group].nodes)
          report.nodes.push_back(planned.graph.nodes[node].name);
      }
    std::erase_if(out, [&](const auto& each) { return programs_.known(each.second) == nullptr; });
    return out;
  }

  /// What the default schedule costs.
  std::optional<Diagnostic> predict(const std::string& text, explain::KernelReport& kernel) {
    driver::Request request = request_for(text);
    request.directives = make_source("-s", "auto");
    Trace trace{TraceOptions{}};
    const auto front = driver::schedule(request, environment_, trace);
    if (!front)
      return front.error().front();
    const auto sizes = driver::all_sizes(front->program, request);
    if (!sizes)
      return sizes.error().front();
    const auto work = estimate::count(front->program, *sizes);
    if (!work)
      return work.error();
    const kernel::Kernel loops = kernel::prepare(driver::kernel_of(*front, trace));
    const estimate::Prediction p =
        estimate::predict(*work, loops, *sizes, figures_.machine, figures_.threads);
    kernel.work = explain::work_json(*work, loops, *sizes, figures_.machine, most_threads());
    kernel.seconds = p.seconds;
    kernel.bound = p.bound.empty() ? kernel.bound : p.bound;
    estimate::Activity activity{work->types, {}, p.seconds, figures_.machine.vector_bytes};
    for (const estimate::LevelTraffic& level : p.levels)
      activity.bytes.emplace_back(level.name, level.bytes);
    set_energy(activity, kernel);
    return std::nullopt;
  }

private:
  /// Without calls.
  explain::KernelReport first_call(const graph::Graph& graph, const driver::Plan& plan,
                                   const driver::KernelStep& step) {
    const driver::KernelGroup& group = plan.groups[step.group];
    explain::KernelReport made{graph.nodes[group.nodes.front()].name + ": " +
                                   driver::name_of(group, graph),
                               0,
                               0,
                               0,
                               0,
                               std::nullopt,
                               "",
                               std::nullopt};
    for (const size_t node : group.nodes) {
      const std::string& op = graph.nodes[node].op;
      const auto at = std::find_if(made.operators.begin(), made.operators.end(),
                                   [&](const auto& each) { return each.first == op; });
      if (at == made.operators.end())
        made.operators.emplace_back(op, 1);
      else
        ++at->second;
    }
    const KnownProgram* known = programs_.known(group.program);
    if (known == nullptr)
      return made;
    made.operations = known->what.operations;
    made.bytes = known->work.compulsory_bytes;
    made.least_seconds = known->roof_seconds;
    made.bound = known->bound;
    made.accesses = known->what.accesses;
    made.unique = known->what.unique;
    made.work = figures_.is_processor()
                    ? explain::work_json(known->work, figures_.machine, most_threads())
                    : explain::work_json(known->work, *figures_.file);
    set_energy({known->work.types, {{"memory", made.bytes}}, 0, 0}, made);
    const auto bytes = bytes_by_value(*known, step);
    const auto add = [&](graph::ValueId value, std::vector<explain::TensorBytes>& list) {
      if (const auto at = bytes.find(value); at != bytes.end())
        list.push_back({graph.values[value].name, at->second});
    };
    std::set<graph::ValueId> operands(step.operands.begin(), step.operands.end());
    operands.insert(step.replaced);
    for (const graph::ValueId value : operands)
      add(value, made.reads);
    for (const graph::ValueId value : step.results)
      add(value, made.writes);
    return made;
  }

  driver::Request request_for(const std::string& text) const {
    driver::Request request;
    request.text = make_source("kernel.kw", text);
    request.numerics = numerics_;
    return driver::with_default_sizes(std::move(request));
  }
  void set_energy(const estimate::Activity& activity, explain::KernelReport& kernel) const {
    if (figures_.file && figures_.file->energy)
      kernel.joules = estimate::energy_of(*figures_.file->energy, activity).joules();
  }

  std::optional<program::Numerics> numerics_;
  const schedule::Environment& environment_;
  const Figures& figures_;
  KnownPrograms& programs_;
};

bool takes_longer(const explain::KernelReport& a, const explain::KernelReport& b) {
  const auto all = [](const explain::KernelReport& kernel) {
    return kernel.seconds.value_or(kernel.least_seconds) * static_cast<double>(kernel.times);
  };
  return all(a) > all(b);
}

template <class T> Parsed<T> one(Result<T, Diagnostic> result) {
  if (!result)
    return fail(Diagnostics{std::move(result).error()});
  return *std::move(result);
}

/// A model with plans for its inputs.
struct Planned {
  driver::Model model;
  std::map<std::string, run::Datum> inputs;
  std::vector<const driver::Plan*> plans;
  PlannedGraph graph() const { return {model.graph(), plans}; }
};

Result<Planned, Diagnostic> planned(driver::Model model, std::map<std::string, run::Datum> inputs,
                                    bool in_place = true) {
  Planned made{std::move(model), std::move(inputs), {}};
  KAWARA_TRY(made.plans, made.model.plan(made.inputs, in_place));
  return made;
}

/// The first `count` nodes; what the others and the caller want of them are its outputs.
graph::Graph cut(const graph::Graph& whole, size_t count) {
  graph::Graph part = whole;
  part.nodes.resize(count);
  std::set<graph::ValueId> made, wanted(whole.outputs.begin(), whole.outputs.end());
  for (const graph::Node& node : part.nodes)
    made.insert(node.outputs.begin(), node.outputs.end());
  for (size_t n = count; n < whole.nodes.size(); ++n)
    driver::for_each_read(whole.nodes[n], [&](graph::ValueId id) { wanted.insert(id); });
  part.outputs.clear();
  for (const graph::ValueId id : wanted)
    if (id != graph::kAbsent && made.count(id))
      part.outputs.push_back(id);
  return part;
}

/// The longest beginning of the graph that can be planned; `whole` says why not all of it.
Result<Planned, Diagnostic> beginning(const graph::Graph& graph,
                                      const std::map<std::string, run::Datum>& inputs,
                                      const driver::ModelOptions& how, const Diagnostic& whole,
                                      std::vector<std::string>& missing) {
  driver::ModelOptions as_is = how;
  as_is.optimises = false;
  std::optional<Planned> best;
  size_t least = 0, most = graph.nodes.size();
  while (most - least > 1) {
    const size_t middle = least + (most - least) / 2;
    auto part = planned(driver::Model(cut(graph, middle), as_is), inputs);
    if (part) {
      best.emplace(*std::move(part));
      least = middle;
    } else {
      most = middle;
    }
  }
  if (!best)
    return fail(whole);
  const graph::Node& node = graph.nodes[least];
  missing.push_back(fmt::format("{} of {} nodes, from {} ({}) on: {}", graph.nodes.size() - least,
                                graph.nodes.size(), printable(node.name), printable(node.op),
                                whole.headline));
  return *std::move(best);
}

/// The same graph with a kernel for each node.
Result<Planned, Diagnostic> apart(const Planned& fused, driver::ModelOptions how) {
  how.optimises = how.fuses = false;
  how.floats = graph::DataType::F32; // they are what they are
  how.images = driver::ImageOrder::Written;
  return planned(driver::Model(fused.model.graph(), how), fused.inputs, false);
}

/// The graph of the file with a kernel for each node.
Result<Planned, Diagnostic> written(const std::string& file, driver::ModelOptions how,
                                    const std::map<std::string, run::Datum>& inputs) {
  how.optimises = how.fuses = false;
  how.images = driver::ImageOrder::Written;
  how.graph = {graph::optimise::AttentionUse::Never, false};
  KAWARA_TRY(graph::Graph graph, driver::graph_from_file(file));
  return planned(driver::Model(std::move(graph), how), inputs, false);
}

/// Everything that the kernels alone do not say.
void add_fusion(const ExplainOptions& options, const Planned& model, KnownPrograms& programs,
                const Figures& figures, const schedule::Environment& environment,
                explain::ModelReport& report) {
  const driver::ModelOptions how = model_options_of(options.graph);
  const auto each = while_waiting("planning without fusion", [&] { return apart(model, how); });
  if (each)
    add_edges(model.graph(), each->graph(), programs, figures, environment, report.facts);
  else
    report.missing.push_back("why nodes are fused: " + each.error().headline);
  const auto first = while_waiting("planning the model as it is written",
                                   [&] { return written(options.file, how, model.inputs); });
  if (first)
    add_kernels(first->graph(), false, programs, report.facts);
  else if (each)
    add_kernels(each->graph(), false, programs, report.facts);
  if (!first)
    report.missing.push_back("the graph as it is written: " + first.error().headline);
  add_kernels(model.graph(), true, programs, report.facts);
}

/// Times of the steps, instead of predicted ones.
std::optional<Diagnostic> measure(Planned& model, explain::ModelFacts& facts) {
  constexpr int kCalls = 15;
  if (const auto warm = while_waiting("compiling", [&] { return model.model.run(model.inputs); });
      !warm)
    return warm.error();
  const auto profile =
      while_waiting("measuring", [&] { return model.model.profile(model.inputs, kCalls); });
  if (!profile)
    return profile.error();
  if (profile->steps.size() != facts.steps.size()) {
    Diagnostic d;
    d.headline = "a run has other steps than its plan";
    return d;
  }
  facts.is_measured = true;
  facts.between_seconds = profile->between;
  for (size_t k = 0; k < facts.steps.size(); ++k)
    facts.steps[k].seconds = profile->steps[k].seconds;
  return std::nullopt;
}

} // namespace

Parsed<explain::ModelReport> explained_model(const ExplainOptions& options) {
  KAWARA_TRY(const schedule::Environment environment, environment_of(options));
  KAWARA_TRY(const Figures figures, figures_of(options.machine, environment.cpu));
  KAWARA_TRY(const auto symbols, sizes_of(options));
  KAWARA_TRY(const auto numerics, numerics_of(options));
  const driver::ModelOptions how = model_options_of(options.graph);
  KAWARA_TRY(driver::Model loaded, one(while_waiting("reading the model", [&] {
               return driver::load_model(options.file, how);
             })));
  KAWARA_TRY(auto inputs,
             one(read_model_inputs(loaded, {options.inputs, options.shapes, symbols})));
  explain::ModelReport report;
  // What follows a node that cannot be planned is left out.
  const graph::Graph graph = loaded.graph();
  auto whole = while_waiting("planning", [&] { return planned(std::move(loaded), inputs); });
  if (!whole)
    whole = while_waiting("planning what can be planned", [&] {
      return beginning(graph, inputs, how, Diagnostic(whole.error()), report.missing);
    });
  KAWARA_TRY(Planned model, one(std::move(whole)));
  report.title = printable(std::filesystem::path(options.file).filename().string());
  report.machine = figures.name();
  report.figures = figures.origin();
  report.threads = figures.threads;
  report.machine_file = machine_json(figures, options.machine);
  KnownPrograms programs(numerics, figures);
  Explainer explainer(numerics, environment, figures, programs);
  auto kernels = explainer.kernels(model.graph(), report.missing);
  const auto by_time = [](const auto& a, const auto& b) { return takes_longer(a.first, b.first); };
  std::stable_sort(kernels.begin(), kernels.end(), by_time);
  {
    Waiting waiting("pricing kernels");
    for (size_t k = 0; figures.is_processor() && k < std::min(kernels.size(), kMostScheduled);
         ++k) {
      waiting.say(fmt::format("pricing kernels, {} of {}", k + 1,
                              std::min(kernels.size(), kMostScheduled)));
      if (const auto why = explainer.predict(kernels[k].second, kernels[k].first))
        report.missing.push_back("the schedule of " + kernels[k].first.name + ": " + why->headline);
    }
  }
  std::stable_sort(kernels.begin(), kernels.end(), by_time);
  for (auto& [kernel, text] : kernels)
    report.kernels.push_back(std::move(kernel));
  add_steps(model.graph(), report.kernels, figures.threads, report.facts);
  if (!options.only_steps)
    add_fusion(options, model, programs, figures, environment, report);
  if (options.measure)
    if (const auto why = measure(model, report.facts))
      report.missing.push_back("measured times: " + why->headline);
  std::map<std::string, int64_t> calls;
  for (const explain::StepReport& step : report.facts.steps)
    if (!step.call.empty())
      ++calls[step.call];
  for (const auto& [op, times] : calls)
    report.missing.push_back(fmt::format("{} x {}: a function, no loops to look at", times, op));
  if (const std::string missing = missing_energy(figures); !missing.empty())
    report.missing.push_back("energy: " + missing);
  return report;
}

} // namespace kawara::tools
