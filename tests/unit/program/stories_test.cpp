#include "unit/program/text_of.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace kawara::program {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

fs::path tests_folder() { return KAWARA_TESTS; }

/// Whether `text` is `pattern`, where a line `...` stands for any lines.
bool matches(const std::string& text, const std::string& pattern) {
  const size_t gap = pattern.find("\n...\n");
  if (gap == std::string::npos)
    return text == pattern;
  const std::string head = pattern.substr(0, gap + 1), tail = pattern.substr(gap + 5);
  return text.size() >= head.size() + tail.size() && text.compare(0, head.size(), head) == 0 &&
         text.compare(text.size() - tail.size(), tail.size(), tail) == 0;
}

// The stories of tests/errors are commands; what concerns the text alone needs no command.
TEST(Stories, EveryMessageOfTheTextIsAsWritten) {
  const std::string command = "\n$ kawara show {file} --stage program\n-----\n";
  size_t seen = 0;
  for (const auto& entry : fs::directory_iterator(tests_folder() / "errors")) {
    const std::string name = entry.path().filename().string(), story = contents(entry.path());
    const size_t begin = story.find("--- t.kw\n"), at = story.find(command);
    if (name.substr(0, 3) != "K01" || begin == std::string::npos || at == std::string::npos)
      continue;
    ++seen;
    const auto result = parse(make_source("t.kw", story.substr(begin + 9, at - begin - 9)));
    ASSERT_FALSE(bool(result)) << name;
    const std::string expected = story.substr(at + command.size());
    const std::string text = render(result.error()) + "exit: 1\n";
    EXPECT_TRUE(matches(text, expected)) << name << "\n" << text;
    EXPECT_NE(text.find("error[" + name.substr(0, 5) + "]"), std::string::npos) << name;
  }
  EXPECT_GE(seen, 40u);
}

TEST(Stories, ExamplesParseAndPrintToThemselves) {
  size_t seen = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(tests_folder().parent_path() / "examples")) {
    if (entry.path().extension() != ".kw")
      continue;
    ++seen;
    const Program p = parsed(contents(entry.path()));
    EXPECT_TRUE(spec(p).empty()) << entry.path();
    const std::string text = print(p);
    const Program again = parsed(text);
    EXPECT_EQ(print(again), text);
    ASSERT_EQ(again.statements.size(), p.statements.size());
    for (size_t i = 0; i < p.statements.size(); ++i)
      EXPECT_TRUE(scalar::equal(p.statements[i].value, again.statements[i].value)) << text;
  }
  EXPECT_GE(seen, 40u);
}

} // namespace
} // namespace kawara::program
