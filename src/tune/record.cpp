#include "tune/record.h"

#include <nlohmann/json.hpp>

#include <array>

namespace kawara::tune {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, kOutcomes> kOutcomeNames{
    "measured", "refused", "failed to compile", "wrong", "crashed", "timed out", "out of memory"};

json json_of(const Trial& trial) {
  return {{"directives", trial.directives}, {"outcome", name_of(trial.outcome)},
          {"reason", trial.reason},         {"ratio", trial.ratio},
          {"seconds", trial.seconds},       {"strategy", trial.strategy},
          {"version", trial.version}};
}

json json_of(const Best& best) {
  return {{"directives", best.directives},
          {"seconds", best.seconds},
          {"default_seconds", best.default_seconds},
          {"samples", best.samples},
          {"default_samples", best.default_samples},
          {"version", best.version},
          {"at", best.at}};
}

Trial trial_of(const json& from) {
  Trial trial;
  trial.directives = from.at("directives").get<std::string>();
  const auto outcome = outcome_from_name(from.at("outcome").get<std::string>());
  if (!outcome)
    throw std::invalid_argument("it has an outcome that does not exist");
  trial.outcome = *outcome;
  trial.reason = from.at("reason").get<std::string>();
  trial.ratio = from.at("ratio").get<double>();
  trial.seconds = from.at("seconds").get<double>();
  trial.strategy = from.at("strategy").get<std::string>();
  trial.version = from.at("version").get<std::string>();
  return trial;
}

Best best_of(const json& from) {
  Best best;
  best.directives = from.at("directives").get<std::string>();
  best.seconds = from.at("seconds").get<double>();
  best.default_seconds = from.at("default_seconds").get<double>();
  best.samples = from.at("samples").get<std::vector<double>>();
  best.default_samples = from.at("default_samples").get<std::vector<double>>();
  best.version = from.at("version").get<std::string>();
  best.at = from.at("at").get<int64_t>();
  return best;
}

} // namespace

std::string_view name_of(Outcome outcome) { return kOutcomeNames[static_cast<size_t>(outcome)]; }

std::optional<Outcome> outcome_from_name(std::string_view name) {
  for (size_t k = 0; k < kOutcomeNames.size(); ++k)
    if (kOutcomeNames[k] == name)
      return static_cast<Outcome>(k);
  return std::nullopt;
}

std::string_view this_version() { return KAWARA_VERSION; }

std::string line_of(const Record& record) {
  json line{{"program", record.key.program},
            {"sizes", record.key.sizes},
            {"target", record.key.target},
            {"threads", record.key.threads},
            {"trials", json::array()}};
  if (record.best)
    line["best"] = json_of(*record.best);
  for (const Trial& trial : record.trials)
    line["trials"].push_back(json_of(trial));
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Record, Diagnostic> record_from_line(std::string_view line, const std::string& where) {
  try {
    const json from = json::parse(line);
    Record record;
    record.key = {from.at("program").get<std::string>(), from.at("sizes").get<std::string>(),
                  from.at("target").get<std::string>(), from.at("threads").get<int64_t>()};
    if (from.contains("best"))
      record.best = best_of(from.at("best"));
    for (const json& trial : from.at("trials"))
      record.trials.push_back(trial_of(trial));
    return record;
  } catch (const std::exception&) {
    Diagnostic d;
    d.code = "K0602";
    d.headline = "`" + where + "` is not a record of tuning";
    d.body.push_back(
        "A record is one line of JSON as `kawara db export` writes it. This line is cut\n"
        "off, lacks a field, or has one of another type.");
    return fail(std::move(d));
  }
}

} // namespace kawara::tune
