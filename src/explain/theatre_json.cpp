#include "explain/theatre.h"

#include "cache/report.h"

#include <nlohmann/json.hpp>

namespace kawara::explain {
namespace {

using Json = nlohmann::ordered_json;
using cache::Linear;

Json json_of(const Linear& sum) {
  if (sum.variables.empty() && sum.formulas.empty())
    return sum.constant;
  Json json = Json::object();
  if (sum.constant != 0)
    json["c"] = sum.constant;
  if (!sum.variables.empty())
    json["v"] = sum.variables;
  if (!sum.formulas.empty())
    json["f"] = sum.formulas;
  return json;
}

Json json_of(const std::vector<cache::Formula>& formulas) {
  constexpr const char* kNames[] = {"min", "max", "floordiv", "mod", "mul",   "lt",
                                    "le",  "eq",  "and",      "or",  "select"};
  Json json = Json::array();
  for (const cache::Formula& f : formulas) {
    Json each{kNames[static_cast<size_t>(f.op)], json_of(f.a), json_of(f.b)};
    if (f.op == cache::Formula::Op::Select)
      each.push_back(json_of(f.c));
    json.push_back(std::move(each));
  }
  return json;
}

Json json_of(const TheatreCode& code);

Json json_of(const TheatreLoop& loop) {
  Json json{{"for", loop.variable}, {"name", loop.name}};
  if (!loop.mark.empty())
    json["mark"] = loop.mark;
  json["lo"] = json_of(loop.lo);
  json["hi"] = json_of(loop.hi);
  json["step"] = loop.step;
  json["do"] = json_of(loop.body);
  return json;
}
Json json_of(const TheatreBranch& branch) {
  return {{"if", json_of(branch.condition)},
          {"then", json_of(branch.then)},
          {"else", json_of(branch.otherwise)}};
}
Json json_of(const TheatreRun& run) {
  Json at = Json::array();
  for (const Linear& sum : run.at)
    at.push_back(json_of(sum));
  return {{"run", run.statement}, {"at", std::move(at)}};
}
Json json_of(const TheatreCode& code) {
  Json json = Json::array();
  for (const TheatreStep& step : code)
    json.push_back(std::visit([](const auto& each) { return json_of(each); }, step.step));
  return json;
}

Json json_of(const TheatreStatement& s) {
  Json touches = Json::array();
  for (const cache::Touch& touch : s.touches) {
    Json each{{"reference", touch.reference}, {"at", json_of(touch.at)}};
    if (touch.guard)
      each["guard"] = json_of(*touch.guard);
    touches.push_back(std::move(each));
  }
  return {{"name", s.name},
          {"text", s.text},
          {"iters", s.iters},
          {"flops", s.operations},
          {"touches", std::move(touches)}};
}

Json json_of(const std::vector<cache::Description>& caches) {
  Json json = Json::array();
  for (const cache::Description& d : caches)
    json.push_back({{"name", d.name},
                    {"bytes", d.bytes},
                    {"line_bytes", d.line_bytes},
                    {"ways", d.lines_of_set()},
                    {"policy", cache::name_of(d.policy)},
                    {"allocates", d.allocates},
                    {"writes_back", d.writes_back}});
  return json;
}

Json json_of(const cache::LevelCounts& counts) {
  cache::Count all;
  for (const cache::Count& each : counts.of)
    all += each;
  return {{"accesses", all.accesses},
          {"compulsory", all.compulsory},
          {"capacity", all.capacity},
          {"conflict", all.conflict},
          {"written_back", all.written_back}};
}

Json json_of(const std::optional<TheatreRefusal::Instance>& instance) {
  if (!instance)
    return {};
  return {{"statement", instance->statement}, {"iters", instance->iters}};
}

Json json_of(const TheatreSchedule& s) {
  Json json{{"family", s.family},
            {"directives", s.directives},
            {"verdict", s.refusal ? s.refusal->verdict : "legal"}};
  if (s.tile > 0)
    json["tile"] = s.tile;
  if (s.order) {
    json["reassociates"] = s.reassociates;
    json["variables"] = s.order->variables;
    json["formulas"] = json_of(s.order->formulas);
    json["code"] = json_of(s.order->code);
    json["counts"] = Json::array();
    for (const cache::LevelCounts& counts : s.counts)
      json["counts"].push_back(json_of(counts));
  }
  if (s.refusal) {
    json["headline"] = s.refusal->headline;
    json["body"] = s.refusal->body;
    json["source"] = json_of(s.refusal->source);
    json["sink"] = json_of(s.refusal->sink);
    json["tensor"] = s.refusal->tensor;
    json["condition"] = s.refusal->condition;
    json["repairs"] = s.refusal->repairs;
  }
  return json;
}

Json sizes_json(const Theatre& theatre, const std::vector<int64_t>& sizes) {
  Json json = Json::object();
  for (size_t k = 0; k < sizes.size(); ++k)
    json[theatre.params[k]] = sizes[k];
  return json;
}

Json energy_json(const estimate::EnergyFigures& figures) {
  const auto of = [](const std::string& name, const estimate::Coefficient& c) {
    return Json{{"name", name}, {"picojoules", c.value}, {"low", c.low}, {"high", c.high}};
  };
  Json bytes = Json::array(), operations = Json::array();
  for (const auto& each : figures.bytes)
    bytes.push_back(of(each.level, each.picojoules));
  for (const auto& each : figures.operations)
    if (each.unit == estimate::ComputeUnit::Vector)
      operations.push_back(of(std::string(scalar::name_of(each.elem)), each.picojoules));
  return {{"bytes", std::move(bytes)}, {"operations", std::move(operations)}};
}

Json arrays_json(const Theatre& theatre) {
  Json json = Json::array();
  for (size_t a = 0; a < theatre.shapes.size(); ++a) {
    const Theatre::Array& array = theatre.shapes[a];
    json.push_back({{"name", array.name},
                    {"role", array.role},
                    {"type", array.type},
                    {"shape", array.shape},
                    {"element_bytes", array.element_bytes},
                    {"bytes", theatre.accesses.arrays[a].bytes}});
  }
  return json;
}

Json references_json(const Theatre& theatre) {
  Json json = Json::array();
  for (const cache::Reference& r : theatre.accesses.references)
    json.push_back({{"array", r.array},
                    {"kind", r.kind == cache::Reference::Kind::Write ? "write" : "read"},
                    {"statement", r.statement},
                    {"text", r.text}});
  return json;
}

} // namespace

std::string to_json(const Theatre& theatre) {
  Json json{{"toy", theatre.is_toy},
            {"sizes", sizes_json(theatre, theatre.sizes)},
            {"real_sizes", sizes_json(theatre, theatre.real_sizes)},
            {"bytes", theatre.bytes},
            {"real_bytes", theatre.real_bytes},
            {"operations", theatre.operations},
            {"unit", theatre.unit},
            {"label", cache::label_of(theatre.accesses)},
            {"for_all_sizes", theatre.is_for_all_sizes},
            {"arrays", arrays_json(theatre)},
            {"references", references_json(theatre)},
            {"formulas", json_of(theatre.accesses.formulas)}};
  json["statements"] = json["schedules"] = Json::array();
  for (const TheatreStatement& s : theatre.statements)
    json["statements"].push_back(json_of(s));
  json["main"] = theatre.main;
  json["caches"] = json_of(theatre.caches);
  json["real_caches"] = json_of(theatre.real_caches);
  // Whole bytes, which are less still.
  json["least"] = Json::array();
  for (const auto& [bytes, least] : theatre.least)
    json["least"].push_back({bytes, static_cast<int64_t>(least)});
  json["energy"] = theatre.energy ? energy_json(*theatre.energy) : Json();
  for (const TheatreSchedule& s : theatre.schedules)
    json["schedules"].push_back(json_of(s));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace kawara::explain
