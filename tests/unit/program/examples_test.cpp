#include "unit/program/example.h"

namespace kawara::program {
namespace {

std::vector<std::string> example_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(examples_folder() / folder))
    if (entry.path().extension() == ".kw")
      files.push_back((folder.empty() ? "" : folder + "/") + entry.path().filename().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> all_files() {
  std::vector<std::string> files = example_files("");
  const std::vector<std::string> kernels = example_files("polybench");
  files.insert(files.end(), kernels.begin(), kernels.end());
  return files;
}

TEST(Examples, AreAllThere) {
  EXPECT_EQ(example_files("polybench").size(), 30U);
  EXPECT_GE(example_files("").size(), 15U);
}

TEST(Examples, StartWithAComment) {
  for (const std::string& file : all_files())
    EXPECT_EQ(text_of_file(examples_folder() / file)[0], '#') << file;
}

TEST(Examples, ParseAndPrintStably) {
  for (const std::string& file : all_files()) {
    const auto p = parse_example(file);
    ASSERT_TRUE(p) << render(p.error());
    EXPECT_TRUE(spec(*p).empty()) << file << ": " << spec(*p)[0];
    const std::string text = print(*p);
    const auto again = parse(make_source("printed " + file, text));
    ASSERT_TRUE(again) << render(again.error()) << text;
    EXPECT_EQ(print(*again), text);
  }
}

/// The printed text means what the program means: both give the same bits.
TEST(Examples, InterpretAtOddSizes) {
  for (const std::string& file : all_files()) {
    const auto p = parse_example(file);
    ASSERT_TRUE(p) << render(p.error());
    const auto printed = parse(make_source("printed " + file, print(*p)));
    ASSERT_TRUE(printed) << render(printed.error());
    for (const int64_t first : {1, 2, 3, 5}) {
      std::vector<int64_t> params;
      for (size_t i = 0; i < p->params.size(); ++i)
        params.push_back(first + static_cast<int64_t>(i % 3));
      const auto inputs = pattern_inputs(*p, params, 1);
      ASSERT_TRUE(inputs) << file << ": " << render(inputs.error());
      const auto out = interpret(*p, params, *inputs);
      ASSERT_TRUE(out) << file << ": " << render(out.error());
      const auto same = interpret(*printed, params, *inputs);
      ASSERT_TRUE(same) << file << ": " << render(same.error());
      EXPECT_EQ(out->size(), same->size());
      for (const auto& [name, array] : *out)
        EXPECT_TRUE(array == same->at(name)) << file << ": " << name;
    }
  }
}

TEST(Examples, PolybenchSizesNameTheParameters) {
  const auto sizes =
      nlohmann::json::parse(text_of_file(examples_folder() / "polybench/sizes.json"));
  EXPECT_EQ(sizes.size(), 30U);
  for (const auto& [name, sets] : sizes.items()) {
    const auto p = parse_example("polybench/" + name + ".kw");
    ASSERT_TRUE(p) << render(p.error());
    for (const std::string set : {"MINI", "SMALL", "MEDIUM", "LARGE", "ODD"}) {
      ASSERT_TRUE(sets.contains(set)) << name << " " << set;
      EXPECT_EQ(sets.at(set).size(), p->params.size()) << name << " " << set;
      for (const Param& param : p->params)
        EXPECT_TRUE(sets.at(set).contains(param.name)) << name << " " << set;
    }
  }
}

} // namespace
} // namespace kawara::program
