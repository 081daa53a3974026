#pragma once

#include "tune/database/database.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

namespace kawara::tune {

/// A folder that is gone after the test.
class Folder {
public:
  Folder() {
    // In memory where there is such a folder: these tests wait for no disk.
    const std::filesystem::path shared = "/dev/shm";
    const auto above =
        std::filesystem::exists(shared) ? shared : std::filesystem::temp_directory_path();
    std::string name = (above / "kawara-tune-XXXXXX").string();
    path_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
    EXPECT_FALSE(path_.empty());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
  std::string path_;
};

inline Key key(const std::string& sizes) { return {"param N\n", sizes, "a machine", 2}; }

inline Trial trial(const std::string& directives, double ratio = 1) {
  return {directives, Outcome::Measured, "", ratio, ratio * 1e-3, "random", "0.1.0"};
}

inline Best best(const std::string& directives, double seconds) {
  return {directives, seconds, 1.0, {seconds, seconds}, {1.0, 1.0}, "0.1.0", 1000};
}

inline Database open(const std::string& path) {
  auto database = Database::open(path);
  if (!database)
    throw std::runtime_error(render(database.error()));
  return *std::move(database);
}

} // namespace kawara::tune
