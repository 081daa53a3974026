#include "unit/validate/line.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace kawara::validate {
namespace {

/// What one kernel may cost here: less than a second.
constexpr unsigned long kQuotaOfOne = 300'000;

std::vector<std::filesystem::path> examples() {
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"", "/polybench"})
    for (const auto& entry :
         std::filesystem::directory_iterator(KAWARA_EXAMPLES + std::string(folder)))
      if (entry.path().extension() == ".kw")
        files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Every example as `auto` schedules it, for a processor and for a GPU. What is not proved within
/// the quota is counted, not hidden.
TEST(Corpus, ExamplesRunWhatTheirSchedulesSay) {
  int finished = 0, unfinished = 0;
  for (const auto& path : examples())
    for (const bool is_for_gpu : {false, true}) {
      const auto all = made(text_of(path), "auto", is_for_gpu);
      const Report report = validate(all.schedule, all.kernel, {kQuotaOfOne});
      EXPECT_EQ(report.faults, std::vector<std::string>{})
          << path << (is_for_gpu ? " on a GPU\n" : "\n") << kernel::print(all.kernel);
      ++(report.is_finished ? finished : unfinished);
    }
  RecordProperty("finished", finished);
  RecordProperty("unfinished", unfinished);
  EXPECT_GT(finished, unfinished);
}

} // namespace
} // namespace kawara::validate
