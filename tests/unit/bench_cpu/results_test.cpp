#include "cpu/report.h"
#include "cpu/results.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace kawara::bench {
namespace {

Entry entry(const std::string& name, double seconds, bool is_right = true) {
  Entry e;
  e.contestant = name;
  e.is_kawara = name.rfind("kawara", 0) == 0;
  e.timing = run::summarise({seconds, seconds, seconds}, 1);
  e.agreement.is_right = is_right;
  return e;
}

Row row(const std::string& name, std::vector<Entry> entries) {
  Row r;
  r.c.group = "gemm";
  r.c.name = name;
  r.c.flops = 1e9;
  r.entries = std::move(entries);
  return r;
}

TEST(Results, TheBestPeerIsTheFastestThatIsRightAndNotKawara) {
  const Row r = row("x", {entry("kawara", 1), entry("kawara fast", 0.5), entry("A", 3),
                          entry("B", 2), entry("C", 1, false)});
  ASSERT_NE(best_peer(r), nullptr);
  EXPECT_EQ(best_peer(r)->contestant, "B");
  EXPECT_DOUBLE_EQ(*ratio_to_peers(r, "kawara"), 2);
  EXPECT_DOUBLE_EQ(*ratio_to_peers(r, "kawara fast"), 4);
  EXPECT_FALSE(ratio_to_peers(r, "kawara separate"));
}

TEST(Results, AWrongResultLoses) {
  EXPECT_DOUBLE_EQ(*ratio_to_peers(row("x", {entry("kawara", 1, false), entry("A", 3)}), "kawara"),
                   0);
  Entry failed = entry("kawara", 0);
  failed.failure = "cannot";
  EXPECT_DOUBLE_EQ(*ratio_to_peers(row("x", {failed, entry("A", 3)}), "kawara"), 0);
  EXPECT_FALSE(ratio_to_peers(row("x", {entry("kawara", 1)}), "kawara")) << "no peer, no ratio";
}

TEST(Results, StandingsAreGeometricMeansAndCountTheLost) {
  const std::vector<Row> rows = {row("a", {entry("kawara", 1), entry("A", 2)}),
                                 row("b", {entry("kawara", 2), entry("A", 1)}),
                                 row("c", {entry("kawara", 1), entry("A", 8)}),
                                 row("d", {entry("kawara", 1, false), entry("A", 1)})};
  const Standing s = standing_of(rows, "kawara");
  EXPECT_EQ(s.cases, 4);
  EXPECT_EQ(s.lost, 1);
  EXPECT_NEAR(s.geomean, 2, 1e-12) << "of 2, 1/2 and 8";
  EXPECT_DOUBLE_EQ(s.worst, 0);
  EXPECT_EQ(s.worst_case, "d");
}

TEST(Results, ShareOfTheLimit) {
  Row r = row("x", {entry("kawara", 0.5)});
  EXPECT_DOUBLE_EQ(share_of_limit(r, r.entries[0], {8e9, 1e9}), 0.25) << "2 of 8 GFLOP/s";
  r.c.flops = 0;
  r.c.bytes = 1e9;
  EXPECT_DOUBLE_EQ(share_of_limit(r, r.entries[0], {8e9, 4e9}), 0.5) << "2 of 4 GB/s";
}

/// Every convolution of the suite takes `seconds`.
std::vector<Row> network_rows(double seconds) {
  std::vector<Row> rows;
  for (const Case& c : selected_cases("conv", ""))
    rows.push_back({c, {entry("kawara", seconds)}});
  return rows;
}

TEST(Results, NetworksCountEachConvolutionAsOftenAsItOccurs) {
  std::vector<Row> rows = network_rows(0.001);
  EXPECT_NEAR(*network_seconds(rows, "ResNet-50", "kawara"), 0.053, 1e-12);
  EXPECT_NEAR(*network_seconds(rows, "MobileNetV2", "kawara"), 0.052, 1e-12);
  EXPECT_FALSE(network_seconds(rows, "ResNet-50", "A"));
  rows.erase(rows.begin());
  EXPECT_FALSE(network_seconds(rows, "ResNet-50", "kawara")) << "one is missing";
}

TEST(Report, TableAndJsonSayTheSame) {
  Results results;
  results.threads = 2;
  results.limits = {8e9, 4e9};
  results.contestants = {{"kawara", "auto"}, {"A", "1.0"}, {"B", "2.0"}};
  results.missing = {"C: not found"};
  results.rows = {row("one", {entry("kawara", 0.25), entry("A", 0.5), entry("B", 1, false)})};
  const std::string text = table_of(results);
  EXPECT_NE(text.find("2 threads"), std::string::npos);
  EXPECT_NE(text.find("skipped: C: not found"), std::string::npos);
  EXPECT_NE(text.find("| one      |     4.0 |     50% | 250.00 ±0% | 500.00 ±0% | wrong |"
                      "         A |  2.00 |"),
            std::string::npos)
      << text;
  const nlohmann::json json = json_of(results);
  EXPECT_EQ(json["cases"][0]["best_peer"], "A");
  EXPECT_EQ(json["cases"][0]["ratios"]["kawara"], 2.0);
  EXPECT_EQ(json["cases"][0]["entries"][2]["right"], false);
  EXPECT_EQ(json["cases"][0]["entries"][0]["samples_s"].size(), 3U);
  EXPECT_EQ(json["standings"]["gemm"]["kawara"]["geomean"], 2.0);
}

} // namespace
} // namespace kawara::bench
