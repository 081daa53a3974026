#include "kawara/model.h"
#include "kawara/onnxruntime.h"
#include "kawara/waiting.h"

#include "driver/check/agreement.h"
#include "driver/kernels/code_cache.h"
#include "run/cpu/threads.h"
#include "run/measure.h"
#include "support/text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace kawara::tools {
namespace {

using run::Datum;

/// What ONNX Runtime makes of each output beside what Kawara does.
void add_agreement(const driver::Model& model, const ModelOptions& options,
                   const std::vector<Datum>& results, const OnnxRuntime& other,
                   nlohmann::json& json, std::string& text) {
  std::vector<std::string> programs;
  for (const auto& [program, uses] : model.programs())
    programs.push_back(program);
  const double allowed = driver::allowed_difference(programs, options.code.numerics,
                                                    model_options_of(options.graph).floats);
  const auto theirs = other.results();
  for (size_t k = 0; k < results.size(); ++k) {
    const std::string& name = model.graph().values[model.graph().outputs[k]].name;
    if (!theirs[k]) {
      text += printable(name) +
              ": not compared, ONNX Runtime gives no tensor of a type that Kawara has\n";
      json["outputs_compared"].push_back({{"name", name}, {"compared", false}});
      continue;
    }
    const auto each = driver::agreement_of(name, results[k], *theirs[k]);
    const bool is_within = driver::is_within(each, {allowed});
    text += driver::text_of(each) +
            (is_within ? "\n" : fmt::format(", more than rounding explains ({:.1e})\n", allowed));
    json["outputs_compared"].push_back({{"name", name},
                                        {"compared", true},
                                        {"misfit", each.misfit},
                                        {"differing", each.differing},
                                        {"largest_difference", each.worst},
                                        {"norm", each.norm},
                                        {"within", is_within}});
  }
}

/// Table of the steps, those that take longest first, and of what a call takes besides; shares are
/// of their sum.
void add_steps(driver::ModelProfile profile, nlohmann::json& json, std::string& text) {
  std::vector<driver::StepProfile> steps = std::move(profile.steps);
  double whole = profile.between;
  for (const driver::StepProfile& step : steps)
    whole += step.seconds;
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  text += fmt::format("{:>6} {:>9} {:>8} {:>7}  step\n", "share", "us", "GOP/s", "GB/s");
  double rest = 0;
  size_t left = 0;
  for (const driver::StepProfile& step : steps) {
    json["steps"].push_back({{"nodes", step.nodes},
                             {"operators", step.ops},
                             {"us", step.seconds * 1e6},
                             {"flops", step.flops},
                             {"int_ops", step.int_ops},
                             {"bytes", step.bytes},
                             {"share", step.seconds / whole}});
    constexpr double kLeast = 0.005;
    if (step.seconds < kLeast * whole) {
      rest += step.seconds;
      ++left;
      continue;
    }
    text +=
        fmt::format("{:>5.1f}% {:>9.1f} {:>8.2f} {:>7.2f}  {}: {}\n", step.seconds / whole * 100,
                    step.seconds * 1e6, (step.flops + step.int_ops) / step.seconds * 1e-9,
                    step.bytes / step.seconds * 1e-9, step.ops, printable(step.nodes));
  }
  if (left > 0)
    text += fmt::format("{:>5.1f}% {:>9.1f} {:>8} {:>7}  {} others\n", rest / whole * 100,
                        rest * 1e6, "", "", left);
  const auto add_sum = [&](double seconds, std::string_view what) {
    text += fmt::format("{:>5.1f}% {:>9.1f} {:>8} {:>7}  {}\n", seconds / whole * 100,
                        seconds * 1e6, "", "", what);
  };
  add_sum(profile.between, "between steps: inputs, memory, results");
  add_sum(whole, "a call, with a clock around each step");
  json["between_steps_us"] = profile.between * 1e6;
  json["call_by_steps_us"] = profile.seconds * 1e6;
}

/// The sizes in "past=64,batch=2".
Result<std::map<std::string, int64_t>, Diagnostic> symbols_in(const std::string& text) {
  CommonOptions options;
  options.sizes = {text};
  auto symbols = sizes_of(options);
  if (!symbols)
    return fail(symbols.error().front());
  return *std::move(symbols);
}

/// Runs the model with other sizes, and says what was compiled for them.
Result<Done, Diagnostic> add_sizes(driver::Model& model, const ModelOptions& options,
                                   nlohmann::json& json, std::string& text) {
  for (const std::string& sizes : options.more_sizes) {
    KAWARA_TRY(auto symbols, symbols_in(sizes));
    symbols.insert(options.given.symbols.begin(), options.given.symbols.end());
    KAWARA_TRY(const auto inputs,
               read_model_inputs(model, {options.given.files, options.given.shapes, symbols}));
    const int64_t before = model.kernels();
    const auto begin = std::chrono::steady_clock::now();
    KAWARA_TRY([[maybe_unused]] const auto results, model.run(inputs));
    const std::chrono::duration<double> first = std::chrono::steady_clock::now() - begin;
    const run::Timing timing = run::measure([&] { (void)model.run(inputs); }, {});
    json["sizes"].push_back({{"sizes", sizes},
                             {"first_result_ms", first.count() * 1e3},
                             {"compiled", model.kernels() - before},
                             {"median_ms", timing.median * 1e3}});
    text +=
        fmt::format("{}: first result after {:.1f} ms, {} kernels compiled; {}\n", printable(sizes),
                    first.count() * 1e3, model.kernels() - before, run::to_string(timing));
  }
  int64_t least = 0, most = 0;
  const auto programs = model.sized_programs();
  for (const driver::TextFamily& program : programs) {
    least = std::max(least, program.least());
    most = most == 0 ? program.most() : std::min(most, program.most());
  }
  if (!programs.empty())
    text += fmt::format("{} kernels are for all sizes, each from {} to at least {} elements\n",
                        programs.size(), least, most);
  return Done{};
}

} // namespace

driver::ModelOptions usual_model_options() {
  driver::ModelOptions options;
  options.cache_folder = driver::usual_cache_folder();
  options.progress = [waiting = std::shared_ptr<Waiting>()](size_t done, size_t of) mutable {
    if (done == of)
      return waiting.reset();
    if (!waiting)
      waiting = std::make_shared<Waiting>("compiling");
    waiting->say(fmt::format("compiled {} of {} kernels", done, of));
  };
  return options;
}

Result<std::pair<std::string, std::string>, Diagnostic>
measure_steps(driver::Model& model, const std::map<std::string, Datum>& inputs,
              const ModelOptions& options, const std::vector<Datum>& results) {
  nlohmann::json json{{"threads", run::default_threads()}};
  std::string text;
  if (!options.against.empty()) {
    auto other = open_onnxruntime(options.peers, options.file, model.graph(), inputs,
                                  run::default_threads());
    if (!other)
      return fail(std::move(other).error());
    bool is_fine = true;
    run::MeasureOptions turns;
    turns.sample_seconds = 0.02;
    turns.limit_seconds = 12;
    if (run::default_threads() > 1)
      // Both keep threads that wait for more work, ONNX Runtime for up to 60 ms.
      turns.pause_seconds = 0.1;
    const std::vector<run::Timing> timings = run::measure_interleaved(
        {[&] { is_fine = static_cast<bool>(model.run(inputs)) && is_fine; }, [&] { other->run(); }},
        turns);
    const run::Timing ratio = run::quotient(timings[1], timings[0]);
    json["onnxruntime"] = {
        {"version", other->version()},          {"median_ms", timings[1].median * 1e3},
        {"kawara_ms", timings[0].median * 1e3}, {"spread", timings[1].spread},
        {"times_faster", ratio.median},         {"times_faster_spread", ratio.spread}};
    text += fmt::format("in turns: {}\nONNX Runtime {}: {}\nKawara is {:.2f} times as fast, "
                        "turn by turn (spread {:.1f} %); its results beside ONNX Runtime's:\n",
                        run::to_string(timings[0]), other->version(), run::to_string(timings[1]),
                        ratio.median, ratio.spread * 100);
    add_agreement(model, options, results, *other, json["onnxruntime"], text);
  }
  KAWARA_TRY(driver::ModelProfile profile, model.profile(inputs, 7));
  add_steps(std::move(profile), json, text);
  KAWARA_TRY([[maybe_unused]] const Done done, add_sizes(model, options, json, text));
  return std::pair{text, json.dump()};
}

} // namespace kawara::tools
