#include "driver/model/model.h"
#include "estimate/operator_cost.h"
#include "graph/rewrite/rewrite.h"
#include "run/npy.h"

#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>

/// nets FOLDER NET [rewrite]: runs a trained net on its data set, as it is or rewritten, and
/// compares with the expected outputs. Exits with 77 when the folder is not there.
namespace kawara {
namespace {

constexpr int kSkipped = 77;
constexpr double kRelative = 1e-4, kAbsolute = 1e-6; ///< of the largest output

run::Tensor tensor_from(const program::Array& array) {
  run::Tensor tensor(graph::data_type_of(array.elem()), array.shape());
  std::memcpy(tensor.data(), array.data(), array.bytes());
  return tensor;
}

int fail_with(const Diagnostic& d) {
  fmt::print(stderr, "{}", render(d));
  return 1;
}

/// Is `got` close to `expected`, with the largest element at the same place?
bool is_same(const run::Tensor& got, const run::Tensor& expected, size_t output) {
  if (!got || got.shape() != expected.shape()) {
    fmt::print("output {}: shape {} instead of {}\n", output, graph::text_of(got.shape()),
               graph::text_of(expected.shape()));
    return false;
  }
  double largest = 0, error = 0;
  int64_t best_got = 0, best_expected = 0;
  for (int64_t k = 0; k < expected.elements(); ++k) {
    const double a = got.get_double(k), b = expected.get_double(k);
    largest = std::max(largest, std::abs(b));
    error = std::isnan(a) ? INFINITY : std::max(error, std::abs(a - b));
    best_got = a > got.get_double(best_got) ? k : best_got;
    best_expected = b > expected.get_double(best_expected) ? k : best_expected;
  }
  fmt::print("output {}: largest error {:.2e} of {:.4g}, largest element at {} and {}\n", output,
             error, largest, best_got, best_expected);
  return error <= kRelative * largest + kAbsolute && best_got == best_expected;
}

/// The rewritten model; says what was done. Rewriting must take seconds at most.
Result<driver::Model, Diagnostic> rewritten(const graph::Graph& graph) {
  constexpr double most_seconds = 5;
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  rewrite::Limits limits;
  limits.is_over = [&] { return seconds() > most_seconds / 2; };
  KAWARA_TRY(rewrite::Rewritten result,
             rewrite::rewrite(graph, estimate::operator_cost({100e9, 20e9}), limits,
                              rewrite::Numerics::Rounding));
  fmt::print("{}rewritten in {:.2f} s\n", rewrite::print(result.statistics), seconds());
  return driver::Model(std::move(result.graph));
}

int run_net(const std::string& folder, bool rewrites) {
  if (!std::filesystem::exists(folder + "/model.onnx")) {
    fmt::print("skipped: there is no {}/model.onnx\n", folder);
    return kSkipped;
  }
  auto model = driver::load_model(folder + "/model.onnx");
  if (!model)
    return fail_with(model.error());
  if (rewrites) {
    auto other = rewritten(model->graph());
    if (!other)
      return fail_with(other.error());
    model = std::move(other);
  }
  std::map<std::string, run::Datum> inputs;
  for (size_t k = 0; k < model->graph().inputs.size(); ++k) {
    const auto array = run::read_npy(fmt::format("{}/set_0/input_{}.npy", folder, k));
    if (!array)
      return fail_with(array.error());
    inputs[model->graph().values[model->graph().inputs[k]].name] = {tensor_from(*array), false, {}};
  }
  // Twice: the second call finds everything prepared, and must not differ.
  bool is_fine = true;
  for (int call = 0; call < 2; ++call) {
    const auto results = model->run(inputs);
    if (!results)
      return fail_with(results.error());
    for (size_t k = 0; k < results->size(); ++k) {
      const auto expected = run::read_npy(fmt::format("{}/set_0/output_{}.npy", folder, k));
      if (!expected)
        return fail_with(expected.error());
      is_fine = is_same((*results)[k].tensor, tensor_from(*expected), k) && is_fine;
    }
  }
  return is_fine ? 0 : 1;
}

} // namespace
} // namespace kawara

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4)
    return 2;
  return kawara::run_net(std::string(argv[1]) + "/" + argv[2], argc == 4);
}
