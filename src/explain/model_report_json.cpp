#include "explain/report.h"

#include <nlohmann/json.hpp>

namespace kawara::explain {
namespace {

using Json = nlohmann::ordered_json;

Json model_json(const estimate::Band& band) {
  return {{"low", band.low}, {"value", band.value}, {"high", band.high}};
}

Json model_json(const std::optional<estimate::Band>& band) {
  return band ? model_json(*band) : Json();
}

Json model_json(const std::vector<TensorBytes>& all) {
  Json list = Json::array();
  for (const TensorBytes& each : all)
    list.push_back({{"tensor", each.tensor}, {"bytes", each.bytes}});
  return list;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json model_json(const KernelReport& kernel) {
  Json json{{"id", kernel.id},
            {"name", kernel.name},
            {"times", kernel.times},
            {"operations", kernel.operations},
            {"bytes", kernel.bytes},
            {"least_ms", kernel.least_seconds * 1e3},
            {"predicted_ms", kernel.seconds ? Json(*kernel.seconds * 1e3) : Json()},
            {"bound", kernel.bound},
            {"joules", model_json(kernel.joules)},
            {"reads", model_json(kernel.reads)},
            {"writes", model_json(kernel.writes)}};
  const bool is_known = kernel.unique > 0;
  json["accesses"] = is_known ? Json(kernel.accesses) : Json();
  json["unique"] = is_known ? Json(kernel.unique) : Json();
  json["repeat"] = is_known ? Json(kernel.accesses / kernel.unique) : Json();
  json["nodes"] = kernel.nodes;
  if (!kernel.work.empty())
    json["work"] = Json::parse(kernel.work);
  json["operators"] = Json::array();
  for (const auto& [op, count] : kernel.operators)
    json["operators"].push_back({{"op", op}, {"count", count}});
  return json;
}

Json steps_json(const ModelFacts& facts) {
  Json list = Json::array();
  double at = 0;
  for (const StepReport& step : facts.steps) {
    list.push_back({{"index", list.size()},
                    {"kernel", text_or_null(step.kernel)},
                    {"call", text_or_null(step.call)},
                    {"name", step.name},
                    {"start_ms", at * 1e3},
                    {"duration_ms", step.seconds ? Json(*step.seconds * 1e3) : Json()},
                    {"label", !step.seconds       ? "not known"
                              : facts.is_measured ? "measured"
                              : step.is_of_roof   ? "at least"
                                                  : "predicted"},
                    {"threads", step.threads},
                    {"operations", step.operations},
                    {"bytes", step.bytes},
                    {"live_bytes", step.live_bytes},
                    {"reads", step.reads},
                    {"writes", step.writes}});
    at += step.seconds.value_or(0);
  }
  return list;
}

Json model_json(const Price& price) {
  return {
      {"bytes", price.bytes}, {"ms", price.seconds * 1e3}, {"joules", model_json(price.joules)}};
}

Json model_json(const EdgeReport& edge) {
  return {{"from", edge.from},
          {"to", edge.to},
          {"tensor", edge.tensor},
          {"bytes", edge.bytes},
          {"shape", edge.shape},
          {"type", edge.type},
          {"fused", edge.is_fused},
          {edge.is_fused ? "saves" : "costs", model_json(edge.price)},
          {"reason", edge.reason},
          {"directive", text_or_null(edge.verdict.directives)},
          {"verdict", std::string(name_of(edge.verdict.answer))},
          {"witness", text_or_null(edge.verdict.witness)}};
}

Json graph_json(const ModelFacts& facts) {
  Json json{{"nodes", Json::array()}, {"edges", Json::array()}};
  for (const NodeReport& node : facts.nodes)
    json["nodes"].push_back(
        {{"id", node.id},
         {"name", node.name},
         {"op", node.op},
         {"kernel", text_or_null(node.kernel)},
         {"operations", node.is_known ? Json(node.operations) : Json()},
         {"bytes", node.is_known ? Json(node.bytes) : Json()},
         {"flops_per_byte",
          node.is_known && node.bytes > 0 ? Json(node.operations / node.bytes) : Json()}});
  for (const EdgeReport& edge : facts.edges)
    json["edges"].push_back(model_json(edge));
  return json;
}

Json model_json(const Totals& totals) {
  return {{"kernels", totals.kernels},
          {"operations", totals.operations},
          {"bytes", totals.bytes},
          {"ms", totals.seconds * 1e3},
          {"flops_per_byte", totals.bytes > 0 ? Json(totals.operations / totals.bytes) : Json()}};
}

Json fusion_json(const ModelFacts& facts) {
  Json json{{"before", model_json(facts.before)},
            {"after", model_json(facts.after)},
            {"saved", model_json(sum_of(facts.edges, true))},
            {"left", model_json(sum_of(facts.edges, false))},
            {"operators", Json::array()}};
  for (const OperatorReport& each : facts.operators)
    json["operators"].push_back(
        {{"name", each.name},
         {"op", each.op},
         {"operations", each.operations},
         {"sums", each.sums},
         {"accesses", each.accesses},
         {"bytes", each.bytes},
         {"repeat", each.bytes > 0 ? Json(each.accesses / each.bytes) : Json()},
         {"least_ms", each.seconds * 1e3}});
  return json;
}

Json pairs_json(const ModelFacts& facts) {
  Json list = Json::array();
  for (const PairReport& pair : facts.pairs)
    list.push_back({{"stage", pair.is_after ? "after" : "before"},
                    {"first", pair.first},
                    {"second", pair.second},
                    {"times", pair.times},
                    {"shared_bytes", pair.overlap.shared},
                    {"overlap_of_first", pair.overlap.of_first},
                    {"overlap_of_second", pair.overlap.of_second},
                    {"overlap_of_union", pair.overlap.of_union}});
  return list;
}

Json arena_json(const ModelFacts& facts) {
  if (!facts.arena)
    return {};
  Json json{{"bytes", facts.arena->bytes},
            {"most_live", facts.arena->most_live},
            {"constants", facts.arena->constants},
            {"tensors", Json::array()}};
  for (const ArenaTensor& each : facts.arena->tensors)
    json["tensors"].push_back({{"name", each.name},
                               {"offset", each.offset},
                               {"bytes", each.bytes},
                               {"first_step", each.first_step},
                               {"last_step", each.last_step}});
  return json;
}

} // namespace

std::string to_json(const ModelReport& report) {
  Json json{{"ok", true},
            {"verdict", verdict(report)},
            {"title", report.title},
            {"machine", report.machine},
            {"figures", report.figures},
            {"threads", report.threads}};
  if (!report.machine_file.empty())
    json["machine_file"] = Json::parse(report.machine_file);
  json["kernels"] = json["missing"] = Json::array();
  for (const KernelReport& kernel : report.kernels)
    json["kernels"].push_back(model_json(kernel));
  for (const std::string& each : report.missing)
    json["missing"].push_back(each);
  const ModelFacts& facts = report.facts;
  json["steps"] = steps_json(facts);
  json["graph"] = graph_json(facts);
  json["fusion"] = fusion_json(facts);
  json["pairs"] = pairs_json(facts);
  json["arena"] = arena_json(facts);
  // Names of files and tensors need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string trace_json(const std::string& title, const ModelFacts& facts) {
  Json events = Json::array();
  const auto named = [&](const char* what, int64_t thread, const std::string& name) {
    events.push_back(
        {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", thread}, {"args", {{"name", name}}}});
  };
  named("process_name", 0, title);
  named("thread_name", 1, facts.is_measured ? "steps, measured" : "steps, predicted");
  double all = facts.between_seconds;
  for (const StepReport& step : facts.steps)
    all += step.seconds.value_or(0);
  events.push_back({{"name", "call"},
                    {"cat", "call"},
                    {"ph", "X"},
                    {"ts", 0.0},
                    {"dur", all * 1e6},
                    {"pid", 1},
                    {"tid", 1},
                    {"args", {{"between_steps_us", facts.between_seconds * 1e6}}}});
  double at = 0;
  const auto live = [&](int64_t bytes) {
    events.push_back({{"name", "live bytes"},
                      {"ph", "C"},
                      {"ts", at * 1e6},
                      {"pid", 1},
                      {"args", {{"B", bytes}}}});
  };
  for (const StepReport& step : facts.steps) {
    live(step.live_bytes);
    const double end = at + step.seconds.value_or(0);
    events.push_back({{"name", step.name},
                      {"cat", step.call.empty() ? "kernel" : "function"},
                      {"ph", "X"},
                      {"ts", at * 1e6},
                      {"dur", end * 1e6 - at * 1e6},
                      {"pid", 1},
                      {"tid", 1},
                      {"args",
                       {{"kernel", text_or_null(step.kernel)},
                        {"call", text_or_null(step.call)},
                        {"label", !step.seconds       ? "not known"
                                  : facts.is_measured ? "measured"
                                  : step.is_of_roof   ? "at least"
                                                      : "predicted"},
                        {"threads", step.threads},
                        {"operations", step.operations},
                        {"bytes", step.bytes}}}});
    at = end;
  }
  live(0);
  const Json json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace kawara::explain
