#include "explain/report.h"

#include "explain/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace kawara::explain {
namespace {

/// A report with everything in it, and these names.
Report full(const std::string& name) {
  Report made;
  made.title = name;
  made.machine = name;
  made.figures = "from a file";
  estimate::Prediction& p = made.prediction;
  p.work.flops = p.work.types[scalar::Elem::F32] = 2e9;
  p.work.compulsory_bytes = 1e7;
  p.threads = 4;
  p.seconds = 0.02;
  p.arithmetic_seconds = 0.01;
  p.fork_seconds = 1e-5;
  p.bound = "L2";
  made.peak = 2e11;
  made.roof_seconds = 0.01;
  for (const char* level : {"L1", "L2", "L3", "memory"})
    made.levels.push_back({level, 2e7, 0.02, 1.5e7, 1e7, 1e9});
  made.simulated_label = "exact";
  made.energy = estimate::Energy{
      {{name, 2e9, {1e-3, 2e-3, 3e-3}}, {"a", 1, {1, 2, 3}}, {"b", 1, {1, 2, 3}}}, {}};
  for (int k = 0; k < 9; ++k) {
    Considered nest{name, name, {}};
    for (int c = 0; c < 9; ++c)
      nest.candidates.push_back({name, name, 0.01 * (c + 1), "L1", c == 7, c == 8 ? name : ""});
    made.nests.push_back(nest);
    made.duplicates.push_back({name, name, {}, {9, 1, 0}});
    made.missing.push_back(name + ": why");
  }
  return made;
}

ModelReport model(const std::string& name) {
  ModelReport made{name, name, "described", 4, {}, {}};
  for (int k = 0; k < 60; ++k) {
    made.kernels.push_back({name, 12, 1e9, 1e6, 1e-4, k < 8 ? std::optional(1e-3) : std::nullopt,
                            "L2", estimate::Band{1e-3, 2e-3, 3e-3}});
    made.missing.push_back(name);
  }
  return made;
}

int64_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Report, HasFortyLinesAtMost) {
  EXPECT_LE(lines_of(print(full("gemm.kw"))), 40);
  EXPECT_LE(lines_of(print(model("bert.onnx"))), 40);
}

TEST(Report, SaysWhatSetsThePaceAndNeverHidesThePlanThatWasTaken) {
  const std::string text = print(full("gemm.kw"));
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "gemm.kw takes about 20 ms with 4 threads, 50 % of the roof: L2 sets the pace.");
  EXPECT_NE(text.find("\n  * "), std::string::npos);
  EXPECT_NE(text.find("1.50x the least"), std::string::npos);
  EXPECT_NE(text.find("Missing: gemm.kw: why"), std::string::npos);
}

TEST(Report, HasEveryNumberInJson) {
  const std::string json = to_json(full("gemm.kw"));
  for (const char* name : {"verdict", "predicted_ms", "roof_ms", "levels", "simulated", "least",
                           "energy", "nests", "duplicates", "missing"})
    EXPECT_NE(json.find("\"" + std::string(name) + "\""), std::string::npos) << name;
  EXPECT_NE(to_json(model("bert\xff.onnx")).find("least_ms"), std::string::npos);
}

/// Names of the tags of a page; what follows a `<` that begins none would be another one.
std::multiset<std::string> tags_of(const std::string& page) {
  std::multiset<std::string> tags;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const size_t end = page.find_first_of(" >\n", at);
    tags.insert(page.substr(at + 1, end - at - 1));
  }
  return tags;
}

/// Names with all that means something in HTML, SVG, CSS and JavaScript change no tag of the page.
TEST(Page, HasTheSameTagsForAnyName) {
  const auto expected = tags_of(page(full("name")));
  const auto expected_model = tags_of(page(model("name")));
  EXPECT_EQ(expected.count("script"), 0U);
  EXPECT_EQ(expected.count("svg"), 1U);
  const std::vector<std::string> pieces{"<script>alert(1)</script>",
                                        "\"",
                                        "'",
                                        "<",
                                        ">",
                                        "&",
                                        "--><!--",
                                        "<img src=x onerror=alert(1)>",
                                        "</style>",
                                        "</title>",
                                        "]]>",
                                        "javascript:",
                                        "\n",
                                        "\t",
                                        "\xff\xfe",
                                        "\x1b[2J",
                                        "\xe2\x80\xae",
                                        "&lt;",
                                        "${7*7}",
                                        "{{}}",
                                        "a",
                                        "\\"};
  std::mt19937 random(11);
  for (int round = 0; round < 10'000; ++round) {
    std::string name;
    for (uint64_t k = 0; k < 1 + random() % 6; ++k)
      name += pieces[random() % pieces.size()];
    ASSERT_EQ(html_text(name).find_first_of("<>\"'"), std::string::npos);
    if (round % 10 == 0) {
      ASSERT_EQ(tags_of(page(full(name))), expected) << name;
    }
    if (round % 10 == 5) {
      ASSERT_EQ(tags_of(page(model(name))), expected_model) << name;
    }
  }
}

TEST(Page, NeedsNothingElseAndIsTheSameTwice) {
  const std::string text = page(full("gemm.kw"));
  EXPECT_EQ(text, page(full("gemm.kw")));
  EXPECT_NE(text.find("default-src 'none'"), std::string::npos);
  for (const char* reference : {"src=", "href=", "url(", "http:", "https:", "@import"})
    EXPECT_EQ(text.find(reference), std::string::npos) << reference;
  for (const char* part : {"id=\"limits\"", "id=\"bytes\"", "id=\"why\"", "id=\"energy\"",
                           "id=\"missing\"", "id=\"machine\""})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

} // namespace
} // namespace kawara::explain
