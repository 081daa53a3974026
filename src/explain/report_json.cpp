#include "explain/report.h"

#include "explain/dependences.h"
#include "support/text.h"

#include <nlohmann/json.hpp>

namespace kawara::explain {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const LevelReport& level) {
  return {{"from", level.name},
          {"predicted", level.predicted},
          {"ms", level.seconds * 1e3},
          {"simulated", level.simulated ? Json(*level.simulated) : Json()},
          {"least", level.least ? Json(*level.least) : Json()}};
}

Json json_of(const estimate::Duplicates& each) {
  return {{"statement", each.statement},   {"tensor", each.tensor},
          {"loads", each.loads.loads},     {"elements", each.loads.elements},
          {"padding", each.loads.padding}, {"factor", each.loads.factor()}};
}

Json json_of(const poly::Summary& each) {
  return {{"kind", std::string(short_name(each.kind))},
          {"from", each.source},
          {"to", each.sink},
          {"loops", each.loops},
          {"distance", each.distance},
          {"array", each.tensor},
          {"condition", each.condition},
          {"reduction", each.is_reduction},
          {"text", std::string(trim(dependence_text({each})))}};
}

/// What a page shows of a schedule and needs for other machines; nothing of what is not known.
void add_schedule(const Report& report, Json& json) {
  json["dependences"] = Json::array();
  for (const poly::Summary& each : report.dependences)
    json["dependences"].push_back(json_of(each));
  json["dependences_exact"] = report.has_exact_dependences;
  if (!report.machine_file.empty())
    json["machine_file"] = Json::parse(report.machine_file);
  if (!report.work.empty())
    json["work"] = Json::parse(report.work);
  if (report.tree.empty())
    return;
  json["schedule"] = {{"directives", report.directives}, {"tree", report.tree}};
  json["trajectory"] = Json::array();
  for (const Step& step : report.way)
    json["trajectory"].push_back(
        {{"label", step.label}, {"ms", step.seconds * 1e3}, {"bytes", step.bytes}});
}

/// Names of files and tensors need not be UTF-8.
std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

/// With the theatre, which is long, on one line.
std::string with_theatre(std::string text, const std::optional<Theatre>& theatre) {
  const std::string none = "\n  \"theatre\": null";
  if (const size_t at = text.find(none); theatre && at != std::string::npos)
    text.replace(at + none.size() - 4, 4, to_json(*theatre));
  return text;
}

} // namespace

std::string to_json(const Report& report) {
  const estimate::Prediction& p = report.prediction;
  Json json{{"ok", true},
            {"verdict", verdict(report)},
            {"title", report.title},
            {"machine", report.machine},
            {"figures", report.figures},
            {"is_limit", report.is_limit},
            {"threads", p.threads},
            {"flops", p.work.flops},
            {"int_ops", p.work.int_ops},
            {"compulsory_bytes", p.work.compulsory_bytes},
            {"predicted_ms", p.seconds * 1e3},
            {"roof_ms", report.roof_seconds * 1e3},
            {"arithmetic_ms", p.arithmetic_seconds * 1e3},
            {"fork_ms", p.fork_seconds * 1e3},
            {"bound", p.bound},
            {"simulated_label", report.simulated_label},
            {"least_decided_by", report.bound_by}};
  json["levels"] = json["duplicates"] = json["missing"] = Json::array();
  for (const LevelReport& level : report.levels)
    json["levels"].push_back(json_of(level));
  json["energy"] =
      report.energy ? Json::parse(estimate::to_json(*report.energy, report.machine)) : Json();
  json["nests"] = Json::parse(why_json(report.nests))["nests"];
  for (const estimate::Duplicates& each : report.duplicates)
    json["duplicates"].push_back(json_of(each));
  add_schedule(report, json);
  for (const std::string& each : report.missing)
    json["missing"].push_back(each);
  json["theatre"] = nullptr;
  return with_theatre(text_of(json), report.theatre);
}

} // namespace kawara::explain
