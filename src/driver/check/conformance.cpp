#include "driver/check/conformance.h"

#include "driver/model/model.h"
#include "graph/errors.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/onnx/opset.h"
#include "run/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace kawara::driver {
namespace {

namespace fs = std::filesystem;
using run::Datum;
using run::Tensor;

bool is_plain(const graph::Graph& graph) {
  for (const auto* list : {&graph.inputs, &graph.outputs})
    for (const graph::ValueId id : *list)
      if (graph.values[id].type.kind != graph::ValueType::Kind::Tensor ||
          !graph.values[id].type.elem)
        return false;
  return true;
}

ConformanceResult not_run(const Diagnostic& d, std::string op) {
  // Texts and other things that are no numbers are not part of the comparison.
  const bool is_skipped = d.code == "K0503";
  return {is_skipped ? Verdict::Skipped : Verdict::Unsupported, std::move(op),
          d.code + ": " + d.headline + (d.body.empty() ? "" : " -- " + d.body.front())};
}

Result<Tensor, Diagnostic> read_tensor(const fs::path& path) {
  KAWARA_TRY(const std::string bytes, run::read_file(path.string()));
  return graph::tensor_from_onnx(bytes, path.string());
}

/// Bounds of the backend tests' own runner.
constexpr double kRelative = 1e-3, kAbsolute = 1e-7;

/// Are results drawn by chance? The standard leaves the numbers open then.
bool is_random(const graph::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const graph::Node& node) {
    return node.op.rfind("Random", 0) == 0 || node.op == "Bernoulli" || node.op == "Multinomial";
  });
}

/// Runs one data set; empty when all outputs are as expected.
Result<std::string, Diagnostic> run_set(Model& model, const fs::path& set,
                                        const CaseOptions& options) {
  const graph::Graph& graph = model.graph();
  std::map<std::string, Datum> inputs;
  for (size_t k = 0; k < graph.inputs.size(); ++k) {
    const fs::path path = set / fmt::format("input_{}.pb", k);
    if (!fs::exists(path))
      continue;
    KAWARA_TRY(Tensor tensor, read_tensor(path));
    inputs[graph.values[graph.inputs[k]].name] = {std::move(tensor), false, {}};
  }
  KAWARA_TRY(const std::vector<Datum> results,
             options.run ? options.run(model, inputs) : model.run(inputs));
  for (size_t k = 0; k < results.size(); ++k) {
    const fs::path path = set / fmt::format("output_{}.pb", k);
    if (!fs::exists(path))
      continue;
    KAWARA_TRY(const Tensor expected, read_tensor(path));
    if (is_random(graph) && results[k].tensor && results[k].tensor.type() == expected.type() &&
        results[k].tensor.shape() == expected.shape())
      continue;
    // Results of 16-bit floats are compared with the coarseness of their type.
    const bool is_narrow = graph::bytes_of(expected.type()) == 2;
    const std::string wrong =
        difference(results[k], {expected, false, {}}, is_narrow ? 1e-2 : kRelative,
                   is_narrow ? 1e-3 : kAbsolute);
    if (!wrong.empty())
      return fmt::format("output {}: {}", k, wrong);
  }
  return std::string();
}

Result<Model, Diagnostic> model_of(const ConformanceCase& c, const CaseOptions& options) {
  const std::string path = c.folder + "/model.onnx";
  if (!options.opset)
    return load_model(path, options.model);
  KAWARA_TRY(const std::string given, run::read_file(path));
  KAWARA_TRY(graph::Graph read, graph::graph_from_onnx(given, path, c.folder));
  KAWARA_TRY(const graph::Graph raised, graph::with_opset(std::move(read), *options.opset));
  KAWARA_TRY(const std::string written, graph::onnx_from_graph(raised));
  KAWARA_TRY(graph::Graph again, graph::graph_from_onnx(written, path, c.folder));
  return Model(std::move(again), options.model);
}

} // namespace

std::string_view name_of(Verdict verdict) {
  constexpr std::string_view names[] = {"passed", "failed", "unsupported", "skipped"};
  return names[static_cast<size_t>(verdict)];
}

Result<std::vector<ConformanceCase>, Diagnostic> conformance_cases(const std::string& root) {
  std::vector<ConformanceCase> cases;
  for (const char* kind : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(fs::path(root) / kind, error))
      if (fs::exists(entry.path() / "model.onnx"))
        cases.push_back(
            {std::string(kind) + "/" + entry.path().filename().string(), entry.path().string()});
  }
  if (cases.empty())
    return fail(
        graph::model_error("K0530", "`" + root + "` holds no ONNX test cases",
                           "There is no `node/test_.../model.onnx` below it.",
                           "install libonnx-testdata, or name the folder that holds `node`"));
  std::sort(cases.begin(), cases.end(),
            [](const ConformanceCase& a, const ConformanceCase& b) { return a.name < b.name; });
  return cases;
}

std::string difference(const Datum& got, const Datum& expected, double relative, double absolute) {
  const Tensor &a = got.tensor, &b = expected.tensor;
  if (!a || a.type() != b.type() || a.shape() != b.shape())
    return fmt::format("{}{} instead of {}{}", a ? graph::name_of(a.type()) : "nothing",
                       graph::text_of(a.shape()), graph::name_of(b.type()),
                       graph::text_of(b.shape()));
  for (int64_t k = 0; k < b.elements(); ++k) {
    if (!graph::is_float(b.type())) {
      if (a.get_int(k) != b.get_int(k))
        return fmt::format("element {} is {} instead of {}", k, a.get_int(k), b.get_int(k));
      continue;
    }
    const double x = a.get_double(k), y = b.get_double(k);
    const bool is_same = x == y || (std::isnan(x) && std::isnan(y)) ||
                         std::abs(x - y) <= absolute + relative * std::abs(y);
    if (!is_same)
      return fmt::format("element {} is {} instead of {}", k, x, y);
  }
  return "";
}

ConformanceResult run_case(const ConformanceCase& c, const CaseOptions& options) {
  auto model = model_of(c, options);
  if (!model)
    return not_run(model.error(), "?");
  const graph::Graph& graph = model->graph();
  const std::string op = graph.nodes.size() == 1 ? graph.nodes[0].op : "several";
  if (!is_plain(graph))
    return {Verdict::Skipped, op, "inputs or outputs are no tensors of numbers"};
  for (int set = 0;; ++set) {
    const fs::path folder = fs::path(c.folder) / fmt::format("test_data_set_{}", set);
    if (!fs::exists(folder))
      return {Verdict::Passed, op, ""};
    const auto wrong = run_set(*model, folder, options);
    if (!wrong)
      return not_run(wrong.error(), op);
    if (!wrong->empty())
      return {Verdict::Failed, op, *wrong};
  }
}

} // namespace kawara::driver
