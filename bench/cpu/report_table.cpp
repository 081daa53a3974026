#include "cpu/markdown.h"
#include "cpu/report.h"

#include "support/text.h"

#include <fmt/core.h>

#include <algorithm>

namespace kawara::bench {
namespace {

std::string milliseconds(double seconds) {
  const double ms = seconds * 1e3;
  return ms < 10 ? fmt::format("{:.4f}", ms) : fmt::format("{:.2f}", ms);
}

std::string time_element(const Entry* entry) {
  if (entry == nullptr)
    return "";
  if (!entry->failure.empty())
    return "failed";
  if (!entry->agreement.is_right)
    return "wrong";
  return fmt::format("{} ±{:.0f}%", milliseconds(entry->timing.median), entry->timing.spread * 100);
}

std::string ratio_element(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}", *ratio) : "";
}

/// Names of those that took part in at least one of the rows, in the order of the run.
std::vector<std::string> participants(const Results& results, const std::vector<const Row*>& rows) {
  std::vector<std::string> names;
  for (const ContestantInfo& contestant : results.contestants)
    if (std::any_of(rows.begin(), rows.end(),
                    [&](const Row* row) { return find_entry(*row, contestant.name) != nullptr; }))
      names.push_back(contestant.name);
  return names;
}

std::vector<std::string> table_row(const Row& row, const std::vector<std::string>& names,
                                   const Limits& limits) {
  const Entry* own = find_entry(row, "kawara");
  std::vector<std::string> elements{row.c.name};
  if (own != nullptr && own->counts()) {
    const double work = row.c.is_memory_bound() ? row.c.bytes : row.c.flops;
    elements.push_back(fmt::format("{:.1f}", work / own->timing.median * 1e-9));
    elements.push_back(fmt::format("{:.0f}%", share_of_limit(row, *own, limits) * 100));
  } else {
    elements.insert(elements.end(), {"", ""});
  }
  for (const std::string& name : names)
    elements.push_back(time_element(find_entry(row, name)));
  const Entry* best = best_peer(row);
  elements.push_back(best != nullptr ? best->contestant : "");
  elements.push_back(ratio_element(ratio_to_peers(row, "kawara")));
  return elements;
}

std::string group_table(const Results& results, const std::string& group) {
  std::vector<const Row*> rows;
  for (const Row& row : results.rows)
    if (row.c.group == group)
      rows.push_back(&row);
  if (rows.empty())
    return "";
  const std::vector<std::string> names = participants(results, rows);
  const bool is_memory_bound = rows.front()->c.is_memory_bound();
  std::vector<std::vector<std::string>> table;
  table.push_back({group + ", ms", is_memory_bound ? "GB/s" : "GFLOP/s",
                   is_memory_bound ? "of triad" : "of peak"});
  table.back().insert(table.back().end(), names.begin(), names.end());
  table.back().insert(table.back().end(), {"best peer", "ratio"});
  for (const Row* row : rows)
    table.push_back(table_row(*row, names, results.limits));
  return markdown(std::move(table)) + "\n";
}

std::string standings(const Results& results) {
  std::vector<std::vector<std::string>> table{{"against the best peer per case", "contestant",
                                               "cases", "lost", "geomean", "worst", "where"}};
  for (const char* group : kGroups)
    for (const ContestantInfo& contestant : results.contestants) {
      if (contestant.name.rfind("kawara", 0) != 0)
        continue;
      const Standing s = standing_of(comparable_rows(results.rows, group), contestant.name);
      if (s.cases > 0)
        table.push_back({group, contestant.name, std::to_string(s.cases), std::to_string(s.lost),
                         fmt::format("{:.3f}", s.geomean), fmt::format("{:.2f}", s.worst),
                         s.worst_case});
    }
  return table.size() > 1 ? markdown(std::move(table)) + "\n" : "";
}

std::string networks(const Results& results) {
  std::vector<std::vector<std::string>> table{
      {"all convolutions of a network", "contestant", "ms", "kawara is faster", "fast is faster"}};
  for (const std::string& network : networks_in(results.rows)) {
    const auto own = network_seconds(results.rows, network, "kawara");
    const auto fast = network_seconds(results.rows, network, "kawara fast");
    for (const ContestantInfo& contestant : results.contestants)
      if (const auto seconds = network_seconds(results.rows, network, contestant.name))
        table.push_back({network, contestant.name, milliseconds(*seconds),
                         own ? fmt::format("{:.2f}", *seconds / *own) : "",
                         fast ? fmt::format("{:.2f}", *seconds / *fast) : ""});
  }
  return table.size() > 1 ? markdown(std::move(table)) + "\n" : "";
}

const Row* row_named(const Results& results, const std::string& name) {
  for (const Row& row : results.rows)
    if (row.c.name == name)
      return &row;
  return nullptr;
}

/// Kawara against itself: narrow types against f32, one program against several.
std::string own_ratios(const Results& results) {
  std::vector<std::vector<std::string>> table{{"Kawara against itself", "faster"}};
  const auto add = [&](const std::string& title, const Entry* slow, const Entry* quick) {
    if (slow != nullptr && quick != nullptr && slow->counts() && quick->counts())
      table.push_back({title, fmt::format("{:.2f}", slow->timing.median / quick->timing.median)});
  };
  if (const Row* f32 = row_named(results, "gemm 1024,1024,1024")) {
    if (const Row* i8 = row_named(results, "gemm_i8 1024,1024,1024"))
      add("gemm 1024, i8 against f32", find_entry(*f32, "kawara"), find_entry(*i8, "kawara"));
    if (const Row* f16 = row_named(results, "gemm_f16 1024,1024,1024"))
      add("gemm 1024, f16 (fast) against f32", find_entry(*f32, "kawara"),
          find_entry(*f16, "kawara fast"));
  }
  for (const Row& row : results.rows)
    add(row.c.name + ", one program against several", find_entry(row, "kawara separate"),
        find_entry(row, "kawara"));
  return table.size() > 1 ? markdown(std::move(table)) + "\n" : "";
}

} // namespace

std::string progress_of(const Row& row) {
  const Entry* own = find_entry(row, "kawara");
  std::string text = row.c.name + "  kawara " + time_element(own);
  if (const Entry* best = best_peer(row))
    text += fmt::format(", best {} {}, ratio {}", best->contestant, time_element(best),
                        ratio_element(ratio_to_peers(row, "kawara")));
  for (const Entry& entry : row.entries)
    if (!entry.failure.empty())
      text += fmt::format("\n    {} failed: {}", entry.contestant, entry.failure);
    else if (!entry.agreement.is_right)
      text +=
          fmt::format("\n    {} is wrong: error {:.3g}", entry.contestant, entry.agreement.error);
  return text;
}

std::string table_of(const Results& results) {
  std::string text = fmt::format(
      "## {} thread{}{}\n\nmeasured limits: {:.1f} GFLOP/s (f32 multiply-add), {:.1f} GB/s "
      "(triad)\n",
      results.threads, results.threads == 1 ? "" : "s", results.is_pinned ? ", pinned" : "",
      results.limits.f32_flops * 1e-9, results.limits.memory_bytes * 1e-9);
  if (!results.missing.empty())
    text += "skipped: " + join(results.missing, "; ") + "\n";
  text += "\n";
  for (const char* group : kGroups)
    text += group_table(results, group);
  return text + standings(results) + networks(results) + own_ratios(results);
}

} // namespace kawara::bench
