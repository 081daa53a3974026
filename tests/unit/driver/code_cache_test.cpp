#include "driver/kernels/code_cache.h"

#include "driver/model/model.h"
#include "graph/builder.h"
#include "unit/graph/graph_text.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kawara::driver {
namespace {

namespace fs = std::filesystem;

/// A folder that is gone at the end.
class Folder {
public:
  Folder()
      : path_(fs::temp_directory_path() /
              ("kawara_cache_" +
               std::to_string(std::hash<std::string>()(
                   testing::UnitTest::GetInstance()->current_test_info()->name())) +
               "_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string path() const { return path_.string(); }
  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& file : fs::directory_iterator(path_))
      all.push_back(file.path());
    return all;
  }

private:
  fs::path path_;
};

TEST(CodeCache, GivesBackWhatWasPut) {
  const Folder folder;
  const CodeCache cache(folder.path());
  EXPECT_FALSE(cache.get("a"));
  cache.put("a", std::string("one\0two", 7));
  EXPECT_EQ(cache.get("a"), std::string("one\0two", 7));
  EXPECT_FALSE(cache.get("b"));
  cache.put("a", "three");
  EXPECT_EQ(cache.get("a"), "three");
  EXPECT_EQ(folder.files().size(), 1U);
}

TEST(CodeCache, KeepsNothingWithoutAFolder) {
  const CodeCache cache("");
  cache.put("a", "one");
  EXPECT_FALSE(cache.get("a"));
}

TEST(CodeCache, StaysBelowItsLimit) {
  const Folder folder;
  const CodeCache cache(folder.path(), 1000);
  for (int k = 0; k < 20; ++k)
    cache.put("key " + std::to_string(k), std::string(100, 'x'));
  int64_t bytes = 0;
  for (const fs::path& file : folder.files())
    bytes += static_cast<int64_t>(fs::file_size(file));
  EXPECT_LE(bytes, 1000);
  EXPECT_GT(bytes, 0);
}

graph::Graph small_graph() {
  using namespace graph::graph_text;
  return graph_of({{"a", "Relu", {"x"}}, {"y", "Neg", {"a"}}}, {}, {{"x", {3, 5}}});
}

/// How many kernels a new model found.
int64_t found_by_model(const std::string& folder) {
  Model model(small_graph(), ModelOptions{true, true, folder, nullptr});
  const auto results = model.run(model.pattern_inputs({}));
  EXPECT_TRUE(results);
  const Tensor x = model.pattern_inputs({}).at("x").tensor;
  for (int64_t k = 0; k < x.elements(); ++k)
    EXPECT_EQ((*results)[0].tensor.get_double(k), -std::max(x.get_double(k), 0.0));
  EXPECT_EQ(model.kernels(), 1);
  return model.from_cache();
}

TEST(CodeCache, ServesModels) {
  const Folder folder;
  EXPECT_EQ(found_by_model(folder.path()), 0);
  EXPECT_EQ(found_by_model(folder.path()), 1);
}

/// Runs a net for several lengths of its input; how many kernels were made and how many found.
std::pair<int64_t, int64_t> sized_by_model(const std::string& folder) {
  graph::Builder b("lengths");
  const ValueId x = b.input("x", graph::DataType::F32, {{{}, "length"}, {6, ""}});
  b.output(b.add("Softmax", "y", {b.add("Exp", "e", {x})}, {{"axis", int64_t{0}}}),
           graph::DataType::F32, {});
  Model model(b.take(), ModelOptions{true, true, folder, nullptr}), plain(model.graph());
  for (const int64_t length : {5, 9, 7, 12}) {
    const auto inputs = model.pattern_inputs({}, {{"length", length}});
    const auto got = model.run(inputs), wanted = plain.run(inputs);
    EXPECT_TRUE(got && wanted);
    for (int64_t k = 0; got && wanted && k < 6 * length; ++k)
      EXPECT_NEAR((*got)[0].tensor.get_double(k), (*wanted)[0].tensor.get_double(k), 1e-6);
  }
  EXPECT_FALSE(model.sized_programs().empty());
  return {model.kernels(), model.from_cache()};
}

TEST(CodeCache, IsOfAsManyThreads) {
  const Folder folder;
  const char* old = std::getenv("KAWARA_THREADS");
  const std::string before = old != nullptr ? old : "";
  setenv("KAWARA_THREADS", "1", 1);
  EXPECT_EQ(found_by_model(folder.path()), 0);
  setenv("KAWARA_THREADS", "3", 1);
  EXPECT_EQ(found_by_model(folder.path()), 0) << "planned for one thread";
  setenv("KAWARA_THREADS", "1", 1);
  EXPECT_EQ(found_by_model(folder.path()), 1);
  old != nullptr ? setenv("KAWARA_THREADS", before.c_str(), 1) : unsetenv("KAWARA_THREADS");
}

TEST(CodeCache, KeepsCodeForARangeOfSizes) {
  const Folder folder;
  const auto [made, found] = sized_by_model(folder.path());
  EXPECT_EQ(found, 0);
  EXPECT_EQ(sized_by_model(folder.path()), std::pair(made, made));
}

TEST(CodeCache, DamagedFilesAreMadeAgain) {
  const Folder folder;
  found_by_model(folder.path());
  ASSERT_EQ(folder.files().size(), 1U);
  const fs::path file = folder.files()[0];
  const auto size = static_cast<int64_t>(fs::file_size(file));
  for (const int64_t at : {int64_t{1}, size / 2, size - 1}) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(at);
    const char old = static_cast<char>(stream.get());
    stream.seekp(at);
    stream.put(static_cast<char>(old ^ 1));
    stream.close();
    EXPECT_EQ(found_by_model(folder.path()), 0) << at;
    EXPECT_EQ(found_by_model(folder.path()), 1) << at;
  }
  fs::resize_file(file, static_cast<uintmax_t>(size / 2));
  EXPECT_EQ(found_by_model(folder.path()), 0);
}

} // namespace
} // namespace kawara::driver
