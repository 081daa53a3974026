#include "cache/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace kawara::cache {
namespace {

constexpr size_t kMostReferences = 24; ///< in text; JSON has them all

std::string_view name_of(Reference::Kind kind) {
  constexpr std::string_view names[] = {"read", "write", "prefetch", "store past"};
  return names[static_cast<size_t>(kind)];
}

Count sum_of(const LevelCounts& counts) {
  return std::accumulate(counts.of.begin(), counts.of.end(), Count{},
                         [](Count sum, const Count& each) { return sum += each; });
}

std::vector<Count> by_array(const LevelCounts& counts, const AccessProgram& program) {
  std::vector<Count> made(program.arrays.size());
  for (size_t r = 0; r < counts.of.size(); ++r)
    made[program.references[r].array] += counts.of[r];
  return made;
}

/// Of a loop: all references inside, at any depth.
std::vector<Count> by_loop(const LevelCounts& counts, const AccessProgram& program) {
  std::vector<Count> made(program.loops.size());
  for (size_t r = 0; r < counts.of.size(); ++r)
    for (auto loop = program.references[r].inside; loop; loop = program.loops[*loop].inside)
      made[*loop] += counts.of[r];
  return made;
}

size_t depth_of(const AccessProgram& program, size_t loop) {
  size_t depth = 0;
  for (auto around = program.loops[loop].inside; around; around = program.loops[*around].inside)
    ++depth;
  return depth;
}

std::string name_of(const Reference& r) {
  return r.statement.empty() ? fmt::format("{} {}", name_of(r.kind), r.text)
                             : fmt::format("{} {} {}", r.statement, name_of(r.kind), r.text);
}

std::string row(std::string_view name, const Count& c) {
  return fmt::format("  {:<32}{:>15}{:>15}{:>13}{:>14}{:>13}{:>13}\n", name, c.accesses, c.hits(),
                     c.compulsory, c.capacity, c.conflict, c.written_back);
}

double bytes_in(const Simulated& s, size_t k) {
  return static_cast<double>(sum_of(s.counts[k]).misses() * s.levels[k].line_bytes);
}

std::string traffic_text(const Report& report, size_t k) {
  const Simulated& s = report.simulated;
  const double in = bytes_in(s, k);
  const auto out = static_cast<double>(sum_of(s.counts[k]).written_back * s.levels[k].line_bytes);
  std::string text = fmt::format("  {:.4g} MB came in, {:.4g} MB went back", in * 1e-6, out * 1e-6);
  if (report.flops > 0)
    text += fmt::format("; {:.4f} bytes in per FLOP, {:.4f} both ways", in / report.flops,
                        (in + out) / report.flops);
  text += "\n";
  if (s.counts[k].received > 0)
    text += fmt::format("  {} lines were written back to it, {} of them were not there\n",
                        s.counts[k].received, s.counts[k].not_there);
  if (s.counts[k].passed_on > 0)
    text += fmt::format("  {} stores went on at once\n", s.counts[k].passed_on);
  return text;
}

std::string references_text(const LevelCounts& counts, const AccessProgram& program) {
  std::vector<size_t> shown(program.references.size());
  std::iota(shown.begin(), shown.end(), size_t{0});
  std::erase_if(shown, [&](size_t r) { return counts.of[r].accesses == 0; });
  const size_t all = shown.size();
  if (all > kMostReferences) {
    std::stable_sort(shown.begin(), shown.end(), [&](size_t a, size_t b) {
      return counts.of[a].misses() > counts.of[b].misses();
    });
    shown.resize(kMostReferences);
    std::sort(shown.begin(), shown.end());
  }
  std::string text =
      all > kMostReferences
          ? fmt::format("  the {} of {} references that miss most\n", kMostReferences, all)
          : "  by reference\n";
  for (const size_t r : shown)
    text += row(name_of(program.references[r]), counts.of[r]);
  return text;
}

std::string tlb_text(const Description& d) {
  return fmt::format("{} entries, {} {}, pages of {}", d.lines(),
                     d.sets() == 1 ? "one set," : fmt::format("{}-way", d.ways),
                     cache::name_of(d.policy), size_text(d.line_bytes));
}

std::string level_text(const Report& report, const Simulated& simulated,
                       const AccessProgram& program, size_t k) {
  const LevelCounts& counts = simulated.counts[k];
  const Description& d = simulated.levels[k];
  const bool is_tlb = &simulated != &report.simulated;
  std::string text = fmt::format("\n{}: {}\n  {:<32}{:>15}{:>15}{:>13}{:>14}{:>13}{:>13}\n", d.name,
                                 is_tlb ? tlb_text(d) : print(d), "", "accesses", "hits",
                                 "compulsory", "capacity", "conflict", "written back");
  text += row("all", sum_of(counts)) + (is_tlb ? "" : traffic_text(report, k)) + "  by array\n";
  const auto arrays = by_array(counts, program);
  for (size_t a = 0; a < arrays.size(); ++a)
    if (arrays[a].accesses > 0)
      text += row(fmt::format("{}, {} {}", program.arrays[a].name, counts.lines[a],
                              is_tlb ? "pages" : "lines"),
                  arrays[a]);
  text += "  by loop\n";
  const auto loops = by_loop(counts, program);
  for (size_t l = 0; l < loops.size(); ++l)
    if (loops[l].accesses > 0)
      text += row(std::string(2 * depth_of(program, l), ' ') + program.loops[l].name, loops[l]);
  return text + references_text(counts, program);
}

/// Sizes at which the curve is shown: powers of two of lines, up to where only first uses miss.
std::vector<int64_t> sizes_of(const DistanceHistogram& curve) {
  std::vector<int64_t> lines;
  for (int64_t each = 1;; each *= 2) {
    lines.push_back(each);
    if (each >= static_cast<int64_t>(curve.times.size()))
      return lines;
  }
}

std::string curve_text(const DistanceHistogram& curve) {
  std::string text = fmt::format("\none set, lru, lines of {} bytes, of any size\n"
                                 "  {:<32}{:>15}{:>15}{:>13}\n",
                                 curve.line_bytes, "bytes", "lines", "misses", "of 100");
  for (const int64_t lines : sizes_of(curve)) {
    const int64_t misses = curve.misses(lines);
    text += fmt::format("  {:<32}{:>15}{:>15}{:>13.2f}\n", size_text(lines * curve.line_bytes),
                        lines, misses,
                        100.0 * static_cast<double>(misses) /
                            static_cast<double>(std::max<int64_t>(curve.touches, 1)));
  }
  return text;
}

using Json = nlohmann::ordered_json;

void add_count(Json& json, const Count& c) {
  json["accesses"] = c.accesses;
  json["hits"] = c.hits();
  json["compulsory"] = c.compulsory;
  json["capacity"] = c.capacity;
  json["conflict"] = c.conflict;
  json["written_back"] = c.written_back;
}

Json level_json(const Simulated& simulated, const AccessProgram& program, size_t k) {
  const LevelCounts& counts = simulated.counts[k];
  const Description& d = simulated.levels[k];
  Json json{{"name", d.name},
            {"bytes", d.bytes},
            {"line_bytes", d.line_bytes},
            {"ways", d.lines_of_set()},
            {"sets", d.sets()},
            {"policy", cache::name_of(d.policy)},
            {"allocates", d.allocates},
            {"writes_back", d.writes_back}};
  add_count(json, sum_of(counts));
  json["bytes_in"] = bytes_in(simulated, k);
  json["received"] = counts.received;
  json["not_there"] = counts.not_there;
  json["passed_on"] = counts.passed_on;
  json["arrays"] = json["loops"] = json["references"] = Json::array();
  const auto arrays = by_array(counts, program);
  for (size_t a = 0; a < arrays.size(); ++a) {
    Json each{{"name", program.arrays[a].name},
              {"begin", program.arrays[a].begin},
              {"bytes", program.arrays[a].bytes},
              {"lines", counts.lines[a]},
              {"lines_out", counts.lines_out[a]}};
    add_count(each, arrays[a]);
    json["arrays"].push_back(std::move(each));
  }
  const auto loops = by_loop(counts, program);
  for (size_t l = 0; l < loops.size(); ++l) {
    Json each{{"name", program.loops[l].name}, {"depth", depth_of(program, l)}};
    add_count(each, loops[l]);
    json["loops"].push_back(std::move(each));
  }
  for (size_t r = 0; r < counts.of.size(); ++r) {
    const Reference& reference = program.references[r];
    Json each{{"statement", reference.statement},
              {"kind", name_of(reference.kind)},
              {"text", reference.text},
              {"array", program.arrays[reference.array].name},
              {"loop", reference.inside ? Json(*reference.inside) : Json()}};
    add_count(each, counts.of[r]);
    json["references"].push_back(std::move(each));
  }
  return json;
}

} // namespace

std::string_view label_of(const AccessProgram& program) {
  return program.assumed == 0 ? "exact" : "predicted";
}

std::string print(const Report& report, const AccessProgram& program) {
  std::string text = fmt::format("{}: {} accesses, {}\n", report.title, report.simulated.accesses,
                                 label_of(program));
  if (program.assumed > 0)
    text += fmt::format("  {} on data: {}\n",
                        program.assumed == 1 ? "1 condition"
                                             : fmt::format("{} conditions", program.assumed),
                        report.is_of_text ? "both sides are counted" : "taken to hold");
  for (size_t k = 0; k < report.simulated.levels.size(); ++k)
    text += level_text(report, report.simulated, program, k);
  for (size_t k = 0; report.tlb && k < report.tlb->levels.size(); ++k)
    text += level_text(report, *report.tlb, program, k);
  return report.curve ? text + curve_text(*report.curve) : text;
}

std::string to_json(const Report& report, const AccessProgram& program) {
  Json json{{"ok", true},
            {"label", label_of(program)},
            {"of", report.is_of_text ? "text" : "kernel"},
            {"accesses", report.simulated.accesses},
            {"assumed", program.assumed},
            {"flops", report.flops}};
  json["levels"] = Json::array();
  for (size_t k = 0; k < report.simulated.levels.size(); ++k)
    json["levels"].push_back(level_json(report.simulated, program, k));
  if (report.tlb)
    json["tlb"] = Json::array();
  for (size_t k = 0; report.tlb && k < report.tlb->levels.size(); ++k)
    json["tlb"].push_back(level_json(*report.tlb, program, k));
  if (report.curve) {
    Json curve{{"line_bytes", report.curve->line_bytes},
               {"touches", report.curve->touches},
               {"compulsory", report.curve->first}};
    curve["sizes"] = Json::array();
    for (const int64_t lines : sizes_of(*report.curve))
      curve["sizes"].push_back(Json{{"lines", lines}, {"misses", report.curve->misses(lines)}});
    json["curve"] = std::move(curve);
  }
  return json.dump(2);
}

} // namespace kawara::cache
