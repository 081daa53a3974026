#pragma once

#include "program/interpret/interpret.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace kawara::program {

inline std::filesystem::path examples_folder() { return KAWARA_EXAMPLES; }

inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline Parsed<Program> parse_example(const std::string& file) {
  return parse(make_source(file, text_of_file(examples_folder() / file)));
}

/// Elements of an array as f64, with its shape; what reference implementations compute with.
struct Elements {
  std::vector<int64_t> shape;
  std::vector<double> at;

  double& operator()(int64_t i) { return at[static_cast<size_t>(i)]; }
  double& operator()(int64_t i, int64_t j) { return (*this)(i * shape[1] + j); }
  double& operator()(int64_t i, int64_t j, int64_t k) {
    return (*this)((i * shape[1] + j) * shape[2] + k);
  }
};

/// One kernel at one size: what goes in, what the interpreter made of it.
struct KernelRun {
  std::map<std::string, int64_t> size;
  std::map<std::string, Elements> in, out;
  int64_t n(const std::string& name) const { return size.at(name); }
};

inline Elements elements_of(const Array& array) {
  Elements c{array.shape(), {}};
  for (int64_t i = 0; i < array.elements(); ++i)
    c.at.push_back(array.get_double(i));
  return c;
}

/// Interprets examples/polybench/<name>.kw at the sizes `set` of sizes.json. `prepare` may improve
/// the inputs (make a matrix positive definite, say) before they are used.
inline KernelRun
run_polybench(const std::string& name, const std::string& set,
              const std::function<void(std::map<std::string, Elements>&)>& prepare = {}) {
  KernelRun run;
  const auto program = parse_example("polybench/" + name + ".kw");
  if (!program) {
    ADD_FAILURE() << render(program.error());
    return run;
  }
  const auto sizes =
      nlohmann::json::parse(text_of_file(examples_folder() / "polybench/sizes.json"));
  std::vector<int64_t> params;
  for (const Param& p : program->params) {
    run.size[p.name] = sizes.at(name).at(set).at(p.name);
    params.push_back(run.size[p.name]);
  }
  EXPECT_EQ(sizes.at(name).at(set).size(), params.size());
  auto inputs = pattern_inputs(*program, params, 7);
  if (!inputs) {
    ADD_FAILURE() << render(inputs.error());
    return run;
  }
  for (const auto& [key, array] : *inputs)
    run.in[key] = elements_of(array);
  if (prepare)
    prepare(run.in);
  for (auto& [key, array] : *inputs)
    for (int64_t i = 0; i < array.elements(); ++i)
      array.set_double(i, run.in[key](i));
  const auto results = interpret(*program, params, *inputs);
  if (!results)
    ADD_FAILURE() << render(results.error());
  else
    for (const auto& [key, array] : *results)
      run.out[key] = elements_of(array);
  return run;
}

inline void expect_near(const Elements& found, const Elements& expected, double tolerance = 1e-9) {
  ASSERT_EQ(found.shape, expected.shape);
  for (size_t i = 0; i < found.at.size(); ++i) {
    ASSERT_TRUE(std::isfinite(expected.at[i])) << "the reference is no number at element " << i;
    ASSERT_NEAR(found.at[i], expected.at[i], tolerance * (1 + std::fabs(expected.at[i])))
        << "at element " << i;
  }
}

inline Elements zeros(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (const int64_t extent : shape)
    count *= extent;
  return {std::move(shape), std::vector<double>(static_cast<size_t>(count))};
}

/// Matrix algebra for the references.
inline Elements product(Elements a, Elements b) {
  Elements c = zeros({a.shape[0], b.shape[1]});
  for (int64_t i = 0; i < a.shape[0]; ++i)
    for (int64_t j = 0; j < b.shape[1]; ++j)
      for (int64_t k = 0; k < a.shape[1]; ++k)
        c(i, j) += a(i, k) * b(k, j);
  return c;
}

inline Elements transposed(Elements a) {
  Elements c = zeros({a.shape[1], a.shape[0]});
  for (int64_t i = 0; i < a.shape[0]; ++i)
    for (int64_t j = 0; j < a.shape[1]; ++j)
      c(j, i) = a(i, j);
  return c;
}

inline Elements column(Elements v) {
  v.shape = {v.shape[0], 1};
  return v;
}

inline Elements line(Elements v) {
  v.shape = {v.shape[0]};
  return v;
}

/// s * a + t * b, element by element.
inline Elements blend(double s, Elements a, double t, const Elements& b) {
  for (size_t i = 0; i < a.at.size(); ++i)
    a.at[i] = s * a.at[i] + t * b.at[i];
  return a;
}

/// The part of `a` for which `keep(i, j)`; zero elsewhere.
inline Elements part(Elements a, const std::function<bool(int64_t, int64_t)>& keep) {
  for (int64_t i = 0; i < a.shape[0]; ++i)
    for (int64_t j = 0; j < a.shape[1]; ++j)
      a(i, j) = keep(i, j) ? a(i, j) : 0.0;
  return a;
}

} // namespace kawara::program
