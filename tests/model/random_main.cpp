#include "check_sample.h"
#include "graph/onnx/export.h"
#include "run/npy.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>

/// random_graphs FROM COUNT [EVERY [FOLDER [SECONDS]]]: checks the graphs of so many seeds, as far
/// as the time allows. Each EVERYth is compiled, of these each fourth in all ways; the others are
/// interpreted, as they are and after all passes. A mismatch is made small and written to FOLDER as
/// `seed_N.onnx` with its inputs `seed_N_0.npy`, ...
namespace kawara::random_graphs {
namespace {

/// Graphs share kernels; so many take some hundred megabytes.
constexpr int64_t kMostKernels = 30'000;

void write_sample(const Sample& sample, const std::string& stem) {
  if (!graph::write_onnx(sample.graph, stem + ".onnx"))
    fmt::print("cannot write {}.onnx\n", stem);
  for (size_t k = 0; k < sample.inputs.size(); ++k)
    if (!run::write_npy_tensor(fmt::format("{}_{}.npy", stem, k), sample.inputs[k].tensor))
      fmt::print("cannot write {}_{}.npy\n", stem, k);
}

double seconds_from(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int check_all(uint64_t from, uint64_t most, uint64_t every, const std::string& folder,
              double most_seconds) {
  const auto begin = std::chrono::steady_clock::now();
  auto kernels = std::make_unique<driver::Kernels>();
  std::set<std::string> operators;
  int64_t wrong = 0, nodes = 0, compiled = 0;
  uint64_t count = 0;
  for (uint64_t seed = from; seed < from + most && seconds_from(begin) < most_seconds; ++seed) {
    ++count;
    const Sample sample = Generator(seed).make();
    nodes += static_cast<int64_t>(sample.graph.nodes.size());
    for (const graph::Node& node : sample.graph.nodes)
      operators.insert(node.op);
    const Ways ways = seed % every != 0         ? Ways::None
                      : seed % (4 * every) == 0 ? Ways::All
                                                : Ways::Few;
    compiled += ways == Ways::None ? 0 : 1;
    std::string what;
    try {
      what = mismatch(sample, *kernels, ways);
    } catch (const std::exception& e) {
      fmt::print("seed {} throws: {}\n{}\n", seed, e.what(), graph::print(sample.graph));
      ++wrong;
    }
    if (kernels->compiled() > kMostKernels)
      kernels = std::make_unique<driver::Kernels>();
    if (what.empty())
      continue;
    ++wrong;
    const Sample small = shrunk(sample, *kernels);
    fmt::print("seed {}: {}\n{}\n{}\n", seed, what, mismatch(small, *kernels),
               graph::print(small.graph));
    if (!folder.empty())
      write_sample(small, fmt::format("{}/seed_{}", folder, seed));
    if (wrong >= 10)
      break;
  }
  fmt::print(
      "{} graphs from {} on, {} of them compiled, {} nodes, {} operators, {} wrong, {:.1f} s\n",
      count, from, compiled, nodes, operators.size(), wrong, seconds_from(begin));
  // Fewer operators, over many graphs, mean that the generator is broken.
  return wrong > 0 || (count >= 500 && operators.size() < 40) ? 1 : 0;
}

} // namespace
} // namespace kawara::random_graphs

int main(int argc, char** argv) {
  if (argc < 3)
    return 2;
  return kawara::random_graphs::check_all(
      std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10),
      argc > 3 ? std::max(std::atoi(argv[3]), 1) : 1, argc > 4 ? argv[4] : "",
      argc > 5 ? std::atof(argv[5]) : 1e9);
}
