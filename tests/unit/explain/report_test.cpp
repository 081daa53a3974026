#include "explain/report.h"

#include "explain/page.h"
#include "explain/page_frame.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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
  made.tree = made.machine_file = made.work = "{}";
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

/// The same with all that is told besides kernels.
ModelReport model_with_facts(const std::string& name) {
  ModelReport made = model(name);
  ModelFacts& facts = made.facts;
  for (int k = 0; k < 9; ++k) {
    StepReport step;
    step.kernel = "k" + std::to_string(k);
    step.name = name;
    step.seconds = 1e-3 / (k + 3);
    step.live_bytes = 64 * k;
    step.reads = step.writes = {name};
    facts.steps.push_back(step);
    facts.nodes.push_back({"n" + std::to_string(k), name, name, step.kernel, 10, 5, true});
    facts.operators.push_back({name, name, 10, 1, 20, 5, 1e-6});
    facts.edges.push_back({"n0",
                           "n" + std::to_string(k),
                           name,
                           "f32",
                           "[2]",
                           8,
                           k < 3,
                           {8.0 * k, 1e-6, estimate::Band{1e-3, 2e-3, 3e-3}},
                           name,
                           {FusionVerdict::Answer::Legal, name, name}});
    facts.pairs.push_back({k > 4, name, name, 2, overlap_of(2, 2, 1)});
  }
  facts.before = {9, 90, 45, 1e-3};
  facts.after = {5, 90, 30, 1e-3};
  facts.arena = Arena{128, 100, 7, {{name, 0, 64, 0, 2}, {name, 64, 64, 1, 3}}};
  return made;
}

int64_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Report, HasFortyLinesAtMost) {
  EXPECT_LE(lines_of(print(full("gemm.kw"))), 40);
  EXPECT_LE(lines_of(print(model("bert.onnx"))), 40);
  EXPECT_LE(lines_of(print(model_with_facts("bert.onnx"))), 40);
}

TEST(Report, SaysWhatFusionSavedAndWhatItCostsNotTo) {
  const std::string text = print(model_with_facts("bert.onnx"));
  EXPECT_NE(text.find("saved                 24 B, 3 us, 6 mJ in 3 places"), std::string::npos)
      << text;
  EXPECT_NE(text.find("left                  264 B, 6 us, 12 mJ in 6 places, most of it"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("6 x bert.onnx -> bert.onnx, 264 B: bert.onnx\n    `bert.onnx` is legal"),
            std::string::npos)
      << text;
}

TEST(Report, OfAModelHasEveryPartInJson) {
  const auto json = nlohmann::json::parse(to_json(model_with_facts("bert\xff.onnx")));
  EXPECT_EQ(json["steps"].size(), 9U);
  EXPECT_EQ(json["graph"]["edges"][0].contains("saves"), true);
  EXPECT_EQ(json["graph"]["edges"][5].contains("costs"), true);
  EXPECT_EQ(json["graph"]["edges"][5]["verdict"], "legal");
  EXPECT_EQ(json["fusion"]["before"]["flops_per_byte"], 2.0);
  EXPECT_EQ(json["fusion"]["after"]["flops_per_byte"], 3.0);
  EXPECT_EQ(json["pairs"][0]["overlap_of_first"], 0.5);
  EXPECT_EQ(json["arena"]["tensors"].size(), 2U);
  double at = 0;
  for (const auto& step : json["steps"]) {
    EXPECT_NEAR(step["start_ms"], at, 1e-12);
    at += step["duration_ms"].get<double>();
  }
}

/// Spans are inside the call's, one after the other; each has what Chrome's format wants.
TEST(Trace, NestsAndTellsLiveBytes) {
  ModelFacts facts = model_with_facts("bert.onnx").facts;
  facts.between_seconds = 1e-4;
  const auto json = nlohmann::json::parse(trace_json("bert.onnx", facts));
  EXPECT_EQ(json["displayTimeUnit"], "ns");
  double call_end = 0, end = 0;
  int spans = 0, counters = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "C") {
      counters += event["name"] == "live bytes" && event["args"].contains("B");
    } else if (event["ph"] == "X" && event["name"] == "call") {
      call_end = event["dur"];
    } else if (event["ph"] == "X") {
      ++spans;
      EXPECT_NEAR(event["ts"], end, 1e-9);
      end = event["ts"].get<double>() + event["dur"].get<double>();
      EXPECT_LE(end, call_end + 1e-9);
    }
  }
  EXPECT_EQ(spans, 9);
  EXPECT_EQ(counters, 10);
  EXPECT_NEAR(call_end - end, 100, 1e-6);
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
  const std::string json = to_json(full("gemm\xff.kw"));
  for (const char* name :
       {"verdict", "predicted_ms", "roof_ms", "levels", "simulated", "least", "energy", "nests",
        "duplicates", "missing", "dependences", "schedule", "machine_file", "work"})
    EXPECT_NE(json.find("\"" + std::string(name) + "\""), std::string::npos) << name;
  EXPECT_NE(to_json(model("bert\xff.onnx")).find("least_ms"), std::string::npos);
}

/// Names of the tags of a page; what follows a `<` that begins none would be another one.
std::multiset<std::string> tags_of(const std::string& whole) {
  std::multiset<std::string> tags;
  // What is in the page's own script is the same for all.
  const std::string page = whole.substr(0, whole.find("<script id=\"report-script\">") + 8);
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
  EXPECT_EQ(expected.count("script"), 2U);
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
  const std::string whole = page(full("gemm.kw"));
  EXPECT_EQ(whole, page(full("gemm.kw")));
  EXPECT_NE(whole.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  const std::string text = whole.substr(0, whole.find("<script id=\"report-script\">"));
  for (const char* reference : {"src=", "href=", "url(", "http:", "https:", "@import"})
    EXPECT_EQ(text.find(reference), std::string::npos) << reference;
  for (const char* part : {"id=\"limits\"", "id=\"bytes\"", "id=\"why\"", "id=\"energy\"",
                           "id=\"missing\"", "id=\"machine\""})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

} // namespace
} // namespace kawara::explain
