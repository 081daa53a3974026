#include "unit/driver/one_node.h"

// Convolutions that are less than a sum.

namespace kawara::driver {
namespace {

using namespace one_node;

/// One channel a group, one tap: three images of 2 x 2, two factors each and what is added.
Case scaled(bool has_bias) {
  return {"Conv",
          {{"group", int64_t{3}}},
          {floats({1, 3, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
           floats({3, 1, 1, 1}, {2, -1, 0.5}), has_bias ? floats({3}, {10, 20, 30}) : Tensor{}}};
}

TEST(Convolution, OfOneChannelAndOneTapIsAProduct) {
  expect_elements(run(scaled(false)).at(0), {2, 4, 6, 8, -5, -6, -7, -8, 4.5, 5, 5.5, 6});
  expect_elements(run(scaled(true)).at(0), {12, 14, 16, 18, 15, 14, 13, 12, 34.5, 35, 35.5, 36});
}

TEST(Convolution, OfOneChannelAndOneTapKeepsNoSums) {
  const Case c = scaled(true);
  std::map<std::string, run::Datum> inputs;
  for (size_t k = 0; k < c.inputs.size(); ++k)
    inputs["x" + std::to_string(k)] = {c.inputs[k], false, {}};
  Model model(graph_of(c));
  ASSERT_TRUE(model.run(inputs));
  ASSERT_EQ(model.programs().size(), 1U);
  const std::string& text = model.programs().begin()->first;
  EXPECT_NE(text.find("Y0[g, o0] = X0[g, o0] * X1[g] + X2[g]"), std::string::npos) << text;
  EXPECT_EQ(text.find("temp"), std::string::npos) << text;
}

} // namespace
} // namespace kawara::driver
