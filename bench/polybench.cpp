// Times every PolyBench kernel in source order, under `auto`, and as naive C from a C compiler, in
// turns within one process.

#include "compiled_c.h"
#include "sound_inputs.h"

#include "driver/session.h"
#include "program/interpret/arguments.h"
#include "run/file.h"
#include "support/check.h"
#include "support/text.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace {

using namespace kawara;
using nlohmann::json;

struct Options {
  std::string set = "LARGE";
  std::vector<std::string> only;
  std::string schedule = "auto";
  std::string examples = KAWARA_EXAMPLES;
  std::string compiler;
  std::string json_path;
  double seconds = 10;
  int samples = 7;
  bool is_symbolic = false;
  bool skips_initial = false;
};

/// The difference against the size of the whole tensor. Elements of a chain of products may cancel to nearly
/// nothing and keep the rounding errors of their large terms, another in each order of summation.
driver::Difference scaled(driver::Difference difference, const program::Arrays& expected) {
  if (difference.tensor.empty())
    return difference;
  const program::Array& array = expected.at(difference.tensor);
  double squares = 0;
  for (int64_t k = 0; k < array.elements(); ++k)
    squares += array.get_double(k) * array.get_double(k);
  const double size = std::sqrt(squares / static_cast<double>(array.elements()));
  const double element = std::max({1.0, std::abs(difference.got), std::abs(difference.expected)});
  difference.worst *= element / std::max(element, size);
  return difference;
}

struct Row {
  std::string kernel;
  std::optional<run::Timing> initial;
  run::Timing automatic, c;
  driver::Difference difference;
  double tolerance = 0;
  double compile_seconds = 0;
  double ratio() const { return c.median / automatic.median; }
  bool is_right() const { return difference.worst <= tolerance; }
};

template <class T> T must(Parsed<T> result) {
  if (!result)
    throw std::runtime_error(render(result.error()));
  return *std::move(result);
}

template <class T> T must(Result<T, Diagnostic> result) {
  if (!result)
    throw std::runtime_error(render(result.error()));
  return *std::move(result);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// One way to run the kernel, with buffers of its own.
struct Contender {
  std::function<void(void* const*, const int64_t*)> call;
  std::vector<program::Array> arrays; ///< in the program's order
  std::vector<void*> pointers;        ///< in the order of the call
};

std::vector<void*> pointers_to(const std::vector<std::string>& names,
                               const program::Program& program,
                               std::vector<program::Array>& arrays) {
  std::vector<void*> out;
  for (const std::string& name : names)
    for (size_t t = 0; t < program.tensors.size(); ++t)
      if (program.tensors[t].name == name)
        out.push_back(arrays[t].data());
  return out;
}

std::vector<std::string> argument_names(const emit::Signature& signature) {
  std::vector<std::string> names;
  for (const emit::BufferInfo& argument : signature.arguments)
    names.push_back(argument.name);
  return names;
}

/// Inputs and inouts as they were before the first call.
void restore(const program::Program& program, const program::Arrays& inputs,
             std::vector<program::Array>& arrays) {
  for (size_t t = 0; t < arrays.size(); ++t)
    if (program.tensors[t].role == program::Role::Inout) {
      const program::Array& from = inputs.at(program.tensors[t].name);
      std::memcpy(arrays[t].data(), from.data(), from.bytes());
    }
}

/// Each sample is one call on restored inouts; restoring is not timed.
std::vector<run::Timing> race(std::vector<Contender>& contenders, const program::Program& program,
                              const program::Arrays& inputs, const std::vector<int64_t>& sizes,
                              const Options& options) {
  std::vector<std::vector<double>> samples(contenders.size());
  const double begin = now();
  // Short calls are taken more often, until they fill a good part of the time.
  for (int round = 0; round < 200; ++round) {
    const double spent = now() - begin;
    if (round >= 3 && spent > options.seconds)
      break;
    if (round >= options.samples && spent > 0.3)
      break;
    for (size_t c = 0; c < contenders.size(); ++c) {
      restore(program, inputs, contenders[c].arrays);
      const double start = now();
      contenders[c].call(contenders[c].pointers.data(), sizes.data());
      samples[c].push_back(now() - start);
    }
  }
  std::vector<run::Timing> timings;
  for (auto& s : samples)
    timings.push_back(run::summarise(std::move(s), 1));
  return timings;
}

class Bench {
public:
  explicit Bench(const Options& options) : options_(options), compiler_(bench::best_c_compiler()) {
    if (!options.compiler.empty()) {
      const std::vector<std::string> words = split_words(options.compiler);
      compiler_ = {words.front(), {words.begin() + 1, words.end()}};
    }
    const std::string path = options.examples + "/polybench/sizes.json";
    sizes_ = json::parse(must(run::read_file(path)));
  }

  std::vector<std::string> kernels() const {
    if (!options_.only.empty())
      return options_.only;
    std::vector<std::string> names;
    for (const auto& [name, sets] : sizes_.items())
      names.push_back(name);
    return names;
  }

  std::string compiler_text() const { return compiler_.command + " " + join(compiler_.flags, " "); }

  Row measure(const std::string& kernel) {
    const std::string path = options_.examples + "/polybench/" + kernel + ".kw";
    if (!sizes_.contains(kernel) || !sizes_[kernel].contains(options_.set))
      throw std::runtime_error("no sizes `" + options_.set + "` for `" + kernel + "`\n");
    const auto values = sizes_[kernel][options_.set].get<std::map<std::string, int64_t>>();
    driver::Request request{make_source(path, must(run::read_file(path))), nullptr, values, {}};
    const program::Program program = must(driver::program_of(request));
    const std::vector<int64_t> sizes = must(driver::all_sizes(program, request));
    program::Arrays inputs = must(driver::inputs_for(program, sizes, {}));
    bench::make_sound(kernel, inputs);
    if (options_.is_symbolic)
      request.sizes.clear();
    return race_of(kernel, program, request, sizes, inputs);
  }

private:
  static std::vector<std::string> split_words(const std::string& text) {
    std::vector<std::string> words;
    std::istringstream stream(text);
    for (std::string word; stream >> word;)
      words.push_back(word);
    return words;
  }

  static Contender contender(const driver::Compiled& compiled, const program::Program& program,
                             const std::vector<int64_t>& sizes, const program::Arrays& inputs) {
    Contender c;
    c.arrays = must(program::bind_arguments(program, sizes, inputs));
    c.pointers = pointers_to(argument_names(compiled.executable.signature()), program, c.arrays);
    const size_t arguments = c.pointers.size(), params = sizes.size();
    c.call = [&compiled, arguments, params](void* const* pointers, const int64_t* values) {
      must(compiled.executable.call({pointers, arguments}, {values, params}));
    };
    return c;
  }

  Row race_of(const std::string& kernel, const program::Program& program, driver::Request request,
              const std::vector<int64_t>& sizes, const program::Arrays& inputs) {
    Row row;
    row.kernel = kernel;
    const schedule::Environment environment = driver::host_environment();
    Trace silent;
    const driver::Compiled initial = must(driver::compile(request, environment, silent));
    request.directives = make_source("schedule", options_.schedule);
    const double begin = now();
    const driver::Compiled automatic = must(driver::compile(request, environment, silent));
    row.compile_seconds = now() - begin;

    const kernel::Kernel loops = driver::kernel_of(initial.front, silent);
    auto library = bench::load_c({{"entry", loops, true}}, compiler_);
    if (!library)
      throw std::runtime_error(library.error());

    std::vector<Contender> contenders;
    contenders.push_back(contender(automatic, program, sizes, inputs));
    Contender c;
    c.arrays = must(program::bind_arguments(program, sizes, inputs));
    c.pointers = pointers_to(argument_names(emit::signature_of(loops)), program, c.arrays);
    c.call = library->function("entry");
    contenders.push_back(std::move(c));
    if (!options_.skips_initial)
      contenders.push_back(contender(initial, program, sizes, inputs));

    const auto timings = race(contenders, program, inputs, sizes, options_);
    row.automatic = timings[0];
    row.c = timings[1];
    if (timings.size() > 2)
      row.initial = timings[2];
    std::vector<program::Arrays> results;
    for (Contender& done : contenders) {
      results.push_back(program::results_of(program, std::move(done.arrays)));
      bench::drop_noise(kernel, results.back());
    }
    row.difference = scaled(driver::compare(results[0], results[1]), results[1]);
    row.tolerance = driver::tolerance_of(program, sizes);
    return row;
  }

  Options options_;
  bench::CCompiler compiler_;
  json sizes_;
};

std::string milliseconds(const run::Timing& t) {
  return fmt::format("{:10.3f} ±{:4.1f}%", t.median * 1e3, t.spread * 100);
}

void print_row(const Row& row) {
  fmt::print("{:15} {:>18} {:>18} {:>18} {:8.2f} {:8.0f}  {}\n", row.kernel,
             row.initial ? milliseconds(*row.initial) : "-", milliseconds(row.automatic),
             milliseconds(row.c), row.ratio(), row.compile_seconds * 1e3,
             row.is_right() ? "same"
                            : fmt::format("WRONG: {} differs by {:.3g}", row.difference.tensor,
                                          row.difference.worst));
  std::fflush(stdout);
}

double geomean(const std::vector<Row>& rows, const std::function<double(const Row&)>& value) {
  double sum = 0;
  for (const Row& row : rows)
    sum += std::log(value(row));
  return rows.empty() ? 1 : std::exp(sum / static_cast<double>(rows.size()));
}

json to_json(const run::Timing& t) {
  return {{"median_ms", t.median * 1e3},
          {"min_ms", t.min * 1e3},
          {"max_ms", t.max * 1e3},
          {"spread", t.spread},
          {"samples", t.samples.size()}};
}

json to_json(const std::vector<Row>& rows, const Options& options, const std::string& compiler) {
  json out = {{"set", options.set},
              {"schedule", options.schedule},
              {"threads", run::default_threads()},
              {"compiler", compiler},
              {"geomean", geomean(rows, [](const Row& r) { return r.ratio(); })},
              {"kernels", json::array()}};
  for (const Row& row : rows) {
    json one = {{"kernel", row.kernel},
                {"auto", to_json(row.automatic)},
                {"c", to_json(row.c)},
                {"ratio", row.ratio()},
                {"compile_ms", row.compile_seconds * 1e3},
                {"is_right", row.is_right()},
                {"difference", row.difference.worst},
                {"tolerance", row.tolerance}};
    if (row.initial)
      one["initial"] = to_json(*row.initial);
    out["kernels"].push_back(std::move(one));
  }
  return out;
}

int run_all(const Options& options) {
  Bench bench(options);
  fmt::print("{} sizes, {} threads; c: {}\n", options.set, run::default_threads(),
             bench.compiler_text());
  fmt::print("{:15} {:>18} {:>18} {:>18} {:>8} {:>8}  {}\n", "milliseconds", "initial",
             options.schedule == "auto" ? "auto" : "schedule", "c", "c/auto", "compile", "result");
  std::vector<Row> rows;
  bool is_right = true;
  for (const std::string& kernel : bench.kernels()) {
    try {
      rows.push_back(bench.measure(kernel));
      print_row(rows.back());
      is_right = is_right && rows.back().is_right();
    } catch (const std::exception& e) {
      fmt::print("{:15} failed: {}", kernel, e.what());
      is_right = false;
    }
  }
  fmt::print("geomean of c/auto over {} kernels: {:.3f}\n", rows.size(),
             geomean(rows, [](const Row& r) { return r.ratio(); }));
  if (!options.json_path.empty())
    must(run::write_file(options.json_path,
                         to_json(rows, options, bench.compiler_text()).dump(2) + "\n"));
  return is_right ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times the PolyBench kernels: source order, auto, and naive C, side by side."};
  app.add_option("--set", options.set, "sizes: MINI, SMALL, MEDIUM, LARGE or ODD");
  app.add_option("--only", options.only, "kernels, separated by commas")->delimiter(',');
  app.add_option("-s,--schedule", options.schedule, "directives instead of `auto`");
  app.add_option("--examples", options.examples, "the folder examples/");
  app.add_option("--compiler", options.compiler, "C compiler and its flags, in one word");
  app.add_option("--json", options.json_path, "also write the numbers to this file");
  app.add_option("--seconds", options.seconds,
                 "stop sampling a kernel after this; 3 rounds at least");
  app.add_option("--samples", options.samples, "rounds per kernel; more when calls are short");
  app.add_flag("--symbolic", options.is_symbolic, "leave sizes as parameters in the code");
  app.add_flag("--no-initial", options.skips_initial, "do not time the source order");
  CLI11_PARSE(app, argc, argv);
  try {
    return run_all(options);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}", e.what());
    return 1;
  }
}
