#include "cpu/results.h"

#include <algorithm>
#include <cmath>

namespace kawara::bench {

const Entry* find_entry(const Row& row, const std::string& contestant) {
  for (const Entry& entry : row.entries)
    if (entry.contestant == contestant)
      return &entry;
  return nullptr;
}

const Entry* best_peer(const Row& row) {
  const Entry* best = nullptr;
  for (const Entry& entry : row.entries)
    if (!entry.is_kawara && entry.counts() &&
        (best == nullptr || entry.timing.median < best->timing.median))
      best = &entry;
  return best;
}

std::optional<double> ratio_to_peers(const Row& row, const std::string& contestant) {
  const Entry* own = find_entry(row, contestant);
  const Entry* best = best_peer(row);
  if (own == nullptr || best == nullptr)
    return std::nullopt;
  return own->counts() ? best->timing.median / own->timing.median : 0;
}

double share_of_limit(const Row& row, const Entry& entry, const Limits& limits) {
  const double work = row.c.is_memory_bound() ? row.c.bytes : row.c.flops;
  const double limit = row.c.is_memory_bound() ? limits.memory_bytes : limits.f32_flops;
  return limit > 0 && entry.timing.median > 0 ? work / entry.timing.median / limit : 0;
}

Standing standing_of(const std::vector<Row>& rows, const std::string& contestant) {
  Standing standing;
  double logarithms = 0;
  for (const Row& row : rows) {
    const auto ratio = ratio_to_peers(row, contestant);
    if (!ratio)
      continue;
    if (standing.cases == 0 || *ratio < standing.worst) {
      standing.worst = *ratio;
      standing.worst_case = row.c.name;
    }
    ++standing.cases;
    if (*ratio > 0)
      logarithms += std::log(*ratio);
    else
      ++standing.lost;
  }
  if (standing.cases > standing.lost)
    standing.geomean = std::exp(logarithms / static_cast<double>(standing.cases - standing.lost));
  return standing;
}

std::optional<double> network_seconds(const std::vector<Row>& rows, const std::string& network,
                                      const std::string& contestant) {
  double seconds = 0;
  int64_t found = 0, wanted = 0;
  for (const Case& c : all_cases())
    wanted += c.uses.count(network) > 0 ? c.uses.at(network) : 0;
  for (const Row& row : rows) {
    const auto uses = row.c.uses.find(network);
    if (uses == row.c.uses.end())
      continue;
    const Entry* entry = find_entry(row, contestant);
    if (entry == nullptr || !entry->counts())
      return std::nullopt;
    seconds += entry->timing.median * static_cast<double>(uses->second);
    found += uses->second;
  }
  return found == wanted && wanted > 0 ? std::optional(seconds) : std::nullopt;
}

std::vector<std::string> networks_in(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows)
    for (const auto& [name, count] : row.c.uses)
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  return names;
}

std::vector<Row> comparable_rows(const std::vector<Row>& rows, const std::string& group) {
  std::vector<Row> chosen;
  for (const Row& row : rows)
    if (row.c.group == group && row.c.op != Op::GemmI8 && row.c.op != Op::GemmF16)
      chosen.push_back(row);
  return chosen;
}

} // namespace kawara::bench
