#include "corpus/corpus.h"
#include "cpu/program_text.h"
#include "driver/gpu/gpu_programs.h"
#include "driver/model/model.h"
#include "driver/tape/tape.h"
#include "graph/onnx/import.h"
#include "graph/zoo/net.h"
#include "graph/zoo/zoo.h"
#include "support/check.h"

#include <filesystem>
#include <fstream>
#include <set>

namespace kawara::corpus {
namespace {

using graph::DataType;
using graph::zoo::Net;
using graph::zoo::Piece;

bench::Case product_case(bench::Op op, int64_t m, int64_t n, int64_t k) {
  bench::Case c;
  c.group = op == bench::Op::Attention ? "attention"
            : op == bench::Op::Gemm || op == bench::Op::GemmI8 || op == bench::Op::GemmF16 ? "gemm"
                                                                                           : "rows";
  c.op = op;
  c.m = m;
  c.n = n;
  c.k = k;
  return c;
}

bench::Case image_case(bench::Op op, bench::Conv conv) {
  bench::Case c;
  c.group = "conv";
  c.op = op;
  c.conv = conv;
  return c;
}

/// Every operation of the suite, at sizes that interpreters can run.
std::vector<std::pair<std::string, bench::Case>> small_cases() {
  using bench::Op;
  std::vector<std::pair<std::string, bench::Case>> cases;
  const std::vector<std::pair<std::string, Op>> products = {{"gemm", Op::Gemm},
                                                            {"gemm i8", Op::GemmI8},
                                                            {"gemm f16", Op::GemmF16},
                                                            {"gemm gelu", Op::GemmGelu}};
  for (const auto& [name, op] : products)
    for (const auto& [m, n, k] : {std::tuple(1, 35, 37), {7, 33, 18}, {26, 49, 33}})
      cases.emplace_back(name, product_case(op, m, n, k));
  for (const auto& [name, op] :
       std::vector<std::pair<std::string, Op>>{{"softmax", Op::Softmax},
                                               {"layer norm", Op::LayerNorm},
                                               {"gelu", Op::Gelu},
                                               {"add relu", Op::AddRelu},
                                               {"transpose", Op::Transpose}})
    for (const auto& [m, n] : {std::pair(3, 37), {17, 70}})
      cases.emplace_back(name, product_case(op, m, n, 0));
  cases.emplace_back("attention", product_case(Op::Attention, 2, 19, 8));
  cases.emplace_back("attention", product_case(Op::Attention, 1, 35, 16));
  for (const bench::Conv& conv :
       {bench::Conv{3, 9, 18, 3, 1, 1}, bench::Conv{5, 8, 17, 1, 1, 0},
        bench::Conv{4, 11, 9, 3, 2, 1}, bench::Conv{18, 7, 18, 3, 1, 1, true}})
    cases.emplace_back("conv", image_case(Op::Conv, conv));
  cases.emplace_back("conv pool", image_case(Op::ConvPool, {3, 11, 9, 3, 1, 1}));
  return cases;
}

/// Residual blocks, depthwise convolutions, pools, a classifier.
graph::Graph small_images(int64_t batch) {
  Net net("images", true);
  Piece x = net.input("image", DataType::F32, {batch, 3, 9, 9});
  x = net.conv("stem", x, 8, {3, 2, 1}, 1, false);
  x = net.same("Relu", "r0", {net.batch_norm("bn0", x)});
  const Piece shortcut = x;
  x = net.same("Relu", "r1", {net.conv("a", x, 8, {3, 1, 1})});
  x = net.conv("b", x, 8, {1, 1, 0});
  x = net.same("Relu", "r2", {net.same("Add", "sum", {x, shortcut})});
  x = net.conv("wide", x, 24, {1, 1, 0}, 1, true);
  x = net.same("HardSwish", "h", {net.conv("depthwise", x, 24, {3, 1, 1}, 24)});
  x = net.same("Sigmoid", "s", {net.conv("narrow", x, 5, {1, 1, 0})});
  x = net.max_pool("pool", x, {2, 2, 0});
  x = net.flatten("flat", net.global_average_pool("mean", x));
  x = net.same("Softmax", "chances", {net.gemm("classes", x, 10)});
  net.output(x);
  return net.take();
}

/// A transformer's layer.
graph::Graph small_text(int64_t tokens) {
  constexpr int64_t kWidth = 24, kHeads = 2;
  Net net("text", true);
  const Piece x = net.input("x", DataType::F32, {1, tokens, kWidth});
  const Piece normed = net.layer_norm("ln", x);
  const auto heads = [&](const std::string& name, const std::vector<int64_t>& order) {
    const Piece all = net.reshape(name + "4", net.linear(name, normed, kWidth),
                                  {1, tokens, kHeads, kWidth / kHeads});
    return net.transpose(name + "t", all, order);
  };
  const Piece q = heads("q", {0, 2, 1, 3}), k = heads("k", {0, 2, 3, 1}),
              v = heads("v", {0, 2, 1, 3});
  const Piece scores = net.same("Softmax", "weights", {net.matmul("qk", q, k)});
  Piece y = net.transpose("back", net.matmul("pv", scores, v), {0, 2, 1, 3});
  y = net.same("Add", "add",
               {net.linear("o", net.reshape("rows", y, {1, tokens, kWidth}), kWidth), x});
  y = net.same("Gelu", "gelu", {net.linear("up", net.layer_norm("ln2", y), 2 * kWidth)});
  net.output(net.linear("down", y, kWidth));
  return net.take();
}

void add_programs(const std::string& name, const graph::Graph& graph,
                  const driver::ModelOptions& options, const std::vector<std::string>& targets,
                  std::set<std::string>& seen, std::vector<Subject>& subjects,
                  const std::string& folder = "nets/") {
  driver::Model model(graph, options);
  const auto tape = model.tape_of_programs(model.pattern_inputs({}));
  KAWARA_CHECK(static_cast<bool>(tape), render({tape.error()}));
  driver::GpuProgramOptions how;
  how.makes_code = false;
  size_t number = 0;
  for (const auto& [text, uses] : driver::gpu_texts_of(*tape, how)) {
    ++number;
    for (const std::string& target : targets)
      if (seen.insert(text + target).second)
        subjects.push_back(
            {folder + name + " " + std::to_string(number) + " " + target, text, "auto", target});
  }
}

} // namespace

std::vector<Subject> programs_of(const std::string& model) {
  const bool is_file = model.find(".onnx") != std::string::npos;
  std::ifstream file(model, std::ios::binary);
  auto graph = is_file ? graph::graph_from_onnx(file, model,
                                                std::filesystem::path(model).parent_path().string())
                       : graph::zoo::make(model);
  KAWARA_CHECK(static_cast<bool>(graph), render({graph.error()}));
  const std::string name =
      is_file ? std::filesystem::path(model).parent_path().filename().string() : model;
  std::vector<Subject> subjects;
  std::set<std::string> seen;
  driver::ModelOptions last;
  last.images = driver::ImageOrder::ChannelsLast;
  driver::ModelOptions narrow = last;
  narrow.floats = DataType::BF16;
  add_programs(name, *graph, {}, {"cpu:neoverse-v1", "cpu:sapphirerapids"}, seen, subjects, "zoo/");
  add_programs(name + " channels last", *graph, last, {"cuda:sm_90a"}, seen, subjects, "zoo/");
  add_programs(name + " bf16", *graph, narrow, {"cuda:sm_90a"}, seen, subjects, "zoo/");
  return subjects;
}

std::vector<Subject> suites() {
  std::vector<Subject> subjects;
  for (const auto& [name, c] : small_cases())
    for (const char* target :
         {"cpu:neoverse-v1", "cpu:sapphirerapids", "cpu:haswell", "cuda:sm_90a"})
      for (const std::string& text : bench::fused_program(c).programs)
        subjects.push_back({"suites/" + name + " " + std::to_string(c.m) + "," +
                                std::to_string(c.n) + "," + std::to_string(c.k) + " " +
                                std::to_string(subjects.size()) + " " + target,
                            text, "auto", target});
  return subjects;
}

std::vector<Subject> nets() {
  std::vector<Subject> subjects;
  std::set<std::string> seen;
  const std::vector<std::string> cpus = {"cpu:neoverse-v1", "cpu:sapphirerapids"};
  const std::vector<std::string> gpu = {"cuda:sm_90a"};
  driver::ModelOptions last;
  last.images = driver::ImageOrder::ChannelsLast;
  driver::ModelOptions narrow = last;
  narrow.floats = DataType::BF16;
  for (const int64_t batch : {1, 2}) {
    const std::string name = "images " + std::to_string(batch);
    const graph::Graph graph = small_images(batch);
    add_programs(name, graph, {}, cpus, seen, subjects);
    add_programs(name + " channels last", graph, last, gpu, seen, subjects);
    add_programs(name + " bf16", graph, narrow, gpu, seen, subjects);
  }
  add_programs("text", small_text(11), {}, cpus, seen, subjects);
  add_programs("text", small_text(11), last, gpu, seen, subjects);
  add_programs("text bf16", small_text(11), narrow, gpu, seen, subjects);
  return subjects;
}

} // namespace kawara::corpus
