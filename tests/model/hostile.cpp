#include "driver/model/evaluate_node.h"
#include "driver/model/rewriting.h"
#include "driver/model/runner.h"
#include "graph/onnx/import.h"
#include "mutate_model.h"
#include "program/interpret/values.h"
#include "run/file.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <new>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/// hostile CASES FROM COUNT [FOLDER [SECONDS]]: damaged models, made from the small ones below
/// CASES, as far as the time allows. Each is read, compiled and run, each second one after the
/// passes over its graph, in a child process that may use little memory and time. Fails when one
/// crashes, hangs, or gives no proper error; such files are written to FOLDER.
namespace kawara::hostile {
namespace {

/// Of a child's processor on one model; a machine that is busy with other work makes nothing hang.
constexpr int64_t kMostSeconds = 10;
/// Of the clock: a child that waits for ever uses no processor.
constexpr int64_t kMostWaiting = 300;
constexpr rlim_t kMostMemory = rlim_t{3} << 30;
constexpr uintmax_t kLargestSeed = 20'000;
constexpr int64_t kMostElements =
    100'000; ///< of an input; what the caller gives is not the model's fault

struct Seed {
  std::string folder, bytes;
};

std::vector<Seed> seeds_below(const std::string& cases) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cases, error))
    if (entry.path().filename() == "model.onnx" && entry.file_size() <= kLargestSeed)
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<Seed> seeds;
  for (const std::string& path : paths)
    if (const auto bytes = run::read_file(path))
      seeds.push_back({std::filesystem::path(path).parent_path().string(), *bytes});
  return seeds;
}

/// What parent and child share.
struct Shared {
  std::atomic<int64_t> at;                        ///< the model that the child works on
  std::atomic<int64_t> tried, read, ran, refused; ///< counts
};

std::string model_of(const std::vector<Seed>& seeds, int64_t number) {
  std::mt19937_64 random(static_cast<uint64_t>(number) * 7919 + 13);
  return mutated(seeds[random() % seeds.size()].bytes, random);
}

const std::string& folder_of(const std::vector<Seed>& seeds, int64_t number) {
  std::mt19937_64 random(static_cast<uint64_t>(number) * 7919 + 13);
  return seeds[random() % seeds.size()].folder;
}

/// Inputs of a fixed pattern; nothing when one is no tensor or too large to be given here.
std::optional<std::vector<run::Datum>> inputs_for(const graph::Graph& graph) {
  std::vector<run::Datum> inputs;
  for (const graph::ValueId id : graph.inputs) {
    const graph::ValueType& type = graph.values[id].type;
    graph::Shape shape;
    if (type.kind != graph::ValueType::Kind::Tensor || !type.elem || !type.shape)
      return std::nullopt;
    for (const graph::Dim& dim : *type.shape)
      shape.push_back(dim.size.value_or(2));
    const auto elements = graph::elements_of(shape);
    if (!elements || *elements > kMostElements)
      return std::nullopt;
    const auto array = program::fill_pattern(graph::storage_of(*type.elem), shape, id + 1);
    run::Tensor tensor(*type.elem, shape);
    std::memcpy(tensor.data(), array.data(), array.bytes());
    inputs.push_back({tensor, false, {}});
  }
  return inputs;
}

bool is_proper(const Diagnostic& d) {
  return d.code.size() == 5 && !d.headline.empty() && d.headline.back() != '.';
}

/// Reads and runs one model, as it is or as the passes make it; false when an error is not proper.
bool try_model(const std::string& bytes, const std::string& folder, bool optimises,
               driver::Kernels& kernels, Shared& shared) {
  auto graph = graph::graph_from_onnx(bytes, "model.onnx", folder);
  if (!graph)
    return is_proper(graph.error());
  ++shared.read;
  if (!graph::spec(*graph).empty()) {
    fmt::print("a graph that breaks its own rules: {}\n", graph::spec(*graph).front());
    return false;
  }
  const auto inputs = inputs_for(*graph);
  if (!inputs)
    return true;
  try {
    if (optimises)
      *graph = driver::optimised_and_rewritten(*std::move(graph), target::detect_cpu(),
                                               driver::evaluator(kernels))
                   .graph;
    driver::Runner runner(*graph, kernels, {});
    const auto results = runner.run(*inputs, {});
    ++(results ? shared.ran : shared.refused);
    return results || is_proper(results.error());
  } catch (const std::bad_alloc&) { // driver::Model turns it into K0522
    ++shared.refused;
    return true;
  }
}

[[noreturn]] void work(const std::vector<Seed>& seeds, int64_t from, int64_t end,
                       std::chrono::steady_clock::time_point over, Shared& shared) {
  const rlimit memory{kMostMemory, kMostMemory}, no_core{0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &no_core);
  setenv("KAWARA_THREADS", "1", 1);
  auto kernels = std::make_unique<driver::Kernels>();
  for (int64_t k = from; k < end && std::chrono::steady_clock::now() < over; ++k) {
    shared.at = k;
    ++shared.tried;
    if (!try_model(model_of(seeds, k), folder_of(seeds, k), k % 2 == 1, *kernels, shared))
      std::_Exit(3);
    if (kernels->compiled() > 3000)
      kernels = std::make_unique<driver::Kernels>();
  }
  std::_Exit(0);
}

double processor_seconds(pid_t child) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Waits for a child; what went wrong with the model that it was at, empty when it finished.
std::string watch(pid_t child, const Shared& shared) {
  int64_t seen = -1;
  double begin = 0;
  for (int64_t ticks = 0;; ++ticks) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return "";
      return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status)) : "no proper error";
    }
    if (shared.at != seen) {
      seen = shared.at;
      ticks = 0;
      begin = processor_seconds(child);
    }
    if (processor_seconds(child) - begin > kMostSeconds || ticks > kMostWaiting * 50) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return "hangs";
    }
    usleep(20'000);
  }
}

int try_all(const std::string& cases, int64_t from, int64_t count, const std::string& folder,
            double seconds) {
  const auto over = std::chrono::steady_clock::now() +
                    std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
  const std::vector<Seed> seeds = seeds_below(cases);
  if (seeds.empty()) {
    fmt::print("no models below {}\n", cases);
    return 77;
  }
  auto* shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  new (shared) Shared{};
  int64_t wrong = 0;
  for (int64_t next = from; next < from + count && wrong < 20;) {
    shared->at = next;
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0)
      work(seeds, next, from + count, over, *shared);
    const std::string what = watch(child, *shared);
    if (what.empty())
      break;
    ++wrong;
    const int64_t at = shared->at;
    fmt::print("model {}: {}\n", at, what);
    if (!folder.empty())
      (void)static_cast<bool>(
          run::write_file(fmt::format("{}/hostile_{}.onnx", folder, at), model_of(seeds, at)));
    next = at + 1;
  }
  fmt::print(
      "{} models from {} on, of {} seeds: {} are read, of which {} run and {} are refused; {} "
      "wrong\n",
      shared->tried.load(), from, seeds.size(), shared->read.load(), shared->ran.load(),
      shared->refused.load(), wrong);
  return wrong > 0 ? 1 : 0;
}

} // namespace
} // namespace kawara::hostile

int main(int argc, char** argv) {
  if (argc < 4)
    return 2;
  return kawara::hostile::try_all(argv[1], std::atoll(argv[2]), std::atoll(argv[3]),
                                  argc > 4 ? argv[4] : "", argc > 5 ? std::atof(argv[5]) : 1e6);
}
