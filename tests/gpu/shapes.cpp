// Models of one operator at random shapes, as a GPU of compute capability 9.0 would run them: every kernel is interpreted with
// all checks and compared with the meaning of its program, all results with the model's. With --device the GPU of this
// machine runs the models.
//
//   gpu_shapes [--seed N] [--count N] [--family NAME] [--type f32|bf16|f16] [--work N] [--seconds N] [--device] [--write FOLDER]
//
// --count models of each family, from seed N on, in turn of the three types; as many as --seconds allow. --work bounds
// the multiply-adds of a model. What is wrong is said with its family, seed and shapes, and written to --write.

#include "shapes.h"
#include "driver/gpu_model.h"
#include "driver/reference.h"
#include "driver/target_choice.h"
#include "graph/onnx/export.h"
#include "interpreted_tape.h"
#include "operator_model.h"
#include "run/npy.h"
#include "support/hash.h"

#include <fmt/core.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

namespace kawara::operator_models {
namespace {

struct ShapeOptions {
  uint64_t seed = 1, count = 3;
  std::string family, type, folder;
  int64_t work = 60'000;
  double seconds = 1e9;
  bool is_on_device = false;
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

/// Where two results are further apart than so much of the larger cell, or of 1; of narrow cells, also a unit in the last
/// place.
std::string difference_of(const Tensor& got, const Tensor& expected, double allowed) {
  if (got.type() != expected.type() || got.shape() != expected.shape())
    return fmt::format("{}{} instead of {}{}", graph::name_of(got.type()),
                       graph::text_of(got.shape()), graph::name_of(expected.type()),
                       graph::text_of(expected.shape()));
  double largest = 1;
  for (int64_t k = 0; k < expected.cells(); ++k)
    if (const double size = std::abs(expected.get_double(k)); std::isfinite(size))
      largest = std::max(largest, size);
  for (int64_t k = 0; k < expected.cells(); ++k) {
    const double a = got.get_double(k), b = expected.get_double(k);
    const bool is_equal = a == b || (std::isnan(a) && std::isnan(b));
    if (!is_equal && !(std::abs(a - b) <= allowed * largest))
      return fmt::format("cell {} is {:.9g} instead of {:.9g}, allowed {:.2g} of {:.3g}", k, a, b,
                         allowed, largest);
  }
  return "";
}

/// How far a whole model of narrow floats may be from the same in f32, of its largest cell.
double allowed_by(DataType floats) {
  return floats == DataType::F32 ? 1e-4 : floats == DataType::BF16 ? 6e-2 : 1e-2;
}

std::vector<run::Datum> in_order(const driver::Tape& tape, const OperatorModel& made) {
  std::vector<run::Datum> inputs;
  for (const driver::Port& port : tape.inputs)
    inputs.push_back(made.inputs.at(port.name));
  return inputs;
}

/// Twice on the device: step by step, and as a graph.
Result<std::vector<Tensor>, std::string> on_device(const driver::Tape& tape,
                                                   const driver::GpuPrograms& programs,
                                                   const OperatorModel& made,
                                                   const std::shared_ptr<run::CudaDevice>& device) {
  auto model = driver::GpuModel::make(tape, programs, device);
  if (!model)
    return fail(render({model.error()}));
  std::vector<Tensor> results;
  for (const bool is_careful : {true, false}) {
    const auto got = model->run(in_order(tape, made), is_careful);
    if (!got)
      return fail(render({got.error()}));
    std::vector<Tensor> again;
    for (const run::Datum& datum : *got)
      again.push_back(datum.tensor);
    for (size_t k = 0; k < results.size(); ++k)
      if (std::memcmp(again[k].data(), results[k].data(), static_cast<size_t>(again[k].bytes())) !=
          0)
        return fail(std::string("two runs differ"));
    results = std::move(again);
  }
  return results;
}

/// Counts for people.
struct ShapeTotals {
  int64_t models = 0, kernels = 0, plain = 0, groups = 0, refused = 0;
};

/// What is wrong, or nothing.
std::string wrong_with(const ShapeCase& one, const OperatorModel& made,
                       const std::shared_ptr<run::CudaDevice>& device, ShapeTotals& totals) {
  driver::ModelOptions options;
  options.floats = one.floats;
  driver::Model model(made.graph, driver::options_for_gpu(options));
  const auto tape = driver::gpu_tape_of(model, made.inputs);
  if (!tape)
    return "no tape: " + render({tape.error()});
  auto environment = *driver::environment_for("cuda:sm_90a");
  driver::GpuProgramOptions how;
  how.makes_code = device != nullptr;
  if (device)
    environment.gpu = device->gpu();
  const auto programs = driver::gpu_programs_of(*tape, environment, how);
  if (!programs)
    return "no programs: " + render({programs.error()});
  ++totals.models;
  for (const auto& [text, program] : *programs) {
    ++totals.kernels;
    totals.plain += program->is_scheduled ? 0 : 1;
    totals.groups += program->unit.text.find("wgmma") != std::string::npos ? 1 : 0;
  }
  InterpretedTape meaning(*tape, *programs, device ? Played::Programs : Played::Kernels);
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
    if (const std::string wrong =
            difference_of((*expected)[k], (*reference)[k].tensor, allowed_by(one.floats));
        !wrong.empty())
      return fmt::format("output {} is not the model's: {}", k, wrong);
  if (!device)
    return "";
  const auto got = on_device(*tape, *programs, made, device);
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

/// Runs cases from number `first` on, and says where it is: what kills this process is charged to a case.
int run_cases(const std::vector<ShapeCase>& cases, size_t first, const ShapeOptions& options,
              int progress) {
  const auto begin = std::chrono::steady_clock::now();
  std::shared_ptr<run::CudaDevice> device;
  if (options.is_on_device) {
    auto opened = run::CudaDevice::open();
    if (!opened) {
      fmt::print("no GPU on this machine\n");
      return 77;
    }
    device = *opened;
  }
  ShapeTotals totals;
  int64_t wrong = 0;
  for (size_t k = first; k < cases.size(); ++k) {
    const double passed =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (passed > options.seconds)
      break;
    [[maybe_unused]] const auto said = write(progress, &k, sizeof k);
    const OperatorModel made = model_of(cases[k], options.work);
    std::string what;
    try {
      what = wrong_with(cases[k], made, device, totals);
    } catch (const std::exception& e) {
      what = std::string("throws: ") + e.what();
    }
    if (what.empty())
      continue;
    ++wrong;
    fmt::print("wrong: {}: {}\n  {}\n", cases[k].name(), what, made.text);
    std::fflush(stdout);
    if (!options.folder.empty())
      write_case(cases[k], made, options.folder);
    if (what.find("K0713") != std::string::npos)
      _exit(3); // nothing runs on a device after such an error
  }
  fmt::print("{} models, {} kernels, {} by warpgroups, {} in the order of their text, {} wrong\n",
             totals.models, totals.kernels, totals.groups, totals.plain, wrong);
  std::fflush(stdout);
  return wrong > 0 ? 1 : 0;
}

/// In child processes: one that dies is charged to the case it was at, and another goes on behind that.
int run_guarded(const std::vector<ShapeCase>& cases, const ShapeOptions& options) {
  int outcome = 0;
  for (size_t next = 0; next < cases.size();) {
    int ends[2];
    if (pipe(ends) != 0)
      return 2;
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      const int code = run_cases(cases, next, options, ends[1]);
      std::fflush(stdout);
      _exit(code);
    }
    close(ends[1]);
    size_t at = next;
    for (size_t k = 0; read(ends[0], &k, sizeof k) == sizeof k;)
      at = k;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 0 || code == 1 || code == 77)
      return std::max(outcome, code);
    if (code != 3)
      fmt::print("wrong: {}: the process died\n", cases[at].name());
    std::fflush(stdout);
    outcome = 1;
    next = at + 1;
  }
  return outcome;
}

} // namespace

int shapes_program(int count, char** words) {
  ShapeOptions options;
  for (int k = 1; k < count; ++k) {
    const std::string word = words[k];
    if (word == "--device") {
      options.is_on_device = true;
      continue;
    }
    const std::string value = k + 1 < count ? words[++k] : "";
    if (value.empty() || word.substr(0, 2) != "--") {
      fmt::print("usage: gpu_shapes [--seed N] [--count N] [--family NAME] [--type TYPE] "
                 "[--work N] [--seconds N] [--device] [--write FOLDER]\n");
      return 2;
    }
    if (word == "--seed")
      options.seed = std::stoull(value);
    else if (word == "--count")
      options.count = std::stoull(value);
    else if (word == "--family")
      options.family = value;
    else if (word == "--type")
      options.type = value;
    else if (word == "--work")
      options.work = std::stoll(value);
    else if (word == "--seconds")
      options.seconds = std::stod(value);
    else if (word == "--write")
      options.folder = value;
    else {
      fmt::print("there is no option {}\n", word);
      return 2;
    }
  }
  const std::vector<ShapeCase> cases = cases_of(options);
  if (cases.empty()) {
    fmt::print("no such family or type\n");
    return 2;
  }
  return run_guarded(cases, options);
}

} // namespace kawara::operator_models
