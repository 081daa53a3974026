#include "driver/model/model.h"
#include "graph/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kawara::driver {
namespace {

using graph::Builder;
using graph::DataType;
using graph::dims_of;
using graph::ValueId;

constexpr int64_t kColumns = 6;

/// A dense block: layer n is the sums over the rows of all results before it, one below the other.
/// `is_reversed`: each new result is put in front.
graph::Graph dense_block(size_t layers, bool is_reversed) {
  Builder b("dense");
  const ValueId x = b.input("x", DataType::F32, dims_of({4, kColumns}));
  std::vector<ValueId> results{b.add("Softmax", "first", {x})};
  ValueId all = results.front();
  for (size_t n = 0; n < layers; ++n) {
    const std::string name = "layer" + std::to_string(n);
    const ValueId made = b.add("ReduceSum", name, {all, b.integers(name + ".axes", {0})});
    results.insert(is_reversed ? results.begin() : results.end(), made);
    all = b.add("Concat", name + ".all", results, {{"axis", int64_t{0}}});
  }
  b.output(b.add("Softmax", "y", {all}), DataType::F32,
           dims_of({4 + static_cast<int64_t>(layers), kColumns}));
  return b.take();
}

int64_t copies_in(const graph::Graph& graph) {
  Model model(graph);
  const auto tape = model.tape_of_programs(model.pattern_inputs({}));
  EXPECT_TRUE(tape) << render({tape.error()});
  return std::count_if(tape->steps.begin(), tape->steps.end(),
                       [](const TapeStep& step) { return std::holds_alternative<TapeCopy>(step); });
}

TEST(Joins, EveryLayerOfADenseBlockReadsOneMemory) {
  for (const bool is_reversed : {false, true})
    EXPECT_EQ(copies_in(dense_block(5, is_reversed)), 0) << is_reversed;
}

/// Sums of the first rows are in layer 0, and each further layer has twice what the one before has.
TEST(Joins, SharedMemoryHoldsWhatEveryLayerMade) {
  for (const bool is_reversed : {false, true}) {
    Model model(dense_block(3, is_reversed));
    const auto inputs = model.pattern_inputs({});
    const auto results = model.run(inputs);
    ASSERT_TRUE(results) << render({results.error()});
    const auto& x = inputs.at("x").tensor;
    const auto softmax_at = [](const std::vector<double>& row, size_t j) {
      double sum = 0;
      for (const double e : row)
        sum += std::exp(e);
      return std::exp(row[j]) / sum;
    };
    std::vector<double> sums(kColumns, 0);
    for (int64_t i = 0; i < 4; ++i) {
      std::vector<double> row;
      for (int64_t j = 0; j < kColumns; ++j)
        row.push_back(x.get_double(i * kColumns + j));
      for (size_t j = 0; j < row.size(); ++j)
        sums[j] += softmax_at(row, j);
    }
    const auto& y = results->front().tensor;
    for (int64_t layer = 0; layer < 3; ++layer) {
      std::vector<double> row = sums;
      for (double& e : row)
        e *= std::pow(2.0, static_cast<double>(layer));
      const int64_t at = is_reversed ? 2 - layer : 4 + layer;
      for (size_t j = 0; j < row.size(); ++j)
        EXPECT_NEAR(y.get_double(at * kColumns + static_cast<int64_t>(j)), softmax_at(row, j), 1e-5)
            << layer << " " << j << " " << is_reversed;
    }
  }
}

} // namespace
} // namespace kawara::driver
