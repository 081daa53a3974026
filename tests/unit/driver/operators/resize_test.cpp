#include "unit/driver/one_node.h"

#include "run/functions/function.h"

#include <random>

namespace kawara::driver::one_node {
namespace {

using Word = std::string;

/// Resize with scales; of a row unless the shape says otherwise.
Case scaled(const Tensor& x, const std::vector<double>& scales, const Attributes& attributes) {
  return {"Resize",
          attributes,
          {x, Tensor(), floats({static_cast<int64_t>(scales.size())}, scales)},
          19};
}
Case sized(const Tensor& x, const std::vector<int64_t>& sizes, const Attributes& attributes) {
  return {"Resize", attributes, {x, Tensor(), Tensor(), integers(sizes)}, 19};
}

TEST(Resize, WidensTheFilterOfASmallerResult) {
  const Tensor row = floats({8}, {0, 1, 2, 3, 4, 5, 6, 7});
  // A triangle over four elements: 1/4, 3/4, 3/4, 1/4 of their sum. The border is repeated.
  const Attributes linear = {{"mode", Word("linear")}, {"antialias", int64_t{1}}};
  expect_elements(run(scaled(row, {0.5}, linear))[0], {0.625, 2.5, 4.5, 6.375});
  // Left out, the rest counts for more: (0 * 3 + 1 * 3 + 2) / 7.
  Attributes inside = linear;
  inside["exclude_outside"] = int64_t{1};
  expect_elements(run(scaled(row, {0.5}, inside))[0], {5.0 / 7, 2.5, 4.5, 7 - 5.0 / 7});
  // A larger result has the plain filter.
  Attributes plain = linear;
  plain.erase("antialias");
  expect_elements(run(scaled(row, {1.5}, linear))[0],
                  elements_of(run(scaled(row, {1.5}, plain))[0]));
  expect_elements(run(scaled(row, {0.5}, plain))[0], {0.5, 2.5, 4.5, 6.5});
}

TEST(Resize, WidensCubicFilters) {
  // Of a line every symmetric filter gives the line, away from its ends.
  const Tensor row = floats({16}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  const auto got = run(scaled(row, {0.5}, {{"mode", Word("cubic")}, {"antialias", int64_t{1}}}));
  for (int64_t k = 2; k < 6; ++k)
    EXPECT_NEAR(got[0].get_double(k), 2 * static_cast<double>(k) + 0.5, 1e-5);
}

TEST(Resize, KeepsTheCentreOfWhatIsCutOff) {
  // 4 elements times 0.6 are 2.4, of which 2 are there: (0.5 + k) / 0.6 - 0.5 moves by 2 * (1 - 2
  // / 2.4).
  const Tensor row = floats({4}, {1, 2, 3, 4});
  const auto got = run(scaled(row, {0.6},
                              {{"mode", Word("linear")},
                               {"coordinate_transformation_mode", Word("half_pixel_symmetric")}}));
  expect_elements(got[0], {1 + 2.0 / 3, 1 + 7.0 / 3});
}

TEST(Resize, KeepsTheRatioOfSides) {
  const Tensor image = floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Attributes larger = {{"keep_aspect_ratio_policy", Word("not_larger")},
                             {"axes", std::vector<int64_t>{2, 3}}};
  const Attributes smaller = {{"keep_aspect_ratio_policy", Word("not_smaller")},
                              {"axes", std::vector<int64_t>{2, 3}}};
  EXPECT_EQ(run(sized(image, {7, 8}, larger))[0].shape(), (Shape{1, 1, 4, 8}));
  EXPECT_EQ(run(sized(image, {7, 8}, smaller))[0].shape(), (Shape{1, 1, 7, 14}));
  EXPECT_EQ(run(sized(image, {1, 3}, larger))[0].shape(), (Shape{1, 1, 1, 2}));
  expect_elements(run(sized(image, {1, 2}, larger))[0], {1, 3}); // at 0.5 and 2.5: the lower of two
}

TEST(Resize, TakesAxesInAnyOrder) {
  const Tensor image = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    const Attributes plain = {{"mode", Word(mode)}};
    Attributes transposed = plain;
    transposed["axes"] = std::vector<int64_t>{1, -2};
    EXPECT_EQ(elements_of(run(scaled(image, {3, 2}, transposed))[0]),
              elements_of(run(scaled(image, {2, 3}, plain))[0]));
    EXPECT_EQ(elements_of(run(sized(image, {7, 5}, transposed))[0]),
              elements_of(run(sized(image, {5, 7}, plain))[0]));
    transposed["axes"] = std::vector<int64_t>{1};
    EXPECT_EQ(run(scaled(image, {3}, transposed))[0].shape(), (Shape{2, 9}));
  }
  EXPECT_NE(refusal(scaled(image, {2, 2}, {{"axes", std::vector<int64_t>{1, 1}}})), "");
}

TEST(Resize, CutsOutWhatItResizes) {
  const Tensor image = floats({4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  Case c = sized(image, {2},
                 {{"mode", Word("linear")},
                  {"coordinate_transformation_mode", Word("tf_crop_and_resize")},
                  {"extrapolation_value", 9.5},
                  {"axes", std::vector<int64_t>{1}}});
  c.inputs[1] = floats({2}, {0, 1});
  expect_elements(run(c)[0], {1, 4, 5, 8, 9, 12, 13, 16});
  c.inputs[1] = floats({2}, {0.5, 1.5}); // from place 1.5 to 4.5, which is outside
  expect_elements(run(c)[0], {2.5, 9.5, 6.5, 9.5, 10.5, 9.5, 14.5, 9.5});
}

TEST(Resize, CopiesNearestElementsOfAnyType) {
  constexpr int64_t large = (int64_t{1} << 40) + 1; // no f32 has it
  const Tensor x = tensor(DataType::I64, {3}, std::vector<int64_t>{large, large + 1, large + 2});
  const Tensor got = run(scaled(x, {1.5}, {}))[0];
  EXPECT_EQ(got.get_int(0), large);
  EXPECT_EQ(got.get_int(3), large + 2);
  EXPECT_NE(refusal(scaled(x, {1.5}, {{"mode", Word("blurry")}})).find("known are nearest"),
            Word::npos);
}

TEST(Resize, RoundsSizesAsShapesAreInferred) {
  EXPECT_EQ(run(scaled(varied({10}, 1), {0.7}, {{"mode", Word("linear")}}))[0].shape(), Shape{7});
}

/// Before version 11 a smaller result takes the element behind.
TEST(Resize, ChoosesNearestElementsAsOldVersionsDo) {
  const Tensor row = floats({5}, {0, 1, 2, 3, 4});
  expect_elements(run({"Resize", {}, {row, floats({1}, {0.6})}, 10})[0], {0, 2, 4});
  expect_elements(run({"Resize", {}, {row, floats({1}, {1.4})}, 10})[0], {0, 0, 1, 2, 2, 3, 4});
}

/// What has no weight is not read.
TEST(Resize, DoesNotLetInfinitiesThroughThatHaveNoWeight) {
  const double inf = std::numeric_limits<double>::infinity();
  graph::Graph graph = graph_of(
      scaled(floats({5}, {1, inf, 3, 5, 7}), {3},
             {{"mode", Word("linear")}, {"coordinate_transformation_mode", Word("asymmetric")}}));
  graph.initializers[graph.nodes[0].inputs[2]] = floats({1}, {3});
  graph.inputs.pop_back();
  Model model(graph);
  const auto got = model.run({{"x0", {floats({5}, {1, inf, 3, 5, 7}), false, {}}}});
  ASSERT_TRUE(got);
  EXPECT_EQ(model.programs().size(), 1U);
  const std::vector<double> y = elements_of((*got)[0].tensor);
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[3], inf);
  EXPECT_EQ(y[6], 3);
  EXPECT_NEAR(y[14], 7, 1e-6);
}

/// The same with sizes or scales that are known before the run: a program. The function says what
/// it means.
void expect_what_the_function_gives(const Case& c, const std::string& what) {
  SCOPED_TRACE(what);
  graph::Graph graph = graph_of(c);
  for (const size_t k : {size_t{2}, size_t{3}})
    if (k < c.inputs.size() && c.inputs[k]) {
      graph.initializers[graph.nodes[0].inputs[k]] = c.inputs[k];
      graph.inputs.pop_back();
    }
  run::FunctionCall call{graph.nodes[0], c.opset, {}};
  for (const Tensor& input : c.inputs)
    call.inputs.push_back({input, false, {}});
  const auto wanted = run::find_function("Resize")->call(call);
  Model model(graph);
  const auto got = model.run({{"x0", {c.inputs[0], false, {}}}});
  ASSERT_TRUE(got) << render(got.error());
  ASSERT_TRUE(wanted) << wanted.error();
  ASSERT_EQ((*got)[0].tensor.shape(), (*wanted)[0].tensor.shape());
  ASSERT_EQ((*got)[0].tensor.type(), (*wanted)[0].tensor.type());
  const double by = c.inputs[0].type() == DataType::F32 ? 1e-5 : 0;
  expect_elements((*got)[0].tensor, elements_of((*wanted)[0].tensor), by);
  const bool is_left = (*got)[0].tensor.shape() == c.inputs[0].shape();
  EXPECT_TRUE(is_left || (*got)[0].tensor.elements() == 0 || model.programs().size() == 1);
}

/// Every element several times, or every n-th one: a movement by places that are affine.
TEST(Resize, TakesNearestElementsInEvenStepsWithoutLookingThemUp) {
  const auto tables = [](const std::vector<int64_t>& sizes, const Word& coordinates,
                         const Word& nearest) {
    const Case c = sized(varied({2, 3, 4, 6}, 1), sizes,
                         {{"mode", Word("nearest")},
                          {"axes", std::vector<int64_t>{2, 3}},
                          {"coordinate_transformation_mode", coordinates},
                          {"nearest_mode", nearest}});
    expect_what_the_function_gives(c, coordinates + " " + nearest);
    graph::Graph graph = graph_of(c);
    graph.initializers[graph.nodes[0].inputs[3]] = c.inputs[3];
    graph.inputs.pop_back();
    Model model(graph);
    EXPECT_TRUE(model.run({{"x0", {c.inputs[0], false, {}}}}));
    EXPECT_EQ(model.programs().size(), 1U);
    return model.programs().begin()->first.find("temp I") != std::string::npos;
  };
  EXPECT_FALSE(tables({8, 18}, "asymmetric", "floor"));
  EXPECT_FALSE(tables({8, 12}, "half_pixel", "round_prefer_floor"));
  EXPECT_FALSE(tables({2, 2}, "asymmetric", "floor"));
  EXPECT_FALSE(tables({2, 3}, "half_pixel", "round_prefer_ceil"));
  EXPECT_FALSE(tables({2, 12}, "asymmetric", "floor")) << "one smaller, one larger";
  EXPECT_TRUE(tables({8, 12}, "asymmetric", "ceil")) << "0, 1, 1, 2: the first comes once";
  EXPECT_TRUE(tables({7, 12}, "asymmetric", "floor"));
}

TEST(Resize, AsAProgramIsWhatTheFunctionGives) {
  std::mt19937 random(11); // NOLINT(cert-msc51-cpp): the same samples every time
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  const auto word = [&](const std::vector<Word>& some) {
    return some[static_cast<size_t>(between(0, static_cast<int64_t>(some.size()) - 1))];
  };
  for (int n = 0; n < 60; ++n) {
    const Shape shape{between(1, 2), between(1, 3), between(1, 9), between(1, 12)};
    const bool is_whole = between(0, 3) == 0;
    const Word mode = is_whole ? "nearest" : word({"nearest", "linear", "cubic"});
    Attributes attributes{
        {"mode", mode},
        {"nearest_mode", word({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})},
        {"coordinate_transformation_mode",
         word({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
               "asymmetric", "tf_half_pixel_for_nn"})},
        {"keep_aspect_ratio_policy", word({"stretch", "stretch", "not_larger", "not_smaller"})},
        {"exclude_outside", between(0, 1)},
        {"antialias", between(0, 1)},
        {"axes", std::vector<int64_t>{2, 3}}};
    if (mode == "cubic")
      attributes["cubic_coeff_a"] = -0.5;
    Tensor x = varied(shape, n);
    if (is_whole) {
      x = Tensor(word({"u8", "i64"}) == "u8" ? DataType::U8 : DataType::I64, shape);
      for (int64_t k = 0; k < x.elements(); ++k)
        x.set_int(k, k * 37 % 251);
    }
    const auto scale = [&] { return static_cast<double>(between(3, 40)) / 8; };
    const Case c = between(0, 1) == 0 ? sized(x, {between(1, 20), between(1, 25)}, attributes)
                                      : scaled(x, {scale(), scale()}, attributes);
    std::string what = mode;
    for (const auto& [name, value] : attributes)
      if (const auto* text = std::get_if<Word>(&value))
        what += " " + *text;
    expect_what_the_function_gives(c, fmt::format("{}: {} {}", n, what, graph::text_of(shape)));
  }
}

} // namespace
} // namespace kawara::driver::one_node
