#include "driver/code_cache.h"

#include "../graph/graph_text.h"
#include "driver/model.h"

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
  for (int64_t k = 0; k < x.cells(); ++k)
    EXPECT_EQ((*results)[0].tensor.get_double(k), -std::max(x.get_double(k), 0.0));
  EXPECT_EQ(model.kernels(), 1);
  return model.from_cache();
}

TEST(CodeCache, ServesModels) {
  const Folder folder;
  EXPECT_EQ(found_by_model(folder.path()), 0);
  EXPECT_EQ(found_by_model(folder.path()), 1);
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
