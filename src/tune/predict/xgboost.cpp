#include "tune/predict/xgboost.h"

#include "run/library.h"
#include "support/check.h"
#include "support/text.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace kawara::tune {

using nlohmann::json;

/// Its C interface, as far as it is used.
struct XGBoost::Functions {
  using Handle = void*;
  std::shared_ptr<run::Library> library;
  const char* (*last_error)() = nullptr;
  int (*make_matrix)(const float*, uint64_t rows, uint64_t columns, float missing,
                     Handle*) = nullptr;
  int (*free_matrix)(Handle) = nullptr;
  int (*set_floats)(Handle, const char* field, const float*, uint64_t count) = nullptr;
  int (*make_booster)(const Handle matrices[], uint64_t count, Handle*) = nullptr;
  int (*free_booster)(Handle) = nullptr;
  int (*set_option)(Handle, const char* name, const char* value) = nullptr;
  int (*update)(Handle, int round, Handle matrix) = nullptr;
  int (*dump)(Handle, const char* features, int statistics, const char* format, uint64_t* count,
              const char*** texts) = nullptr;

  bool find() {
    last_error = library->function<const char*()>("XGBGetLastError");
    make_matrix = library->function<int(const float*, uint64_t, uint64_t, float, Handle*)>(
        "XGDMatrixCreateFromMat");
    free_matrix = library->function<int(Handle)>("XGDMatrixFree");
    set_floats = library->function<int(Handle, const char*, const float*, uint64_t)>(
        "XGDMatrixSetFloatInfo");
    make_booster = library->function<int(const Handle[], uint64_t, Handle*)>("XGBoosterCreate");
    free_booster = library->function<int(Handle)>("XGBoosterFree");
    set_option = library->function<int(Handle, const char*, const char*)>("XGBoosterSetParam");
    update = library->function<int(Handle, int, Handle)>("XGBoosterUpdateOneIter");
    dump = library->function<int(Handle, const char*, int, const char*, uint64_t*, const char***)>(
        "XGBoosterDumpModelEx");
    return last_error && make_matrix && free_matrix && set_floats && make_booster && free_booster &&
           set_option && update && dump;
  }

  void check(int failed) const {
    KAWARA_CHECK(failed == 0, std::string("XGBoost failed: ") + last_error());
  }
};

namespace {

Diagnostic no_library(const std::vector<std::string>& names) {
  Diagnostic d;
  d.code = "K0646";
  d.headline = "cannot learn with XGBoost: its library is not on this machine";
  d.body.push_back("Could not open " + join(names, " or ") + ".");
  d.help.push_back({"install it", "apt-get install libxgboost0", false});
  d.help.push_back({"use Kawara's own trees", "--learner trees", false});
  return d;
}

std::vector<float> floats(const std::vector<double>& values, double factor = 1) {
  std::vector<float> out;
  for (const double value : values)
    out.push_back(static_cast<float>(value * factor));
  return out;
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values)
    sum += value;
  return sum;
}

/// A tree of the library in the order of a Forest's: the two children of a node side by side, after
/// it.
void add_node(json& nodes, size_t at, const json& from) {
  if (from.contains("leaf")) {
    nodes[at] = {-1, from.at("leaf").get<double>(), 0};
    return;
  }
  const auto feature = std::stoi(from.at("split").get<std::string>().substr(1)); // "f12"
  const size_t children = nodes.size();
  nodes[at] = {feature, from.at("split_condition").get<double>(), children};
  nodes.push_back(nullptr);
  nodes.push_back(nullptr);
  for (const json& child : from.at("children"))
    add_node(nodes, children + (child.at("nodeid") == from.at("yes") ? 0 : 1), child);
}

} // namespace

XGBoost::XGBoost(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}
XGBoost::~XGBoost() = default;

Result<std::shared_ptr<const XGBoost>, Diagnostic>
XGBoost::open(const std::vector<std::string>& names) {
  auto functions = std::make_unique<Functions>();
  functions->library = run::Library::open(names);
  if (!functions->library || !functions->find())
    return fail(no_library(names));
  return std::shared_ptr<const XGBoost>(new XGBoost(std::move(functions)));
}

Forest XGBoost::fit(const std::vector<std::vector<double>>& rows, const std::vector<double>& labels,
                    const std::vector<double>& weights, const ForestOptions& options) const {
  if (rows.empty() || rows.front().empty())
    return {};
  const Functions& f = *functions_;
  std::vector<float> elements;
  for (const auto& row : rows)
    for (const double element : row)
      elements.push_back(static_cast<float>(element));
  const auto count = static_cast<uint64_t>(rows.size());
  Functions::Handle matrix = nullptr, booster = nullptr;
  f.check(f.make_matrix(elements.data(), count, rows.front().size(),
                        std::numeric_limits<float>::quiet_NaN(), &matrix));
  // Weights that are one on average: its regularisation is meant for such.
  const double whole = sum_of(weights);
  f.check(f.set_floats(matrix, "label", floats(labels).data(), count));
  f.check(f.set_floats(matrix, "weight", floats(weights, static_cast<double>(count) / whole).data(),
                       count));
  f.check(f.make_booster(&matrix, 1, &booster));
  double offset = 0;
  for (size_t r = 0; r < rows.size(); ++r)
    offset += weights[r] * labels[r] / whole;
  const std::pair<const char*, std::string> settings[] = {
      {"objective", "reg:squarederror"},
      {"tree_method", "exact"},
      {"max_depth", std::to_string(options.depth)},
      {"eta", std::to_string(options.rate)},
      {"base_score", json(offset).dump()},
      {"nthread", "1"},
      {"verbosity", "0"}};
  for (const auto& [name, value] : settings)
    f.check(f.set_option(booster, name, value.c_str()));
  for (int round = 0; round < options.trees; ++round)
    f.check(f.update(booster, round, matrix));
  uint64_t trees = 0;
  const char** texts = nullptr;
  f.check(f.dump(booster, "", 0, "json", &trees, &texts));
  // Its leaves have the rate in them.
  json forest{{"offset", offset}, {"rate", 1}, {"features", rows.front().size()}};
  forest["trees"] = json::array();
  for (uint64_t t = 0; t < trees; ++t) {
    json nodes = json::array({nullptr});
    add_node(nodes, 0, json::parse(texts[t]));
    forest["trees"].push_back(std::move(nodes));
  }
  f.free_booster(booster);
  f.free_matrix(matrix);
  auto made = Forest::from_json(forest.dump());
  KAWARA_CHECK(made.has_value(), "XGBoost's trees are no forest");
  return *std::move(made);
}

} // namespace kawara::tune
