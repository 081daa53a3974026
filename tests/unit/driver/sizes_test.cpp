#include "driver/kernels/text_family.h"
#include "driver/model/model.h"
#include "driver/pipeline.h"
#include "graph/builder.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kawara::driver {
namespace {

using graph::Builder;
using graph::DataType;
using graph::Dim;

TEST(TextFamily, NumbersThatAreAffineInOneOfThem) {
  const auto family = TextFamily::of("input X0: f32[5, 64]\nY0[i + 320] = X0[i]\n",
                                     "input X0: f32[7, 64]\nY0[i + 448] = X0[i]\n");
  ASSERT_TRUE(family);
  EXPECT_EQ(family->text(), "param size\nassume size >= 1\nassume size <= 33554432\n"
                            "input X0: f32[size, 64]\nY0[i + (64 * size + 0)] = X0[i]\n");
  EXPECT_EQ(family->size_in("input X0: f32[9, 64]\nY0[i + 576] = X0[i]\n"), 9);
  EXPECT_EQ(family->size_in("input X0: f32[9, 64]\nY0[i + 577] = X0[i]\n"), std::nullopt);
  EXPECT_EQ(family->size_in("input X0: f32[9, 65]\nY0[i + 576] = X0[i]\n"), std::nullopt);
  EXPECT_EQ(family->size_in("input X0: f32[0, 64]\nY0[i + 0] = X0[i]\n"), std::nullopt);
}

TEST(TextFamily, WholeNumbersOfFloatsToo) {
  const auto family = TextFamily::of("Y0[i] = T[i + 3] / 4.0", "Y0[i] = T[i + 3] / 6.0");
  ASSERT_TRUE(family);
  EXPECT_NE(family->text().find("Y0[i] = T[i + 3] / size"), std::string::npos);
  EXPECT_EQ(family->size_in("Y0[i] = T[i + 3] / 9.0"), 9);
  EXPECT_EQ(family->size_in("Y0[i] = T[i + 3] / 9"), std::nullopt);
  EXPECT_EQ(family->size_in("Y0[i] = T[i + 3] / 9.5"), std::nullopt);
}

TEST(TextFamily, NumbersThatShrinkEndTheFamily) {
  const auto family = TextFamily::of("X0: f32[36, 4]", "X0: f32[31, 5]");
  ASSERT_TRUE(family);
  EXPECT_EQ(family->text(), "param size\nassume size >= 1\nassume size <= 11\n"
                            "X0: f32[(-5 * size + 56), size]");
}

TEST(TextFamily, OnlyIntegersMayDiffer) {
  EXPECT_FALSE(TextFamily::of("a[3] = 0.5", "a[4] = 0.25"));
  EXPECT_FALSE(TextFamily::of("a3[3] = 1", "a4[3] = 1"));
  EXPECT_FALSE(TextFamily::of("a[3] = 1e-5", "a[3] = 1e-6"));
  EXPECT_FALSE(TextFamily::of("a[3] = b[3]", "a[3] = b[3, 4]"));
  EXPECT_FALSE(TextFamily::of("a[2, 3]", "a[4, 6]")) << "half of the size";
  EXPECT_FALSE(TextFamily::of("a[3]", "a[3]"));
  EXPECT_TRUE(TextFamily::of("a[2, 4]", "a[4, 8]"));
}

/// One token's attention over a cache of symbolic length, the cache grown by it, and a projection.
graph::Graph attention_over_a_cache() {
  Builder b("attention");
  const auto weights = [](const Shape& shape) {
    Tensor tensor(DataType::F32, shape);
    for (int64_t k = 0; k < tensor.elements(); ++k)
      tensor.set_double(k, static_cast<double>(k * 37 % 19 - 9) / 32);
    return tensor;
  };
  const std::vector<Dim> cache{{2, ""}, {3, ""}, {{}, "past"}, {8, ""}};
  const ValueId x = b.input("x", DataType::F32, graph::dims_of({2, 3, 1, 8}));
  const ValueId keys = b.input("keys", DataType::F32, cache);
  const ValueId values = b.input("values", DataType::F32, cache);
  const ValueId all_keys =
      b.add("Concat", "all_keys", {keys, b.add("Tanh", "key", {x})}, {{"axis", int64_t{2}}});
  const ValueId all_values =
      b.add("Concat", "all_values", {values, b.add("Neg", "value", {x})}, {{"axis", int64_t{2}}});
  const ValueId transposed =
      b.add("Transpose", "transposed", {all_keys}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  const ValueId mean = b.add("ReduceMean", "mean", {all_values},
                             {{"axes", std::vector<int64_t>{2}}, {"keepdims", int64_t{1}}});
  const ValueId scores = b.add("Softmax", "weights", {b.add("MatMul", "scores", {x, transposed})},
                               {{"axis", int64_t{-1}}});
  const ValueId mixed = b.add("Add", "sum", {b.add("MatMul", "mixed", {scores, all_values}), mean});
  const ValueId y = b.add("MatMul", "y", {mixed, b.constant("w", weights({8, 8}))});
  b.output(y, DataType::F32, {});
  b.output(all_keys, DataType::F32, {});
  return b.take();
}

/// A convolution, a pool and a product over a symbolic number of images.
graph::Graph images_in_batches() {
  Builder b("images");
  Tensor filter(DataType::F32, {4, 3, 3, 3}), rows(DataType::F32, {4, 5});
  for (Tensor* tensor : {&filter, &rows})
    for (int64_t k = 0; k < tensor->elements(); ++k)
      tensor->set_double(k, static_cast<double>(k * 29 % 23 - 11) / 16);
  const ValueId x = b.input("x", DataType::F32, {{{}, "batch"}, {3, ""}, {6, ""}, {7, ""}});
  const ValueId c = b.add("Conv", "c", {x, b.constant("filter", filter)},
                          {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  const ValueId p = b.add("GlobalAveragePool", "p", {b.add("Relu", "r", {c})});
  const ValueId f = b.add("Flatten", "f", {p});
  b.output(b.add("Gemm", "y", {f, b.constant("rows", rows)}), DataType::F32, {});
  return b.take();
}

/// Runs one model with all sizes one after the other, and each in a model of its own. Returns how
/// many programs the first had compiled after each.
std::vector<int64_t> same_at(const graph::Graph& graph, const std::string& symbol,
                             const std::vector<int64_t>& sizes) {
  Model shared(graph);
  std::vector<int64_t> kernels;
  for (const int64_t size : sizes) {
    Model own(graph);
    const auto inputs = own.pattern_inputs({}, {{symbol, size}});
    const auto wanted = own.run(inputs), got = shared.run(inputs);
    EXPECT_TRUE(wanted && got);
    if (!wanted || !got)
      break;
    for (size_t k = 0; k < wanted->size(); ++k) {
      const Tensor &a = (*wanted)[k].tensor, &b = (*got)[k].tensor;
      EXPECT_EQ(a.shape(), b.shape());
      for (int64_t at = 0; at < a.elements() && at < b.elements(); ++at)
        EXPECT_NEAR(a.get_double(at), b.get_double(at), 1e-5) << size << ": " << at;
    }
    kernels.push_back(shared.kernels());
  }
  return kernels;
}

TEST(Sizes, CacheOfSymbolicLength) {
  const auto kernels = same_at(attention_over_a_cache(), "past", {5, 10, 6, 30, 4, 129, 5});
  ASSERT_EQ(kernels.size(), 7U);
  EXPECT_GT(kernels[1], kernels[0]);
  for (size_t k = 2; k < kernels.size(); ++k)
    EXPECT_EQ(kernels[k], kernels[1]) << "compiled again for size " << k;
}

TEST(Sizes, BatchesOfImages) {
  const auto kernels = same_at(images_in_batches(), "batch", {2, 3, 4, 9});
  ASSERT_EQ(kernels.size(), 4U);
  EXPECT_EQ(kernels[2], kernels[1]);
  EXPECT_EQ(kernels[3], kernels[1]);
}

TEST(Sizes, OneIsAProgramOfItsOwn) { // where dimensions of one element are left out
  EXPECT_EQ(same_at(images_in_batches(), "batch", {1, 2, 1, 5, 7}).size(), 5U);
}

/// Attention whose batch and sequence both change: the family of two texts is one of rows of 31 n -
/// 60 elements.
TEST(Sizes, CodeForARangeTakesTheMemoryOfItsSize) {
  const std::string rows = "f32[size, (31 * size - 60)", matrix = rows + ", (31 * size - 60)]";
  Request request;
  request.text =
      make_source("operator.kw",
                  "param size\nassume size >= 1\nassume size <= 69273666\ninput X0: " + rows +
                      ", 4]\ninput X1: " + rows + ", 4]\ninput X2: " + rows +
                      ", 4]\noutput Y: " + rows + ", 4]\ntemp S: " + matrix + "\ntemp M: " + rows +
                      "]\ntemp T: " + rows + "]\ntemp E: " + matrix + "\ntemp P: " + matrix +
                      "\nS[n, i, j] = sum(k, X0[n, i, k] * X1[n, j, k]) * 1.0\n"
                      "M[n, i] = max(j, S[n, i, j])\nE[n, i, j] = exp(S[n, i, j] - M[n, i])\n"
                      "T[n, i] = sum(j, E[n, i, j])\nP[n, i, j] = E[n, i, j] / T[n, i]\n"
                      "Y[n, i, v] = sum(j, P[n, i, j] * X2[n, j, v])\n");
  request.directives = make_source("operator.sched", "auto");
  Trace trace;
  const auto code = executable_of(request, host_environment(), trace, {});
  ASSERT_TRUE(code);
  const emit::Signature& signature = code->signature();
  for (const auto* group : {&signature.workspace, &signature.scratch})
    for (const emit::BufferInfo& buffer : *group) {
      const std::vector<int64_t> params{3};
      const auto bytes = emit::bytes_of(buffer, params);
      ASSERT_TRUE(bytes) << buffer.name;
      EXPECT_LT(*bytes, 1 << 20) << buffer.name;
    }
}

} // namespace
} // namespace kawara::driver
