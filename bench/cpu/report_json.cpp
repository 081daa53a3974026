#include "cpu/report.h"

#include <nlohmann/json.hpp>

namespace kawara::bench {
namespace {

using nlohmann::json;

json shape_of(const Case& c) {
  if (c.op != Op::Conv && c.op != Op::ConvPool)
    return {{"m", c.m}, {"n", c.n}, {"k", c.k}};
  return {{"channels", c.conv.channels},     {"size", c.conv.size},     {"filters", c.conv.filters},
          {"window", c.conv.window},         {"stride", c.conv.stride}, {"pad", c.conv.pad},
          {"depthwise", c.conv.is_depthwise}};
}

json entry_json(const Row& row, const Entry& entry, const Limits& limits) {
  json out = {{"contestant", entry.contestant}, {"prepare_s", entry.prepare_seconds}};
  if (!entry.failure.empty()) {
    out["failure"] = entry.failure;
    return out;
  }
  out["right"] = entry.agreement.is_right;
  out["error"] = entry.agreement.error;
  out["median_s"] = entry.timing.median;
  out["min_s"] = entry.timing.min;
  out["max_s"] = entry.timing.max;
  out["spread"] = entry.timing.spread;
  out["calls_per_sample"] = entry.timing.batch;
  out["samples_s"] = entry.timing.samples;
  out["share_of_limit"] = share_of_limit(row, entry, limits);
  return out;
}

json row_json(const Row& row, const Limits& limits) {
  json out = {{"group", row.c.group},    {"name", row.c.name},   {"shape", shape_of(row.c)},
              {"flops", row.c.flops},    {"bytes", row.c.bytes}, {"uses", row.c.uses},
              {"entries", json::array()}};
  for (const Entry& entry : row.entries)
    out["entries"].push_back(entry_json(row, entry, limits));
  if (const Entry* best = best_peer(row))
    out["best_peer"] = best->contestant;
  for (const Entry& entry : row.entries)
    if (const auto ratio = ratio_to_peers(row, entry.contestant); entry.is_kawara && ratio)
      out["ratios"][entry.contestant] = *ratio;
  return out;
}

json standings_json(const Results& results) {
  json out = json::object();
  for (const char* group : kGroups)
    for (const ContestantInfo& contestant : results.contestants) {
      if (contestant.name.rfind("kawara", 0) != 0)
        continue;
      const Standing s = standing_of(comparable_rows(results.rows, group), contestant.name);
      if (s.cases > 0)
        out[group][contestant.name] = {{"cases", s.cases},
                                       {"lost", s.lost},
                                       {"geomean", s.geomean},
                                       {"worst", s.worst},
                                       {"worst_case", s.worst_case}};
    }
  return out;
}

json networks_json(const Results& results) {
  json out = json::object();
  for (const std::string& network : networks_in(results.rows))
    for (const ContestantInfo& contestant : results.contestants)
      if (const auto seconds = network_seconds(results.rows, network, contestant.name))
        out[network][contestant.name] = *seconds;
  return out;
}

} // namespace

json json_of(const Results& results) {
  json out = {
      {"threads", results.threads},
      {"pinned", results.is_pinned},
      {"limits",
       {{"f32_flops", results.limits.f32_flops}, {"memory_bytes", results.limits.memory_bytes}}},
      {"contestants", json::object()},
      {"missing", results.missing},
      {"cases", json::array()},
      {"standings", standings_json(results)},
      {"network_s", networks_json(results)}};
  for (const ContestantInfo& contestant : results.contestants)
    out["contestants"][contestant.name] = contestant.version;
  for (const Row& row : results.rows)
    out["cases"].push_back(row_json(row, results.limits));
  return out;
}

json json_of(const target::Cpu& cpu) {
  return {{"name", cpu.name},
          {"arch", std::string(target::name_of(cpu.arch))},
          {"features", cpu.features.names()},
          {"vector_bytes", cpu.vector_bytes},
          {"cores", cpu.cores},
          {"l1d_bytes", cpu.caches.l1d},
          {"l2_bytes", cpu.caches.l2},
          {"l3_bytes", cpu.caches.l3}};
}

} // namespace kawara::bench
