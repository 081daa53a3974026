// Models of one operator at random shapes, as a GPU of compute capability 9.0 would run them: every
// kernel is interpreted with all checks and compared with the meaning of its program, all results
// with the model's. With --device the GPU of this machine runs the models.
//
//   gpu_shapes [--seed N] [--count N] [--family NAME] [--type f32|bf16|f16] [--work N]
//              [--seconds N] [--jobs N] [--device] [--text] [--code] [--write FOLDER]
//   gpu_shapes --cases FOLDER [--part K/N] [--family TEXT] [--seconds N] [--jobs N]
//              [--device] [--text] [--code] [--verbose]
//
// --count models of each family, from seed N on, in turn of the three types; as many as --seconds
// allow. --work bounds the multiply-adds of a model. What is wrong is said with its family, seed
// and shapes, and written to --write.
//
// --cases runs the ONNX standard's own cases in the same way, those with TEXT in their name, each
// Nth from the Kth on; --verbose says what is refused. --jobs processes at a time. --text compiles
// the CUDA text of kernels for this machine and runs that, where it has no instructions of a device
// (text_on_host.h). --code has NVRTC compile it as well.

#include "shapes.h"

#include "driver/check/reference.h"
#include "graph/onnx/export.h"
#include "interpreted_tape.h"
#include "onnx_cases.h"
#include "operator_model.h"
#include "run/npy.h"
#include "support/hash.h"
#include "text_on_host.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kawara::operator_models {
namespace {

struct ShapeOptions : GuardOptions {
  uint64_t seed = 1, count = 3;
  std::string family, type, folder, cases;
  size_t part = 0, parts = 1;
  bool runs_text = false, makes_code = false;
  Played played() const { return runs_text ? Played::Texts : Played::Kernels; }
  int64_t work = 60'000;
};

struct ShapeCase {
  Family family;
  uint64_t seed = 0;
  DataType floats = DataType::F32;

  std::string name() const {
    return fmt::format("{} {} {}", family.name, seed, graph::name_of(floats));
  }
};

std::vector<ShapeCase> cases_of(const ShapeOptions& options) {
  constexpr std::array kTypes = {DataType::F32, DataType::BF16, DataType::F16};
  std::vector<ShapeCase> cases;
  for (uint64_t n = 0; n < options.count; ++n)
    for (const Family& family : all_families()) {
      const uint64_t seed = options.seed + n;
      const DataType floats = kTypes[seed % kTypes.size()];
      const bool is_wanted = options.family.empty() || options.family == family.name;
      if (options.type.empty() && is_wanted)
        cases.push_back({family, seed, floats});
      for (const DataType type : kTypes)
        if (is_wanted && options.type == graph::name_of(type))
          cases.push_back({family, seed, type});
    }
  return cases;
}

OperatorModel model_of(const ShapeCase& one, int64_t work) {
  uint64_t seed = one.seed;
  for (const char c : one.family.name)
    seed = hash_mix(seed, static_cast<uint64_t>(c));
  Maker maker(one.family.name, seed, work);
  one.family.make(maker);
  return maker.take();
}

/// Where two results are further apart than so much of the larger element, or of 1; where nothing
/// is allowed, of integers all digits count.
std::string difference_of(const Tensor& got, const Tensor& expected, double allowed) {
  if (got.type() != expected.type() || got.shape() != expected.shape())
    return fmt::format("{}{} instead of {}{}", graph::name_of(got.type()),
                       graph::text_of(got.shape()), graph::name_of(expected.type()),
                       graph::text_of(expected.shape()));
  double largest = 1;
  for (int64_t k = 0; k < expected.elements(); ++k)
    if (const double size = std::abs(expected.get_double(k)); std::isfinite(size))
      largest = std::max(largest, size);
  for (int64_t k = 0; k < expected.elements(); ++k) {
    if (allowed == 0 && !graph::is_float(expected.type()) && got.get_int(k) != expected.get_int(k))
      return fmt::format("element {} is {} instead of {}", k, got.get_int(k), expected.get_int(k));
    const double a = got.get_double(k), b = expected.get_double(k);
    const bool is_equal = a == b || (std::isnan(a) && std::isnan(b));
    if (!is_equal && !(std::abs(a - b) <= allowed * largest))
      return fmt::format("element {} is {:.9g} instead of {:.9g}, allowed {:.2g} of {:.3g}", k, a,
                         b, allowed, largest);
  }
  return "";
}

bool has_floats(const graph::Graph& graph) {
  const auto is_float = [](const auto& constant) {
    return graph::is_float(constant.second.type());
  };
  if (std::any_of(graph.initializers.begin(), graph.initializers.end(), is_float))
    return true;
  return std::any_of(graph.values.begin(), graph.values.end(), [](const graph::Value& value) {
    return value.type.elem && graph::is_float(*value.type.elem);
  });
}

/// How far a whole model of narrow floats may be from the same in f32, of its largest element.
double allowed_by(DataType floats, const graph::Graph& graph) {
  if (!has_floats(graph))
    return 0;
  return floats == DataType::F32 ? 1e-4 : floats == DataType::BF16 ? 6e-2 : 1e-2;
}

/// What is wrong, or nothing.
std::string wrong_with(const ShapeCase& one, const OperatorModel& made, Played played,
                       bool makes_code, const std::shared_ptr<run::CudaDevice>& device,
                       JobTotals& totals) {
  driver::ModelOptions options;
  options.floats = one.floats;
  driver::Model model(made.graph, driver::options_for_gpu(options));
  const auto tape = driver::gpu_tape_of(model, made.inputs);
  if (!tape)
    return "no tape: " + render({tape.error()});
  driver::GpuProgramOptions how;
  how.makes_code = device != nullptr || makes_code;
  const auto programs = driver::gpu_programs_of(*tape, environment_of(device), how);
  if (!programs)
    return "no programs: " + render({programs.error()});
  totals.add(*programs);
  InterpretedTape meaning(*tape, *programs, device ? Played::Programs : played);
  const auto expected = meaning.play(made.inputs);
  if (!expected)
    return expected.error();
  std::vector<run::Datum> inputs;
  for (const graph::ValueId id : made.graph.inputs)
    inputs.push_back(made.inputs.at(made.graph.values[id].name));
  const auto reference = driver::interpret(made.graph, inputs);
  if (!reference)
    return "the reference refuses: " + render({reference.error()});
  for (size_t k = 0; k < expected->size(); ++k)
    if (const std::string wrong = difference_of((*expected)[k], (*reference)[k].tensor,
                                                allowed_by(one.floats, made.graph));
        !wrong.empty())
      return fmt::format("output {} is not the model's: {}", k, wrong);
  if (!device)
    return "";
  const auto got = results_on_device(*tape, *programs, made.inputs, device);
  if (!got)
    return got.error();
  for (size_t k = 0; k < got->size(); ++k)
    if (const std::string wrong = difference_of((*got)[k], (*expected)[k], meaning.allowed());
        !wrong.empty())
      return fmt::format("output {}: {}", k, wrong);
  return "";
}

void write_case(const ShapeCase& one, const OperatorModel& made, const std::string& folder) {
  const std::string stem =
      fmt::format("{}/{}_{}_{}", folder, one.family.name, one.seed, graph::name_of(one.floats));
  if (!graph::write_onnx(made.graph, stem + ".onnx"))
    fmt::print("cannot write {}.onnx\n", stem);
  for (const auto& [name, datum] : made.inputs) {
    program::Array array(graph::storage_of(datum.tensor.type()), datum.tensor.shape());
    std::memcpy(array.data(), datum.tensor.data(), array.bytes());
    if (!run::write_npy(fmt::format("{}_{}.npy", stem, name), array))
      fmt::print("cannot write {}_{}.npy\n", stem, name);
  }
}

std::vector<GuardedJob> shape_jobs(const ShapeOptions& options) {
  std::vector<GuardedJob> jobs;
  for (const ShapeCase& one : cases_of(options))
    jobs.push_back({one.name(), [one, options](const auto& device, JobTotals& totals) {
                      const OperatorModel made = model_of(one, options.work);
                      std::string what;
                      try {
                        what = wrong_with(one, made, options.played(), options.makes_code, device,
                                          totals);
                      } catch (const std::exception& e) {
                        what = std::string("throws: ") + e.what();
                      }
                      totals.passed += what.empty() ? 1 : 0;
                      if (!what.empty() && !options.folder.empty())
                        write_case(one, made, options.folder);
                      return what.empty() ? "" : what + "\n  " + made.text;
                    }});
  return jobs;
}

/// The option without a value that has this name.
bool* flag_of(ShapeOptions& options, const std::string& word) {
  const std::map<std::string, bool*> flags = {{"--device", &options.is_on_device},
                                              {"--verbose", &options.is_verbose},
                                              {"--text", &options.runs_text},
                                              {"--code", &options.makes_code}};
  const auto found = flags.find(word);
  return found == flags.end() ? nullptr : found->second;
}

/// Whether there is such an option.
bool set_option(ShapeOptions& options, const std::string& word, const std::string& value) {
  const std::map<std::string, std::string*> texts = {{"--family", &options.family},
                                                     {"--type", &options.type},
                                                     {"--write", &options.folder},
                                                     {"--cases", &options.cases}};
  if (const auto text = texts.find(word); text != texts.end())
    *text->second = value;
  else if (word == "--seed")
    options.seed = std::stoull(value);
  else if (word == "--count")
    options.count = std::stoull(value);
  else if (word == "--jobs")
    options.processes = std::stoll(value);
  else if (word == "--work")
    options.work = std::stoll(value);
  else if (word == "--seconds")
    options.seconds = std::stod(value);
  else if (word == "--part" && value.find('/') != std::string::npos) {
    options.part = std::stoull(value);
    options.parts = std::max<size_t>(1, std::stoull(value.substr(value.find('/') + 1)));
  } else
    return false;
  return true;
}

} // namespace

int shapes_program(int count, char** words) {
  ShapeOptions options;
  for (int k = 1; k < count; ++k) {
    const std::string word = words[k];
    if (bool* const flag = flag_of(options, word)) {
      *flag = true;
      continue;
    }
    if (k + 1 == count || !set_option(options, word, words[k + 1])) {
      fmt::print(
          "usage: gpu_shapes [--seed N] [--count N] [--family NAME] [--type TYPE] "
          "[--work N] [--seconds N] [--jobs N] [--device] [--text] [--code] [--write FOLDER]\n"
          "       gpu_shapes --cases FOLDER [--part K/N] [--family TEXT] [--seconds N] "
          "[--jobs N] [--device] [--text] [--code] [--verbose]\n");
      return 2;
    }
    ++k;
  }
  if (options.makes_code && !run::has_nvrtc()) {
    fmt::print("no NVRTC on this machine\n");
    return 77;
  }
  if (options.runs_text && !has_host_compiler()) {
    fmt::print("no compiler on this machine\n");
    return 77;
  }
  std::vector<GuardedJob> jobs;
  if (options.cases.empty())
    jobs = shape_jobs(options);
  else if (auto found =
               onnx_jobs(options.cases, {options.family, options.part, options.parts,
                                         options.is_verbose, options.played(), options.makes_code}))
    jobs = *std::move(found);
  else {
    fmt::print("{}", render({found.error()}));
    return 77;
  }
  if (jobs.empty()) {
    fmt::print("no such family, type or case\n");
    return 2;
  }
  return run_guarded(jobs, options);
}

} // namespace kawara::operator_models
